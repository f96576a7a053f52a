//! One line of an access log: `client identity user [instant] "request" status bytes`, and whatever follows, as Apache
//! and nginx write it.

use crate::instant;

/// What one line says.
#[derive(Debug, PartialEq)]
pub(crate) struct Request<'a> {
    pub(crate) client: &'a str,
    /// Seconds since 1970-01-01 UTC.
    pub(crate) at: i64,
    /// Without its query; `-` when the request was no HTTP.
    pub(crate) path: &'a str,
    pub(crate) status: u16,
    pub(crate) bytes: u64,
}

/// Why a line says nothing.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum Bad {
    #[error("the line is empty")]
    Empty,
    #[error("it ends before the {0}")]
    Truncated(&'static str),
    #[error("the client is no address and no host name")]
    Client,
    #[error("the instant is not like [10/Oct/2026:13:55:36 +0000]")]
    Instant,
    #[error("the request is not in quotes")]
    Request,
    #[error("the status is no number from 100 to 599")]
    Status,
    #[error("the size is no number of bytes")]
    Bytes,
}

/// Reads one line, without its end.
pub(crate) fn parse(line: &str) -> Result<Request<'_>, Bad> {
    if line.trim().is_empty() {
        return Err(Bad::Empty);
    }
    let (client, rest) = word(line).ok_or(Bad::Truncated("identity"))?;
    if !client.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".:-_%".contains(&byte)) {
        return Err(Bad::Client);
    }
    let (_identity, rest) = word(rest).ok_or(Bad::Truncated("user"))?;
    let (_user, rest) = word(rest).ok_or(Bad::Truncated("instant"))?;
    let (at, rest) = rest.strip_prefix('[').ok_or(Bad::Instant)?.split_once(']').ok_or(Bad::Instant)?;
    let at = instant::parse(at).ok_or(Bad::Instant)?;
    let rest = rest.strip_prefix(' ').ok_or(Bad::Truncated("request"))?;
    let (request, rest) = quoted(rest)?;
    let rest = rest.strip_prefix(' ').ok_or(Bad::Truncated("status"))?;
    let (status, rest) = word(rest).ok_or(Bad::Truncated("size"))?;
    let bytes = rest.split(' ').next().unwrap_or_default();
    Ok(Request {
        client,
        at,
        path: path(request),
        status: status.parse().ok().filter(|status| (100..600).contains(status)).ok_or(Bad::Status)?,
        bytes: if bytes == "-" { 0 } else { bytes.parse().map_err(|_| Bad::Bytes)? },
    })
}

/// The text before the first space, and the text behind it.
fn word(text: &str) -> Option<(&str, &str)> {
    text.split_once(' ').filter(|(word, _)| !word.is_empty())
}

/// The text in quotes, and the text behind them. A quote inside is written `\"`.
fn quoted(text: &str) -> Result<(&str, &str), Bad> {
    let text = text.strip_prefix('"').ok_or(Bad::Request)?;
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' if !is_escaped => return Ok((&text[..at], &text[at + 1..])),
            b'\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    Err(Bad::Truncated("end of the request"))
}

/// `/search` of `GET /search?q=x HTTP/1.1`.
fn path(request: &str) -> &str {
    let mut words = request.split(' ');
    match (words.next(), words.next(), words.next(), words.next()) {
        (Some(_method), Some(target), Some(version), None) if version.starts_with("HTTP/") => {
            target.split(['?', '#']).next().unwrap_or(target)
        }
        _ => "-",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"192.0.2.7 - ada [10/Oct/2000:13:55:36 -0700] "GET /a?q=1 HTTP/1.1" 200 2326"#;

    #[test]
    fn a_line_is_read() {
        let request = Request { client: "192.0.2.7", at: 971_211_336, path: "/a", status: 200, bytes: 2326 };
        assert_eq!(parse(GOOD), Ok(request));

        let combined = format!(r#"{GOOD} "https://example.org/" "Mozilla/5.0 \"quoted\"""#);
        assert_eq!(parse(&combined).unwrap().bytes, 2326);
        let ipv6 = GOOD.replace("192.0.2.7", "2001:db8::7").replace("2326", "-");
        assert_eq!((parse(&ipv6).unwrap().client, parse(&ipv6).unwrap().bytes), ("2001:db8::7", 0));
        let quotes = GOOD.replace("/a?q=1", r#"/a\"b"#);
        assert_eq!(parse(&quotes).unwrap().path, r#"/a\"b"#);
        let not_http = GOOD.replace("GET /a?q=1 HTTP/1.1", r"\x16\x03\x01");
        assert_eq!(parse(&not_http).unwrap().path, "-");
    }

    #[test]
    fn a_bad_line_says_why() {
        for (line, why) in [
            (String::new(), Bad::Empty),
            (GOOD[..9].to_owned(), Bad::Truncated("identity")),
            (GOOD[..11].to_owned(), Bad::Truncated("user")),
            (GOOD[..40].to_owned(), Bad::Instant),
            (GOOD[..44].to_owned(), Bad::Truncated("request")),
            (GOOD[..60].to_owned(), Bad::Truncated("end of the request")),
            (GOOD[..66].to_owned(), Bad::Truncated("status")),
            (GOOD[..70].to_owned(), Bad::Truncated("size")),
            (GOOD.replace("192.0.2.7", "§\u{7f}"), Bad::Client),
            (GOOD.replace("10/Oct", "32/Oct"), Bad::Instant),
            (GOOD.replace("\"GET", "GET"), Bad::Request),
            (GOOD.replace("200 ", "999 "), Bad::Status),
            (GOOD.replace("2326", "2k"), Bad::Bytes),
        ] {
            assert_eq!(parse(&line), Err(why), "{line}");
        }
    }
}
