//! The control plane's clock. Only it decides leases and timers.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use stateous_engine::Timestamp;

/// How far a reading may run ahead of the plain monotonic count to catch up with the wall clock: 1 part in 20.
const SLEW_DIVISOR: i64 = 20;
/// How often the shift is adjusted at most, in milliseconds.
const SLEW_INTERVAL_MS: i64 = 500;

/// Tells the time. Loops and the committer hold one; everything else gets the time as an argument.
pub trait Clock: Send + Sync + 'static {
    /// Now. Never earlier than an earlier reading.
    fn now(&self) -> Timestamp;
}

/// Wall time at start plus monotonic time, slewed towards the wall clock, never behind a floor.
///
/// A step of the machine's clock (NTP, a person, a restored snapshot) ends no lease and fires no timer: the reading
/// keeps counting elapsed time and closes the gap slowly, by at most a twentieth of the time that passes.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
    base: i64,
    /// How far readings are shifted from `base + elapsed` by slewing, in milliseconds.
    shift: AtomicI64,
    /// Elapsed milliseconds at the last slew.
    slewed_at: AtomicI64,
    last: AtomicI64,
}

impl SystemClock {
    /// A clock that never reads earlier than `floor`: the highest time in the database.
    #[must_use]
    pub fn new(floor: Timestamp) -> Self {
        let base = wall_ms().max(floor.0);
        Self {
            started: Instant::now(),
            base,
            shift: AtomicI64::new(0),
            slewed_at: AtomicI64::new(0),
            last: AtomicI64::new(base),
        }
    }

    fn reading(&self, elapsed: i64, wall: i64) -> i64 {
        let shift = self.shift.load(Ordering::Relaxed);
        let since = elapsed - self.slewed_at.load(Ordering::Relaxed);
        // Two readings a moment apart have no whole milliseconds to slew by; wait until they add up.
        if since < SLEW_INTERVAL_MS {
            return self.base + elapsed + shift;
        }
        self.slewed_at.store(elapsed, Ordering::Relaxed);
        let step = since / SLEW_DIVISOR;
        let error = wall - (self.base + elapsed + shift);
        let shift = shift + error.clamp(-step, step);
        self.shift.store(shift, Ordering::Relaxed);
        self.base + elapsed + shift
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let elapsed = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX / 2);
        let reading = self.reading(elapsed, wall_ms());
        Timestamp(self.last.fetch_max(reading, Ordering::Relaxed).max(reading))
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the clock that everybody else is given")]
fn wall_ms() -> i64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX / 2))
}

/// A clock that stands until it is moved: for tests and the simulation.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that stands at `now`.
    #[must_use]
    pub const fn new(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.0))
    }

    /// Moves the clock by `ms`.
    pub fn advance(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> SystemClock {
        let clock = SystemClock::new(Timestamp(0));
        SystemClock { base: 1_000_000, last: AtomicI64::new(1_000_000), ..clock }
    }

    #[test]
    fn a_step_of_the_wall_clock_is_closed_slowly() {
        let clock = clock();
        assert_eq!(clock.reading(1_000, 1_001_000), 1_001_000);
        // The wall clock jumps one hour ahead: one second later we are at most 50 ms off the monotonic count.
        assert_eq!(clock.reading(2_000, 1_002_000 + 3_600_000), 1_002_050);
        // And one hour back.
        assert_eq!(clock.reading(3_000, 1_003_000 - 3_600_000), 1_003_000);
    }

    #[test]
    fn it_never_goes_behind_the_database() {
        let far = Timestamp(wall_ms() + 7_200_000);
        let clock = SystemClock::new(far);
        assert!(clock.now() >= far);
    }
}
