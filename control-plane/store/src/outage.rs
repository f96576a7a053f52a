//! Tells people once that the database is gone, and once that it is back, however many requests find it gone.

use std::time::Instant;

use tracing::{debug, error, info};

use crate::failure::{Failure, FailureKind};

/// Whether the database takes what it is given.
#[derive(Debug, Default)]
pub(crate) struct Outage {
    since: Option<Instant>,
}

impl Outage {
    /// Something was not done. What lies in one input is told each time; that the database cannot be used, once.
    pub(crate) fn failed(&mut self, failure: &Failure) {
        let cause = failure.source.as_ref().map(tracing::field::display);
        if self.is_known(failure) {
            debug!(error = %failure, cause, "Nothing was written: {failure}");
        } else {
            error!(error = %failure, cause, "Nothing was written: {failure}");
        }
    }

    /// Something was done.
    pub(crate) fn worked(&mut self) {
        if let Some(since) = self.since.take() {
            let seconds = since.elapsed().as_secs_f64();
            info!(gap.s = seconds, "The database takes changes again, after {seconds:.1} s");
        }
    }

    /// Takes note of a failure, and answers whether people know of it already.
    fn is_known(&mut self, failure: &Failure) -> bool {
        let of_the_database = matches!(failure.kind, FailureKind::Busy | FailureKind::NotServing);
        of_the_database && self.since.replace(self.since.unwrap_or_else(Instant::now)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gone_database_is_told_once() {
        let failure = |kind| Failure::new(kind, "could not commit: why");
        let mut outage = Outage::default();
        assert!(!outage.is_known(&failure(FailureKind::Statement)));
        assert!(!outage.is_known(&failure(FailureKind::Busy)));
        assert!(outage.is_known(&failure(FailureKind::Busy)));
        assert!(!outage.is_known(&failure(FailureKind::Statement)), "of one input, and told each time");
        assert!(outage.is_known(&failure(FailureKind::Busy)));
        outage.worked();
        assert!(!outage.is_known(&failure(FailureKind::Busy)));
    }
}
