//! Instants as access logs write them, `10/Oct/2026:13:55:36 +0200`, and as reports do, `2026-10-10T11:55:36Z`.

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Seconds since 1970-01-01 UTC, or `None` when the text is no instant: 31 February and hour 25 are none.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let (local, zone) = text.split_once(' ')?;
    let mut parts = local.splitn(4, ['/', ':']);
    let day = digits(parts.next()?, 2)?;
    let month_name = parts.next()?;
    let month = 1 + MONTHS.iter().position(|name| *name == month_name)? as i64;
    let year = digits(parts.next()?, 4)?;
    let mut time = parts.next()?.split(':').map(|part| digits(part, 2));
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let is_east = match zone.as_bytes().first()? {
        b'+' => true,
        b'-' => false,
        _ => return None,
    };
    let (zone_hours, zone_minutes) = zone[1..].split_at_checked(2)?;
    let offset = digits(zone_hours, 2)? * 3_600 + digits(zone_minutes, 2)? * 60;

    let is_real = time.next().is_none()
        && (1..=days_in(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60
        && offset < 24 * 3_600;
    let seconds =
        days_before(year, month) * 86_400 + (day - 1) * 86_400 + hour * 3_600 + minute * 60 + second;
    is_real.then_some(if is_east { seconds - offset } else { seconds + offset })
}

/// The hour of the day, UTC.
pub(crate) fn hour(at: i64) -> usize {
    (at.rem_euclid(86_400) / 3_600) as usize
}

/// The instant as RFC 3339 writes it, UTC.
pub(crate) fn format(at: i64) -> String {
    let (mut days, seconds) = (at.div_euclid(86_400), at.rem_euclid(86_400));
    let mut year = 1970 + days.div_euclid(366);
    while days_before(year + 1, 1) <= days {
        year += 1;
    }
    days -= days_before(year, 1);
    let mut month = 1;
    while days >= days_in(year, month) {
        days -= days_in(year, month);
        month += 1;
    }
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", days + 1)
}

/// A number of exactly so many digits.
fn digits(text: &str, count: usize) -> Option<i64> {
    (text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to the first of this month.
fn days_before(year: i64, month: i64) -> i64 {
    let last = year - 1;
    let leap_days = last.div_euclid(4) - last.div_euclid(100) + last.div_euclid(400) - 477;
    (year - 1970) * 365 + leap_days + (1..month).map(|month| days_in(year, month)).sum::<i64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_read_and_written() {
        for (text, at, written) in [
            ("01/Jan/1970:00:00:00 +0000", 0, "1970-01-01T00:00:00Z"),
            ("10/Oct/2000:13:55:36 -0700", 971_211_336, "2000-10-10T20:55:36Z"),
            ("29/Feb/2024:23:59:59 +0530", 1_709_231_399, "2024-02-29T18:29:59Z"),
            ("31/Dec/2026:23:30:00 -0100", 1_798_763_400, "2027-01-01T00:30:00Z"),
            ("01/Mar/2100:00:00:00 +0000", 4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(parse(text), Some(at), "{text}");
            assert_eq!(format(at), written);
        }
        assert_eq!((hour(0), hour(971_211_336), hour(86_399)), (0, 20, 23));
    }

    #[test]
    fn what_is_no_instant_is_none() {
        for text in [
            "",
            "10/Oct/2000",
            "10/Oct/2000:13:55:36",
            "32/Oct/2026:13:55:36 +0000",
            "29/Feb/2026:13:55:36 +0000",
            "10/Okt/2026:13:55:36 +0000",
            "10/Oct/2026:25:55:36 +0000",
            "10/Oct/2026:13:60:36 +0000",
            "10/Oct/2026:13:55 +0000",
            "10/Oct/2026:13:55:36:1 +0000",
            "10/Oct/2026:13:55:36 0000",
            "10/Oct/2026:13:55:36 +00é0",
            "1/Oct/2026:13:55:36 +0000",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
