//! How long until a scheduled event fires.

use std::time::Duration;

/// How long until a scheduled event fires: `"90s"`, `"6h"` or a [`Duration`].
///
/// As text it is a number and one of s, m, h, d, at most 3650 days; the host checks it. A `Duration` is rounded up to
/// whole seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delay(String);

impl Delay {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// How many seconds the text says; `None` when it says none, or more than can be counted.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn seconds(&self) -> Option<u64> {
        let (unit_at, unit) = self.0.char_indices().next_back()?;
        let digits = &self.0[..unit_at];
        let seconds_each = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            _ => return None,
        };
        let has_form = digits.starts_with(|c: char| matches!(c, '1'..='9'))
            && digits.chars().all(|c| c.is_ascii_digit());
        if has_form { digits.parse::<u64>().ok()?.checked_mul(seconds_each) } else { None }
    }
}

impl From<&str> for Delay {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for Delay {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<Duration> for Delay {
    fn from(duration: Duration) -> Self {
        let whole = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
        Self(format!("{}s", whole.max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_rounded_up_to_seconds() {
        for (millis, text) in [(0, "1s"), (1, "1s"), (1_000, "1s"), (1_001, "2s"), (90_000, "90s")] {
            assert_eq!(Delay::from(Duration::from_millis(millis)).as_str(), text);
        }
        assert_eq!(Delay::from("6h").as_str(), "6h");
    }

    #[test]
    fn a_text_is_a_number_and_a_unit() {
        for (text, seconds) in [("90s", 90), ("5m", 300), ("6h", 21_600), ("3650d", 315_360_000)] {
            assert_eq!(Delay::from(text).seconds(), Some(seconds));
        }
        for text in ["", "s", "0s", "01s", "1.5h", "-1s", "5", "5 m", "5w", "99999999999999999999d", "5ü"] {
            assert_eq!(Delay::from(text).seconds(), None, "{text}");
        }
    }
}
