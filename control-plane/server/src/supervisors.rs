//! Who is alive: the supervisors that spoke to this control plane lately, and what they asked for.
//!
//! Kept in memory only. A supervisor that finds no work asks again and again, and must not cost a flush of the disk each
//! time; after a restart the list fills up as they ask. Nothing is decided by it: it is for people.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stateous_engine::Timestamp;
use stateous_store::QueuedFilter;

/// Who was not heard of for so long leaves the list, in milliseconds.
const LISTED_MS: i64 = 10 * 60_000;
/// Who was not heard of for so long does not serve its states any more, in milliseconds.
const SERVES_MS: i64 = 2 * 60_000;
/// About the most bytes that all names and states may take; beyond it, who was silent longest is forgotten first.
const BYTES: usize = 16 << 20;
/// What an entry or a text costs besides its letters.
const OVERHEAD: usize = 64;

/// A supervisor that spoke.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// When it spoke last.
    pub(crate) at: Timestamp,
    /// What its last claim asked for; `None` when it only told of work that it has.
    pub(crate) asks: Option<Arc<QueuedFilter>>,
}

/// Everybody who spoke.
#[derive(Debug, Default)]
pub(crate) struct Supervisors {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    seen: BTreeMap<String, Seen>,
    bytes: usize,
}

impl Supervisors {
    /// A supervisor spoke of work that it has.
    pub(crate) fn spoke(&self, name: &str, now: Timestamp) {
        self.lock().put(name, None, now);
    }

    /// A supervisor asked for work.
    pub(crate) fn asked(&self, name: &str, asks: &QueuedFilter, now: Timestamp) {
        self.lock().put(name, Some(asks), now);
    }

    /// Those that spoke lately, by name.
    pub(crate) fn listed(&self, now: Timestamp) -> Vec<(String, Seen)> {
        let known = self.lock();
        let lately = known.seen.iter().filter(|(_, seen)| now.ms_since(seen.at) <= LISTED_MS);
        lately.map(|(name, seen)| (name.clone(), seen.clone())).collect()
    }

    /// What is asked for by those that can be counted on.
    pub(crate) fn asking(&self, now: Timestamp) -> Vec<QueuedFilter> {
        let known = self.lock();
        let serving = known.seen.values().filter(|seen| now.ms_since(seen.at) <= SERVES_MS);
        let mut found: Vec<Arc<QueuedFilter>> = Vec::new();
        for asks in serving.filter_map(|seen| seen.asks.as_ref()) {
            // Supervisors of one kind ask for the same.
            if found.last() != Some(asks) {
                found.push(Arc::clone(asks));
            }
        }
        drop(known);
        found.iter().map(|asks| (**asks).clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn put(&mut self, name: &str, asks: Option<&QueuedFilter>, now: Timestamp) {
        if let Some(seen) = self.seen.get_mut(name) {
            seen.at = now;
            let Some(asks) = asks.filter(|asks| seen.asks.as_deref() != Some(asks)) else { return };
            self.bytes -= seen.asks.as_deref().map_or(0, size);
            self.bytes += size(asks);
            seen.asks = Some(Arc::new(asks.clone()));
        } else {
            self.bytes += OVERHEAD + name.len() + asks.map_or(0, size);
            self.seen.insert(name.to_owned(), Seen { at: now, asks: asks.cloned().map(Arc::new) });
        }
        if self.bytes > BYTES {
            self.forget(now);
        }
    }

    /// Forgets who left the list, and when that does not suffice, the half that was silent longest.
    fn forget(&mut self, now: Timestamp) {
        self.seen.retain(|_, seen| now.ms_since(seen.at) <= LISTED_MS);
        self.count();
        while self.bytes > BYTES {
            let mut times: Vec<Timestamp> = self.seen.values().map(|seen| seen.at).collect();
            times.sort_unstable();
            let middle = times.len() / 2;
            let (until, mut left) = (times[middle], middle + 1);
            // Many may have spoken at one instant: only so many of them go.
            self.seen.retain(|_, seen| {
                let goes = left > 0 && seen.at <= until;
                left -= usize::from(goes);
                !goes
            });
            self.count();
        }
    }

    fn count(&mut self) {
        let of =
            |(name, seen): (&String, &Seen)| OVERHEAD + name.len() + seen.asks.as_deref().map_or(0, size);
        self.bytes = self.seen.iter().map(of).sum();
    }
}

fn size(asks: &QueuedFilter) -> usize {
    let states = asks.states.iter().flatten();
    states.map(|(workflow, state)| 2 * OVERHEAD + workflow.len() + state.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(states: &[&str]) -> QueuedFilter {
        let states = states.iter().map(|state| ("w".to_owned(), (*state).to_owned())).collect();
        QueuedFilter { states: Some(states), assigned: false }
    }

    fn names(supervisors: &Supervisors, now: Timestamp) -> Vec<String> {
        supervisors.listed(now).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn the_silent_leave() {
        let known = Supervisors::default();
        let start = Timestamp(1_000_000);
        known.asked("a", &asks(&["s"]), start);
        known.spoke("b", start.plus_ms(1));
        assert_eq!(known.asking(start.plus_ms(SERVES_MS)), [asks(&["s"])]);
        assert!(known.asking(start.plus_ms(SERVES_MS + 1)).is_empty());
        // Who works on what it has still serves what it asked for.
        known.spoke("a", start.plus_ms(SERVES_MS));
        assert_eq!(known.asking(start.plus_ms(2 * SERVES_MS)), [asks(&["s"])]);
        known.asked("a", &asks(&["t"]), start.plus_ms(2 * SERVES_MS));
        assert_eq!(known.asking(start.plus_ms(2 * SERVES_MS)), [asks(&["t"])]);
        assert_eq!(names(&known, start.plus_ms(LISTED_MS + 1)), ["a", "b"]);
        assert_eq!(names(&known, start.plus_ms(LISTED_MS + 2)), ["a"]);
    }

    #[test]
    fn a_flood_of_names_is_bounded() {
        let known = Supervisors::default();
        let long = "s".repeat(64);
        let many = asks(&vec![long.as_str(); 1000]);
        for number in 0..500 {
            known.asked(&format!("n-{number}"), &many, Timestamp(number));
        }
        let held = known.lock().bytes;
        assert!(held <= BYTES && held > BYTES / 4, "{held}");
        let listed = names(&known, Timestamp(500));
        assert!(listed.contains(&"n-499".to_owned()) && !listed.contains(&"n-0".to_owned()));
        // All at one instant.
        for number in 0..500 {
            known.asked(&format!("m-{number}"), &many, Timestamp(1000));
        }
        assert!(known.lock().bytes <= BYTES);
    }
}
