use crate::Outcome;
pub fn program() -> Outcome { Ok(()) }
pub fn ranks() -> Outcome { Ok(()) }
