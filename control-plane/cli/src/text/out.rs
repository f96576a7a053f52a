//! The way out to stdout: lines for people, or JSON for programs.

use std::io::{self, Write};

use serde::Serialize;

use super::json::json_line;
use crate::Failed;

/// What a command prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Lines for people.
    Text,
    /// One JSON document, or one a line where things come one after the other.
    Json,
}

/// Stdout. A closed pipe (`| head`) ends the command quietly with exit code 1, as any other filter would.
pub(crate) struct Out {
    stdout: io::Stdout,
    format: Format,
}

impl Out {
    pub(crate) fn new(format: Format) -> Self {
        Self { stdout: io::stdout(), format }
    }

    pub(crate) const fn format(&self) -> Format {
        self.format
    }

    /// Prints one line, whatever the format.
    pub(crate) fn line(&mut self, text: &str) -> Result<(), Failed> {
        writeln!(self.stdout, "{text}").map_err(failed)
    }

    /// Tells one thing: as JSON, or in words.
    pub(crate) fn tell<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
        words: impl FnOnce(&T) -> String,
    ) -> Result<(), Failed> {
        match self.format {
            Format::Json => self.line(&json_line(value)),
            Format::Text => self.line(&words(value)),
        }
    }

    /// Begins a list that is told while it comes: one JSON list, or a line for each.
    pub(crate) const fn list(&mut self) -> List<'_> {
        List { out: self, told: 0 }
    }

    fn write(&mut self, text: &str) -> Result<(), Failed> {
        self.stdout.write_all(text.as_bytes()).map_err(failed)
    }
}

/// A list on its way out.
pub(crate) struct List<'o> {
    out: &'o mut Out,
    told: u64,
}

impl List<'_> {
    /// Tells the next of them.
    pub(crate) fn item<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
        words: impl FnOnce(&T) -> String,
    ) -> Result<(), Failed> {
        self.told += 1;
        match self.out.format {
            Format::Text => self.out.line(&words(value)),
            Format::Json => {
                let before = if self.told == 1 { "[" } else { ",\n" };
                self.out.write(&format!("{before}{}", json_line(value)))
            }
        }
    }

    /// Ends it; `nothing` says in words that it was empty, if that needs words.
    pub(crate) fn end(self, nothing: &str) -> Result<(), Failed> {
        match (self.out.format, self.told) {
            (Format::Text, 0) if !nothing.is_empty() => self.out.line(nothing),
            (Format::Text, _) => Ok(()),
            (Format::Json, 0) => self.out.line("[]"),
            (Format::Json, _) => self.out.line("]"),
        }
    }
}

fn failed(error: io::Error) -> Failed {
    if error.kind() == io::ErrorKind::BrokenPipe {
        Failed::Quiet
    } else {
        Failed::Said(anyhow::Error::new(error).context("cannot write to stdout"))
    }
}
