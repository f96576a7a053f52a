//! What a routine was given, and what it may ask of its host.

use std::fmt::Display;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::Error;
use crate::host::{Host, Level, decode, encode};
use crate::memory::Memory;
use crate::task::{EnteredBy, Task};
use crate::{Delay, Event};

/// One attempt's view of its token, and everything it may do.
///
/// `T` is the shape of the token's context as this routine needs it: a `Deserialize` type with the keys that it reads.
/// Without one, `Context` reads any JSON.
pub struct Context<T = Value> {
    task: Task,
    data: T,
    host: Rc<dyn Host>,
}

impl<T> Context<T> {
    /// The token's context as it was when the attempt began.
    pub fn data(&self) -> &T {
        &self.data
    }

    /// The id of the token that waits in this state.
    pub fn token(&self) -> &str {
        &self.task.token
    }

    /// The task's number, the same for every attempt. With the token's id it makes an idempotency key for the outside.
    pub fn task(&self) -> u64 {
        self.task.id
    }

    /// The workflow's name.
    pub fn workflow(&self) -> &str {
        &self.task.workflow
    }

    /// The state's name.
    pub fn state(&self) -> &str {
        &self.task.state
    }

    /// How many times the token has entered this state; 1 is the first.
    pub fn visit(&self) -> u32 {
        self.task.visit
    }

    /// Which try of the task this is; 1 is the first.
    pub fn attempt(&self) -> u32 {
        self.task.attempt
    }

    /// The event that brought the token here, with its payload.
    pub fn entered_by(&self) -> &EnteredBy {
        &self.task.entered_by
    }

    /// The host's time when the attempt began. It does not advance.
    pub fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(self.task.now_ms)
    }

    /// [`Context::now`] in milliseconds since 1970-01-01 UTC.
    pub fn now_ms(&self) -> u64 {
        self.task.now_ms
    }

    /// One value of the token's context, this attempt's own writes included; `None` when there is no such key.
    ///
    /// # Errors
    /// [`Error::Decode`] when the value does not fit `V`.
    pub fn get<V: DeserializeOwned>(&self, key: &str) -> Result<Option<V>, Error> {
        let json = self.host.context_get(key);
        json.map(|json| decode(&json, || format!("the context's `{key}`"))).transpose()
    }

    /// The whole context, this attempt's own writes included.
    ///
    /// # Errors
    /// [`Error::Decode`] when it does not fit `V`.
    pub fn all<V: DeserializeOwned>(&self) -> Result<V, Error> {
        decode(&self.host.context_all(), || "the context".to_owned())
    }

    /// Keeps a value for the token's context. It goes out with the outcome; if the attempt fails, it is gone.
    ///
    /// # Errors
    /// [`Error::Encode`] when the value is not JSON, [`Error::Refused`] when the host does not take it.
    pub fn set<V: Serialize + ?Sized>(&self, key: &str, value: &V) -> Result<(), Error> {
        let json = encode(value, || format!("the value for the context's `{key}`"))?;
        Ok(self.host.context_set(key, &json)?)
    }

    /// What this state remembers about the token from one attempt and visit to the next.
    pub fn memory(&self) -> Memory<'_> {
        Memory { host: &*self.host }
    }

    /// Adds a line to the token's history, for people. It is durable when this returns, whatever becomes of the attempt.
    ///
    /// At most 500 characters after stripping; an empty text adds nothing.
    ///
    /// # Errors
    /// [`Error::Refused`] when the text is too long or there are too many.
    pub fn note(&self, text: impl Display) -> Result<(), Error> {
        Ok(self.host.note(&text.to_string())?)
    }

    /// Fires an event later, if the token is still in this state and visit by then. It goes out with the outcome.
    ///
    /// ```
    /// # use stateous_routine::prelude::*;
    /// # #[derive(Event)] struct Reminded;
    /// # fn ask(ctx: &Context) -> Result<Waiting> {
    /// ctx.schedule(Reminded, "6h")?;
    /// # Ok(Waiting) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`] when the state cannot take the event or `after` is no duration.
    pub fn schedule(&self, event: impl Event, after: impl Into<Delay>) -> Result<(), Error> {
        Ok(self.host.schedule(event.into_raw()?, after.into().as_str())?)
    }

    /// A plain setting that the supervisor's owner made in `stateous.toml`; `None` when there is none of this name.
    pub fn setting(&self, name: &str) -> Option<String> {
        self.host.setting(name)
    }

    /// The names of all plain settings, sorted.
    pub fn settings(&self) -> Vec<String> {
        self.host.settings()
    }

    /// The names of the secrets that this routine may use in the headers of its requests, sorted. A secret itself is never
    /// read: `{{secret:NAME}}` stands for it.
    pub fn secrets(&self) -> Vec<String> {
        self.host.secrets()
    }

    /// Begins an HTTP request.
    ///
    /// ```
    /// # use stateous_routine::prelude::*;
    /// # fn look(ctx: &Context) -> Result<Waiting> {
    /// let answer = ctx
    ///     .request("GET", "https://api.example.com/v1/orders/7")
    ///     .header("authorization", "Bearer {{secret:API_TOKEN}}")
    ///     .send()?;
    /// if answer.is_success() {
    ///     let order: Value = answer.json()?;
    /// #   let _ = order;
    /// }
    /// # Ok(Waiting) }
    /// ```
    #[cfg(feature = "http")]
    pub fn request(&self, method: &str, url: &str) -> crate::Request {
        let parts =
            crate::RequestParts { method: method.to_owned(), url: url.to_owned(), ..Default::default() };
        crate::Request {
            parts,
            #[cfg(not(target_family = "wasm"))]
            host: Rc::clone(&self.host),
        }
    }

    /// Writes a line to the supervisor's log, which is not kept with the token.
    pub fn log(&self, level: Level, text: impl Display) {
        self.host.log(level, &text.to_string());
    }

    /// [`Context::log`] at [`Level::Debug`].
    pub fn debug(&self, text: impl Display) {
        self.log(Level::Debug, text);
    }

    /// [`Context::log`] at [`Level::Info`].
    pub fn info(&self, text: impl Display) {
        self.log(Level::Info, text);
    }

    /// [`Context::log`] at [`Level::Warn`].
    pub fn warn(&self, text: impl Display) {
        self.log(Level::Warn, text);
    }

    /// [`Context::log`] at [`Level::Error`].
    pub fn error(&self, text: impl Display) {
        self.log(Level::Error, text);
    }
}

impl<T: DeserializeOwned> Context<T> {
    pub(crate) fn new(task: Task, host: Rc<dyn Host>) -> Result<Self, Error> {
        let data = decode(&host.context_all(), || "the token's context".to_owned())?;
        Ok(Self { task, data, host })
    }
}
