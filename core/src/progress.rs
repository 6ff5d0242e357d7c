//! Progress of long work on the host, for a program that shows bars.

/// A bar; dropping it ends the work.
pub trait Bar: Send + Sync {
    fn step(&self);
}

impl Bar for () {
    fn step(&self) {}
}

/// Makes a [`Bar`] with a name and a number of steps, if bars are shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress(pub Option<fn(&str, u64) -> Box<dyn Bar>>);

impl Progress {
    pub const NONE: Progress = Progress(None);

    pub fn bar(self, what: &str, steps: u64) -> Box<dyn Bar> {
        self.0.map_or_else(|| Box::new(()) as Box<dyn Bar>, |make| make(what, steps))
    }
}
