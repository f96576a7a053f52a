//! Which start of which supervisor's folder speaks: two processes with one name are told apart by it.

use std::fmt;

/// One start of one folder. A claim that was made by it carries it in its id, and so does the task that the claim got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incarnation {
    /// The folder's own id: `[A-Za-z0-9._-]{1,64}`.
    pub folder: String,
    /// 1 for the folder's first start, then one more each time.
    pub start: u64,
}

impl Incarnation {
    /// The id under which a claim of this incarnation is kept with its tasks. A request's id has no colon, so nobody else's
    /// reads like it.
    #[must_use]
    pub fn claim_id(&self, request: &str) -> String {
        format!("{self}:{request}")
    }

    /// The incarnation whose claim this id is, if it is one's.
    #[must_use]
    pub fn of_claim(id: &str) -> Option<Self> {
        let (folder, rest) = id.split_once(':')?;
        let (start, _) = rest.split_once(':')?;
        Some(Self { folder: folder.to_owned(), start: start.parse().ok()? })
    }

    /// Whether this incarnation may speak for what the claim got: it made the claim itself, or an earlier start of the same
    /// folder did. Claims of supervisors that say no incarnation are anybody's with their name.
    #[must_use]
    pub fn speaks_for(&self, claim: Option<&str>) -> bool {
        claim
            .and_then(Self::of_claim)
            .is_none_or(|holder| holder.folder == self.folder && holder.start <= self.start)
    }

    /// Whether the claim was made by an earlier start of this folder.
    #[must_use]
    pub fn follows(&self, claim: Option<&str>) -> bool {
        claim
            .and_then(Self::of_claim)
            .is_some_and(|holder| holder.folder == self.folder && holder.start < self.start)
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.folder, self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_speaks_for_itself_and_its_earlier_starts() {
        let of = |folder: &str, start| Incarnation { folder: folder.to_owned(), start };
        let id = of("f", 2).claim_id("r-1");
        assert_eq!((id.as_str(), Incarnation::of_claim(&id)), ("f:2:r-1", Some(of("f", 2))));
        let check = |who: Incarnation, speaks, follows| {
            assert_eq!((who.speaks_for(Some(&id)), who.follows(Some(&id))), (speaks, follows), "{who}");
        };
        check(of("f", 2), true, false);
        check(of("f", 3), true, true);
        check(of("f", 1), false, false);
        check(of("g", 9), false, false);
        assert!(of("g", 9).speaks_for(Some("r-1")) && of("g", 9).speaks_for(None));
        assert!(!of("g", 9).follows(Some("r-1")) && !of("g", 9).follows(None));
    }
}
