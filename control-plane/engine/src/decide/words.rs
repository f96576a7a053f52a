//! How sentences name things.

use std::fmt::Write as _;

/// A name as the original's sentences quote it: single quotes, or double ones when the name holds a single one and no
/// double one; control characters and backslashes escaped, so that no name can forge a line.
pub(super) fn quote(name: &str) -> String {
    let mark = if name.contains('\'') && !name.contains('"') { '"' } else { '\'' };
    let mut out = String::with_capacity(name.len() + 2);
    out.push(mark);
    for c in name.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c if c == mark => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => {
                let code = u32::from(c);
                // Writing to a String cannot fail.
                let _ =
                    if code < 0x100 { write!(out, "\\x{code:02x}") } else { write!(out, "\\u{code:04x}") };
            }
            c => out.push(c),
        }
    }
    out.push(mark);
    out
}

/// Names in a row: `'a', 'b'`.
pub(super) fn quote_all<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(quote).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_as_python_does() {
        let check = |name: &str, text: &str| assert_eq!(quote(name), text);
        check("draft", "'draft'");
        check("it's", "\"it's\"");
        check("both ' and \"", "'both \\' and \"'");
        check("a\nb\\c\u{1b}", "'a\\nb\\\\c\\x1b'");
    }
}
