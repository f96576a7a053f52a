//! `stateous token wait`: until tokens are where they should be, or cannot come there any more.

use std::time::Duration;

use stateous_api::{Client, ClientError, Entry, Token};
use stateous_engine::json::parse_stored;
use tokio::task::{JoinSet, LocalSet};

use super::follow::{Follow, Next};
use super::line;
use crate::Failed;
use crate::commands::advice;
use crate::failed::Coded;
use crate::text::{Out, escape, named_state};

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Until {
    /// The token has this status.
    Status(String),
    /// The token has entered this state, now or before; `END` when it completed.
    State(String),
}

impl Until {
    fn words(&self) -> String {
        match self {
            Self::Status(status) => format!("to be {}", escape(status)),
            Self::State(state) => format!("to enter {}", escape(named_state(state))),
        }
    }
}

/// What a history told so far.
#[derive(Debug, Default)]
struct Seen {
    status: &'static str,
    entered: bool,
}

impl Seen {
    fn add(&mut self, entry: &Entry, until: &Until) {
        self.status = match entry.kind.as_str() {
            "started" | "resumed" | "retried" => "active",
            "paused" => "paused",
            "completed" => "completed",
            "failed" => "failed",
            "cancelled" => "cancelled",
            _ => self.status,
        };
        let Until::State(wanted) = until else { return };
        self.entered |= match entry.kind.as_str() {
            "entered" => parse_stored(entry.data.get())
                .is_ok_and(|data| data.get("state") == Some(&wanted.as_str().into())),
            "completed" => named_state(wanted) == "END",
            _ => false,
        };
    }

    fn fits(&self, until: &Until) -> bool {
        match until {
            Until::Status(status) => self.status == status,
            Until::State(_) => self.entered,
        }
    }
}

/// Waits for one token: the token as it is then, and whether it is as wanted.
async fn one(client: Client, id: String, until: Until) -> Result<(Token, bool), Failed> {
    match decided(&client, &id, &until).await {
        Ok(decided) => Ok(decided),
        Err(error) => Err(advice::of_token(&client, &id, error.into()).await),
    }
}

async fn decided(client: &Client, id: &str, until: &Until) -> Result<(Token, bool), ClientError> {
    let mut follow = Follow::new(client.clone(), id.to_owned());
    let mut seen = Seen::default();
    loop {
        let next = follow.next().await?;
        let is_over = matches!(next, Next::Ended);
        if let Next::Entries(entries) = next {
            entries.iter().for_each(|entry| seen.add(entry, until));
        }
        if seen.fits(until) || is_over {
            let token = follow.token().await?;
            // A long history comes in parts, and the end of one can be long past.
            let is_past = matches!(until, Until::Status(status) if *status != token.status);
            if is_over || !is_past {
                return Ok((token, seen.fits(until) && !is_past));
            }
        }
    }
}

/// Waits for all of them, and tells each as soon as it is decided.
pub(super) async fn wait(
    client: &Client,
    ids: Vec<String>,
    until: Until,
    timeout: Option<Duration>,
    out: &mut Out,
) -> Result<(), Failed> {
    let mut left: Vec<String> = Vec::new();
    // One thread does all the waiting.
    let (mut waits, here) = (JoinSet::new(), LocalSet::new());
    for id in ids {
        if !left.contains(&id) {
            waits.spawn_local_on(one(client.clone(), id.clone(), until.clone()), &here);
            left.push(id);
        }
    }
    let mut others: Vec<String> = Vec::new();
    let mut list = out.list();
    let all = here.run_until(async {
        while let Some(done) = waits.join_next().await {
            let (token, fits) = done.map_err(anyhow::Error::new)??;
            left.retain(|id| *id != token.token);
            list.item(&token, line)?;
            if !fits {
                others.push(line(&token));
            }
        }
        Ok::<_, Failed>(())
    });
    let in_time = match timeout {
        None => all.await.map(|()| true)?,
        Some(timeout) => match tokio::time::timeout(timeout, all).await {
            Ok(done) => done.map(|()| true)?,
            Err(_) => false,
        },
    };
    list.end("")?;
    if !in_time {
        let waited = timeout.unwrap_or_default().as_secs_f64();
        let message = format!("waited {waited} s for {} {}, in vain", left.join(", "), until.words());
        return Err(Coded::new("timed_out", message).into());
    }
    if others.is_empty() {
        return Ok(());
    }
    let message = format!("waited for tokens {}, but {}", until.words(), others.join("; "));
    Err(Coded::new("ended_otherwise", message).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(kinds: &[(&str, &str)], until: &Until) -> (bool, &'static str) {
        let mut seen = Seen::default();
        for (kind, data) in kinds {
            let data = serde_json::value::RawValue::from_string((*data).to_owned()).unwrap();
            seen.add(&Entry { seq: 1, at: String::new(), kind: (*kind).to_owned(), data }, until);
        }
        (seen.fits(until), seen.status)
    }

    #[test]
    fn a_status_is_the_last_one_told() {
        let until = Until::Status("completed".into());
        assert_eq!(seen(&[("started", "{}"), ("entered", "{}")], &until), (false, "active"));
        assert_eq!(
            seen(&[("started", "{}"), ("failed", "{}"), ("retried", "{}")], &until),
            (false, "active")
        );
        assert_eq!(seen(&[("started", "{}"), ("completed", "{}")], &until), (true, "completed"));
        let until = Until::Status("paused".into());
        assert_eq!(
            seen(&[("started", "{}"), ("paused", "{}"), ("resumed", "{}")], &until),
            (false, "active")
        );
    }

    #[test]
    fn a_state_that_was_left_counts() {
        let until = Until::State("draft".into());
        let draft = ("entered", r#"{"state":"draft","visit":1}"#);
        let review = ("entered", r#"{"state":"review","visit":1}"#);
        assert!(!seen(&[("started", "{}"), review], &until).0);
        assert!(seen(&[("started", "{}"), draft, review, ("failed", "{}")], &until).0);
        let end = Until::State("END".into());
        assert!(!seen(&[draft, ("failed", "{}")], &end).0);
        assert!(seen(&[draft, ("completed", "{}")], &end).0);
    }
}
