//! History lines, word for word the original's.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::json::python_style;
use super::lines::{escape, field, named_state};

/// `HH:MM:SS  #<seq>  <what happened>`, in the zone given: the user's own, outside tests.
pub(crate) fn entry_line(
    seq: u64,
    at: &str,
    kind: &str,
    data: &Map<String, Value>,
    zone: &TimeZone,
) -> String {
    format!("{}  #{seq}  {}", local(at, "%H:%M:%S", zone), what(kind, data, zone))
}

fn what(kind: &str, data: &Map<String, Value>, zone: &TimeZone) -> String {
    let get = |key: &str| field(data, key);
    match kind {
        "started" if data.contains_key("parent") => format!("started by {}", get("parent")),
        "branch_started" => format!("started the child {}", get("token")),
        "entered" => {
            let again = match data.get("visit").and_then(Value::as_u64) {
                Some(visit) if visit > 1 => format!(" (visit {visit})"),
                _ => String::new(),
            };
            format!("entered {}{again}", named_state(&get("state")))
        }
        "task_queued" => format!("task {} queued for {}", get("task"), get("state")),
        "task_claimed" => {
            format!("{} took task {} (attempt {})", get("supervisor"), get("task"), get("attempt"))
        }
        "task_started" => format!("task {} began (attempt {})", get("task"), get("attempt")),
        "task_done" => format!("task {} done", get("task")),
        "task_failed" => format!("task {} failed: {}", get("task"), get("error")),
        "task_returned" => {
            format!(
                "task {} was given back by {} (attempt {})",
                get("task"),
                get("supervisor"),
                get("attempt")
            )
        }
        "task_retrying" => format!("task {} is tried again (attempt {})", get("task"), get("attempt")),
        "task_cancelled" => format!("task {} cancelled", get("task")),
        "task_waiting" => format!("task {} waits: the work goes on outside", get("task")),
        "event_accepted" => {
            let payload = match data.get("payload") {
                Some(Value::Object(payload)) if !payload.is_empty() => {
                    format!(": {}", python_style(&Value::Object(payload.clone())))
                }
                _ => String::new(),
            };
            format!("{} in {}{payload}", get("event"), named_state(&get("state")))
        }
        "event_rejected" => format!("{} refused: {}", get("event"), get("reason")),
        "timer_set" => {
            format!("timer set: {} at {}", get("event"), local(&get("due_at"), "%Y-%m-%d %H:%M:%S", zone))
        }
        "timer_fired" => format!("timer fired: {}", get("event")),
        "note" => get("text"),
        "memory_set" => format!("memory set: {} (in {})", get("memory_key"), get("state")),
        "memory_deleted" => format!("memory deleted: {} (in {})", get("memory_key"), get("state")),
        "context_changed" => format!("context changed: {}", keys(data)),
        "cancelled" if data.contains_key("reason") => format!("cancelled: {}", get("reason")),
        "started" | "paused" | "resumed" | "completed" | "cancelled" | "retried" => kind.to_owned(),
        "event_deferred" => format!("{} held while paused", get("event")),
        "event_replayed" => format!("{} applied on resume", get("event")),
        "event_dropped" => format!("{} dropped on resume: {}", get("event"), get("reason")),
        "failed" => format!("failed: {}", get("reason")),
        other => format!("{} {}", escape(other), python_style(&Value::Object(data.clone()))),
    }
}

fn keys(data: &Map<String, Value>) -> String {
    match data.get("keys").and_then(Value::as_array) {
        None => "?".to_owned(),
        Some(keys) => {
            let names: Vec<String> =
                keys.iter().map(|k| k.as_str().map_or_else(|| escape(&k.to_string()), escape)).collect();
            names.join(", ")
        }
    }
}

/// An ISO 8601 time as date and time of day in the user's own zone.
pub(crate) fn local_time(at: &str) -> String {
    local(at, "%Y-%m-%d %H:%M:%S", &TimeZone::system())
}

/// An ISO 8601 time in `zone`; the text as it is when it is not a time.
fn local(at: &str, form: &str, zone: &TimeZone) -> String {
    at.parse::<Timestamp>()
        .map_or_else(|_| escape(at), |t| t.to_zoned_datetime(zone.clone()).strftime(form).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: &str, data: Value, text: &str) {
        let Value::Object(data) = data else { panic!("data is an object") };
        let line = entry_line(7, "2026-11-29T11:16:28.123000Z", kind, &data, &TimeZone::UTC);
        assert_eq!(line, format!("11:16:28  #7  {text}"));
    }

    #[test]
    fn every_kind_reads_as_the_original_prints_it() {
        use serde_json::json;
        check("started", json!({"context": {}}), "started");
        check("started", json!({"context": {}, "parent": "P"}), "started by P");
        check(
            "event_accepted",
            json!({"event": "__started__", "payload": null, "state": "__start__"}),
            "__started__ in START",
        );
        check(
            "event_accepted",
            json!({"event": "reviewed", "payload": {"approved": true, "note": ""}, "state": "review"}),
            r#"reviewed in review: {"approved": true, "note": ""}"#,
        );
        check("entered", json!({"state": "draft", "visit": 1}), "entered draft");
        check("entered", json!({"state": "draft", "visit": 2}), "entered draft (visit 2)");
        check("task_queued", json!({"task": 1, "state": "draft"}), "task 1 queued for draft");
        check(
            "task_claimed",
            json!({"task": 1, "supervisor": "vm", "attempt": 1}),
            "vm took task 1 (attempt 1)",
        );
        check("task_failed", json!({"task": 1, "error": "boom\nline"}), "task 1 failed: boom\\nline");
        check("task_retrying", json!({"task": 1, "attempt": 2}), "task 1 is tried again (attempt 2)");
        check("task_waiting", json!({"task": 1}), "task 1 waits: the work goes on outside");
        check(
            "timer_set",
            json!({"event": "timeout", "due_at": "2026-11-30T00:00:00Z"}),
            "timer set: timeout at 2026-11-30 00:00:00",
        );
        check("memory_set", json!({"state": "draft", "memory_key": "dev"}), "memory set: dev (in draft)");
        check("context_changed", json!({"keys": ["a", "b"]}), "context changed: a, b");
        check("cancelled", json!({"reason": "why"}), "cancelled: why");
        check("cancelled", json!({}), "cancelled");
        check("failed", json!({"reason": "why"}), "failed: why");
        check("retried", json!({}), "retried");
        check("brand_new", json!({"a": 1}), r#"brand_new {"a": 1}"#);
        check("note", json!({"task": 1}), "?");
    }
}
