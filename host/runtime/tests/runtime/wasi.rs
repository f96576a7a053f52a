//! WASI is there and grants nothing; what a guest prints is kept and bounded.

use std::time::Duration;

use stateous_inspect::check;
use stateous_runtime::{Limits, Outcome, StopCode};

use crate::harness::{Story, limits, run_with, task};

/// Lets `wasi.wat` do what it does in this attempt.
async fn attempt(number: u32, limits: Limits) -> Story {
    let component = wat::parse_str(include_str!("wasi.wat")).unwrap();
    check(&component).unwrap();
    let mut task = task();
    task.attempt = number;
    run_with(component, task, limits).await
}

#[tokio::test]
async fn what_was_printed_last_is_the_reason_of_a_crash() {
    let story = attempt(1, limits()).await;
    let (code, message) = story.stopped();
    assert_eq!(code, StopCode::Trapped);
    let expected =
        "the routine panicked or aborted\nKeyError: 'price'\nlast line on standard error\nbacktrace:\n";
    assert!(message.starts_with(expected), "{message}");
    assert_eq!(
        story.calls,
        "Info: KeyError: 'price'\nWarn: KeyError: 'price'\nWarn: last line on standard error"
    );
}

#[tokio::test]
async fn an_exit_is_no_outcome() {
    let story = attempt(2, limits()).await;
    let message = "the routine called exit(1): it must return an outcome";
    let (code, text) = story.stopped();
    assert_eq!(code, StopCode::Trapped);
    assert!(text.starts_with(message), "{text}");
}

#[tokio::test]
async fn there_are_no_variables_and_no_arguments() {
    assert_eq!(attempt(3, limits()).await.ended.outcome, Outcome::Waiting);
}

#[tokio::test]
async fn random_numbers_come_in_small_amounts() {
    let story = attempt(4, limits()).await;
    let (code, message) = story.stopped();
    assert_eq!(code, StopCode::Trapped);
    assert!(message.starts_with("the routine broke the rules of its sandbox: "), "{message}");
}

#[tokio::test]
async fn a_flood_of_prints_neither_stops_the_guest_nor_fills_the_host() {
    let story = attempt(5, limits()).await;
    assert_eq!(story.ended.outcome, Outcome::Waiting);
    assert!(story.calls.len() < 80_000, "{}", story.calls.len());
}

#[tokio::test]
async fn a_sleeping_guest_is_stopped_by_the_clock() {
    let story = attempt(6, Limits { wall: Duration::from_millis(50), ..limits() }).await;
    assert_eq!(story.stopped().0, StopCode::TimedOut);
}
