//! Instants and durations. Both are whole milliseconds, and nothing here asks what time it is.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An instant: milliseconds since 1970-01-01T00:00:00Z, by the control plane's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The instant `ms` milliseconds later; the end of time when that is beyond what an `i64` holds.
    #[must_use]
    pub fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// How many milliseconds this instant lies after `earlier`; negative when it lies before.
    #[must_use]
    pub fn ms_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// ISO 8601 in UTC with `Z` and microseconds, which are left out when they are zero: what the original's API
    /// sends, `2026-11-29T11:16:28.123000Z`.
    #[must_use]
    pub fn iso(self) -> String {
        let (days, ms_of_day) = (self.0.div_euclid(86_400_000), self.0.rem_euclid(86_400_000));
        let (year, month, day) = civil(days);
        let (seconds, ms) = (ms_of_day / 1000, ms_of_day % 1000);
        let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let fraction = if ms == 0 { String::new() } else { format!(".{ms:03}000") };
        format!("{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}{fraction}Z")
    }
}

impl Timestamp {
    /// The instant that [`Timestamp::iso`] wrote so; `None` for any other text.
    #[must_use]
    pub fn of_iso(text: &str) -> Option<Self> {
        let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
        let mut date = date.rsplitn(3, '-').map(|part| part.parse::<i64>().ok());
        let (day, month, year) = (date.next()??, date.next()??, date.next()??);
        let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
        let mut time = time.splitn(3, ':').map(|part| part.parse::<i64>().ok());
        let (h, m, s) = (time.next()??, time.next()??, time.next()??);
        let ms = fraction.get(..3).map_or(Some(0), |ms| ms.parse::<i64>().ok())?;
        if [h, m, s].iter().any(|part| !(0..60).contains(part)) {
            return None;
        }
        let found = Self(days(year, month, day)? * 86_400_000 + ((h * 60 + m) * 60 + s) * 1000 + ms);
        // Whatever is not exactly as it was written is something else.
        (found.iso() == text).then_some(found)
    }
}

/// The day of a civil date, counted from 1970-01-01: the inverse of [`civil`] (Howard Hinnant, `days_from_civil`). `None`
/// for dates that no clock will see.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(0..=999_999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let y = year - i64::from(month <= 2);
    let era = y.div_euclid(400);
    let yoe = y.rem_euclid(400);
    let doy = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719_468)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.iso())
    }
}

/// The civil date of a day counted from 1970-01-01, in the proleptic Gregorian calendar (Howard Hinnant,
/// "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`).
fn civil(days: i64) -> (i64, i64, i64) {
    let z = days.saturating_add(719_468);
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    (yoe + era * 400 + i64::from(month <= 2), month, day)
}

/// Milliseconds in `text`, a duration as users write it: a positive whole number and one of `s`, `m`, `h`, `d`, at most
/// 3650 days. `None` for anything else.
#[must_use]
pub fn parse_duration(text: &str) -> Option<i64> {
    let unit = match text.as_bytes().last()? {
        b's' => 1000,
        b'm' => 60_000,
        b'h' => 3_600_000,
        b'd' => 86_400_000,
        _ => return None,
    };
    let digits = &text[..text.len() - 1];
    let first = digits.bytes().next()?;
    if first == b'0' || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let ms = digits.parse::<i64>().ok()?.checked_mul(unit)?;
    (ms <= 3650 * 86_400_000).then_some(ms)
}

/// A lease in words, as a ledger entry says it: `2 minutes`, `1 minute`, `5 seconds`.
#[must_use]
pub fn span(ms: i64) -> String {
    let seconds = ms / 1000;
    let plural = |n: i64| if n == 1 { "" } else { "s" };
    if seconds % 60 == 0 && seconds > 0 {
        format!("{} minute{}", seconds / 60, plural(seconds / 60))
    } else {
        format!("{seconds} second{}", plural(seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_writes_what_python_writes() {
        let check = |ms: i64, text: &str| {
            assert_eq!(Timestamp(ms).iso(), text);
            assert_eq!(Timestamp::of_iso(text), Some(Timestamp(ms)));
        };
        check(0, "1970-01-01T00:00:00Z");
        check(1_795_950_988_123, "2026-11-29T11:16:28.123000Z");
        check(951_782_400_000, "2000-02-29T00:00:00Z");
        check(-1, "1969-12-31T23:59:59.999000Z");
        for other in
            ["", "Z", "2000-02-30T00:00:00Z", "2000-02-29T00:00:00", "2000-02-29T24:00:00Z", "1-1-1T1:1:1Z"]
        {
            assert_eq!(Timestamp::of_iso(other), None, "{other}");
        }
        assert_eq!(Timestamp::of_iso(&format!("2000-02-29T{}:00:00Z", i64::MAX)), None);
    }

    #[test]
    fn durations_have_one_number_and_one_unit() {
        let check = |text: &str, ms: Option<i64>| assert_eq!(parse_duration(text), ms, "{text:?}");
        check("1s", Some(1000));
        check("6h", Some(21_600_000));
        check("3650d", Some(315_360_000_000));
        for bad in [
            "",
            "s",
            "0s",
            "01s",
            "3651d",
            "1w",
            "1.5h",
            "+1s",
            "-1s",
            " 1s",
            "1s ",
            "99999999999999999999d",
            "٣s",
        ] {
            check(bad, None);
        }
    }

    #[test]
    fn spans_read_as_people_say_them() {
        assert_eq!(span(120_000), "2 minutes");
        assert_eq!(span(60_000), "1 minute");
        assert_eq!(span(5_000), "5 seconds");
        assert_eq!(span(1_000), "1 second");
    }
}
