//! What a supervisor is told: `stateous.toml` in its folder, or the original's `stateous.yaml`, under what the command
//! line gives.
//!
//! The folder needs nothing else. Routines come from the control plane, by digest.
//!
//! ```toml
//! url = "http://127.0.0.1:8080"      # the control plane; all that must be said
//! name = "build-box-1"               # in the tokens' histories; the host's name unless said
//! slots = 4                          # routines at once, 1 to 1000
//! states = ["draft", "orders/pack"]  # only these; every state that has a routine unless said
//!
//! [limits]                           # no routine gets more, whatever it was uploaded with
//! fuel = 1_000_000_000_000           # instructions, roughly
//! memory = "256MiB"
//! wall = "6h"
//!
//! [http]                             # what routines may send, if they ask for it too; nothing unless said
//! allow = ["GET https://api.example.com/v1/"]
//! private = ["ledger.internal"]      # hosts that may be at private addresses
//! body = "16MiB"                     # of a request, and of an answer
//! timeout = "5m"                     # from a request to the end of its answer
//! requests = 1000                    # of one attempt
//!
//! [settings]                         # what routines may read
//! city = "Bern"
//!
//! [secrets.API_TOKEN]                # what routines may use in headers, and never read
//! env = "API_TOKEN"                  # or file = "api-token"
//! hosts = ["api.example.com"]
//! states = ["orders/draft"]          # every state unless said
//!
//! [routines]                         # for development: these instead of what was uploaded
//! "orders/draft" = "target/draft.wasm"
//! ```
//!
//! Beside these: `cache = "2GiB"` is how much compiled routines may take on disk, `outbox = "1GiB"` how
//! much may wait to be sent, and `listen = "127.0.0.1:9464"` answers
//! `/healthz` and `/metrics` there.

mod keys;
mod tables;
#[cfg(test)]
mod tests;
mod units;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};
use stateous_api::Client;
use stateous_runtime::Limits;

use crate::outbox;
use crate::web::{HttpSettings, Secrets};
use keys::{Keys, line, whole};

/// The most routines at once: a heartbeat names at most so many tasks.
pub const SLOTS_MAX: u64 = 1000;

const TOML: &str = "stateous.toml";
const YAML: &str = "stateous.yaml";

/// How one supervisor works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The control plane.
    pub url: String,
    /// Its name in the tokens' histories, 1 to 128 characters. Two supervisors of one control plane need two names.
    pub name: String,
    /// How many routines run at once, 1 to [`SLOTS_MAX`].
    pub slots: usize,
    /// Only these states: `<state>` of the default workflow, `<workflow>/<state>` of any other. `None`: every state to
    /// which a routine is assigned.
    pub states: Option<Vec<String>>,
    /// No routine gets more than this, whatever it was uploaded with.
    pub caps: Limits,
    /// The most bytes of compiled routines on disk.
    pub cache_bytes: u64,
    /// The most bytes that wait to be sent.
    pub outbox_bytes: u64,
    /// Where `/healthz` and `/metrics` are answered; nowhere unless said.
    pub listen: Option<SocketAddr>,
    /// What routines may send.
    pub http: HttpSettings,
    /// What routines may read.
    pub settings: BTreeMap<String, String>,
    /// What routines may use in headers.
    pub secrets: Secrets,
    /// Components of this machine that run in place of uploaded ones, by `<workflow>/<state>`.
    pub routines: BTreeMap<String, PathBuf>,
}

/// What the command line or the environment gives. It goes before the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Given {
    /// The control plane.
    pub url: Option<String>,
    /// The supervisor's name.
    pub name: Option<String>,
    /// How many routines run at once.
    pub slots: Option<usize>,
}

/// Why the settings cannot be used. One line for people.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// There is no such folder.
    #[error("{} is not a folder", .0.display())]
    NoFolder(PathBuf),
    /// Nobody says where the control plane is.
    #[error("{} has no {TOML}: write `url = \"http://127.0.0.1:8080\"` into one, or give the URL", .0.display())]
    NoUrl(PathBuf),
    /// The file cannot be read.
    #[error("cannot read {}: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The file says something that cannot be.
    #[error("cannot use {}: {problems}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Every key that is wrong, and why.
        problems: String,
    },
    /// What the command line gives cannot be.
    #[error("{0}")]
    Given(String),
}

impl Settings {
    /// Reads the settings of a supervisor's folder.
    ///
    /// # Errors
    /// When the folder or its file is not there or not right, or the command line gives something that cannot be.
    pub fn load(folder: &Path, given: Given) -> Result<Self, SettingsError> {
        if !folder.is_dir() {
            return Err(SettingsError::NoFolder(folder.to_owned()));
        }
        let (path, file) = read_file(folder)?;
        let mut problems = Vec::new();
        let mut found = Found::read(folder, file, path.ends_with(YAML), &mut problems);
        if !problems.is_empty() {
            return Err(SettingsError::Wrong { path, problems: problems.join("; ") });
        }
        let url = given.url.or_else(|| found.url.take()).ok_or(SettingsError::NoUrl(folder.to_owned()))?;
        let url = match Client::new(&url) {
            Ok(client) => client.url().to_owned(),
            Err(error) => return Err(SettingsError::Given(error.to_string())),
        };
        let name = given.name.or_else(|| found.name.take()).unwrap_or_else(host);
        let name = line(&Value::from(name.as_str()), 1, 128).ok_or_else(|| {
            SettingsError::Given(format!(
                "{name:?} is not a supervisor's name, which has 1 to 128 characters"
            ))
        })?;
        let slots = given.slots.or(found.slots).unwrap_or(4);
        if !(1..=SLOTS_MAX).contains(&(slots as u64)) {
            let why = format!("a supervisor runs 1 to {SLOTS_MAX} routines at once, not {slots}");
            return Err(SettingsError::Given(why));
        }
        let Found { states, caps, rest, .. } = found;
        let Rest { cache_bytes, outbox_bytes, listen, http, settings, secrets, routines } = rest;
        Ok(Self {
            url,
            name,
            slots,
            states,
            caps,
            cache_bytes,
            outbox_bytes,
            listen,
            http,
            settings,
            secrets,
            routines,
        })
    }
}

/// What a file says.
struct Found {
    url: Option<String>,
    name: Option<String>,
    slots: Option<usize>,
    states: Option<Vec<String>>,
    caps: Limits,
    rest: Rest,
}

/// What only our own file can say.
struct Rest {
    cache_bytes: u64,
    outbox_bytes: u64,
    listen: Option<SocketAddr>,
    http: HttpSettings,
    settings: BTreeMap<String, String>,
    secrets: Secrets,
    routines: BTreeMap<String, PathBuf>,
}

impl Default for Rest {
    fn default() -> Self {
        Self {
            cache_bytes: 2 << 30,
            outbox_bytes: outbox::BYTES_MAX,
            listen: None,
            http: HttpSettings::default(),
            settings: BTreeMap::new(),
            secrets: Secrets::new(),
            routines: BTreeMap::new(),
        }
    }
}

impl Found {
    fn read(folder: &Path, file: Map<String, Value>, original: bool, problems: &mut Vec<String>) -> Self {
        let mut keys = Keys::new("", file, problems);
        let url =
            keys.take("url", "the URL of a control plane, such as \"http://127.0.0.1:8080\"", |value| {
                value.as_str().filter(|url| Client::new(url).is_ok()).map(str::to_owned)
            });
        // The original says `tasks`.
        let slots =
            keys.take(if original { "tasks" } else { "slots" }, "a whole number from 1 to 1000", |value| {
                whole(value, 1, SLOTS_MAX).and_then(|slots| usize::try_from(slots).ok())
            });
        let name = keys.take("name", "a text of 1 to 128 characters", |value| line(value, 1, 128));
        let mut caps = Limits::default_caps();
        if original {
            keys.finish();
            return Self { url, name, slots, states: None, caps, rest: Rest::default() };
        }
        let states = keys.take("states", "a list of states, such as [\"orders/draft\"]", states);
        let cache = keys.take("cache", "a size such as \"2GiB\"", |value| {
            value.as_str().map_or_else(|| value.as_u64(), units::size).filter(|bytes| *bytes > 0)
        });
        let outbox = keys.take("outbox", "a size such as \"1GiB\", at least 1 MiB", |value| {
            value.as_str().map_or_else(|| value.as_u64(), units::size).filter(|bytes| *bytes >= 1 << 20)
        });
        let listen = keys.take("listen", "an address and port, such as \"127.0.0.1:9464\"", |value| {
            value.as_str().and_then(|text| text.parse().ok())
        });
        let [limits, http, settings, secrets, routines] =
            ["limits", "http", "settings", "secrets", "routines"].map(|table| keys.table(table));
        keys.finish();
        read_caps(&mut caps, Keys::new("limits.", limits, problems));
        let rest = Rest {
            cache_bytes: cache.unwrap_or(Rest::default().cache_bytes),
            outbox_bytes: outbox.unwrap_or(outbox::BYTES_MAX),
            listen,
            http: tables::http(http, problems),
            settings: tables::plain(settings, problems),
            secrets: tables::secrets(folder, secrets, problems),
            routines: tables::routines(folder, routines, problems),
        };
        Self { url, name, slots, states, caps, rest }
    }
}

fn read_caps(caps: &mut Limits, mut keys: Keys<'_>) {
    let fuel = keys.take("fuel", "a whole number of instructions", |value| whole(value, 1, i64::MAX as u64));
    let memory = keys.take("memory", "a size such as \"256MiB\", at most 4 GiB", |value| {
        let bytes = value.as_str().map_or_else(|| value.as_u64(), units::size);
        bytes.filter(|bytes| (1..=4 << 30).contains(bytes))
    });
    let wall = keys.take("wall", "a duration such as \"90s\", \"10m\" or \"6h\"", |value| {
        value.as_str().and_then(units::duration)
    });
    keys.finish();
    caps.fuel = fuel.unwrap_or(caps.fuel);
    caps.memory_bytes = memory.unwrap_or(caps.memory_bytes);
    caps.wall = wall.unwrap_or(caps.wall).max(Duration::from_millis(1));
}

fn states(value: &Value) -> Option<Vec<String>> {
    let list = value.as_array()?;
    if list.is_empty() || list.len() > 1000 {
        return None;
    }
    list.iter().map(|state| state.as_str().filter(|state| is_state(state)).map(str::to_owned)).collect()
}

/// `<state>`, or `<workflow>/<state>`.
fn is_state(text: &str) -> bool {
    let name = |name: &str| {
        name.len() <= 64
            && name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_'))
    };
    text.split_once('/').map_or_else(|| name(text), |(workflow, state)| name(workflow) && name(state))
}

/// The folder's file and what it says; nothing when there is none, which is fine if the command line says enough.
fn read_file(folder: &Path) -> Result<(PathBuf, Map<String, Value>), SettingsError> {
    for name in [TOML, YAML] {
        let path = folder.join(name);
        let unreadable = |why: String| SettingsError::Unreadable { path: path.clone(), why: one_line(&why) };
        let text = match std::fs::read(&path) {
            Ok(bytes) => String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8 text".into()))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(unreadable(error.to_string())),
        };
        let value: Value = if name == TOML {
            toml::from_str(&text).map_err(|error| unreadable(toml_problem(&text, &error)))?
        } else {
            serde_saphyr::from_str(&text).map_err(|error| unreadable(error.without_snippet().to_string()))?
        };
        return match value {
            Value::Object(keys) => Ok((path, keys)),
            Value::Null => Ok((path, Map::new())),
            _ => Err(SettingsError::Wrong { path, problems: "it is not a list of settings by name".into() }),
        };
    }
    Ok((folder.join(TOML), Map::new()))
}

fn toml_problem(text: &str, error: &toml::de::Error) -> String {
    match error.span() {
        Some(span) => format!("line {}: {}", text[..span.start].matches('\n').count() + 1, error.message()),
        None => error.message().to_owned(),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// This machine's name.
fn host() -> String {
    gethostname::gethostname().to_string_lossy().into_owned()
}
