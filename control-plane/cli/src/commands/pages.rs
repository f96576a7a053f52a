//! Listings, page by page.

use stateous_api::ClientError;
use stateous_api::client::Page;

use crate::Failed;
use crate::text::say;

/// The largest page that the API gives.
const PAGE: u64 = 1000;
/// How many rows are listed unless told otherwise.
const LISTED: u64 = 100;

/// How much of a listing is told.
#[derive(clap::Args, Debug, Clone, Copy)]
pub(crate) struct Extent {
    /// At most so many; 100 unless given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "all")]
    limit: Option<u64>,
    /// All of them.
    #[arg(long)]
    pub(crate) all: bool,
}

impl Extent {
    /// Whether a number was given.
    pub(crate) const fn is_limited(self) -> bool {
        self.limit.is_some()
    }

    /// Reads pages, each from the cursor where the last one ended and with at most so many rows, and hands them on.
    pub(crate) async fn read<T>(
        self,
        mut page: impl AsyncFnMut(String, u32) -> Result<Page<T>, ClientError>,
        mut tell: impl FnMut(Vec<T>) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        let most = if self.all { u64::MAX } else { self.limit.unwrap_or(LISTED) };
        let (mut cursor, mut told) = (String::new(), 0);
        loop {
            let limit = PAGE.min(most - told);
            // It is at most 1000.
            let found = page(cursor, u32::try_from(limit).unwrap_or(u32::MAX)).await?;
            told += found.items.len() as u64;
            tell(found.items)?;
            match found.next {
                Some(next) if told < most => cursor = next,
                Some(_) => {
                    if self.limit.is_none() {
                        say(&format!(
                            "only the first {told} are listed: --all lists them all, --limit N more of them"
                        ));
                    }
                    return Ok(());
                }
                None => return Ok(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a listing of `rows` numbers from a server whose pages have at most `short` rows: what was told, and the
    /// requests that it took.
    async fn check(extent: Extent, rows: u64, short: u64) -> (Vec<u64>, usize) {
        let (mut told, mut requests) = (Vec::new(), 0);
        let page = async |cursor: String, limit: u32| {
            requests += 1;
            let first = cursor.parse().unwrap_or(0);
            let last = rows.min(first + short.min(u64::from(limit)));
            let next = (last < rows).then(|| last.to_string());
            Ok(Page { items: (first..last).collect(), next })
        };
        extent
            .read(page, |items: Vec<u64>| {
                told.extend(items);
                Ok(())
            })
            .await
            .unwrap();
        (told, requests)
    }

    #[tokio::test]
    async fn pages_are_read_until_there_is_enough() {
        let limit = |limit| Extent { limit, all: false };
        let up_to = |n| (0..n).collect::<Vec<u64>>();
        assert_eq!(check(limit(None), 50, 1000).await, (up_to(50), 1));
        assert_eq!(check(limit(None), 5000, 1000).await, (up_to(100), 1));
        assert_eq!(check(limit(Some(2500)), 5000, 1000).await, (up_to(2500), 3));
        assert_eq!(check(limit(Some(10)), 5000, 4).await, (up_to(10), 3));
        assert_eq!(check(Extent { limit: None, all: true }, 5000, 1000).await, (up_to(5000), 5));
        assert_eq!(check(Extent { limit: None, all: true }, 0, 1000).await, (vec![], 1));
    }
}
