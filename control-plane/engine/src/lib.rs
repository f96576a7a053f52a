//! The rules of Stateous, pure.
//!
//! One function, [`decide`], says what an [`Input`] does to a token: which rows change and what the caller is told. It
//! does no IO, reads no clock and draws no random number: time and ids come in with the call. So the rules can be
//! tested by the thousand in a second, replayed from the ledger, and read in one folder. The crate depends on no other
//! crate of ours and also builds for wasm32, which keeps it so.
//!
//! Reading order: [`model`] (the rows), [`graph`] (the workflow that a token follows), [`input`] (what is asked),
//! [`loaded`] (what a decision needs to see), [`change`] (what it answers), then [`decide`]. [`replay()`] goes the other
//! way: from what the ledger keeps back to the rows.

pub mod json;
pub mod limits;
pub mod names;
pub mod time;

pub mod model;

pub mod graph;
pub mod guard;

pub mod change;
pub mod input;
pub mod loaded;
pub mod refusal;

pub mod decide;
pub mod replay;

pub use change::{Answer, Change, Decision, Grant};
pub use decide::{Rules, decide, decide_loading};
pub use graph::{Catalog, Graph};
pub use input::Input;
pub use loaded::{Loaded, Missing, Wanted};
pub use refusal::{Code, Refusal};
pub use replay::replay;
pub use time::Timestamp;
