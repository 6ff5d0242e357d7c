//! The record of a run, as JSON, tables and a page.

pub mod html;
pub mod json;
pub mod parity;
pub mod published;
pub mod table;
pub mod table1;
