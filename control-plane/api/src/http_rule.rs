//! One line of an allowlist of outgoing HTTP: which requests may go where.
//!
//! ```text
//! GET https://api.example.com/v1/          one method, one host, port 443, everything below /v1/
//! GET,POST https://*.example.com           two methods, every host below example.com
//! http://ledger.internal:8080/entries      any method, another port
//! ```
//!
//! A routine asks with such lines when it is uploaded, a supervisor grants with them in its `stateous.toml`; a request goes
//! out only when a line of each allows it. What an address may be is not a rule's question but the supervisor's.

use std::fmt;
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use reqwest::Url;

/// The most bytes of a rule.
pub const HTTP_RULE_BYTES_MAX: usize = 1024;
/// The most rules that a routine may ask with.
pub const HTTP_RULES_MAX: usize = 100;

/// Which requests may go where. See the [module](self) for its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRule {
    /// None: every method.
    methods: Vec<String>,
    /// `http` or `https`.
    scheme: String,
    host: Host,
    port: u16,
    /// Begins with a slash.
    path: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    Any,
    /// Every host whose name ends so; begins with a dot.
    Below(String),
    One(String),
}

/// Why a text is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{text}' is no HTTP rule: {why}; write it as 'GET https://api.example.com/v1/', with or without methods, port and path"
)]
pub struct HttpRuleError {
    text: String,
    why: &'static str,
}

impl FromStr for HttpRule {
    type Err = HttpRuleError;

    fn from_str(text: &str) -> Result<Self, HttpRuleError> {
        let wrong = |why| HttpRuleError { text: text.chars().take(200).collect(), why };
        if text.len() > HTTP_RULE_BYTES_MAX {
            return Err(wrong("it is longer than 1024 bytes"));
        }
        let mut words = text.split_ascii_whitespace();
        let (methods, url) = match (words.next(), words.next(), words.next()) {
            (Some(url), None, None) => (Vec::new(), url),
            (Some(methods), Some(url), None) => (methods.split(',').map(str::to_owned).collect(), url),
            _ => return Err(wrong("it has methods and a URL, one blank between them")),
        };
        if methods.iter().any(|method| !is_method(method)) {
            return Err(wrong("a method is capital letters, such as GET or PATCH"));
        }
        let (scheme, rest) = url.split_once("://").ok_or_else(|| wrong("its URL has no scheme"))?;
        // A star is no character of a host; what stands after it is read as any other URL.
        let (any, below, rest) = match rest.strip_prefix('*') {
            Some(after) => match after.strip_prefix('.') {
                Some(after) => (false, true, after.to_owned()),
                None => (true, false, format!("any{after}")),
            },
            None => (false, false, rest.to_owned()),
        };
        let url = Url::parse(&format!("{scheme}://{rest}")).map_err(|_| wrong("its URL cannot be read"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("its scheme is neither http nor https"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("a URL with a user is not allowed"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("a rule has a path but no query"));
        }
        let host = url.host_str().filter(|host| !host.is_empty() && !host.contains('*'));
        let host = host.ok_or_else(|| wrong("a star stands only at the start of a host"))?;
        if any && host != "any" {
            return Err(wrong("a star stands alone or before a dot"));
        }
        let host = match (any, below) {
            (true, _) => Host::Any,
            (_, true) => Host::Below(format!(".{host}")),
            _ => Host::One(host.to_owned()),
        };
        Ok(Self {
            methods,
            scheme: url.scheme().to_owned(),
            host,
            port: url.port_or_known_default().ok_or_else(|| wrong("its URL has no port"))?,
            path: url.path().to_owned(),
        })
    }
}

impl HttpRule {
    /// Whether a request may go out by this rule.
    #[must_use]
    pub fn allows(&self, method: &str, url: &Url) -> bool {
        (self.methods.is_empty() || self.methods.iter().any(|m| m == method))
            && self.scheme == url.scheme()
            && url.port_or_known_default() == Some(self.port)
            && url.host_str().is_some_and(|host| self.host.is(host))
            && below(&self.path, url.path())
    }
}

impl Host {
    fn is(&self, host: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Below(suffix) => host.len() > suffix.len() && host.ends_with(suffix),
            Self::One(one) => host == one,
        }
    }
}

impl fmt::Display for HttpRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.methods.is_empty() {
            write!(f, "{} ", self.methods.join(","))?;
        }
        match &self.host {
            Host::Any => write!(f, "{}://*", self.scheme)?,
            Host::Below(suffix) => write!(f, "{}://*{suffix}", self.scheme)?,
            Host::One(host) => write!(f, "{}://{host}", self.scheme)?,
        }
        let usual = if self.scheme == "https" { 443 } else { 80 };
        if self.port != usual {
            write!(f, ":{}", self.port)?;
        }
        f.write_str(&self.path)
    }
}

/// The smallest rule that allows a request, as it would be written.
#[must_use]
pub fn rule_for(method: &str, url: &Url) -> String {
    let mut bare = url.clone();
    bare.set_query(None);
    bare.set_fragment(None);
    format!("{method} {bare}")
}

/// Whether a path means one thing to everybody: no part of it is `.` or `..`, however it is spelled. A server that decodes
/// such a part would serve another path than the one that was checked.
#[must_use]
pub fn is_plain_path(path: &str) -> bool {
    let decoded = percent_decode_str(path).decode_utf8_lossy();
    // Twice encoded is what some servers decode twice.
    let again = percent_decode_str(&decoded).decode_utf8_lossy();
    [&*decoded, &*again]
        .iter()
        .all(|path| !path.contains(['\\', '\0']) && path.split('/').all(|part| part != "." && part != ".."))
}

/// `/v1` and `/v1/` allow `/v1/tokens`; neither allows `/v10`.
fn below(prefix: &str, path: &str) -> bool {
    let bare = prefix.trim_end_matches('/');
    path.strip_prefix(bare).is_some_and(|rest| {
        rest.starts_with('/') || (rest.is_empty() && (bare.len() == prefix.len() || bare.is_empty()))
    })
}

fn is_method(text: &str) -> bool {
    (1..=32).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_uppercase() || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_reads_back_as_it_is_written() {
        let check = |text: &str, wanted: &str| {
            assert_eq!(text.parse::<HttpRule>().unwrap().to_string(), wanted);
            assert_eq!(wanted.parse::<HttpRule>().unwrap(), text.parse::<HttpRule>().unwrap());
        };
        check("GET https://api.example.com/v1/", "GET https://api.example.com/v1/");
        check("GET,POST https://*.Example.com", "GET,POST https://*.example.com/");
        check("http://ledger:8080/a/../b", "http://ledger:8080/b");
        check("https://*", "https://*/");
        check("http://*:8080/x", "http://*:8080/x");
        check("https://[::1]:443", "https://[::1]/");
        check("http://2130706433", "http://127.0.0.1/");
    }

    #[test]
    fn what_is_no_rule_says_why() {
        for text in [
            "",
            "api.example.com",
            "get https://a",
            "GET POST https://a",
            "ftp://a",
            "https://",
            "https://u:p@a",
            "https://a/?q",
            "https://a/#f",
            "https://a.*.com",
            "https://*a.com",
            "https://*.*",
            "GET, https://a",
        ] {
            let error = text.parse::<HttpRule>().unwrap_err().to_string();
            assert!(error.contains("is no HTTP rule: "), "{error}");
        }
        assert!("https://a/".repeat(200).parse::<HttpRule>().is_err());
    }

    #[test]
    fn a_rule_allows_what_it_says_and_no_more() {
        let check = |rule: &str, method: &str, url: &str, allowed: bool| {
            let rule: HttpRule = rule.parse().unwrap();
            assert_eq!(rule.allows(method, &Url::parse(url).unwrap()), allowed, "{rule}: {method} {url}");
        };
        let rule = "GET https://api.example.com/v1";
        check(rule, "GET", "https://api.example.com/v1", true);
        check(rule, "GET", "https://API.example.com:443/v1/a?q=/../..", true);
        check(rule, "GET", "https://api.example.com/v10", false);
        check(rule, "GET", "https://api.example.com/", false);
        check(rule, "GET", "https://api.example.com/v1/../admin", false);
        check(rule, "GET", "https://api.example.com/v1/%2e%2e/admin", false);
        check(rule, "POST", "https://api.example.com/v1", false);
        check(rule, "GET", "http://api.example.com/v1", false);
        check(rule, "GET", "https://api.example.com:8443/v1", false);
        check(rule, "GET", "https://api.example.com.evil.org/v1", false);
        check(rule, "GET", "https://api.example.com./v1", false);
        check("https://a/v1/", "GET", "https://a/v1/x", true);
        check("https://a/v1/", "GET", "https://a/v1", false);
        check("https://*.example.com", "PUT", "https://a.b.example.com/x", true);
        check("https://*.example.com", "PUT", "https://example.com/x", false);
        check("https://*.example.com", "PUT", "https://badexample.com/x", false);
        check("https://*", "PUT", "https://anything.org/x", true);
        check("https://*", "PUT", "https://anything.org:1/x", false);
    }

    #[test]
    fn a_path_that_may_mean_another_is_not_plain() {
        for path in ["/", "/v1/a.b/..c", "/v1/%20", "/a//b", "/%2"] {
            assert!(is_plain_path(path), "{path}");
        }
        for path in
            ["/v1/..%2fadmin", "/v1/..", "/./a", "/%2E%2E/a", "/%252e%252e/a", "/a%5c..", "/a\\b", "/a%00"]
        {
            assert!(!is_plain_path(path), "{path}");
        }
    }
}
