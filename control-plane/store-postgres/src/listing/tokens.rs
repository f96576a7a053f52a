//! Pages of tokens.

use sqlx::postgres::PgRow;
use stateous_engine::model::Status;
use stateous_engine::names::folded;
use stateous_store::{ListedToken, TokenFilter, TokenPage, TokenPlace, codec};

use super::{LOOKED, rows as count_of, wider};
use crate::connection::Connection;
use crate::failure::Broken;
use crate::load::cannot_be_there;
use crate::rows::{self, LISTED, get, time, whole};
use crate::sql::{self, params};

/// A token's place in a listing, and what a filter may ask about it.
struct Key {
    place: TokenPlace,
    status: Status,
    workflow: String,
    state: String,
    parent: Option<String>,
}

/// Columns of a [`Key`].
const KEY: &str = "entered_at, id, status, workflow, state, parent";

/// A page of the listing that a filter asks for.
pub(crate) fn tokens(conn: &mut Connection, filter: &TokenFilter) -> Result<TokenPage, Broken> {
    let names = [&filter.workflow, &filter.state, &filter.parent, &filter.prefix];
    let place = filter.after.as_ref().map(|place| &place.id);
    if names.into_iter().flatten().chain(place).any(|name| cannot_be_there(name)) {
        return Ok(TokenPage::default());
    }
    let (chosen, next) = choose(conn, filter)?;
    let ids: Vec<String> = chosen.into_iter().map(|key| key.place.id).collect();
    if ids.is_empty() {
        return Ok(TokenPage { next, ..TokenPage::default() });
    }
    let read = readable(conn, &ids, filter.bytes)?;
    let tokens = by_name(conn, &ids[..read])?;
    Ok(TokenPage { tokens, rest: ids[read..].to_vec(), next })
}

/// Tokens by their ids, until `bytes` of context are read. Answers how many ids that took, too.
pub(crate) fn listed(
    conn: &mut Connection,
    ids: &[String],
    bytes: usize,
) -> Result<(Vec<ListedToken>, usize), Broken> {
    let possible: Vec<String> = ids.iter().filter(|id| !cannot_be_there(id)).cloned().collect();
    let read = readable(conn, &possible, bytes)?;
    let found = by_name(conn, &possible[..read])?;
    // What cannot be there took nothing to read, and is left out like every other id that no token has.
    let taken = possible
        .get(read)
        .map_or(ids.len(), |next| ids.iter().position(|id| id == next).unwrap_or(ids.len()));
    Ok((found, taken))
}

/// How many of these tokens have `bytes` bytes of context together, the one that reaches it included; at least one.
fn readable(conn: &mut Connection, ids: &[String], bytes: usize) -> Result<usize, Broken> {
    // The length is read from the row: a large context is not fetched.
    const SQL: &str = "SELECT coalesce(octet_length(c.context), 0)::bigint \
        FROM unnest($1::text[]) WITH ORDINALITY AS given (id, place) LEFT JOIN contexts c ON c.token = given.id \
        ORDER BY given.place";
    if bytes == usize::MAX {
        return Ok(ids.len());
    }
    let mut read = 0;
    for (count, length) in sql::all(conn, SQL, params![ids], |row| whole(row, 0))?.into_iter().enumerate() {
        if read >= bytes as u64 && count > 0 {
            return Ok(count);
        }
        read += length;
    }
    Ok(ids.len())
}

/// These tokens, in this order, as far as they are there.
fn by_name(conn: &mut Connection, ids: &[String]) -> Result<Vec<ListedToken>, Broken> {
    let sql = format!(
        "SELECT {LISTED} FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS given (folded, id, place) \
         JOIN tokens t ON t.folded = given.folded AND t.id = given.id JOIN contexts c ON c.token = t.id \
         ORDER BY given.place"
    );
    let folded: Vec<String> = ids.iter().map(|id| folded(id)).collect();
    sql::all(conn, &sql, params![folded, ids], rows::listed)
}

/// The tokens of a page, and where the next one begins.
fn choose(conn: &mut Connection, filter: &TokenFilter) -> Result<(Vec<Key>, Option<TokenPlace>), Broken> {
    let limit = filter.limit as usize;
    let mut chosen = Vec::new();
    if limit == 0 {
        return Ok((chosen, None));
    }
    let (mut after, mut looked) = (filter.after.clone(), 0);
    // One more than the page has room for: it tells whether there is a next one.
    let mut count = limit + 1;
    loop {
        let keys = match &filter.prefix {
            Some(prefix) => by_id(conn, prefix, after.as_ref(), count)?,
            None => by_entry(conn, filter, after.as_ref(), count)?,
        };
        let last = keys.len() < count;
        for key in keys {
            if chosen.len() == limit || looked == LOOKED {
                return Ok((chosen, after));
            }
            looked += 1;
            after = Some(key.place.clone());
            chosen.extend(Some(key).filter(|key| is_wanted(filter, key)));
        }
        if last {
            return Ok((chosen, None));
        }
        count = wider(count);
    }
}

fn is_wanted(filter: &TokenFilter, key: &Key) -> bool {
    let same = |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|w| w == found);
    filter.status.is_none_or(|status| status == key.status)
        && same(&filter.workflow, &key.workflow)
        && same(&filter.state, &key.state)
        && filter.parent.as_ref().is_none_or(|parent| key.parent.as_ref() == Some(parent))
}

/// Places by id: the index of folded ids is in that order already.
fn by_id(
    conn: &mut Connection,
    prefix: &str,
    after: Option<&TokenPlace>,
    count: usize,
) -> Result<Vec<Key>, Broken> {
    let sql = format!(
        "SELECT {KEY} FROM tokens WHERE folded >= $1 AND folded < $2 AND folded > $3 ORDER BY folded LIMIT $4"
    );
    let prefix = folded(prefix);
    // Behind everything that begins so: an id has no character as high as this one.
    let below = format!("{prefix}\u{7f}");
    let after = after.map(|place| folded(&place.id)).unwrap_or_default();
    sql::all(conn, &sql, params![prefix, below, after, count_of(count)], key)
}

/// Places by entry: the newest first, then by id. First the rest of the instant at which the page before ended, then what
/// is older, of every stretch.
fn by_entry(
    conn: &mut Connection,
    filter: &TokenFilter,
    after: Option<&TokenPlace>,
    count: usize,
) -> Result<Vec<Key>, Broken> {
    let statuses = Status::ALL.into_iter().filter(|s| filter.status.is_none_or(|wanted| wanted == *s));
    let statuses: Vec<&str> = statuses.map(Status::as_str).collect();
    let (leading, states) = match (&filter.parent, &filter.workflow) {
        (Some(_), _) => {
            ("parent = $6::text AND $7::text IS NULL AND s.state IS NOT NULL", vec![String::new()])
        }
        (None, Some(workflow)) => {
            let states = match &filter.state {
                Some(state) => vec![state.clone()],
                None => states_of(conn, workflow)?,
            };
            ("$6::text IS NULL AND workflow = $7::text AND state = s.state", states)
        }
        (None, None) => {
            ("$6::text IS NULL AND $7::text IS NULL AND s.state IS NOT NULL", vec![String::new()])
        }
    };
    let select = format!("SELECT {KEY} FROM tokens WHERE {leading} AND status = s.status");
    let sql = format!(
        "SELECT found.* FROM (SELECT status, state FROM unnest($1::text[]) AS a (status) \
             CROSS JOIN unnest($2::text[]) AS b (state)) AS s \
         CROSS JOIN LATERAL (({select} AND entered_at = $3 AND id > $4 ORDER BY id LIMIT $5) \
             UNION ALL ({select} AND entered_at < $3 ORDER BY entered_at DESC, id LIMIT $5)) AS found \
         ORDER BY found.entered_at DESC, found.id LIMIT $5"
    );
    // Nothing was entered at the last instant that a number can name, so that all is older.
    let instant = after.map_or(i64::MAX, |place| place.entered_at.0);
    let id = after.map(|place| place.id.as_str()).unwrap_or_default();
    let parent = filter.parent.as_deref();
    let workflow = filter.workflow.as_deref().filter(|_| parent.is_none());
    sql::all(conn, &sql, params![statuses, states, instant, id, count_of(count), parent, workflow], key)
}

/// The states in which a workflow has tokens, live or ended.
fn states_of(conn: &mut Connection, workflow: &str) -> Result<Vec<String>, Broken> {
    const SQL: &str = "WITH RECURSIVE states AS ( \
        (SELECT state FROM tokens WHERE workflow = $1 ORDER BY state LIMIT 1) \
        UNION ALL SELECT next.state FROM states CROSS JOIN LATERAL ( \
            SELECT state FROM tokens WHERE workflow = $1 AND state > states.state ORDER BY state LIMIT 1) AS next) \
        SELECT state FROM states";
    sql::all(conn, SQL, params![workflow], |row| get(row, 0))
}

fn key(row: &PgRow) -> Result<Key, Broken> {
    Ok(Key {
        place: TokenPlace { entered_at: time(row, 0)?, id: get(row, 1)? },
        status: codec::read_status(get(row, 2)?)?,
        workflow: get(row, 3)?,
        state: get(row, 4)?,
        parent: get(row, 5)?,
    })
}
