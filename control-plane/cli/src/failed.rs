//! How a command fails, and how that is told: a sentence for people, or JSON for programs.
//!
//! Exit codes: 0 it was done; 1 it was refused or could not be done; 2 the words of the command are wrong.

use std::fmt;
use std::process::ExitCode;

use serde::Serialize;
use stateous_api::ClientError;

use crate::text::{Format, Out, escape, json_line, say};

/// The code of a failure that has no name of its own.
const UNNAMED: &str = "failed";

/// How a command fails.
pub(crate) enum Failed {
    /// One plain sentence on stderr, exit code 1.
    Said(anyhow::Error),
    /// The same, with a line below it that says what to do next.
    Advised(anyhow::Error, String),
    /// A workflow with mistakes, which are told one by one in JSON; exit code 1.
    Mistakes(anyhow::Error, Vec<serde_json::Value>),
    /// It was told already, or nobody listens any more: exit code 1.
    Quiet,
    /// The words of the command are not enough: its help on stdout, exit code 2.
    Usage(Box<clap::Command>),
}

impl<E: Into<anyhow::Error>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self::Said(error.into())
    }
}

impl Failed {
    /// Adds what to do next, where `advice` knows it.
    pub(crate) fn advised(self, advice: impl FnOnce(&anyhow::Error) -> Option<String>) -> Self {
        match self {
            Self::Said(error) => match advice(&error) {
                Some(hint) => Self::Advised(error, hint),
                None => Self::Said(error),
            },
            other => other,
        }
    }

    /// Tells it, and says how the process ends.
    pub(crate) fn tell(self, format: Format) -> ExitCode {
        match self {
            Self::Said(error) => told(format, &error, None, None),
            Self::Advised(error, hint) => told(format, &error, Some(&hint), None),
            Self::Mistakes(error, mistakes) => told(format, &error, None, Some(&mistakes)),
            Self::Quiet => {}
            Self::Usage(mut command) => {
                // When nobody reads the help, the exit code still says what was wrong.
                let _ = Out::new(Format::Text).line(command.render_help().to_string().trim_end());
                return ExitCode::from(2);
            }
        }
        ExitCode::FAILURE
    }
}

/// A failure that a program can tell from others.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Coded {
    code: &'static str,
    message: String,
}

impl Coded {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// A failure as JSON on stderr.
#[derive(Serialize)]
struct Body<'b> {
    error: &'b str,
    code: &'b str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'b str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mistakes: Option<&'b [serde_json::Value]>,
}

fn told(format: Format, error: &anyhow::Error, hint: Option<&str>, mistakes: Option<&[serde_json::Value]>) {
    let sentence = sentence(error);
    match format {
        Format::Text => {
            // Parts of it can be somebody else's words: a proxy's answer, a value that broke its schema.
            let lines: Vec<String> = sentence.lines().map(escape).collect();
            say(&format!("error: {}", lines.join("\n")));
            if let Some(hint) = hint {
                say(&format!("hint: {}", escape(hint)));
            }
        }
        Format::Json => {
            let body = Body { error: &sentence, code: code(error), hint, mistakes };
            say(&json_line(&body));
        }
    }
}

/// Wrong words on the command line: as clap tells it, or as JSON when that was asked for.
pub(crate) fn wrong_words(error: &clap::Error, format: Format) -> ExitCode {
    // `--help` and `--version` come as errors too.
    if format == Format::Text || !error.use_stderr() {
        // When nobody reads it, the exit code still says it.
        let _ = error.print();
    } else {
        let text = error.render().to_string();
        let text = text.trim().trim_start_matches("error: ");
        let first: Vec<&str> =
            text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim).collect();
        say(&json_line(&Body { error: &first.join(" "), code: "usage", hint: None, mistakes: None }));
    }
    ExitCode::from(u8::from(error.use_stderr()) * 2)
}

/// The code of a failure: the control plane's own where it refused.
pub(crate) fn code(error: &anyhow::Error) -> &str {
    if let Some(coded) = error.downcast_ref::<Coded>() {
        return coded.code;
    }
    match error.downcast_ref::<ClientError>() {
        Some(ClientError::Refused { code, .. }) => code.as_deref().unwrap_or("refused"),
        Some(ClientError::Unreachable { .. }) => "unreachable",
        Some(ClientError::Url(_)) => "invalid_url",
        Some(ClientError::Name(_)) => "invalid_argument",
        Some(ClientError::Protocol { .. }) => "not_a_control_plane",
        None => UNNAMED,
    }
}

/// A failure and its causes as one sentence; a cause that repeats what is said already is left out.
fn sentence(error: &anyhow::Error) -> String {
    let mut said = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !said.contains(&cause) {
            said.push_str(": ");
            said.push_str(&cause);
        }
    }
    said
}

impl fmt::Debug for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Said(error) | Self::Advised(error, _) | Self::Mistakes(error, _) => {
                f.write_str(&sentence(error))
            }
            Self::Quiet => f.write_str("quiet"),
            Self::Usage(_) => f.write_str("usage"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_has_a_code() {
        let url = || "http://127.0.0.1:8080".to_owned();
        let check = |error: anyhow::Error, expected: &str| assert_eq!(code(&error), expected);
        check(anyhow::anyhow!("no such file"), "failed");
        check(Coded::new("ended_otherwise", "T-1 failed").into(), "ended_otherwise");
        check(ClientError::Unreachable { url: url(), why: "refused".into() }.into(), "unreachable");
        let refused = |code: Option<&str>| ClientError::Refused {
            url: url(),
            status: 409,
            code: code.map(str::to_owned),
            message: "no".into(),
        };
        check(refused(Some("event_not_allowed")).into(), "event_not_allowed");
        check(refused(None).into(), "refused");
        let error = anyhow::Error::from(refused(Some("task_not_held"))).context("cannot report");
        check(error, "task_not_held");
    }
}
