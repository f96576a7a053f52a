//! Counts a guest's memory, over all its memories together, and remembers when it was refused more.

use crate::engine::TABLE_ELEMENTS_MAX;

/// The memory account of one attempt.
#[derive(Debug)]
pub(crate) struct Limiter {
    max: u64,
    used: u64,
    pub(crate) peak: u64,
    /// What a growth would have come to, if the last one was refused. A guest can survive a refusal; when a
    /// later growth succeeds, it has.
    pub(crate) refused: Option<u64>,
}

impl Limiter {
    pub(crate) fn new(max: u64) -> Self {
        Self { max, used: 0, peak: 0, refused: None }
    }
}

impl wasmtime::ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _max: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let wanted = self.used.saturating_sub(current as u64).saturating_add(desired as u64);
        if wanted > self.max {
            self.refused = Some(wanted);
            return Ok(false);
        }
        self.used = wanted;
        self.peak = self.peak.max(wanted);
        self.refused = None;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _max: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= TABLE_ELEMENTS_MAX)
    }

    fn instances(&self) -> usize {
        64
    }

    fn tables(&self) -> usize {
        32
    }

    fn memories(&self) -> usize {
        8
    }
}
