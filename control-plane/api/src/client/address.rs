//! The control plane's URL: checked once, before anything is sent.
//!
//! A typo such as a blank or a stray `%` in the host passes many URL parsers and then looks like an outage, which is
//! tried again for ever. So the host is checked as it was written.

use std::net::IpAddr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Url;

use super::ClientError;

/// What stands for itself in one part of a path; everything else is percent-encoded, `/` too.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// How much of a wrong URL is shown.
const SHOWN: usize = 100;

/// A checked URL, without a slash at its end.
#[derive(Debug, Clone)]
pub(super) struct Address {
    text: String,
    pub(super) https: bool,
    /// The host is this machine.
    pub(super) loopback: bool,
}

impl Address {
    /// Checks `url`.
    pub(super) fn parse(url: &str) -> Result<Self, ClientError> {
        let text = url.trim_end_matches('/').to_owned();
        let wrong =
            |why: &str| ClientError::Url(format!("'{}' is not a URL of a control plane: {why}", shown(url)));
        let (scheme, rest) =
            text.split_once("://").ok_or_else(|| wrong("it begins with http:// or https://"))?;
        let https = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return Err(wrong("it begins with http:// or https://")),
        };
        if rest.contains(['?', '#']) {
            return Err(wrong("it has no '?' and no '#'"));
        }
        let authority = rest.split('/').next().unwrap_or_default();
        if authority.contains('@') {
            return Err(wrong("it names no user"));
        }
        let (host, port) = split_port(authority);
        if let Some(port) = port
            && !port.parse::<u16>().is_ok_and(|port| port > 0)
        {
            return Err(wrong("a port is a number from 1 to 65535"));
        }
        if !is_host(host) {
            let rule = "a host has only letters, digits, '-' and '.', or is an IP address";
            return Err(ClientError::Url(format!("'{}' has a host that is not valid: {rule}", shown(url))));
        }
        Url::parse(&text).map_err(|error| wrong(&error.to_string()))?;
        let loopback = bare(host)
            .parse::<IpAddr>()
            .map_or(host.eq_ignore_ascii_case("localhost"), |ip| ip.is_loopback());
        Ok(Self { text, https, loopback })
    }

    /// As it was given, without a slash at its end.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// The URL of a path; each part is percent-encoded with nothing safe.
    pub(super) fn join(&self, parts: &[&str]) -> Result<Url, ClientError> {
        let mut text = self.text.clone();
        for part in parts {
            if matches!(*part, "." | "..") {
                return Err(ClientError::Name((*part).to_owned()));
            }
            text.push('/');
            text.extend(utf8_percent_encode(part, UNRESERVED));
        }
        Url::parse(&text)
            .map_err(|error| ClientError::Url(format!("'{}' is not a URL: {error}", shown(&text))))
    }
}

/// The host, and the port if there is a `:` behind the host.
fn split_port(authority: &str) -> (&str, Option<&str>) {
    let host_end = authority.rfind(']').map_or(0, |bracket| bracket + 1);
    match authority[host_end..].rfind(':') {
        Some(colon) => (&authority[..host_end + colon], Some(&authority[host_end + colon + 1..])),
        None => (authority, None),
    }
}

fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// `_` is in no host name of the standards, but in service names of container networks.
fn is_host(host: &str) -> bool {
    if let Some(inside) = host.strip_prefix('[') {
        return inside.strip_suffix(']').is_some_and(|ip| ip.parse::<std::net::Ipv6Addr>().is_ok());
    }
    let label = |label: &str| {
        !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    };
    host.strip_suffix('.').unwrap_or(host).split('.').all(label)
}

fn shown(url: &str) -> String {
    match url.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &url[..end]),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_urls() {
        for url in [
            "http://127.0.0.1:8080",
            "http://127.0.0.1:8080/",
            "https://control-plane.example/stateous",
            "http://control_plane:80",
            "http://[::1]:8080",
            "HTTP://localhost",
            "http://example.com.",
        ] {
            Address::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
        }
        assert!(Address::parse("http://localhost:1").unwrap().loopback);
        assert!(Address::parse("http://[::1]:1").unwrap().loopback);
        assert!(!Address::parse("http://example.com").unwrap().loopback);
    }

    #[test]
    fn bad_urls_get_one_sentence() {
        let sentences: Vec<String> = [
            "",
            "127.0.0.1:8080",
            "ftp://example.com",
            "http://",
            "http://exa mple.com",
            "http://a%b.com",
            "http://bücher.example",
            "http://a:0",
            "http://a:65536",
            "http://a:",
            "http://u@a",
            "http://a?x=1",
            "http://[::1",
            "http://999.1.1.1",
            &format!("ftp://{}", "a".repeat(200)),
        ]
        .iter()
        .map(|url| Address::parse(url).unwrap_err().to_string())
        .collect();
        insta::assert_snapshot!(sentences.join("\n"));
    }

    #[test]
    fn parts_of_a_path_are_encoded_with_nothing_safe() {
        let address = Address::parse("http://a/base/").unwrap();
        let check = |parts: &[&str], url: &str| assert_eq!(address.join(parts).unwrap().as_str(), url);
        check(&["tokens", "ORDER-1_x~.y"], "http://a/base/tokens/ORDER-1_x~.y");
        check(&["tokens", "a/b c%?#+ü"], "http://a/base/tokens/a%2Fb%20c%25%3F%23%2B%C3%BC");
        assert_eq!(address.join(&["tokens", ".."]).unwrap_err(), ClientError::Name("..".into()));
    }
}
