//! The control plane at its HTTP boundary, over a real database of its own. Time stands still unless a test moves it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod contract;
mod database;
mod harness;

mod history;
mod listing;
mod openapi;
mod requests;
mod tokens;

mod events;

mod batch;
mod claims;
mod tasks;
mod work;

mod clock;

mod parallel;
mod routines;
mod steering;

mod lifecycle;

mod client;
