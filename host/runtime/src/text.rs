//! Text from guests made fit for people: bounded, and without characters that play tricks on a terminal or a
//! database.

/// At most `max` bytes, cut between characters, with a mark where it was cut.
pub(crate) fn cut(text: &str, max: usize) -> String {
    const MARK: &str = "…";
    if text.len() <= max {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(max.saturating_sub(MARK.len()));
    format!("{}{MARK}", &text[..end])
}

/// New lines and tabs stay; every other control character, NUL among them, is written as an escape.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() && c != '\n' && c != '\t' {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// A size for people: `64 MiB`, `64.3 MiB`, `1000 bytes`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) if bytes.is_multiple_of(*unit) => format!("{} {name}", bytes / unit),
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / *unit as f64),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcdef", 5), "ab…");
        assert_eq!(cut("ääää", 7), "ää…");
        assert_eq!(cut("ää", 0), "…");
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\0b\x1b[31m\r\n\tc"), "a\\u{0}b\\u{1b}[31m\\r\n\tc");
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!(size(64 << 20), "64 MiB");
        assert_eq!(size(1000), "1000 bytes");
        assert_eq!(size(1536), "1.5 KiB");
    }
}
