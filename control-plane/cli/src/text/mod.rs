//! How things look on a terminal: the original's lines, made safe to print.

mod history;
mod json;
mod lines;

pub(crate) use history::entry_line;
pub(crate) use json::object_argument;
pub(crate) use lines::{Out, escape, say, token_line};
