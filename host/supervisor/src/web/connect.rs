//! Connections for guests: names are resolved here, the addresses are checked, and what was checked is what is connected
//! to. A name that answers differently a moment later changes nothing.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use rustls_platform_verifier::BuilderVerifierExt as _;

use super::address::is_public;

/// How long a connection may take to come about.
pub(super) const CONNECT: Duration = Duration::from_secs(10);
/// How long an idle connection of an attempt is kept.
const IDLE: Duration = Duration::from_secs(30);

/// An address that a name has, and that may not be reached.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{host} is at {address}, which is no public address")]
pub(super) struct Private {
    pub(super) host: String,
    pub(super) address: IpAddr,
}

/// A name that nobody knows.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{host} has no address: {why}")]
pub(super) struct Unknown {
    host: String,
    why: String,
}

/// Resolves names for guests.
struct Checked {
    /// Hosts that may be at private addresses.
    private: Arc<BTreeSet<String>>,
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let any = self.private.contains(&host);
        Box::pin(async move {
            let found = tokio::net::lookup_host((&*host, 0)).await;
            let found = found.map(Iterator::collect::<Vec<_>>);
            let found = found.map_err(|error| Unknown { host: host.clone(), why: error.to_string() })?;
            Ok(permitted(&host, found, any)?)
        })
    }
}

fn permitted(host: &str, found: Vec<SocketAddr>, any: bool) -> Result<Addrs, Private> {
    let (good, bad): (Vec<_>, Vec<_>) = found.into_iter().partition(|at| any || is_public(at.ip()));
    match bad.first() {
        Some(at) if good.is_empty() => Err(Private { host: host.to_owned(), address: at.ip() }),
        _ => Ok(Box::new(good.into_iter())),
    }
}

/// Makes the clients of attempts. Each attempt has its own, so that no connection is shared between two.
pub(super) struct Connector {
    private: Arc<BTreeSet<String>>,
    /// Reading the system's certificates takes milliseconds: once, when first needed.
    tls: OnceLock<Result<rustls::ClientConfig, String>>,
}

impl Connector {
    pub(super) fn new(private: BTreeSet<String>) -> Self {
        Self { private: Arc::new(private), tls: OnceLock::new() }
    }

    /// A host that is an address already is checked here; all others when they are resolved.
    pub(super) fn check_literal(&self, host: &str) -> Result<(), Private> {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        match bare.parse::<IpAddr>() {
            Ok(address) if !is_public(address) && !self.private.contains(host) => {
                Err(Private { host: host.to_owned(), address })
            }
            _ => Ok(()),
        }
    }

    /// Whether the owner named the host as one that may be at a private address.
    pub(super) fn is_named(&self, host: &str) -> bool {
        self.private.contains(host)
    }

    /// A client for one attempt. Only one for https needs the system's certificates, so a machine without any can still
    /// send what needs none.
    pub(super) fn client(&self, https: bool) -> Result<reqwest::Client, String> {
        let tls = match https {
            true => self.tls.get_or_init(|| tls().map_err(|error| error.to_string())).clone()?,
            false => no_tls().map_err(|error| error.to_string())?,
        };
        reqwest::Client::builder()
            // A redirect is the guest's to follow, with a request that is checked again.
            .redirect(reqwest::redirect::Policy::none())
            // A proxy would connect to what we have not checked.
            .no_proxy()
            .referer(false)
            .http1_only()
            .connect_timeout(CONNECT)
            .pool_idle_timeout(IDLE)
            .dns_resolver(Arc::new(Checked { private: Arc::clone(&self.private) }))
            .tls_backend_preconfigured(tls)
            .build()
            .map_err(|error| error.to_string())
    }
}

fn tls() -> Result<rustls::ClientConfig, rustls::Error> {
    Ok(builder()?.with_platform_verifier()?.with_no_client_auth())
}

/// Trusts nobody.
fn no_tls() -> Result<rustls::ClientConfig, rustls::Error> {
    Ok(builder()?.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
}

fn builder() -> Result<rustls::ConfigBuilder<rustls::ClientConfig, rustls::WantsVerifier>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(addresses: &[&str]) -> Vec<SocketAddr> {
        addresses.iter().map(|a| SocketAddr::new(a.parse().unwrap(), 0)).collect()
    }

    #[test]
    fn private_answers_are_dropped_and_a_name_with_nothing_else_is_refused() {
        let names = |found: &[&str], any| {
            permitted("h", at(found), any).map(|left| left.map(|at| at.ip().to_string()).collect::<Vec<_>>())
        };
        assert_eq!(names(&["1.1.1.1", "127.0.0.1"], false).unwrap(), ["1.1.1.1"]);
        let refused = names(&["169.254.169.254", "::1"], false).unwrap_err();
        assert_eq!(refused.to_string(), "h is at 169.254.169.254, which is no public address");
        assert_eq!(names(&["10.0.0.1"], true).unwrap(), ["10.0.0.1"]);
    }

    #[test]
    fn a_literal_is_private_unless_it_is_named() {
        let connector = Connector::new(["10.0.0.1".to_owned()].into());
        for fine in ["10.0.0.1", "1.1.1.1", "example.com", "[2606:4700::1111]"] {
            connector.check_literal(fine).unwrap();
        }
        for private in ["127.0.0.1", "[::1]", "10.0.0.2", "169.254.169.254"] {
            connector.check_literal(private).unwrap_err();
        }
    }
}
