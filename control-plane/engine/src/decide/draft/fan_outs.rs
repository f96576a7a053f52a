//! The fan-outs of a draft: each has a place once it is looked at, and is written when it changed.

use std::sync::Arc;

use super::Draft;
use crate::change::Change;
use crate::loaded::Missing;
use crate::model::{FanOut, FanOutKey, Held};

/// One fan-out as it is so far in this decision.
pub(super) struct Seated {
    pub(super) row: FanOut,
    /// Its items, when it is new.
    pub(super) chunks: Option<Vec<Arc<str>>>,
    changed: bool,
    pub(super) deleted: bool,
}

impl Seated {
    /// What is to be written of it.
    pub(super) fn into_change(self) -> Option<Change> {
        match self {
            Self { deleted: true, chunks: Some(_), .. } => None,
            Self { deleted: true, row, .. } => Some(Change::DeleteFanOut(row.key)),
            Self { chunks: Some(chunks), row, .. } => Some(Change::InsertFanOut { row, chunks }),
            Self { changed: true, row, .. } => Some(Change::UpdateFanOut(row)),
            Self { .. } => None,
        }
    }
}

impl<'a> Draft<'a> {
    /// The fan-out as it is so far, if it has a place here.
    pub(in crate::decide) fn seated_fan_out(&self, key: &FanOutKey) -> Option<&FanOut> {
        let mut seated = self.fan_outs.iter().filter(|fan_out| !fan_out.deleted).map(|fan_out| &fan_out.row);
        seated.find(|row| row.key == *key)
    }

    /// The fan-out; `None` when there is no such.
    pub(in crate::decide) fn fan_out(&mut self, key: &FanOutKey) -> Result<Option<&FanOut>, Missing> {
        if self.fan_outs.iter().all(|fan_out| fan_out.row.key != *key) {
            match self.loaded.fan_outs.get(key) {
                None => return Err(Missing::FanOut(key.clone())),
                Some(None) => return Ok(None),
                Some(Some(row)) => {
                    self.fan_outs.push(Seated {
                        row: row.clone(),
                        chunks: None,
                        changed: false,
                        deleted: false,
                    });
                }
            }
        }
        Ok(self.seated_fan_out(key))
    }

    /// A fan-out that has a place here.
    pub(in crate::decide) fn fan_out_ref(&self, key: &FanOutKey) -> &FanOut {
        self.seated_fan_out(key).expect("a fan-out was looked at before it is used")
    }

    /// A fan-out that has a place here, to be changed.
    pub(in crate::decide) fn fan_out_mut(&mut self, key: &FanOutKey) -> &mut FanOut {
        let found = self.fan_outs.iter_mut().find(|fan_out| fan_out.row.key == *key && !fan_out.deleted);
        let found = found.expect("a fan-out was looked at before it is changed");
        found.changed = true;
        &mut found.row
    }

    /// Gives a new fan-out a place.
    pub(in crate::decide) fn insert_fan_out(&mut self, row: FanOut, chunks: Vec<Arc<str>>) {
        self.fan_outs.push(Seated { row, chunks: Some(chunks), changed: true, deleted: false });
    }

    /// A fan-out is over.
    pub(in crate::decide) fn delete_fan_out(&mut self, key: &FanOutKey) {
        self.fan_outs.iter_mut().filter(|fan_out| fan_out.row.key == *key).for_each(|f| f.deleted = true);
    }

    /// A chunk of a fan-out's items, as it is stored.
    pub(in crate::decide) fn chunk(&self, key: &FanOutKey, number: u64) -> Result<Arc<str>, Missing> {
        let found = self.loaded.chunks.get(&(key.clone(), number));
        found.cloned().ok_or_else(|| Missing::Chunk(key.clone(), number))
    }

    /// What is settled with these tokens, in the order of arrival for each.
    pub(in crate::decide) fn held_of(&self, ids: &[String]) -> Result<Vec<&'a Held>, Missing> {
        let missing = ids.iter().filter(|id| !self.loaded.held_of.contains_key(*id));
        let missing: Vec<String> = missing.cloned().collect();
        if !missing.is_empty() {
            return Err(Missing::Held(missing));
        }
        Ok(ids.iter().filter_map(|id| self.loaded.held_of.get(id)).flatten().collect())
    }
}
