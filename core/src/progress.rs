//! How far long work is, for whoever wants to show it.

/// A step of long work is done; the work ends when this is dropped.
pub trait Bar: Send + Sync {
    fn step(&self);
}

impl Bar for () {
    fn step(&self) {}
}

/// Makes a [`Bar`] of so many steps of what is named.
pub type MakeBar = fn(&str, u64) -> Box<dyn Bar>;

/// What shows how far long work is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress(Option<MakeBar>);

impl Progress {
    /// Shows nothing.
    pub const NONE: Progress = Progress(None);

    /// Shows what `make` makes.
    pub fn by(make: MakeBar) -> Progress {
        Progress(Some(make))
    }

    /// A bar of `steps`.
    pub fn bar(self, what: &str, steps: u64) -> Box<dyn Bar> {
        self.0.map_or_else(|| Box::new(()) as Box<dyn Bar>, |make| make(what, steps))
    }
}
