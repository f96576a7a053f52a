//! The tables of a settings file that say what routines may do: `[http]`, `[settings]`, `[secrets]`, `[routines]`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};
use stateous_api::{HttpRule, Url};

use super::keys::{Keys, line, whole};
use super::{is_state, units};
use crate::web::{HttpSettings, Secret, Secrets};

/// The most bytes of a plain setting's value.
const SETTING_BYTES_MAX: usize = 64 << 10;
/// The most bytes of a secret's value: a header holds it.
const SECRET_BYTES_MAX: usize = 8 << 10;

/// `[http]`.
pub(super) fn http(table: Map<String, Value>, problems: &mut Vec<String>) -> HttpSettings {
    let usual = HttpSettings::default();
    let mut wrong = Vec::new();
    let mut keys = Keys::new("http.", table, problems);
    let allow =
        keys.take("allow", "a list of rules, such as [\"GET https://api.example.com/v1/\"]", |value| {
            let texts = texts(value)?;
            let rules = texts.iter().map(|text| text.parse::<HttpRule>());
            Some(rules.filter_map(|rule| rule.map_err(|error| wrong.push(error.to_string())).ok()).collect())
        });
    let private = keys.take("private", "a list of hosts, such as [\"ledger.internal\"]", hosts);
    let body = keys.take("body", "a size such as \"16MiB\", at most 1 GiB", |value| {
        let bytes = value.as_str().map_or_else(|| value.as_u64(), units::size);
        bytes.filter(|bytes| (1..=1 << 30).contains(bytes))
    });
    let timeout = keys.take("timeout", "a duration such as \"30s\" or \"5m\"", |value| {
        value.as_str().and_then(units::duration).filter(|wait| *wait >= Duration::from_secs(1))
    });
    let requests = keys.take("requests", "a whole number", |value| whole(value, 0, 1_000_000));
    keys.finish();
    problems.extend(wrong.into_iter().map(|why| format!("http.allow: {why}")));
    HttpSettings {
        allow: allow.unwrap_or_default(),
        private: private.unwrap_or_default(),
        body_bytes: body.unwrap_or(usual.body_bytes),
        timeout: timeout.unwrap_or(usual.timeout),
        requests: requests.unwrap_or(usual.requests),
    }
}

/// `[settings]`: names and texts, numbers or booleans, which routines read as text.
pub(super) fn plain(table: Map<String, Value>, problems: &mut Vec<String>) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    for (name, value) in table {
        let text = match &value {
            Value::String(text) => Some(text.clone()),
            Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
            _ => None,
        };
        let text = text.filter(|text| text.len() <= SETTING_BYTES_MAX);
        match (line(&Value::from(&*name), 1, 128), text) {
            (Some(name), Some(text)) => drop(settings.insert(name, text)),
            (None, _) => problems.push(format!("settings.{name:?}: a setting's name has 1 to 128 characters")),
            (_, None) => problems.push(format!(
                "settings.{name}: it is not a text of at most {SETTING_BYTES_MAX} bytes, a number, true or false"
            )),
        }
    }
    settings
}

/// `[secrets.NAME]`: where its value comes from, and who gets it. The value is read now and never shown.
pub(super) fn secrets(folder: &Path, table: Map<String, Value>, problems: &mut Vec<String>) -> Secrets {
    let mut secrets = BTreeMap::new();
    for (name, value) in table {
        let key = format!("secrets.{name}");
        if name.is_empty() || name.len() > 64 || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        {
            problems.push(format!("{key}: a secret's name has 1 to 64 letters, digits and _"));
            continue;
        }
        let Value::Object(table) = value else {
            problems.push(format!(
                "{key}: it is not a table such as {{ env = \"{name}\", hosts = [\"api.example.com\"] }}"
            ));
            continue;
        };
        let prefix = format!("{key}.");
        let before = problems.len();
        let mut keys = Keys::new(&prefix, table, problems);
        let env = keys.take("env", "the name of an environment variable", |value| line(value, 1, 256));
        let file = keys.take("file", "the path of a file", |value| line(value, 1, 4096));
        let hosts = keys.take("hosts", "a list of hosts, such as [\"api.example.com\"]", hosts);
        let states = keys.take("states", "a list of states, such as [\"orders/draft\"]", |value| {
            texts(value)?.into_iter().map(|state| is_state(&state).then_some(state)).collect()
        });
        keys.finish();
        let value = match (env, file) {
            (Some(env), None) => {
                std::env::var(&env).map_err(|_| format!(".env: the variable {env} is not set"))
            }
            (None, Some(file)) => {
                let path = folder.join(file);
                std::fs::read_to_string(&path)
                    .map_err(|error| format!(".file: cannot read {}: {error}", path.display()))
            }
            _ => Err(": it says `env` or `file`, one of them".to_owned()),
        };
        let value = value.and_then(|value| fit(&value));
        match (value, hosts) {
            (Ok(value), Some(hosts)) => drop(secrets.insert(name, Secret { value, hosts, states })),
            (value, hosts) if problems.len() == before => {
                problems.extend(value.err().map(|why| format!("{key}{why}")));
                if hosts.is_none() {
                    problems.push(format!("{prefix}hosts: it is missing; nobody gets the secret without"));
                }
            }
            _ => {}
        }
    }
    secrets
}

/// `[routines]`: components of this machine in place of uploaded ones, by `<workflow>/<state>`.
pub(super) fn routines(
    folder: &Path,
    table: Map<String, Value>,
    problems: &mut Vec<String>,
) -> BTreeMap<String, PathBuf> {
    let mut routines = BTreeMap::new();
    for (state, value) in table {
        match value.as_str() {
            Some(path) if state.contains('/') && is_state(&state) && !path.is_empty() => {
                routines.insert(state, folder.join(path));
            }
            _ => problems.push(format!(
                "routines.{state:?}: it is not a state and a file, such as \"orders/draft\" = \"target/draft.wasm\""
            )),
        }
    }
    routines
}

/// A secret's value without the line's end after it.
fn fit(value: &str) -> Result<String, String> {
    let value = value.trim_end_matches(['\r', '\n']);
    let fits =
        (1..=SECRET_BYTES_MAX).contains(&value.len()) && value.bytes().all(|b| (0x20..0x7f).contains(&b));
    if fits {
        return Ok(value.to_owned());
    }
    Err(format!(
        ": its value is not 1 to {SECRET_BYTES_MAX} visible ASCII characters, which a header can hold"
    ))
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
}

/// Hosts in the form in which a URL has them.
fn hosts(value: &Value) -> Option<BTreeSet<String>> {
    let host = |text: String| {
        let url = Url::parse(&format!("https://{text}/")).ok()?;
        let bare =
            url.path() == "/" && url.port().is_none() && url.username().is_empty() && url.query().is_none();
        url.host_str().filter(|_| bare && !text.contains(['*', '/', '?', '#'])).map(str::to_owned)
    };
    texts(value)?.into_iter().map(host).collect()
}
