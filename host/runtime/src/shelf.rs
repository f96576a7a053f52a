//! Prepared components in memory, one place a digest.
//!
//! A place is a lock: whoever holds it prepares, and the others wait and find what was made. A component that
//! cannot be run is remembered too, so that a bad one is compiled once and not at every attempt.

use std::collections::HashMap;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::prepare::Prepared;
use crate::prepare_error::PrepareError;

/// How many places there are; the one that was not asked for the longest is given up.
const PLACES: usize = 512;
/// A compilation that met its bounds may have met a busy machine: it is tried again after so long.
const LIMIT_REMEMBERED: Duration = Duration::from_secs(300);

/// What is known about one digest.
pub(crate) type Place = Arc<Mutex<Known>>;

/// The answer for one digest.
#[derive(Default)]
pub(crate) enum Known {
    /// Nobody has prepared it, or the last try failed for a passing reason.
    #[default]
    Nothing,
    Prepared(Prepared),
    Failed {
        error: PrepareError,
        until: Option<Instant>,
    },
}

impl Known {
    /// The answer, if it still stands.
    pub(crate) fn answer(&self) -> Option<Result<Prepared, PrepareError>> {
        match self {
            Self::Nothing => None,
            Self::Prepared(prepared) => Some(Ok(prepared.clone())),
            Self::Failed { until: Some(until), .. } if *until <= Instant::now() => None,
            Self::Failed { error, .. } => Some(Err(error.clone())),
        }
    }

    /// What is worth remembering of a result.
    pub(crate) fn of(result: &Result<Prepared, PrepareError>) -> Self {
        match result {
            Ok(prepared) => Self::Prepared(prepared.clone()),
            Err(error @ PrepareError::CompileLimit { .. }) => {
                Self::Failed { error: error.clone(), until: Some(Instant::now() + LIMIT_REMEMBERED) }
            }
            Err(error) if error.is_transient() => Self::Nothing,
            Err(error) => Self::Failed { error: error.clone(), until: None },
        }
    }
}

/// The places, by digest.
#[derive(Default)]
pub(crate) struct Shelf(StdMutex<Places>);

#[derive(Default)]
struct Places {
    by_digest: HashMap<String, (u64, Place)>,
    asked: u64,
}

impl Shelf {
    pub(crate) fn place(&self, digest: &str) -> Place {
        let places = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places.asked += 1;
        if let Some((asked, place)) = places.by_digest.get_mut(digest) {
            *asked = places.asked;
            return place.clone();
        }
        if places.by_digest.len() >= PLACES
            && let Some(oldest) =
                places.by_digest.iter().min_by_key(|(_, (asked, _))| *asked).map(|(digest, _)| digest.clone())
        {
            places.by_digest.remove(&oldest);
        }
        let place = Place::default();
        places.by_digest.insert(digest.to_owned(), (places.asked, place.clone()));
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_digest_has_one_place_until_it_is_the_oldest() {
        let shelf = Shelf::default();
        let first = shelf.place("first");
        for i in 0..PLACES - 1 {
            shelf.place(&i.to_string());
        }
        assert!(Arc::ptr_eq(&first, &shelf.place("first")));
        shelf.place("one more");
        assert!(Arc::ptr_eq(&first, &shelf.place("first")), "it was asked for last");
        for i in 0..PLACES {
            shelf.place(&format!("new {i}"));
        }
        assert!(!Arc::ptr_eq(&first, &shelf.place("first")));
    }

    #[tokio::test(start_paused = true)]
    async fn a_compilation_that_met_its_bounds_is_tried_again_later() {
        let error = PrepareError::CompileLimit { digest: "d".to_owned(), message: "too long".to_owned() };
        let known = Known::of(&Err(error));
        assert!(known.answer().is_some());
        tokio::time::advance(LIMIT_REMEMBERED).await;
        assert!(known.answer().is_none());

        let passing = PrepareError::Host { digest: "d".to_owned(), message: "disk full".to_owned() };
        assert!(Known::of(&Err(passing)).answer().is_none());
        let lasting = PrepareError::Compile { digest: "d".to_owned(), message: "no".to_owned() };
        assert!(Known::of(&Err(lasting)).answer().is_some());
    }
}
