//! Sizes and durations as people write them in settings.

use std::time::Duration;

/// `90s`, `10m`, `6h`, `1d`: a positive whole number and a unit, at most 3650d. `None` for anything else.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = split(text)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    let seconds = number.checked_mul(seconds)?;
    (seconds <= 3650 * 86_400).then_some(Duration::from_secs(seconds))
}

/// `64MiB`, `1GiB`, `512KiB`: a positive whole number and a unit, in bytes. `None` for anything else.
pub(super) fn size(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let bytes = match unit {
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(bytes)
}

fn split(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(end);
    if number.starts_with('0') {
        return None;
    }
    Some((number.parse().ok()?, unit.trim_start_matches(' ')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let check = |text: &str, seconds: Option<u64>| {
            assert_eq!(duration(text), seconds.map(Duration::from_secs), "{text:?}");
        };
        check("1s", Some(1));
        check("10m", Some(600));
        check("6h", Some(21_600));
        check("3650d", Some(315_360_000));
        for bad in ["", "s", "5", "0s", "01s", "3651d", "1w", "1.5h", "-1s", "+1s", "99999999999999999999s"] {
            check(bad, None);
        }
    }

    #[test]
    fn sizes() {
        let check = |text: &str, bytes: Option<u64>| assert_eq!(size(text), bytes, "{text:?}");
        check("64MiB", Some(64 << 20));
        check("1 GiB", Some(1 << 30));
        check("512KiB", Some(512 << 10));
        for bad in ["", "64", "64MB", "0MiB", "64mib", "99999999999999GiB", "-1MiB"] {
            check(bad, None);
        }
    }
}
