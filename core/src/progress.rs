//! Progress of long work on the host, for a program that shows bars.

/// A bar, called after each step; dropping it ends the work.
pub type StepBar = Box<dyn Fn() + Send + Sync>;

/// Makes a [`StepBar`] with a name and a number of steps, if bars are shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bars(pub Option<fn(&str, u64) -> StepBar>);

impl Bars {
    pub const NONE: Bars = Bars(None);

    pub fn bar(self, what: &str, steps: u64) -> StepBar {
        self.0.map_or_else(|| Box::new(|| ()) as StepBar, |make| make(what, steps))
    }
}
