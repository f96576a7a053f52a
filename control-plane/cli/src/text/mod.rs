//! How things look on a terminal: the original's lines, made safe to print, and the same as JSON.

mod history;
mod json;
mod lines;
mod out;
mod table;

pub(crate) use history::{entry_line, local_time};
pub(crate) use json::{json_line, object_argument};
pub(crate) use lines::{escape, named_state, say, token_line};
pub(crate) use out::{Format, Out};
pub(crate) use table::Columns;
