-- Everything that a control plane keeps. Column by column the rows of `stateous_engine::model`; JSON is text.
--
-- Names are compared and sorted byte by byte, whatever the database's own collation is: COLLATE "C". There are no
-- foreign keys: rows of a token are written by one decision about that token, the store refuses an update that finds no
-- row, and a lookup for each ledger entry would buy nothing. Words that the design names but no version writes yet are
-- admitted already, since a CHECK that changes is checked against every row.

-- One row, about the control plane itself.
CREATE TABLE control (
    id          BIGINT PRIMARY KEY CHECK (id = 1),
    database_id TEXT COLLATE "C" NOT NULL,
    structure   TEXT COLLATE "C",
    checksum    TEXT COLLATE "C",
    alive_at    BIGINT NOT NULL,
    latest      BIGINT NOT NULL,
    -- Ids that were never given: rows can be deleted, their ids are not given again.
    next_task   BIGINT NOT NULL,
    next_timer  BIGINT NOT NULL,
    -- Postgres only: which opening of this database may write, and who that is, for people.
    serving     TEXT COLLATE "C",
    holder      TEXT COLLATE "C"
);

INSERT INTO control (id, database_id, alive_at, latest, next_task, next_timer)
VALUES (1, replace(gen_random_uuid()::text, '-', ''), 0, 0, 1, 1);

-- A token is found by its folded id, which is also how two ids that differ only in case are told apart: one index. There
-- is no second, so an id is compared after its row was found.
CREATE TABLE tokens (
    id                 TEXT COLLATE "C" NOT NULL,
    folded             TEXT COLLATE "C" NOT NULL UNIQUE CHECK (folded = lower(id)),
    workflow           TEXT COLLATE "C" NOT NULL,
    structure          TEXT COLLATE "C" NOT NULL,
    state              TEXT COLLATE "C" NOT NULL,
    status             TEXT COLLATE "C" NOT NULL CHECK (status IN
                       ('active', 'paused', 'completed', 'completed_with_errors', 'failed', 'cancelled')),
    visit              BIGINT NOT NULL,
    started_at         BIGINT NOT NULL,
    entered_at         BIGINT NOT NULL,
    parent             TEXT COLLATE "C",
    seq                BIGINT NOT NULL,
    visits             TEXT NOT NULL,
    counts             TEXT NOT NULL,
    entered_by_event   TEXT COLLATE "C" NOT NULL,
    entered_by_payload TEXT
) WITH (fillfactor = 80);

CREATE INDEX tokens_listed ON tokens (status, entered_at DESC, id);
CREATE INDEX tokens_parent ON tokens (parent, status, entered_at DESC, id) WHERE parent IS NOT NULL;

-- Apart from the tokens, so that a move does not write a large context again.
CREATE TABLE contexts (
    token   TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    context TEXT NOT NULL
);

CREATE TABLE tasks (
    id          BIGINT PRIMARY KEY,
    token       TEXT COLLATE "C" NOT NULL,
    workflow    TEXT COLLATE "C" NOT NULL,
    state       TEXT COLLATE "C" NOT NULL,
    visit       BIGINT NOT NULL,
    status      TEXT COLLATE "C" NOT NULL CHECK (status IN
                ('queued', 'claimed', 'started', 'finalizing', 'waiting', 'done', 'failed', 'cancelled')),
    attempt     BIGINT NOT NULL,
    failures    BIGINT NOT NULL,
    claimed_by  TEXT COLLATE "C",
    request     TEXT COLLATE "C",
    lease_until BIGINT,
    queued_at   BIGINT NOT NULL
) WITH (fillfactor = 80);

-- Each index holds only the rows that its question is about, so that ended tasks cost nothing.
CREATE INDEX tasks_queued ON tasks (workflow, state, id) WHERE status = 'queued';
CREATE INDEX tasks_leased ON tasks (lease_until) WHERE status IN ('claimed', 'started');
CREATE INDEX tasks_requested ON tasks (claimed_by, request)
    WHERE status IN ('claimed', 'started') AND request IS NOT NULL;
CREATE INDEX tasks_open ON tasks (token) WHERE status IN ('queued', 'claimed', 'started', 'waiting');

-- Pending timers only: one that fired or was cancelled has no row.
CREATE TABLE timers (
    id      BIGINT PRIMARY KEY,
    token   TEXT COLLATE "C" NOT NULL,
    state   TEXT COLLATE "C" NOT NULL,
    visit   BIGINT NOT NULL,
    event   TEXT COLLATE "C" NOT NULL,
    payload TEXT,
    set_at  BIGINT NOT NULL,
    due_at  BIGINT NOT NULL,
    kind    TEXT COLLATE "C" NOT NULL CHECK (kind IN ('timeout', 'timer'))
);

CREATE INDEX timers_due ON timers (due_at, id);
CREATE INDEX timers_token ON timers (token);

CREATE TABLE memory (
    token TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    key   TEXT COLLATE "C" NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (token, state, key)
);

-- Bytes of keys and values of each (token, state), so that a write need not add up millions of small cells.
CREATE TABLE memory_totals (
    token TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    bytes BIGINT NOT NULL CHECK (bytes >= 0),
    PRIMARY KEY (token, state)
);

CREATE TABLE ledger (
    token TEXT COLLATE "C" NOT NULL,
    seq   BIGINT NOT NULL,
    at    BIGINT NOT NULL,
    kind  TEXT COLLATE "C" NOT NULL,
    key   TEXT COLLATE "C",
    data  TEXT NOT NULL,
    PRIMARY KEY (token, seq)
);

CREATE UNIQUE INDEX ledger_key ON ledger (token, key) WHERE key IS NOT NULL;

CREATE TABLE components (
    digest      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    size        BIGINT NOT NULL,
    sdk         TEXT,
    uploaded_at BIGINT NOT NULL
);

CREATE TABLE component_chunks (
    digest TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    bytes  BYTEA NOT NULL,
    PRIMARY KEY (digest, number)
);

-- Every assignment that ever was; the highest version of a state is in force.
CREATE TABLE assignments (
    workflow    TEXT COLLATE "C" NOT NULL,
    state       TEXT COLLATE "C" NOT NULL,
    version     BIGINT NOT NULL,
    digest      TEXT COLLATE "C" NOT NULL,
    name        TEXT NOT NULL,
    limits      TEXT NOT NULL,
    assigned_at BIGINT NOT NULL,
    PRIMARY KEY (workflow, state, version)
);
