//! Who may knock: web pages of other sites may not.
//!
//! The API has no passwords yet, so a browser must not be able to carry a stranger's request here. A page of another site
//! says so in `Origin`. A page that had its own name point at this machine (DNS rebinding) is of the same origin, but
//! says that name in `Host`; so a name must be one that we were told, or `localhost`. An IP address in `Host` is fine: no
//! name was resolved, so nobody could have rebound it. Programs that are no browsers send the right `Host` and no `Origin`.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Uri, header};
use axum::middleware::Next;
use axum::response::Response;
use stateous_api::Code;

use crate::app::App;
use crate::refused::{Refused, quote};

/// The names under which this control plane is reached.
#[derive(Debug)]
pub(crate) struct Hosts {
    any: bool,
    /// Lower case; a host, or a host and port.
    names: Vec<String>,
}

impl Hosts {
    pub(crate) fn new(names: &[String]) -> Self {
        Self {
            any: names.iter().any(|name| name == "*"),
            names: names.iter().map(|name| normal(name)).collect(),
        }
    }

    fn lists(&self, authority: &str) -> bool {
        let host = host_of(authority);
        self.names.iter().any(|name| name == authority || name == host)
    }

    fn is_ours(&self, authority: &str) -> bool {
        let host = host_of(authority);
        self.any
            || is_ip(host)
            || host == "localhost"
            || host.ends_with(".localhost")
            || self.lists(authority)
    }

    /// Refuses a request that a foreign web page may have caused.
    fn check(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), Refused> {
        let foreign = |message: String| Err(Refused::new(Code::ForeignOrigin, message));
        let said =
            |name| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let host = said(header::HOST).or_else(|| uri.authority().map(ToString::to_string));
        let host = host.map(|host| normal(&host));
        if let Some(host) = &host
            && !self.is_ours(host)
        {
            return foreign(format!(
                "the host {} is not this control plane's; start it with that host name allowed, or use its IP address",
                quote(host)
            ));
        }
        let Some(origin) = said(header::ORIGIN) else { return Ok(()) };
        let from = origin.split_once("://").map(|(_, authority)| normal(authority));
        match from {
            Some(from) if host.as_deref().is_some_and(|host| same(host, &from)) || self.lists(&from) => {
                Ok(())
            }
            _ => foreign(format!("a web page of {} may not call this control plane", quote(&origin))),
        }
    }
}

/// The middleware in front of every route.
pub(crate) async fn guard(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Result<Response, Refused> {
    app.hosts.check(request.headers(), request.uri())?;
    Ok(next.run(request).await)
}

fn normal(authority: &str) -> String {
    authority.trim().to_ascii_lowercase()
}

/// Ports that are the default of a scheme may be written or not.
fn same(host: &str, origin: &str) -> bool {
    let bare = |authority: &str| {
        let port = &authority[host_of(authority).len()..];
        if matches!(port, ":80" | ":443" | ":") {
            host_of(authority).to_owned()
        } else {
            authority.to_owned()
        }
    };
    bare(host) == bare(origin)
}

/// Without the port; an IPv6 address keeps its brackets.
fn host_of(authority: &str) -> &str {
    let address_end = authority.rfind(']').map_or(0, |bracket| bracket + 1);
    match authority[address_end..].find(':') {
        Some(colon) => &authority[..address_end + colon],
        None => authority,
    }
}

fn is_ip(host: &str) -> bool {
    match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(inside) => inside.parse::<Ipv6Addr>().is_ok(),
        None => host.parse::<IpAddr>().is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(hosts: &[&str], host: &str, origin: Option<&str>, allowed: bool) {
        let hosts = Hosts::new(&hosts.iter().map(ToString::to_string).collect::<Vec<_>>());
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        let result = hosts.check(&headers, &Uri::from_static("/tokens"));
        assert_eq!(result.is_ok(), allowed, "{hosts:?} {host} {origin:?}: {result:?}");
    }

    #[test]
    fn programs_may_call_by_address_and_by_known_names() {
        for host in
            ["127.0.0.1:8080", "[::1]:8080", "localhost", "LOCALHOST:8080", "app.localhost", "10.1.2.3:8080"]
        {
            check(&[], host, None, true);
        }
        check(&[], "control-plane:8080", None, false);
        check(&["Control-Plane"], "control-plane:8080", None, true);
        check(&["*"], "anything.example", None, true);
    }

    #[test]
    fn pages_of_other_sites_may_not() {
        check(&[], "127.0.0.1:8080", Some("http://127.0.0.1:8080"), true);
        check(&[], "127.0.0.1:8080", Some("http://127.0.0.1:5173"), false);
        check(&[], "127.0.0.1:8080", Some("https://evil.example"), false);
        check(&[], "127.0.0.1:8080", Some("null"), false);
        check(&[], "evil.example", Some("http://evil.example"), false);
        check(&[], "localhost", Some("http://localhost:80"), true);
        check(&["*"], "127.0.0.1:8080", Some("https://evil.example"), false);
        // Behind a proxy that rewrites the host.
        check(&["console.example"], "127.0.0.1:8080", Some("https://console.example"), true);
        check(&["localhost:5173"], "127.0.0.1:8080", Some("http://localhost:5173"), true);
    }
}
