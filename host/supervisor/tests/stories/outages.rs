//! A control plane that cannot be reached: nothing is lost, nothing is sent out of order.

use std::sync::Arc;

use serde_json::json;
use stateous_supervisor::outbox::{Kind, NewMessage, Outbox};
use tokio::sync::Semaphore;

use crate::fake::{Answer, Fake};
use crate::house::{House, Scripted, event, left};

fn new(task: u64, kind: Kind, body: &str) -> NewMessage {
    let (token, body) = (format!("T-{task}"), body.into());
    NewMessage { task, attempt: 1, token, kind, body, created_at_ms: 0 }
}

fn submit() -> Scripted {
    Scripted::new(|_, _| async { event("submitted") })
}

#[tokio::test]
async fn what_is_left_is_sent_before_anything_is_claimed() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    let (outbox, _) = Outbox::open(folder.path(), "f").unwrap();
    outbox.put(new(8, Kind::Memory, r#"{"key":"k","value":1.00,"attempt":1}"#)).await.unwrap();
    outbox.put(new(9, Kind::Note, r#"{"text":"n","attempt":1}"#)).await.unwrap();
    outbox.put(new(8, Kind::Report, r#"{"kind":"waiting","attempt":1}"#)).await.unwrap();
    outbox.put(new(9, Kind::Report, r#"{"kind":"event","event":"late","attempt":1}"#)).await.unwrap();
    outbox.close().await;
    // The note's attempt is over: what follows it is not even tried.
    fake.once("note", Answer::Say(409, json!({"error": "it is over", "code": "attempt_over"})));
    fake.queue(1, &json!({}));
    let house = House::start(folder.path(), &fake, 4, submit());
    fake.wait_for("report", 2).await;
    let log = house.stop().await;
    let order = ["health", "memory 8", "note 9", "report 8", "started 1", "routines", "report 1"];
    assert_eq!(fake.order(), order);
    let first_claim = fake.calls().iter().position(|call| call.what == "claim").unwrap();
    assert_eq!(first_claim, 4, "after everything that was left");
    assert_eq!(fake.of("memory")[0].text, r#"{"key":"k","value":1.00,"attempt":1}"#, "byte for byte");
    assert!(log.contains(&"sending 4 message(s) left in the outbox".to_owned()), "{log:?}");
    assert!(log.contains(&"task 9: the control plane refused a note: it is over".to_owned()), "{log:?}");
    assert!(log.contains(&"task 8 of T-8: reported waiting".to_owned()), "{log:?}");
    assert_eq!(left(folder.path()).await.messages, []);
}

#[tokio::test]
async fn a_write_that_is_refused_at_the_drain_fails_its_attempt_too() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    let (outbox, _) = Outbox::open(folder.path(), "f").unwrap();
    outbox.put(new(8, Kind::Memory, r#"{"key":"k","value":1,"attempt":1}"#)).await.unwrap();
    outbox.put(new(8, Kind::Report, r#"{"kind":"event","event":"done","attempt":1}"#)).await.unwrap();
    outbox.close().await;
    fake.once("memory", Answer::Say(422, json!({"error": "no", "code": "invalid_payload"})));
    let house = House::start(folder.path(), &fake, 4, submit());
    fake.wait_for("claim", 1).await;
    house.stop().await;
    let reports = fake.of("report");
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].body["error"], "write_refused: the control plane refused a memory: no");
}

#[tokio::test]
async fn a_lost_claim_answer_is_asked_for_with_the_same_id() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    fake.queue(1, &json!({}));
    fake.once("claim", Answer::BreakOff);
    let house = House::start(folder.path(), &fake, 4, submit());
    fake.wait_for("report", 1).await;
    let log = house.stop().await;
    let claims = fake.of("claim");
    assert_eq!(claims[0].body["request"], claims[1].body["request"]);
    assert_ne!(claims[1].body["request"], claims[2].body["request"]);
    assert_eq!(claims[1].body.get("wait_ms"), None, "others wait for the answer to this one");
    let outage = log.iter().find(|line| line.starts_with("cannot reach")).unwrap();
    assert!(outage.starts_with(&format!("cannot reach the control plane at {} (", fake.url)), "{outage}");
    assert!(outage.ends_with("); trying again in 1s"), "{outage}");
}

#[tokio::test]
async fn an_outage_delays_and_loses_nothing() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    for task in 1..=4 {
        fake.queue(task, &json!({}));
    }
    let (go, noted) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let routine = {
        let (go, noted) = (Arc::clone(&go), Arc::clone(&noted));
        Scripted::new(move |_, mut ports| {
            let (go, noted) = (Arc::clone(&go), Arc::clone(&noted));
            async move {
                go.acquire().await.unwrap().forget();
                ports.note("while it is away").await.unwrap();
                noted.add_permits(1);
                event("submitted")
            }
        })
    };
    let house = House::start(folder.path(), &fake, 4, routine);
    fake.wait_for("routines", 4).await;
    fake.set_down(true);
    go.add_permits(4);
    noted.acquire_many(4).await.unwrap().forget();
    fake.wait_for("note", 1).await;
    fake.set_down(false);
    fake.wait_for("report", 4).await;
    house.stop().await;
    for task in 1..=4 {
        let of_task: Vec<_> =
            fake.order().into_iter().filter(|call| call.ends_with(&format!(" {task}"))).collect();
        assert_eq!(of_task.last().unwrap(), &format!("report {task}"));
        assert!(of_task.contains(&format!("note {task}")));
    }
    assert_eq!(left(folder.path()).await.messages, []);
}

#[tokio::test]
async fn an_answer_of_a_proxy_drops_nothing() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    fake.queue(1, &json!({}));
    fake.once("report", Answer::Say(502, json!("bad gateway")));
    fake.once("report", Answer::Say(429, json!("slow down")));
    let house = House::start(folder.path(), &fake, 4, submit());
    let reports = fake.wait_for("report", 3).await;
    house.stop().await;
    assert!(reports.iter().all(|report| report.text == reports[0].text));
}

#[tokio::test]
async fn a_page_that_says_yes_is_no_acceptance() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    fake.queue(1, &json!({}));
    fake.once("report", Answer::Say(302, json!("elsewhere")));
    fake.once("report", Answer::Say(200, json!("<html>please log in</html>")));
    let house = House::start(folder.path(), &fake, 4, submit());
    let reports = fake.wait_for("report", 3).await;
    house.stop().await;
    assert!(reports.iter().all(|report| report.text == reports[0].text));
}

#[tokio::test]
async fn an_empty_answer_keeps_the_request_id_so_that_nothing_falls_between() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    fake.once("claim", Answer::Say(200, json!({"grants": [], "waited_ms": 0})));
    let house = House::start(folder.path(), &fake, 4, submit());
    let claims = fake.wait_for("claim", 2).await;
    assert_eq!(claims[0].body["request"], claims[1].body["request"]);
    house.stop().await;
}

#[tokio::test]
async fn a_damaged_message_fails_its_attempt_and_the_rest_flows() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    let (outbox, _) = Outbox::open(folder.path(), "f").unwrap();
    let write = async |task: u64, kind: Kind, body: &str| {
        let (token, body) = (format!("T-{task}"), Arc::from(body));
        outbox.put(NewMessage { task, attempt: 1, token, kind, body, created_at_ms: 1 }).await.unwrap().id
    };
    write(1, Kind::Note, r#"{"text":"one","attempt":1}"#).await;
    let damaged = write(1, Kind::Memory, r#"{"key":"k","value":1,"attempt":1}"#).await;
    write(1, Kind::Report, r#"{"kind":"event","event":"done","attempt":1,"supervisor":"vm"}"#).await;
    write(2, Kind::Report, r#"{"kind":"event","event":"done","attempt":1,"supervisor":"vm"}"#).await;
    outbox.close().await;
    rusqlite::Connection::open(folder.path().join(".stateous/outbox.db"))
        .unwrap()
        .execute("UPDATE messages SET body = '?' WHERE id = ?1", [damaged])
        .unwrap();

    let house = House::start(folder.path(), &fake, 4, Scripted::new(|_, _| async { event("never") }));
    let reports = fake.wait_for("report", 2).await;
    fake.wait_for("claim", 1).await;
    let log = house.stop().await;
    assert_eq!(fake.order(), ["health", "note 1", "report 2", "report 1"]);
    assert_eq!(reports[0].body["event"], "done");
    assert_eq!(
        reports[1].body["error"],
        "outbox_damaged: a message of this attempt was damaged on the disk of vm and could not be sent (its checksum does not \
         match); it is kept aside in outbox.db"
    );
    let line =
        format!("message {damaged} in the outbox is damaged and is put aside: its checksum does not match");
    assert!(log.contains(&line), "{log:?}");
    assert_eq!(left(folder.path()).await, stateous_supervisor::outbox::Left::default());
}
