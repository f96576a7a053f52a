//! One attempt from a fresh store to its end.

use std::time::Duration;

use tokio::time::{Instant, timeout};
use wasmtime::Store;

use crate::attempt::Attempt;
use crate::bindings::stateous::routine::types as wit;
use crate::limits::Limits;
use crate::outcome::outcome;
use crate::ports::Ports;
use crate::prepare::{Prepared, Runtime};
use crate::stop::{stopped, timed_out};
use crate::task::{Ended, Outcome, Stats, StopCode, Task};

/// A guest gives way to others after so much fuel: about 0.1 ms, at no measurable cost.
const FUEL_PER_TURN: u64 = 1_000_000;
/// Handles that a component may hold at once; wasmtime's own bound is 100,000.
const HANDLES_MAX: usize = 1000;

impl Runtime {
    /// Runs one attempt to its end. Waits for a slot first; the wall time counts from there.
    ///
    /// Never fails: whatever happens is the attempt's [`Outcome`]. Dropping the future stops the guest and
    /// frees all that it had; what the ports were told before stays told.
    pub async fn run(&self, prepared: &Prepared, mut task: Task, limits: Limits, ports: impl Ports) -> Ended {
        let limits = limits.capped(&self.caps);
        let Ok(_slot) = self.slots.acquire().await else {
            return not_started("the runtime is closed".to_owned());
        };
        let begun = Instant::now();
        let attempt = Attempt::new(&mut task, &limits, ports);
        let mut store = match self.store(attempt, &limits) {
            Ok(store) => store,
            Err(e) => return not_started(format!("the sandbox could not be set up: {e:#}")),
        };

        // The store stays outside of the timed future, so that what it used is known after a timeout too.
        let mut instantiate = Duration::ZERO;
        let task = guest_task(task);
        let call = async {
            let routine = prepared.routine().instantiate_async(&mut store).await?;
            instantiate = begun.elapsed();
            routine.call_run(&mut store, &task).await
        };
        let ended = timeout(limits.wall, call).await;

        let fuel_left = store.get_fuel().unwrap_or_default();
        let mut attempt = store.into_data();
        attempt.flush_prints();
        let outcome = match ended {
            Ok(Ok(answer)) => outcome(answer, &attempt),
            Ok(Err(error)) => stopped(&error, &attempt, &limits),
            Err(_) => timed_out(&limits),
        };
        let stats = Stats {
            fuel_used: limits.fuel.saturating_sub(fuel_left),
            memory_peak: attempt.limiter.peak,
            wall: begun.elapsed(),
            instantiate,
            log_lines_dropped: attempt.log.dropped,
        };
        let moved = matches!(outcome, Outcome::Event(_) | Outcome::Waiting);
        let (context_writes, schedules) = if moved {
            (attempt.context.into_writes(), attempt.timers.into_schedules())
        } else {
            Default::default()
        };
        Ended { outcome, context_writes, schedules, stats }
    }

    fn store(&self, attempt: Attempt, limits: &Limits) -> wasmtime::Result<Store<Attempt>> {
        let mut store = Store::new(&self.engine, attempt);
        store.limiter(|attempt| &mut attempt.limiter);
        store.set_fuel(limits.fuel)?;
        store.fuel_async_yield_interval(Some(FUEL_PER_TURN))?;
        store.set_hostcall_fuel(usize::try_from(limits.hostcall_bytes)?);
        store.set_max_component_handles(HANDLES_MAX);
        Ok(store)
    }
}

fn guest_task(task: Task) -> wit::Task {
    wit::Task {
        token: task.token,
        id: task.id,
        workflow: task.workflow,
        state: task.state,
        visit: task.visit,
        attempt: task.attempt,
        entered_by: wit::Event { name: task.entered_by.name, payload: task.entered_by.payload },
        now_ms: task.now_ms,
    }
}

fn not_started(message: String) -> Ended {
    Ended {
        outcome: Outcome::Stopped { code: StopCode::Host, message },
        context_writes: Default::default(),
        schedules: Vec::new(),
        stats: Stats::default(),
    }
}
