//! Leases: renewed, lost, over, and too short to begin.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use stateous_runtime::Outcome;
use tokio::sync::oneshot;

use crate::fake::{Answer, Fake};
use crate::house::{House, Scripted, event, left};

/// Tells when a routine is dropped.
struct Dropped(Option<oneshot::Sender<Instant>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.take().unwrap().send(Instant::now());
    }
}

/// A routine that writes a note and never ends, and the moment at which it is stopped.
fn endless() -> (Scripted, oneshot::Receiver<Instant>) {
    let (tell, told) = oneshot::channel();
    let tell = std::sync::Mutex::new(Some(tell));
    let routine = Scripted::new(move |_, mut ports| {
        let dropped = Dropped(tell.lock().unwrap().take());
        async move {
            let _dropped = dropped;
            ports.note("on it").await.unwrap();
            std::future::pending::<Outcome>().await
        }
    });
    (routine, told)
}

#[tokio::test]
async fn a_task_that_was_taken_back_is_stopped_at_once() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    fake.queue(1, &json!({"lease_ms": 4000}));
    // Its note is still in the outbox when it is lost.
    fake.always("note", Answer::Hang);
    let (routine, stopped) = endless();
    let house = House::start(folder.path(), &fake, 4, routine);
    fake.wait_for("note", 1).await;
    fake.take_back(1);
    fake.wait_for("heartbeat", 1).await;
    let lost = Instant::now();
    let stopped = stopped.await.unwrap();
    assert!(stopped.saturating_duration_since(lost) < Duration::from_millis(500), "not only at the next one");
    house.log.wait_for("task 1 of T-1: the control plane took it back; cancelling its routine").await;
    house.stop().await;
    assert_eq!(fake.of("report").len(), 0);
    assert_eq!(left(folder.path()).await.messages, [], "what it wrote is gone with it");
}

#[tokio::test]
async fn a_lease_that_could_not_be_renewed_ends_by_its_own_count() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    fake.queue(1, &json!({"lease_ms": 1000}));
    fake.always("heartbeat", Answer::Hang);
    let (routine, stopped) = endless();
    let begun = Instant::now();
    let house = House::start(folder.path(), &fake, 4, routine);
    let stopped = stopped.await.unwrap();
    assert!(stopped - begun >= Duration::from_millis(900), "{:?}", stopped - begun);
    let report = fake.wait_for("report", 1).await.remove(0);
    assert_eq!(report.body["error"], "lease_lost: no heartbeat was answered for 1 s");
    assert_eq!(
        fake.order(),
        ["health", "started 1", "routines", "note 1", "report 1"],
        "what it wrote is sent"
    );
    let log = house.stop().await;
    let line = "task 1 of T-1: lease_lost: no heartbeat was answered for 1 s; cancelling its routine";
    assert!(log.contains(&line.to_owned()), "{log:?}");
}

#[tokio::test]
async fn heartbeats_name_everything_and_keep_it() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    fake.queue(7, &json!({"lease_ms": 1200}));
    fake.queue(3, &json!({"lease_ms": 1200}));
    let done = Arc::new(tokio::sync::Notify::new());
    let routine = {
        let done = Arc::clone(&done);
        Scripted::new(move |_, _| {
            let done = Arc::clone(&done);
            async move {
                done.notified().await;
                event("submitted")
            }
        })
    };
    let house = House::start(folder.path(), &fake, 4, routine);
    // Twice as long as a lease without renewal.
    let beats = fake.wait_for("heartbeat", 8).await;
    let beat = &beats[7].body;
    assert_eq!((&beat["tasks"], &beat["incarnation"]["start"]), (&json!([3, 7]), &json!(1)));
    done.notify_waiters();
    fake.wait_for("report", 2).await;
    house.stop().await;
    assert!(fake.of("report").iter().all(|report| report.body["kind"] == "event"));
}

#[tokio::test]
async fn a_host_that_is_busy_with_a_routine_still_renews() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    fake.queue(1, &json!({"lease_ms": 1200}));
    let beats = fake.clone();
    let house = House::start(
        folder.path(),
        &fake,
        4,
        Scripted::new(move |_, _| {
            let beats = beats.clone();
            // Not a wait that gives way to others: the whole runtime stands still.
            async move {
                beats.block_for("heartbeat", 8);
                event("submitted")
            }
        }),
    );
    let reports = fake.wait_for("report", 1).await;
    house.stop().await;
    assert_eq!(reports[0].body["kind"], "event");
}

#[tokio::test]
async fn what_has_less_than_a_quarter_of_its_lease_is_given_back() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    fake.queue(1, &json!({"lease_ms": 2000}));
    fake.once("claim", Answer::Late(Duration::from_millis(1600)));
    let house = House::start(folder.path(), &fake, 4, Scripted::new(|_, _| async { event("submitted") }));
    let back = fake.wait_for("return", 1).await.remove(0);
    let line = "task 1 of T-1: given back: less than a quarter of its lease is left";
    house.log.wait_for(line).await;
    house.stop().await;
    assert_eq!((back.task, &back.body["attempt"]), (Some(1), &json!(1)));
    assert_eq!(fake.order(), ["health", "return 1"], "nothing ran, and nothing is reported");
}

#[tokio::test]
async fn a_lease_that_ended_on_the_way_begins_nothing() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    fake.queue(1, &json!({"lease_ms": 400}));
    fake.once("claim", Answer::Late(Duration::from_millis(500)));
    let ran = Arc::new(AtomicBool::new(false));
    let routine = {
        let ran = Arc::clone(&ran);
        Scripted::new(move |task, _| {
            if task.id == 1 {
                ran.store(true, Ordering::SeqCst);
            }
            async { event("submitted") }
        })
    };
    let house = House::start(folder.path(), &fake, 4, routine);
    fake.wait_for("claim", 2).await;
    fake.queue(2, &json!({}));
    let reports = fake.wait_for("report", 1).await;
    house.stop().await;
    assert_eq!(reports[0].task, Some(2));
    assert!(!ran.load(Ordering::SeqCst) && fake.of("started").iter().all(|call| call.task == Some(2)));
}
