//! The way out of the sandbox: what the owner of an attempt does when the guest uses a capability.
//!
//! Every value has passed the checks of its form before a port is called, so a port has to keep it, not to
//! judge it.

use std::sync::Arc;

use async_trait::async_trait;

use crate::capabilities::config::Config;
use crate::web::Web;

/// What happens outside when a guest uses a capability. Made anew for each attempt.
///
/// A call's future can be dropped at any await point, when the attempt is stopped.
#[async_trait]
pub trait Ports: Send + 'static {
    /// Keeps one value of the memory of this (token, state). Durable when it returns.
    async fn set_memory(&mut self, key: &str, value: &str) -> Result<(), PortError>;

    /// Deletes one value, which is there. Durable when it returns.
    async fn delete_memory(&mut self, key: &str) -> Result<(), PortError>;

    /// Adds a line to the token's history: 1 to 500 characters. Durable when it returns.
    async fn note(&mut self, text: &str) -> Result<(), PortError>;

    /// Settings and the names of secrets; asked once, when the attempt begins.
    fn config(&self) -> Config;

    /// Where the guest's HTTP requests go; asked once, when the attempt begins.
    fn web(&self) -> Arc<dyn Web>;

    /// A line for the log. Must not block.
    fn log(&mut self, level: Level, text: &str);
}

/// Why a port did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PortError {
    /// A lawful no; the guest hears of it and may handle it.
    Refused(Refusal),
    /// This attempt may not use the capability; the attempt stops as `denied`.
    Denied(String),
    /// The host cannot do it (disk full, outbox broken); the attempt stops as `host`.
    Broken(String),
}

/// A lawful no to a guest's call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Stable, for programs.
    pub code: RefusalCode,
    /// For people: what was seen, what was expected, what to do.
    pub message: String,
}

impl Refusal {
    /// A refusal with a message made of text.
    pub fn new(code: RefusalCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// The codes of `refusal` in `wit/routine.wit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalCode {
    /// More bytes or characters than allowed.
    TooLarge,
    /// Not JSON, or JSON that cannot be kept.
    InvalidJson,
    /// A key that cannot be kept.
    InvalidKey,
    /// More of them than allowed.
    TooMany,
    /// Not the name of an event, or a payload that is no object.
    InvalidEvent,
    /// Not a duration.
    InvalidDuration,
    /// The supervisor's outbox takes no more for now.
    OutboxFull,
}

impl RefusalCode {
    /// The spelling that the guest sees.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::InvalidJson => "invalid_json",
            Self::InvalidKey => "invalid_key",
            Self::TooMany => "too_many",
            Self::InvalidEvent => "invalid_event",
            Self::InvalidDuration => "invalid_duration",
            Self::OutboxFull => "outbox_full",
        }
    }
}

/// How much a line of the log matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For whoever writes the routine.
    Debug,
    /// The ordinary course of things.
    Info,
    /// Worth a look.
    Warn,
    /// Something failed.
    Error,
}
