//! What a control plane says became of a token.

use anyhow::Result;
use serde_json::Value;
use stateous_api::Client;

/// A token's history: kind and data of each entry.
#[derive(Debug, Clone)]
pub struct History(pub Vec<(String, Value)>);

impl History {
    /// A token's history as it is now; `all` asks for the kinds that the original does not know, too.
    ///
    /// # Errors
    /// When the control plane does not answer.
    pub async fn of_token(client: &Client, id: &str, all: bool) -> Result<Self> {
        let entries = client.history(id, all).await?;
        let one = |e: stateous_api::Entry| Ok((e.kind, serde_json::from_str(e.data.get())?));
        Ok(Self(entries.into_iter().map(one).collect::<Result<_>>()?))
    }

    /// How many entries of a kind there are.
    #[must_use]
    pub fn count(&self, kind: &str) -> usize {
        self.of(kind).count()
    }

    /// The data of the entries of a kind.
    pub fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.0.iter().filter(move |(k, _)| k == kind).map(|(_, data)| data)
    }

    /// Whether the token ended in some way.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.0.iter().any(|(kind, _)| matches!(kind.as_str(), "completed" | "failed" | "cancelled"))
    }

    /// The kinds, in order.
    #[must_use]
    pub fn kinds(&self) -> Vec<&str> {
        self.0.iter().map(|(kind, _)| kind.as_str()).collect()
    }
}
