//! The form of what a guest hands over: keys, names, payloads, durations, notes. JSON itself is `json.rs`.
//! Whatever the control plane would refuse for its form is refused here, at the call, where the guest can
//! still do something about it.
//!
//! Sizes and depths leave room for the message that a value travels in: a body has at most 1 MiB and 64
//! levels, its own braces included.

use crate::json::json;
use crate::ports::{Refusal, RefusalCode as Code};
use crate::text;

/// The most bytes of one value in memory, and of everything that goes out with an outcome: 1 MiB less 4 KiB
/// for the message around it.
pub(crate) const BODY_BYTES_MAX: usize = (1 << 20) - (4 << 10);
/// The most levels of a value in memory and of an outcome's payload: `{"value": …}`.
pub(crate) const LEVELS_IN_BODY: usize = 63;
/// The most levels of a value in the context: `{"context": {"key": …}}`.
pub(crate) const LEVELS_IN_CONTEXT: usize = 62;
/// The most levels of a schedule's payload: `{"schedules": [{"payload": …}]}`.
pub(crate) const LEVELS_IN_SCHEDULE: usize = 61;

const KEY_CHARS_MAX: usize = 128;
const NOTE_CHARS_MAX: usize = 500;
const NAME_BYTES_MAX: usize = 64;
const DURATION_SECONDS_MAX: u64 = 3650 * 24 * 3600;

/// Events that only the engine fires.
const OWN_EVENTS: [&str; 3] = ["timeout", "error", "joined"];

/// A key of the memory: 1 to 128 characters, no NUL.
pub(crate) fn memory_key(key: &str) -> Result<(), Refusal> {
    let chars = key.chars().count();
    if chars == 0 || chars > KEY_CHARS_MAX {
        return Err(Refusal::new(
            Code::InvalidKey,
            format!("a memory key has 1 to {KEY_CHARS_MAX} characters, not {chars}"),
        ));
    }
    no_nul(key, "a memory key")
}

/// A key of the context: any text without NUL.
pub(crate) fn context_key(key: &str) -> Result<(), Refusal> {
    no_nul(key, "a context key")
}

fn no_nul(key: &str, what: &str) -> Result<(), Refusal> {
    if key.contains('\0') {
        let message =
            format!("{what} has no NUL character, but `{}` does", text::printable(&text::cut(key, 200)));
        return Err(Refusal::new(Code::InvalidKey, message));
    }
    Ok(())
}

/// A payload: a JSON object as text.
pub(crate) fn payload(value: &str, levels_max: usize) -> Result<(), Refusal> {
    json(value, levels_max)?;
    if value.trim_start().starts_with('{') {
        return Ok(());
    }
    let message = format!("a payload is a JSON object, not `{}`", text::printable(&text::cut(value, 60)));
    Err(Refusal::new(Code::InvalidEvent, message))
}

/// The name of an event that a workflow can have declared.
pub(crate) fn event(name: &str) -> Result<(), Refusal> {
    let well_formed = name.len() <= NAME_BYTES_MAX
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'));
    if !well_formed {
        let message = format!(
            "an event's name has 1 to {NAME_BYTES_MAX} of a-z, 0-9, _ and -, a letter first, but this is \
             `{}`",
            text::printable(&text::cut(name, 100))
        );
        return Err(Refusal::new(Code::InvalidEvent, message));
    }
    if OWN_EVENTS.contains(&name) {
        let message = format!("the event `{name}` is the engine's own: name one that the workflow declares");
        return Err(Refusal::new(Code::InvalidEvent, message));
    }
    Ok(())
}

/// A number and one of s, m, h, d, at most 3650d.
pub(crate) fn duration(after: &str) -> Result<(), Refusal> {
    let seconds = || {
        let unit = match after.as_bytes().last()? {
            b's' => 1,
            b'm' => 60,
            b'h' => 3600,
            b'd' => 24 * 3600,
            _ => return None,
        };
        let digits = &after[..after.len() - 1];
        let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
        if plain { digits.parse::<u64>().ok()?.checked_mul(unit) } else { None }
    };
    match seconds() {
        Some(seconds) if seconds <= DURATION_SECONDS_MAX => Ok(()),
        _ => {
            let message = format!(
                "a duration is a number and one of s, m, h, d, such as `90s`, and at most 3650d, but \
                 this is `{}`",
                text::printable(&text::cut(after, 60))
            );
            Err(Refusal::new(Code::InvalidDuration, message))
        }
    }
}

/// A note without the white space around it, or nothing if that is all there is.
pub(crate) fn note(text: &str) -> Result<Option<&str>, Refusal> {
    // The control plane counts the four separators as white space; Unicode does not.
    let text = text.trim_matches(|c: char| c.is_whitespace() || ('\x1c'..='\x1f').contains(&c));
    let chars = text.chars().count();
    if chars > NOTE_CHARS_MAX {
        let message = format!(
            "a note has at most {NOTE_CHARS_MAX} characters, not {chars}: shorten it, or keep it in the \
             memory"
        );
        return Err(Refusal::new(Code::TooLarge, message));
    }
    Ok((!text.is_empty()).then_some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(result: Result<(), Refusal>) -> &'static str {
        result.map_or_else(|refusal| refusal.code.as_str(), |()| "ok")
    }

    #[test]
    fn a_payload_is_an_object() {
        assert_eq!(code(payload("\n{}", 64)), "ok");
        assert_eq!(code(payload("[1]", 64)), "invalid_event");
        assert_eq!(code(payload("{", 64)), "invalid_json");
    }

    #[test]
    fn keys_have_characters_not_bytes() {
        assert_eq!(code(memory_key("ä")), "ok");
        assert_eq!(code(memory_key(&"ä".repeat(128))), "ok");
        assert_eq!(code(memory_key(&"a".repeat(129))), "invalid_key");
        assert_eq!(code(memory_key("")), "invalid_key");
        assert_eq!(code(memory_key("a\0")), "invalid_key");
        assert_eq!(code(context_key("")), "ok");
        assert_eq!(code(context_key("\0")), "invalid_key");
    }

    #[test]
    fn events_are_names_that_a_workflow_can_declare() {
        for name in ["done", "a", "a-b_c9", &"a".repeat(64)] {
            assert_eq!(code(event(name)), "ok", "{name}");
        }
        for name in [
            "",
            "Done",
            "9a",
            "_a",
            "a b",
            "ä",
            "a\0",
            &"a".repeat(65),
            "timeout",
            "error",
            "joined",
            "__started__",
        ] {
            assert_eq!(code(event(name)), "invalid_event", "{name}");
        }
    }

    #[test]
    fn durations_end_at_ten_years() {
        for after in ["1s", "90s", "15m", "6h", "3650d", "87600h", "315360000s"] {
            assert_eq!(code(duration(after)), "ok", "{after}");
        }
        let bad = [
            "",
            "s",
            "0s",
            "01s",
            "1",
            "1.5h",
            "-1s",
            "+1s",
            "1w",
            "1 s",
            "3651d",
            "99999999999999999999d",
            "1ä",
            "١s",
        ];
        for after in bad {
            assert_eq!(code(duration(after)), "invalid_duration", "{after}");
        }
    }

    #[test]
    fn notes_are_stripped_and_short() {
        assert_eq!(note("  a\nb \u{1f}").unwrap(), Some("a\nb"));
        assert_eq!(note(" \t\n\u{2003}").unwrap(), None);
        assert_eq!(code(note(&"ä".repeat(500)).map(drop)), "ok");
        assert_eq!(code(note(&"ä".repeat(501)).map(drop)), "too_large");
    }
}
