//! What one attempt may use. Limits travel with the routine; the supervisor's caps have the last word.

use std::time::Duration;

/// The limits of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Instructions, roughly: one unit each, and one for every byte that a bulk memory operation touches. 50
    /// G is 3 to 6 s of computing.
    pub fuel: u64,
    /// Linear memory in bytes, summed over all memories of the component.
    pub memory_bytes: u64,
    /// Wall time of the whole attempt, from instantiation to the outcome, host calls included.
    pub wall: Duration,
    /// The most bytes that the guest may hand over in one host call, or in its outcome.
    pub hostcall_bytes: u64,
}

impl Default for Limits {
    /// 50 G fuel, 64 MiB of memory, one hour, 4 MiB per host call.
    fn default() -> Self {
        Self {
            fuel: 50_000_000_000,
            memory_bytes: 64 << 20,
            wall: Duration::from_secs(3600),
            hostcall_bytes: 4 << 20,
        }
    }
}

impl Limits {
    /// The caps of a supervisor that sets none: 1000 G fuel, 256 MiB, no bound on time of its own (a state's
    /// timeout can be ten years), 16 MiB per host call.
    pub fn default_caps() -> Self {
        Self {
            fuel: 1_000_000_000_000,
            memory_bytes: 256 << 20,
            wall: Duration::MAX,
            hostcall_bytes: 16 << 20,
        }
    }

    /// Each limit, or the cap where that is lower.
    pub fn capped(self, caps: &Self) -> Self {
        Self {
            fuel: self.fuel.min(caps.fuel),
            memory_bytes: self.memory_bytes.min(caps.memory_bytes),
            wall: self.wall.min(caps.wall),
            hostcall_bytes: self.hostcall_bytes.min(caps.hostcall_bytes),
        }
    }
}
