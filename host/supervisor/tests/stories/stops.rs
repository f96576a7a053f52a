//! Being told to stop, once and twice, with and without a control plane.

use std::sync::Arc;

use serde_json::json;
use stateous_runtime::Outcome;
use stateous_supervisor::End;
use tokio::sync::Notify;

use crate::fake::{Answer, Fake};
use crate::house::{House, Scripted, event, left};

/// A routine that says when it has begun and ends when it is let.
fn held() -> (Scripted, Arc<Notify>, Arc<Notify>) {
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let routine = {
        let (begun, go) = (Arc::clone(&begun), Arc::clone(&go));
        Scripted::new(move |_, mut ports| {
            let (begun, go) = (Arc::clone(&begun), Arc::clone(&go));
            async move {
                begun.notify_one();
                go.notified().await;
                ports.note("done").await.unwrap();
                event("submitted")
            }
        })
    };
    (routine, begun, go)
}

#[tokio::test]
async fn the_first_signal_waits_for_routines_and_keeps_their_leases() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    fake.queue(1, &json!({"lease_ms": 1600}));
    let (routine, begun, go) = held();
    let house = House::start(folder.path(), &fake, 4, routine);
    begun.notified().await;
    house.stopper.signal();
    let heartbeats = fake.of("heartbeat").len();
    fake.wait_for("heartbeat", heartbeats + 5).await;
    fake.queue(2, &json!({}));
    go.notify_one();
    let (end, log) = house.end().await;
    assert_eq!(end.unwrap().exit_code(), 0);
    let line = "stopping: no new tasks; waiting for 1 routine(s) (signal again to stop now)";
    assert!(log.contains(&line.to_owned()), "{log:?}");
    assert_eq!(fake.of("report").len(), 1, "no new task was taken");
    assert_eq!(left(folder.path()).await.messages, []);
}

#[tokio::test]
async fn the_second_signal_stops_at_once() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    fake.queue(1, &json!({}));
    fake.always("note", Answer::Hang);
    let house = House::start(
        folder.path(),
        &fake,
        4,
        Scripted::new(|_, mut ports| async move {
            ports.note("kept").await.unwrap();
            std::future::pending::<Outcome>().await
        }),
    );
    fake.wait_for("note", 1).await;
    house.stopper.signal();
    house.stopper.signal();
    let (end, log) = house.end().await;
    assert_eq!(end.unwrap().exit_code(), 1);
    assert_eq!(log.last().unwrap(), "stopping now: cancelling 1 routine(s)");
    assert_eq!(left(folder.path()).await.messages.len(), 1, "the next start sends it");
}

#[tokio::test]
async fn a_stop_does_not_wait_for_a_control_plane_that_is_away() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    fake.queue(1, &json!({}));
    let (routine, begun, go) = held();
    let house = House::start(folder.path(), &fake, 4, routine);
    begun.notified().await;
    fake.set_down(true);
    house.stopper.signal();
    go.notify_one();
    let (end, log) = house.end().await;
    assert_eq!(end.unwrap(), End::Graceful);
    let line =
        "task 1 of T-1: the control plane cannot be reached; the note stays in the outbox for the next start";
    assert!(log.contains(&line.to_owned()), "{log:?}");
    let kept = left(folder.path()).await.messages;
    assert_eq!(kept.iter().map(|message| message.new.kind.as_str()).collect::<Vec<_>>(), ["note", "report"]);

    fake.set_down(false);
    let (before, claims) = (fake.calls().len(), fake.of("claim").len());
    let house = House::start(folder.path(), &fake, 4, Scripted::new(|_, _| async { event("never") }));
    fake.wait_for("claim", claims + 1).await;
    house.stop().await;
    let after: Vec<String> = fake.calls()[before..].iter().map(|call| call.what.clone()).take(4).collect();
    assert_eq!(after, ["health", "note", "report", "claim"]);
    assert_eq!(left(folder.path()).await.messages, []);
}

#[tokio::test]
async fn a_stop_before_the_control_plane_answers_is_graceful() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    fake.set_down(true);
    let house = House::start(folder.path(), &fake, 4, Scripted::new(|_, _| async { event("never") }));
    fake.wait_for("health", 1).await;
    house.stop().await;
    assert!(fake.of("claim").is_empty());
}

#[tokio::test]
async fn a_claim_that_is_answered_at_the_last_moment_is_given_back() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    // The answer to the waiting claim is lost with its connection; the control plane says it again.
    fake.once("claim", Answer::Hang);
    let house = House::start(folder.path(), &fake, 4, Scripted::new(|_, _| async { event("submitted") }));
    let claim = fake.wait_for("claim", 1).await.remove(0);
    let grant = json!({
        "task": 1, "token": "T-1", "state": "draft", "visit": 1, "attempt": 1, "context": {}, "memory": {},
        "entered_by": {"name": "__started__"}, "workflow": "orders", "structure": "s", "lease_ms": 120_000,
        "routine": {"digest": "sha256:d", "name": "draft", "version": 1}
    });
    fake.once("claim", Answer::Say(200, json!({"grants": [grant], "waited_ms": 0})));
    house.stop().await;
    let claims = fake.of("claim");
    assert_eq!(claims.len(), 2);
    assert_eq!(claims[1].body["request"], claim.body["request"]);
    assert_eq!(claims[1].body["states"], json!([]), "nothing new is asked for");
    assert_eq!(fake.order(), ["health", "return 1"]);
}

#[tokio::test]
async fn an_idle_supervisor_stops_without_waiting() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    let house = House::start(folder.path(), &fake, 4, Scripted::new(|_, _| async { event("never") }));
    fake.wait_for("claim", 1).await;
    let asked = std::time::Instant::now();
    house.stop().await;
    assert!(asked.elapsed() < std::time::Duration::from_secs(10), "it does not sit out its claim");
}

#[tokio::test]
async fn a_claim_that_is_being_answered_is_let_finish() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    fake.queue(1, &json!({}));
    fake.once("claim", Answer::Late(std::time::Duration::from_millis(100)));
    let house = House::start(folder.path(), &fake, 4, Scripted::new(|_, _| async { event("submitted") }));
    fake.wait_for("claim", 1).await;
    let log = house.stop().await;
    assert_eq!((fake.of("claim").len(), fake.order()), (1, vec!["health".to_owned(), "return 1".to_owned()]));
    let line = "task 1 of T-1: given back: this supervisor is stopping".to_owned();
    assert!(log.contains(&line), "{log:?}");
}
