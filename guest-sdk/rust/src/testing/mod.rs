//! Native tests of routines: a host that records, without wasm.
//!
//! ```
//! use stateous_routine::prelude::*;
//! use stateous_routine::testing::Mock;
//!
//! #[derive(Event)]
//! enum Out {
//!     Counted { lines: usize },
//! }
//!
//! #[routine]
//! fn count(ctx: &Context) -> Result<Out> {
//!     let text: String = ctx.get("text")?.ok_or_else(|| Failure::fatal("there is no `text`"))?;
//!     Ok(Out::Counted { lines: text.lines().count() })
//! }
//!
//! let mock = Mock::new(json!({"text": "one\ntwo"}));
//! let ended = mock.run(count);
//! assert_eq!(ended.event(), "counted");
//! assert_eq!(ended.payload()["lines"], 2);
//! ```
//!
//! Each [`Mock::run`] is the next grant of the same (token, state), as the control plane would give it: after a failure
//! or a [kill](Mock::kill_after_memory_writes) another attempt of the same task, after an event the next visit. Memory
//! stays; context writes count only when the attempt did not fail.
//!
//! The mock refuses what the host would refuse by its form (sizes, keys, durations). It knows no workflow: whether the
//! state may emit an event, and whether a payload fits its schema, only the control plane says.

mod ended;
mod recorder;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use ended::Ended;
pub use recorder::Scheduled;

use crate::host::attempt;
use crate::{Context, Error, Failure, IntoOutcome, Level};
use recorder::{Killed, Recorder};

/// A token in a state, and a host for it that records what routines do.
pub struct Mock {
    recorder: Rc<Recorder>,
}

impl Mock {
    /// Token `T-1` in its first visit, first attempt, entered by `__started__`, with this context.
    ///
    /// # Panics
    /// When the context is not a JSON object: a token's context always is.
    #[track_caller]
    pub fn new(context: Value) -> Self {
        match context {
            Value::Object(object) => Self { recorder: Rc::new(Recorder::new(object)) },
            other => panic!("a token's context is a JSON object, not {other}"),
        }
    }

    /// The token's id.
    #[must_use]
    pub fn token(self, id: &str) -> Self {
        self.recorder.task.borrow_mut().token = id.to_owned();
        self
    }

    /// The workflow's and the state's name.
    #[must_use]
    pub fn state(self, workflow: &str, state: &str) -> Self {
        workflow.clone_into(&mut self.recorder.task.borrow_mut().workflow);
        state.clone_into(&mut self.recorder.task.borrow_mut().state);
        self
    }

    /// Which visit the next run is; 1 is the first.
    #[must_use]
    pub fn visit(self, visit: u32) -> Self {
        self.recorder.task.borrow_mut().visit = visit;
        self
    }

    /// Which attempt the next run is; 1 is the first.
    #[must_use]
    pub fn attempt(self, attempt: u32) -> Self {
        self.recorder.task.borrow_mut().attempt = attempt;
        self
    }

    /// The event that brought the token here.
    #[must_use]
    pub fn entered_by(self, event: &str, payload: &Value) -> Self {
        let mut task = self.recorder.task.borrow_mut();
        event.clone_into(&mut task.entered_by.name);
        task.entered_by.payload = Some(payload.to_string());
        drop(task);
        self
    }

    /// The host's time, in milliseconds since 1970-01-01 UTC.
    #[must_use]
    pub fn now_ms(self, now_ms: u64) -> Self {
        self.recorder.task.borrow_mut().now_ms = now_ms;
        self
    }

    /// Something that an earlier attempt or visit left in memory.
    ///
    /// # Panics
    /// When the value cannot be written as JSON.
    #[must_use]
    pub fn remembers<V: Serialize + ?Sized>(self, key: &str, value: &V) -> Self {
        let value = serde_json::to_value(value).expect("a value that can be written as JSON");
        self.recorder.memory.borrow_mut().insert(key.to_owned(), value);
        self
    }

    /// A plain setting of the supervisor.
    #[must_use]
    pub fn setting(self, name: &str, value: &str) -> Self {
        self.recorder.settings.borrow_mut().insert(name.to_owned(), value.to_owned());
        self
    }

    /// A secret that the routine may use.
    #[must_use]
    pub fn secret(self, name: &str) -> Self {
        self.recorder.secrets.borrow_mut().insert(name.to_owned());
        self
    }

    /// What answers the routine's HTTP requests. Without it each is denied, as by a supervisor that grants none.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn answers(
        self,
        web: impl Fn(&crate::RequestParts) -> Result<crate::Response, crate::HttpError> + 'static,
    ) -> Self {
        *self.recorder.web.borrow_mut() = Some(Box::new(web));
        self
    }

    /// Kills the machine in the next run, right after so many memory writes were kept: the run gives
    /// [`Ended::Killed`], and the one after it is a new attempt that finds what was written.
    pub fn kill_after_memory_writes(&self, writes: u32) -> &Self {
        self.recorder.writes_to_live.set(Some(writes.max(1)));
        self
    }

    /// Runs the routine once, as the host would.
    ///
    /// # Panics
    /// When the routine does, so that the test shows where.
    pub fn run<T, O, E>(&self, routine: impl FnOnce(&Context<T>) -> Result<O, E>) -> Ended
    where
        T: DeserializeOwned,
        O: IntoOutcome,
        E: Into<Failure>,
    {
        self.recorder.begin();
        let task = self.recorder.task.borrow().clone();
        let host = Rc::<Recorder>::clone(&self.recorder);
        let ended = match catch_unwind(AssertUnwindSafe(|| attempt(task, host, routine))) {
            Ok(result) => Ended::from(result),
            Err(panic) if panic.is::<Killed>() => Ended::Killed,
            Err(panic) => resume_unwind(panic),
        };
        self.recorder.end(&ended);
        ended
    }

    /// The context that a routine would be given, for tests of the functions that it calls.
    ///
    /// # Errors
    /// [`Error::Decode`] when the token's context does not fit `T`.
    pub fn context<T: DeserializeOwned>(&self) -> Result<Context<T>, Error> {
        Context::new(self.recorder.task.borrow().clone(), Rc::<Recorder>::clone(&self.recorder) as _)
    }

    /// The token's context now: what the mock was given and what attempts that did not fail wrote.
    pub fn token_context(&self) -> Value {
        Value::Object(self.recorder.context.borrow().clone())
    }

    /// What the latest run wrote into the context, kept or not.
    pub fn writes(&self) -> Value {
        Value::Object(self.recorder.writes.borrow().clone())
    }

    /// What the state remembers now.
    pub fn memory(&self) -> BTreeMap<String, Value> {
        self.recorder.memory.borrow().clone()
    }

    /// Every note of every run, stripped.
    pub fn notes(&self) -> Vec<String> {
        self.recorder.notes.borrow().clone()
    }

    /// What the latest run scheduled.
    pub fn scheduled(&self) -> Vec<Scheduled> {
        self.recorder.scheduled.borrow().clone()
    }

    /// Every log line of every run.
    pub fn logs(&self) -> Vec<(Level, String)> {
        self.recorder.logs.borrow().clone()
    }
}
