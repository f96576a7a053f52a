//! Attempts from grant to answered report, with a control plane that can be reached.

use serde_json::json;
use stateous_runtime::{Level, Outcome, PortError, RefusalCode};
use stateous_supervisor::{End, Error};

use crate::fake::{Answer, Fake};
use crate::house::{House, Scripted, event, left};

#[tokio::test]
async fn an_attempt_from_its_grant_to_its_report() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    fake.queue(
        1,
        &json!({"attempt": 2, "memory": {"at": [1]}, "entered_by": {"name": "go", "payload": {"n": 1.00}}}),
    );
    let house = House::start(
        folder.path(),
        &fake,
        4,
        Scripted::new(|task, mut ports| async move {
            assert_eq!((&*task.token, task.id, task.visit, task.attempt), ("T-1", 1, 1, 2));
            assert_eq!(
                (&*task.workflow, &*task.state, &*task.context),
                ("orders", "draft", r#"{"title":"x"}"#)
            );
            assert_eq!(task.memory["at"], "[1]");
            assert_eq!(task.entered_by.payload.as_deref(), Some(r#"{"n":1.0}"#));
            ports.set_memory("at", "[1,  2]").await.unwrap();
            ports.note("half way").await.unwrap();
            ports.delete_memory("at").await.unwrap();
            ports.log(Level::Info, "hello");
            event("submitted")
        }),
    );
    house.log.wait_for("task 1 of T-1: reported submitted").await;
    let report = fake.of("report").remove(0);
    let log = house.stop().await;

    assert_eq!(report.text, r#"{"kind":"event","event":"submitted","attempt":2,"supervisor":"vm"}"#);
    assert_eq!(
        fake.order(),
        ["health", "started 1", "routines", "memory 1", "note 1", "memory 1", "report 1"]
    );
    let texts: Vec<String> = fake.of("memory").into_iter().map(|call| call.text).collect();
    assert_eq!(
        texts,
        [r#"{"key":"at","value":[1,  2],"attempt":2}"#, r#"{"key":"at","value":null,"attempt":2}"#]
    );
    assert_eq!(fake.of("note")[0].body, json!({"text": "half way", "attempt": 2}));
    let claims = fake.of("claim");
    let claim = &claims[0].body;
    let incarnation = &claim["incarnation"];
    assert_eq!(
        (incarnation["start"].as_u64(), incarnation["folder"].as_str().map(str::len)),
        (Some(1), Some(32))
    );
    let started = json!({"supervisor": "vm", "attempt": 2, "incarnation": incarnation});
    assert_eq!(fake.of("started")[0].body, started);
    assert_eq!(
        (&claim["max"], &claim["wait_ms"], &claim["routines"]),
        (&json!(4), &json!(20_000), &json!(true))
    );
    assert_eq!(claims[1].body["max"], 3, "one slot is taken");
    assert_ne!(claims[0].body["request"], claims[1].body["request"]);
    let url = &fake.url;
    assert_eq!(
        log,
        [
            format!("vm serves every state that has a routine; the control plane is {url}"),
            "task 1: draft of T-1, attempt 2".into(),
            "task 1 of T-1 says: hello".into(),
            "task 1 of T-1: reported submitted".into(),
            "stopping: no new tasks; waiting for 0 routine(s) (signal again to stop now)".into(),
        ]
    );
    assert_eq!(left(folder.path()).await.messages, []);
}

#[tokio::test]
async fn many_at_once_keep_the_order_of_each() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    for task in 1..=12 {
        fake.queue(task, &json!({}));
    }
    let house = House::start(
        folder.path(),
        &fake,
        8,
        Scripted::new(|_, mut ports| async move {
            for n in 0..20 {
                ports.note(&n.to_string()).await.unwrap();
            }
            Outcome::Waiting
        }),
    );
    fake.wait_for("report", 12).await;
    house.stop().await;
    for task in 1..=12 {
        let order: Vec<String> =
            fake.order().into_iter().filter(|call| call.ends_with(&format!(" {task}"))).collect();
        assert_eq!(order[0], format!("started {task}"));
        assert_eq!(order[21], format!("report {task}"));
        let notes: Vec<String> = fake
            .of("note")
            .into_iter()
            .filter(|call| call.task == Some(task))
            .map(|call| call.body["text"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(notes, (0..20).map(|n| n.to_string()).collect::<Vec<_>>());
    }
    assert_eq!(fake.of("claim")[0].body["max"], 8);
}

#[tokio::test]
async fn what_must_not_begin_is_skipped() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    fake.once("started", Answer::Say(200, json!({"disposition": "skip", "reason": "the attempt is over"})));
    fake.queue(1, &json!({}));
    fake.once("started", Answer::Say(409, json!({"error": "not yours", "code": "task_not_held"})));
    fake.queue(2, &json!({}));
    fake.queue(3, &json!({}));
    let house = House::start(
        folder.path(),
        &fake,
        1,
        Scripted::new(|task, _| async move {
            assert_eq!(task.id, 3);
            event("submitted")
        }),
    );
    fake.wait_for("report", 1).await;
    let log = house.stop().await;
    assert!(
        log.contains(&"task 1 of T-1: its routine does not run: the attempt is over".to_owned()),
        "{log:?}"
    );
    assert!(
        log.contains(&"task 2 of T-2: the control plane refused its start: not yours".to_owned()),
        "{log:?}"
    );
    assert_eq!(fake.of("report").len(), 1);
}

#[tokio::test]
async fn failures_are_reported_with_their_reason() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    fake.queue(1, &json!({}));
    fake.once(
        "routines",
        Answer::Say(404, json!({"error": "no such component", "code": "routine_not_found"})),
    );
    fake.queue(2, &json!({}));
    fake.queue(3, &json!({"routine": null}));
    let house = House::start(
        folder.path(),
        &fake,
        1,
        Scripted::new(|_, _| async move {
            Outcome::Failed { message: "the disk\0 is on fire".into(), retry: false }
        }),
    );
    let reports = fake.wait_for("report", 3).await;
    house.stop().await;
    let check = |n: usize, error: &str, retry: Option<bool>| {
        assert_eq!(reports[n].body["kind"], "failed");
        assert_eq!(reports[n].body["error"].as_str().unwrap().replace(&fake.url, "URL"), error);
        assert_eq!(reports[n].body.get("retry").and_then(serde_json::Value::as_bool), retry);
    };
    check(
        0,
        "fetch_failed: the component sha256:d could not be fetched: the control plane at URL refused (404): no such component",
        None,
    );
    check(1, r"the disk\u{0} is on fire", Some(false));
    check(2, "this supervisor has no routine for 'draft'", None);
}

#[tokio::test]
async fn a_refused_memory_write_fails_the_attempt() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    fake.queue(1, &json!({}));
    fake.once("memory", Answer::Say(413, json!({"error": "too large", "code": "bad_request"})));
    let house = House::start(
        folder.path(),
        &fake,
        4,
        Scripted::new(|_, mut ports| async move {
            ports.set_memory("a", "1").await.unwrap();
            // It is stopped here; whatever it wrote after the refused write does not go out.
            let _ = ports.set_memory("b", "2").await;
            std::future::pending::<()>().await;
            event("submitted")
        }),
    );
    let reports = fake.wait_for("report", 1).await;
    let log = house.stop().await;
    assert_eq!(
        reports[0].text,
        r#"{"kind":"failed","error":"write_refused: the control plane refused a memory: too large","attempt":1,"supervisor":"vm"}"#
    );
    assert_eq!(fake.of("memory").len(), 1);
    assert!(log.contains(&"task 1: the control plane refused a memory: too large".to_owned()), "{log:?}");
    assert!(log.contains(&"task 1 of T-1: reported failed".to_owned()), "{log:?}");
    assert_eq!(left(folder.path()).await.messages, []);
}

#[tokio::test]
async fn a_refused_report_of_a_held_task_fails_it() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    fake.queue(1, &json!({}));
    let sentence = "no transition takes 'submitted' in 'draft'";
    fake.once("report", Answer::Say(409, json!({"error": sentence, "code": "event_not_allowed"})));
    let house = House::start(folder.path(), &fake, 4, Scripted::new(|_, _| async { event("submitted") }));
    let reports = fake.wait_for("report", 2).await;
    let log = house.stop().await;
    let error = format!("the control plane refused the report: {sentence}");
    assert_eq!(reports[1].body, json!({"kind": "failed", "error": error, "attempt": 1, "supervisor": "vm"}));
    assert!(log.contains(&format!("task 1 of T-1: {error}")), "{log:?}");
    assert_eq!(left(folder.path()).await.messages, []);
}

#[tokio::test]
async fn a_refused_report_of_a_lost_task_is_dropped() {
    for code in ["attempt_over", "event_not_allowed"] {
        let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
        fake.queue(1, &json!({}));
        fake.once("report", Answer::Say(409, json!({"error": "too late", "code": code})));
        fake.take_back(1);
        let house = House::start(folder.path(), &fake, 4, Scripted::new(|_, _| async { event("submitted") }));
        fake.wait_for("report", 1).await;
        let log = house.stop().await;
        assert_eq!(fake.of("report").len(), 1);
        assert!(
            log.contains(&"task 1 of T-1: the control plane refused the report: too late".to_owned()),
            "{log:?}"
        );
        assert_eq!(left(folder.path()).await.messages, []);
    }
}

#[tokio::test]
async fn a_failed_report_that_is_refused_is_dropped() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    fake.queue(1, &json!({}));
    fake.always("report", Answer::Say(422, json!({"error": "no", "code": "invalid_body"})));
    let house = House::start(folder.path(), &fake, 4, Scripted::new(|_, _| async { event("submitted") }));
    fake.wait_for("report", 2).await;
    let log = house.stop().await;
    assert_eq!(fake.of("report").len(), 2);
    assert!(
        log.contains(&"task 1 of T-1: the control plane refused the failure report too: no".to_owned()),
        "{log:?}"
    );
    assert_eq!(left(folder.path()).await.messages, []);
}

#[tokio::test]
async fn a_full_outbox_is_told_to_the_routine() {
    // A value that is not JSON stands for any write that the outbox does not get.
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    fake.queue(1, &json!({}));
    let house = House::start(
        folder.path(),
        &fake,
        4,
        Scripted::new(|_, mut ports| async move {
            match ports.set_memory("a", "nonsense").await {
                Err(PortError::Refused(refusal)) => assert_eq!(refusal.code, RefusalCode::InvalidJson),
                other => panic!("{other:?}"),
            }
            event("submitted")
        }),
    );
    fake.wait_for("report", 1).await;
    house.stop().await;
    assert!(fake.of("memory").is_empty());
}

#[tokio::test]
async fn it_does_not_start_on_a_folder_twice_or_at_a_stranger_s() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::start());
    let routines = || Scripted::new(|_, _| async { event("submitted") });
    let first = House::start(folder.path(), &fake, 4, routines());
    fake.wait_for("claim", 1).await;
    let (end, _) = House::start(folder.path(), &fake, 4, routines()).end().await;
    let wanted =
        format!("another supervisor runs on {} (pid {})", folder.path().display(), std::process::id());
    assert!(end.unwrap_err().to_string().starts_with(&wanted));
    first.stop().await;

    fake.once("health", Answer::Say(404, json!("what?")));
    let (end, _) = House::start(folder.path(), &fake, 4, routines()).end().await;
    match end.unwrap_err() {
        Error::Stranger { url, .. } => assert_eq!(url, fake.url),
        other => panic!("{other}"),
    }
    let again = House::start(folder.path(), &fake, 4, routines());
    again.stopper.signal();
    assert_eq!(again.end().await.0.unwrap(), End::Graceful, "the folder is free again");
}
