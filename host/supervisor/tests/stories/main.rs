//! A supervisor and a scripted control plane, over real HTTP.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail loudly")]

mod fake;
mod house;

mod leases;
mod life;
mod operations;
mod outages;
mod stops;
