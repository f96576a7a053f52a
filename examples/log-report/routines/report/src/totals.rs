//! Running totals over lines, small enough to be kept after every chunk, and the report that they become.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{instant, line};

/// How many names each table may hold. A log that has more keeps the first ones; the rest is counted under [`OTHERS`],
/// so that totals never outgrow what a state may remember.
const NAMES_MAX: usize = 2_000;
const OTHERS: &str = "(others)";
const TOP: usize = 10;
/// Of each reason: a log with a thousand lines of one kind still shows the one of another.
const SAMPLES_MAX: usize = 2;
const SAMPLE_CHARS_MAX: usize = 100;

/// What the lines so far come to.
#[derive(Serialize, Deserialize, Default)]
pub(crate) struct Totals {
    parsed: u64,
    bad: u64,
    bytes: u64,
    first: Option<i64>,
    last: Option<i64>,
    /// `[0]` is 1xx.
    by_class: [u64; 5],
    by_hour: [u64; 24],
    paths: BTreeMap<String, Tally>,
    clients: BTreeMap<String, Tally>,
    bad_samples: Vec<BadLine>,
}

#[derive(Serialize, Deserialize, Default, Clone, Copy)]
struct Tally {
    requests: u64,
    bytes: u64,
}

/// The payload of the event `reported`.
#[derive(Serialize)]
pub(crate) struct Report {
    lines: Lines,
    #[serde(skip_serializing_if = "Option::is_none")]
    period: Option<Period>,
    bytes: u64,
    /// The share of requests that the server failed to answer (5xx), 0 to 1.
    error_rate: f64,
    by_class: Classes,
    /// Requests in each hour of the day, UTC.
    by_hour: [u64; 24],
    top_paths: Vec<Count>,
    top_clients: Vec<Count>,
    bad_samples: Vec<BadLine>,
}

#[derive(Serialize)]
struct Lines {
    total: u64,
    parsed: u64,
    bad: u64,
}

#[derive(Serialize)]
struct Period {
    first: String,
    last: String,
}

#[derive(Serialize)]
struct Classes {
    #[serde(rename = "1xx")]
    informational: u64,
    #[serde(rename = "2xx")]
    success: u64,
    #[serde(rename = "3xx")]
    redirection: u64,
    #[serde(rename = "4xx")]
    client_error: u64,
    #[serde(rename = "5xx")]
    server_error: u64,
}

#[derive(Serialize)]
struct Count {
    name: String,
    requests: u64,
    bytes: u64,
}

#[derive(Serialize, Deserialize, Clone)]
struct BadLine {
    line: usize,
    why: String,
    text: String,
}

impl Totals {
    /// Counts one line; `number` is 1 for the log's first.
    pub(crate) fn add(&mut self, number: usize, line: &str) {
        let request = match line::parse(line) {
            Ok(request) => request,
            Err(why) => return self.add_bad(number, line, why.to_string()),
        };
        self.parsed += 1;
        self.bytes = self.bytes.saturating_add(request.bytes);
        self.first = Some(self.first.map_or(request.at, |first| first.min(request.at)));
        self.last = self.last.max(Some(request.at));
        self.by_class[usize::from(request.status / 100) - 1] += 1;
        self.by_hour[instant::hour(request.at)] += 1;
        count(&mut self.paths, request.path, request.bytes);
        count(&mut self.clients, request.client, request.bytes);
    }

    fn add_bad(&mut self, number: usize, line: &str, why: String) {
        self.bad += 1;
        if self.bad_samples.iter().filter(|sample| sample.why == why).count() < SAMPLES_MAX {
            self.bad_samples.push(BadLine { line: number, why, text: shown(line) });
        }
    }

    /// What is said of the lines so far.
    pub(crate) fn report(&self) -> Report {
        let [informational, success, redirection, client_error, server_error] = self.by_class;
        let rate = server_error as f64 / self.parsed.max(1) as f64;
        Report {
            lines: Lines { total: self.parsed + self.bad, parsed: self.parsed, bad: self.bad },
            period: self
                .first
                .zip(self.last)
                .map(|(first, last)| Period { first: instant::format(first), last: instant::format(last) }),
            bytes: self.bytes,
            error_rate: (rate * 10_000.0).round() / 10_000.0,
            by_class: Classes { informational, success, redirection, client_error, server_error },
            by_hour: self.by_hour,
            top_paths: top(&self.paths),
            top_clients: top(&self.clients),
            bad_samples: self.bad_samples.clone(),
        }
    }
}

/// The line's beginning, with what no terminal should print escaped.
fn shown(line: &str) -> String {
    let mut text = String::new();
    for character in line.chars().take(SAMPLE_CHARS_MAX) {
        match character {
            '"' | '\'' | '\\' => text.push(character),
            _ => text.extend(character.escape_debug()),
        }
    }
    text
}

fn count(table: &mut BTreeMap<String, Tally>, name: &str, bytes: u64) {
    let is_known = table.len() < NAMES_MAX || table.contains_key(name);
    let tally = table.entry(if is_known { name } else { OTHERS }.to_owned()).or_default();
    tally.requests += 1;
    tally.bytes = tally.bytes.saturating_add(bytes);
}

/// The names with the most requests; names that tie are in alphabetical order.
fn top(table: &BTreeMap<String, Tally>) -> Vec<Count> {
    let mut sorted: Vec<_> = table.iter().collect();
    sorted.sort_by_key(|(_, tally)| std::cmp::Reverse(tally.requests));
    let counts = sorted.into_iter().take(TOP);
    counts.map(|(name, &Tally { requests, bytes })| Count { name: name.clone(), requests, bytes }).collect()
}

/// One line for the token's history.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lines { total, bad, .. } = self.lines;
        let percent = self.error_rate * 100.0;
        write!(f, "{total} lines, {bad} of them bad; {} bytes sent; {percent:.2} % failed", self.bytes)
    }
}
