//! The rules of Stateous, pure: no IO, no clock, no randomness.
