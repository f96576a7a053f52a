//! `config`: the plain settings and the names of the secrets that the supervisor's owner set. Nothing here can hold a
//! secret: they stay with the owner of the attempt, which puts them into requests.

use std::collections::{BTreeMap, BTreeSet};

use crate::attempt::Attempt;
use crate::bindings::stateous::routine::config::Host;

/// What an attempt may know of its supervisor's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    /// Plain settings by name.
    pub settings: BTreeMap<String, String>,
    /// The names of secrets that it may use.
    pub secrets: BTreeSet<String>,
}

impl Host for Attempt {
    async fn get(&mut self, name: String) -> wasmtime::Result<Option<String>> {
        let value = self.config.settings.get(&name).cloned();
        self.work(value.as_ref().map_or(0, String::len)).await;
        Ok(value)
    }

    async fn names(&mut self) -> wasmtime::Result<Vec<String>> {
        self.work(64 * self.config.settings.len()).await;
        Ok(self.config.settings.keys().cloned().collect())
    }

    async fn secrets(&mut self) -> wasmtime::Result<Vec<String>> {
        self.work(64 * self.config.secrets.len()).await;
        Ok(self.config.secrets.iter().cloned().collect())
    }
}
