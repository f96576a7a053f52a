-- Everything that a control plane keeps. Column by column the rows of `stateous_engine::model`; JSON is text.
--
-- There are no foreign keys: rows of a token are written by one decision about that token, the store refuses an update
-- that finds no row, and a lookup for each ledger entry would buy nothing. Words that the design names but no version
-- writes yet are admitted already, since SQLite changes a CHECK only by writing the whole table anew.

-- One row, about the control plane itself.
CREATE TABLE control (
    id          INTEGER PRIMARY KEY CHECK (id = 1),
    database_id TEXT NOT NULL,
    structure   TEXT,
    checksum    TEXT,
    alive_at    INTEGER NOT NULL,
    latest      INTEGER NOT NULL,
    -- Ids that were never given: rows can be deleted, their ids are not given again.
    next_task   INTEGER NOT NULL,
    next_timer  INTEGER NOT NULL
) STRICT;

INSERT INTO control (id, database_id, alive_at, latest, next_task, next_timer)
VALUES (1, lower(hex(randomblob(16))), 0, 0, 1, 1);

-- A token is found by its folded id, which is also how two ids that differ only in case are told apart: one index.
CREATE TABLE tokens (
    id                 TEXT NOT NULL,
    folded             TEXT NOT NULL UNIQUE CHECK (folded = lower(id)),
    workflow           TEXT NOT NULL,
    structure          TEXT NOT NULL,
    state              TEXT NOT NULL,
    status             TEXT NOT NULL CHECK (status IN
                       ('active', 'paused', 'completed', 'completed_with_errors', 'failed', 'cancelled')),
    visit              INTEGER NOT NULL,
    started_at         INTEGER NOT NULL,
    entered_at         INTEGER NOT NULL,
    parent             TEXT,
    seq                INTEGER NOT NULL,
    visits             TEXT NOT NULL,
    counts             TEXT NOT NULL,
    entered_by_event   TEXT NOT NULL,
    entered_by_payload TEXT
) STRICT;

CREATE INDEX tokens_listed ON tokens (status, entered_at DESC, id);
CREATE INDEX tokens_parent ON tokens (parent, status, entered_at DESC, id) WHERE parent IS NOT NULL;

-- Apart from the tokens, so that a move does not write a large context again.
CREATE TABLE contexts (
    token   TEXT NOT NULL PRIMARY KEY,
    context TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tasks (
    id          INTEGER PRIMARY KEY,
    token       TEXT NOT NULL,
    workflow    TEXT NOT NULL,
    state       TEXT NOT NULL,
    visit       INTEGER NOT NULL,
    status      TEXT NOT NULL CHECK (status IN
                ('queued', 'claimed', 'started', 'finalizing', 'waiting', 'done', 'failed', 'cancelled')),
    attempt     INTEGER NOT NULL,
    failures    INTEGER NOT NULL,
    claimed_by  TEXT,
    request     TEXT,
    lease_until INTEGER,
    queued_at   INTEGER NOT NULL
) STRICT;

-- Each index holds only the rows that its question is about, so that ended tasks cost nothing.
CREATE INDEX tasks_queued ON tasks (workflow, state, id) WHERE status = 'queued';
CREATE INDEX tasks_leased ON tasks (lease_until) WHERE status IN ('claimed', 'started');
CREATE INDEX tasks_requested ON tasks (claimed_by, request)
    WHERE status IN ('claimed', 'started') AND request IS NOT NULL;
CREATE INDEX tasks_open ON tasks (token) WHERE status IN ('queued', 'claimed', 'started', 'waiting');

-- Pending timers only: one that fired or was cancelled has no row.
CREATE TABLE timers (
    id      INTEGER PRIMARY KEY,
    token   TEXT NOT NULL,
    state   TEXT NOT NULL,
    visit   INTEGER NOT NULL,
    event   TEXT NOT NULL,
    payload TEXT,
    set_at  INTEGER NOT NULL,
    due_at  INTEGER NOT NULL,
    kind    TEXT NOT NULL CHECK (kind IN ('timeout', 'timer'))
) STRICT;

CREATE INDEX timers_due ON timers (due_at);
CREATE INDEX timers_token ON timers (token);

CREATE TABLE memory (
    token TEXT NOT NULL,
    state TEXT NOT NULL,
    key   TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (token, state, key)
) STRICT, WITHOUT ROWID;

-- Bytes of keys and values of each (token, state), so that a write need not add up millions of small cells.
CREATE TABLE memory_totals (
    token TEXT NOT NULL,
    state TEXT NOT NULL,
    bytes INTEGER NOT NULL CHECK (bytes >= 0),
    PRIMARY KEY (token, state)
) STRICT, WITHOUT ROWID;

-- Clustered by token: a history is read in one piece, and an entry costs one tree.
CREATE TABLE ledger (
    token TEXT NOT NULL,
    seq   INTEGER NOT NULL,
    at    INTEGER NOT NULL,
    kind  TEXT NOT NULL,
    key   TEXT,
    data  TEXT NOT NULL,
    PRIMARY KEY (token, seq)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX ledger_key ON ledger (token, key) WHERE key IS NOT NULL;

CREATE TABLE components (
    digest      TEXT NOT NULL PRIMARY KEY,
    size        INTEGER NOT NULL,
    sdk         TEXT,
    uploaded_at INTEGER NOT NULL
) STRICT;

CREATE TABLE component_chunks (
    digest TEXT NOT NULL,
    number INTEGER NOT NULL,
    bytes  BLOB NOT NULL,
    PRIMARY KEY (digest, number)
) STRICT;

-- Every assignment that ever was; the highest version of a state is in force.
CREATE TABLE assignments (
    workflow    TEXT NOT NULL,
    state       TEXT NOT NULL,
    version     INTEGER NOT NULL,
    digest      TEXT NOT NULL,
    name        TEXT NOT NULL,
    limits      TEXT NOT NULL,
    assigned_at INTEGER NOT NULL,
    PRIMARY KEY (workflow, state, version)
) STRICT, WITHOUT ROWID;
