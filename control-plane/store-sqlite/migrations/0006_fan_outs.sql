-- Fan-outs: one visit of a state that starts a child for each item.

-- The place of a child's item; and whether a child of one of the token's own fan-outs failed.
ALTER TABLE tokens ADD COLUMN child_index INTEGER;
ALTER TABLE tokens ADD COLUMN errors INTEGER NOT NULL DEFAULT 0 CHECK (errors IN (0, 1));

CREATE TABLE fan_outs (
    token       TEXT NOT NULL,
    state       TEXT NOT NULL,
    visit       INTEGER NOT NULL,
    top         TEXT NOT NULL,
    workflow    TEXT NOT NULL,
    digest      TEXT NOT NULL,
    total       INTEGER NOT NULL,
    created     INTEGER NOT NULL CHECK (created <= total),
    ended       INTEGER NOT NULL CHECK (ended <= created),
    counts      TEXT NOT NULL,
    first_ended INTEGER,
    sweep       TEXT CHECK (sweep IN ('pause', 'resume', 'cancel')),
    reason      TEXT,
    swept       INTEGER NOT NULL,
    pending     INTEGER NOT NULL CHECK (pending IN (0, 1)),
    looked_at   INTEGER NOT NULL,
    PRIMARY KEY (token, state, visit)
) STRICT, WITHOUT ROWID;

-- Who waits longest is served first.
CREATE INDEX fan_outs_pending ON fan_outs (looked_at, token, state, visit) WHERE pending = 1;
CREATE INDEX fan_outs_swept ON fan_outs (top) WHERE sweep IN ('pause', 'resume');

-- The items, in chunks of JSON text: a batch of children reads one.
CREATE TABLE fan_out_items (
    token  TEXT NOT NULL,
    state  TEXT NOT NULL,
    visit  INTEGER NOT NULL,
    number INTEGER NOT NULL,
    items  TEXT NOT NULL,
    PRIMARY KEY (token, state, visit, number)
) STRICT;
