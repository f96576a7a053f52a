//! Secrets: values that guests use and never see. `{{secret:NAME}}` in a header becomes the value, for the hosts that it is
//! granted to.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use http::{HeaderMap, HeaderValue};

/// How a guest names one.
const OPEN: &str = "{{secret:";
const CLOSE: &str = "}}";

/// One secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// What goes into headers.
    pub(crate) value: String,
    /// The hosts that may get it.
    pub hosts: BTreeSet<String>,
    /// Only for routines of these states, as `<workflow>/<state>`; `None` is all of them.
    pub states: Option<BTreeSet<String>>,
}

/// Never its value: settings are printed by tests and logs.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret")
            .field("hosts", &self.hosts)
            .field("states", &self.states)
            .finish_non_exhaustive()
    }
}

/// All secrets of a supervisor, by name.
pub type Secrets = BTreeMap<String, Secret>;

/// The secrets that routines of a state may use.
pub(crate) fn of_state(secrets: &Secrets, workflow: &str, state: &str) -> Secrets {
    let qualified = format!("{workflow}/{state}");
    let mine = secrets.iter().filter(|(_, secret)| {
        secret.states.as_ref().is_none_or(|states| states.contains(&qualified) || states.contains(state))
    });
    mine.map(|(name, secret)| (name.clone(), secret.clone())).collect()
}

/// Puts secrets into the headers of a request to `host`. An error says what is not granted, and how it would be.
pub(super) fn fill(
    headers: &mut HeaderMap,
    secrets: &Secrets,
    host: &str,
    private: bool,
) -> Result<(), String> {
    for value in headers.values_mut() {
        let Ok(text) = value.to_str() else { continue };
        if !text.contains(OPEN) {
            continue;
        }
        let filled = filled(text, secrets, host, private)?;
        let mut filled = HeaderValue::from_str(&filled)
            .map_err(|_| format!("the header with {text} is none once its secrets are in it"))?;
        filled.set_sensitive(true);
        *value = filled;
    }
    Ok(())
}

fn filled(text: &str, secrets: &Secrets, host: &str, plain: bool) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        let (name, after) =
            after.split_once(CLOSE).ok_or_else(|| format!("`{OPEN}` without `{CLOSE}` in a header"))?;
        let secret = secrets.get(name).ok_or_else(|| {
            format!(
                "there is no secret `{name}` for it; stateous.toml would say: [secrets.{name}] env = \"{name}\", \
                 hosts = [\"{host}\"]"
            )
        })?;
        if !secret.hosts.contains(host) {
            return Err(format!(
                "the secret `{name}` is not granted to {host}; stateous.toml would say: [secrets.{name}] hosts = \
                 [\"{host}\"]"
            ));
        }
        if plain {
            return Err(format!(
                "the secret `{name}` goes out over https only, unless `[http] private` names {host}"
            ));
        }
        out.push_str(before);
        out.push_str(&secret.value);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> Secrets {
        let secret = |value: &str, states: Option<&str>| Secret {
            value: value.to_owned(),
            hosts: ["api.example.com".to_owned()].into(),
            states: states.map(|state| [state.to_owned()].into()),
        };
        [("A".to_owned(), secret("s3cr3t", None)), ("B".to_owned(), secret("b", Some("orders/draft")))].into()
    }

    #[test]
    fn a_secret_goes_to_its_hosts_over_tls_only() {
        let check = |text: &str, host: &str, plain: bool| filled(text, &secrets(), host, plain);
        assert_eq!(check("Bearer {{secret:A}}", "api.example.com", false).unwrap(), "Bearer s3cr3t");
        assert_eq!(check("{{secret:A}}-{{secret:B}}", "api.example.com", false).unwrap(), "s3cr3t-b");
        assert_eq!(check("{{other:A}}", "evil.org", false).unwrap(), "{{other:A}}");
        for (text, host, plain) in [
            ("{{secret:A}}", "evil.org", false),
            ("{{secret:A}}", "api.example.com", true),
            ("{{secret:NONE}}", "api.example.com", false),
            ("{{secret:A", "api.example.com", false),
        ] {
            let why = check(text, host, plain).unwrap_err();
            assert!(!why.contains("s3cr3t"), "{why}");
        }
    }

    #[test]
    fn a_header_with_a_secret_is_not_printed() {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_static("Bearer {{secret:A}}"));
        fill(&mut headers, &secrets(), "api.example.com", false).unwrap();
        assert_eq!(headers["authorization"].as_bytes(), b"Bearer s3cr3t");
        assert!(!format!("{headers:?} {:?}", secrets()).contains("s3cr3t"));
    }

    #[test]
    fn a_state_sees_its_own_secrets() {
        assert_eq!(of_state(&secrets(), "orders", "draft").len(), 2);
        assert_eq!(of_state(&secrets(), "orders", "review").len(), 1);
    }
}
