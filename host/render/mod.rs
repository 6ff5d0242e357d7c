//! Records and statements as text: shown, not computed.

pub mod chart;
pub mod html;
pub mod parity;
pub mod table;
