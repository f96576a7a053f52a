//! Pages of tokens.

use rusqlite::types::Value;
use rusqlite::{Connection, ParamsFromIter, params};
use stateous_engine::Timestamp;
use stateous_engine::model::Status;
use stateous_engine::names::folded;
use stateous_store::{ListedToken, TokenFilter, TokenPage, TokenPlace};

use super::{LOOKED, distinct, wider};
use crate::failure::Broken;
use crate::rows::{self, LISTED};
use crate::sql;

/// A token's place in a listing, and where its row lies.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    place: TokenPlace,
    row: i64,
}

/// A page of the listing that a filter asks for.
pub(crate) fn tokens(conn: &Connection, filter: &TokenFilter) -> Result<TokenPage, Broken> {
    let (chosen, next) = choose(conn, filter)?;
    let mut page = TokenPage { next, ..TokenPage::default() };
    let mut bytes = 0;
    for key in chosen {
        if bytes >= filter.bytes {
            page.rest.push(key.place.id);
            continue;
        }
        let sql =
            format!("SELECT {LISTED} FROM tokens t JOIN contexts c ON c.token = t.id WHERE t.rowid = ?1");
        if let Some(token) = sql::first(conn, &sql, [key.row], rows::listed)? {
            bytes += token.context.len();
            page.tokens.push(token);
        }
    }
    Ok(page)
}

/// Tokens by their ids, until `bytes` of context are read. Answers how many ids that took, too.
pub(crate) fn listed(
    conn: &Connection,
    ids: &[String],
    bytes: usize,
) -> Result<(Vec<ListedToken>, usize), Broken> {
    let sql = format!(
        "SELECT {LISTED} FROM tokens t JOIN contexts c ON c.token = t.id WHERE t.folded = ?1 AND t.id = ?2"
    );
    let (mut found, mut read, mut taken) = (Vec::new(), 0, 0);
    for id in ids {
        if read >= bytes && taken > 0 {
            break;
        }
        taken += 1;
        if let Some(token) = sql::first(conn, &sql, [&folded(id), id], rows::listed)? {
            read += token.context.len();
            found.push(token);
        }
    }
    Ok((found, taken))
}

/// The tokens of a page, and where the next one begins.
fn choose(conn: &Connection, filter: &TokenFilter) -> Result<(Vec<Key>, Option<TokenPlace>), Broken> {
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
            if is_wanted(conn, filter, key.row)? {
                chosen.push(key);
            }
        }
        if last {
            return Ok((chosen, None));
        }
        count = wider(count);
    }
}

/// Whether a filter asks for more than its index narrows.
const fn needs_look(filter: &TokenFilter) -> bool {
    let placed = filter.workflow.is_some() || filter.state.is_some();
    if filter.prefix.is_some() {
        return placed || filter.status.is_some() || filter.parent.is_some();
    }
    (filter.parent.is_some() && placed) || (filter.state.is_some() && filter.workflow.is_none())
}

fn is_wanted(conn: &Connection, filter: &TokenFilter, row: i64) -> Result<bool, Broken> {
    const SQL: &str = "SELECT 1 FROM tokens WHERE rowid = ?1 AND (?2 IS NULL OR status = ?2) \
        AND (?3 IS NULL OR workflow = ?3) AND (?4 IS NULL OR state = ?4) AND (?5 IS NULL OR parent = ?5)";
    if !needs_look(filter) {
        return Ok(true);
    }
    let status = filter.status.map(Status::as_str);
    let params = params![row, status, filter.workflow, filter.state, filter.parent];
    Ok(sql::first(conn, SQL, params, |_| Ok(()))?.is_some())
}

/// Places by id: the index of folded ids is in that order already.
fn by_id(
    conn: &Connection,
    prefix: &str,
    after: Option<&TokenPlace>,
    count: usize,
) -> Result<Vec<Key>, Broken> {
    const SQL: &str = "SELECT rowid, entered_at, id FROM tokens \
        WHERE folded >= ?1 AND folded < ?2 ORDER BY folded LIMIT ?3";
    let prefix = folded(prefix);
    // Behind everything that begins so: an id has no character as high as this one.
    let below = format!("{prefix}\u{7f}");
    // Right behind an id is the same with the lowest character. One bound, since SQLite would search by the first only.
    let from = after.map(|place| format!("{}\0", folded(&place.id))).unwrap_or_default().max(prefix);
    sql::all(conn, SQL, params![from, below, count], key)
}

/// Places by entry: the newest first, then by id.
fn by_entry(
    conn: &Connection,
    filter: &TokenFilter,
    after: Option<&TokenPlace>,
    count: usize,
) -> Result<Vec<Key>, Broken> {
    let mut newest = Newest { keys: Vec::new(), count };
    let statuses = Status::ALL.into_iter().filter(|s| filter.status.is_none_or(|wanted| wanted == *s));
    let statuses: Vec<&str> = statuses.map(Status::as_str).collect();
    match (&filter.parent, &filter.workflow) {
        (Some(parent), _) => {
            let statements = Statements::new("tokens_parent", "parent = ?5 AND ");
            for status in statuses {
                newest.add(conn, &statements, status, after, &[parent])?;
            }
        }
        (None, Some(workflow)) => {
            let statements = Statements::new("tokens_state", "workflow = ?5 AND state = ?6 AND ");
            let states = match &filter.state {
                Some(state) => vec![state.clone()],
                None => states_of(conn, workflow)?,
            };
            for state in &states {
                for status in &statuses {
                    newest.add(conn, &statements, status, after, &[workflow, state])?;
                }
            }
        }
        (None, None) => {
            let statements = Statements::new("tokens_listed", "");
            for status in statuses {
                newest.add(conn, &statements, status, after, &[])?;
            }
        }
    }
    Ok(newest.keys)
}

/// The states in which a workflow has tokens, live or ended.
fn states_of(conn: &Connection, workflow: &str) -> Result<Vec<String>, Broken> {
    const NEXT: &str = "SELECT state FROM tokens INDEXED BY tokens_state \
        WHERE workflow = ?1 AND state > ?2 ORDER BY state LIMIT 1";
    distinct(conn, NEXT, &[workflow])
}

/// How a stretch is read: first the rest of the instant at which the page before ended, then what is older.
struct Statements {
    same: String,
    older: String,
}

impl Statements {
    /// `leading` binds the index's leading columns from `?5` on. `?1` is the status, `?2` an instant, `?4` how many.
    fn new(index: &str, leading: &str) -> Self {
        let select = format!("SELECT rowid, entered_at, id FROM tokens INDEXED BY {index} WHERE {leading}");
        Self {
            same: format!("{select}status = ?1 AND entered_at = ?2 AND id > ?3 ORDER BY id LIMIT ?4"),
            older: format!(
                "{select}status = ?1 AND entered_at < ?2 AND entered_at >= ?3 \
                 ORDER BY entered_at DESC, id LIMIT ?4"
            ),
        }
    }
}

/// The first `count` places of the stretches so far, in order.
struct Newest {
    keys: Vec<Key>,
    count: usize,
}

impl Newest {
    /// Merges a stretch, read no further than it can still matter.
    fn add(
        &mut self,
        conn: &Connection,
        statements: &Statements,
        status: &str,
        after: Option<&TokenPlace>,
        leading: &[&str],
    ) -> Result<(), Broken> {
        if let Some(place) = after {
            let id = Value::Text(place.id.clone());
            let params = stretch(status, place.entered_at.0, id, self.count, leading);
            self.merge(sql::all(conn, &statements.same, params, key)?);
        }
        let before = after.map_or(i64::MAX, |place| place.entered_at.0);
        let full = self.keys.len() >= self.count;
        let oldest = self.keys.last().filter(|_| full).map_or(i64::MIN, |key| key.place.entered_at.0);
        let params = stretch(status, before, Value::Integer(oldest), self.count, leading);
        self.merge(sql::all(conn, &statements.older, params, key)?);
        Ok(())
    }

    fn merge(&mut self, more: Vec<Key>) {
        self.keys.extend(more);
        self.keys.sort_by(|a, b| {
            let (a, b) = (&a.place, &b.place);
            b.entered_at.cmp(&a.entered_at).then_with(|| a.id.cmp(&b.id))
        });
        self.keys.truncate(self.count);
    }
}

/// The parameters of [`Statements`].
fn stretch(
    status: &str,
    instant: i64,
    third: Value,
    count: usize,
    leading: &[&str],
) -> ParamsFromIter<Vec<Value>> {
    let text = |text: &str| Value::Text(text.to_owned());
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let mut values = vec![text(status), Value::Integer(instant), third, Value::Integer(count)];
    values.extend(leading.iter().copied().map(text));
    rusqlite::params_from_iter(values)
}

fn key(row: &rusqlite::Row<'_>) -> Result<Key, Broken> {
    let place = TokenPlace { entered_at: Timestamp(row.get(1)?), id: row.get(2)? };
    Ok(Key { place, row: row.get(0)? })
}
