//! Who waits for something to be written about a token.
//!
//! A hint only: it says when to look again, and whoever is woken reads the database. It costs a commit one lookup for each
//! token that it wrote about, whether anybody waits or not.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// Everybody who waits, by token.
#[derive(Default)]
pub(super) struct Watchers {
    tokens: Mutex<HashMap<String, watch::Sender<()>>>,
}

impl Watchers {
    /// Begins to watch a token. What is committed from now on wakes the watch.
    pub(super) fn watch(self: &Arc<Self>, token: &str) -> Watch {
        let mut tokens = self.lock();
        let sender = tokens.entry(token.to_owned()).or_insert_with(|| watch::channel(()).0);
        Watch { receiver: sender.subscribe(), token: token.to_owned(), watchers: Arc::clone(self) }
    }

    /// Wakes whoever watches these tokens: something about them was committed.
    pub(super) fn wake(&self, tokens: &[String]) {
        let watched = self.lock();
        for token in tokens {
            if let Some(sender) = watched.get(token) {
                sender.send_replace(());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, watch::Sender<()>>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells when something was written about a token.
pub struct Watch {
    receiver: watch::Receiver<()>,
    token: String,
    watchers: Arc<Watchers>,
}

impl Watch {
    /// Ends when something was committed about the token since this watch began, or since the last call.
    pub async fn changed(&mut self) {
        // The sender lives as long as a watch does.
        let _ = self.receiver.changed().await;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut tokens = self.watchers.lock();
        // This one still counts.
        if tokens.get(&self.token).is_some_and(|sender| sender.receiver_count() <= 1) {
            tokens.remove(&self.token);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_woken(watch: &Watch) -> bool {
        watch.receiver.has_changed().is_ok_and(|changed| changed)
    }

    #[test]
    fn a_commit_wakes_those_who_watch_its_tokens() {
        let watchers = Arc::new(Watchers::default());
        watchers.wake(&["A".to_owned()]);
        let (a, b, again) = (watchers.watch("A"), watchers.watch("B"), watchers.watch("A"));
        assert!(!is_woken(&a), "what was committed before is there to be read");
        watchers.wake(&["A".to_owned(), "C".to_owned()]);
        assert!(is_woken(&a) && is_woken(&again) && !is_woken(&b));
        drop(a);
        assert_eq!(watchers.lock().len(), 2);
        drop((again, b));
        assert_eq!(watchers.lock().len(), 0, "nobody is remembered who does not wait");
    }
}
