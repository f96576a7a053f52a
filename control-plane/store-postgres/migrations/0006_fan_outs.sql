-- Fan-outs: one visit of a state that starts a child for each item.

-- The place of a child's item; and whether a child of one of the token's own fan-outs failed.
ALTER TABLE tokens ADD COLUMN child_index BIGINT;
ALTER TABLE tokens ADD COLUMN errors BOOLEAN NOT NULL DEFAULT FALSE;

CREATE TABLE fan_outs (
    token       TEXT COLLATE "C" NOT NULL,
    state       TEXT COLLATE "C" NOT NULL,
    visit       BIGINT NOT NULL,
    top         TEXT COLLATE "C" NOT NULL,
    workflow    TEXT COLLATE "C" NOT NULL,
    digest      TEXT NOT NULL,
    total       BIGINT NOT NULL,
    created     BIGINT NOT NULL CHECK (created <= total),
    ended       BIGINT NOT NULL CHECK (ended <= created),
    counts      TEXT NOT NULL,
    first_ended BIGINT,
    sweep       TEXT CHECK (sweep IN ('pause', 'resume', 'cancel')),
    reason      TEXT,
    swept       BIGINT NOT NULL,
    pending     BOOLEAN NOT NULL,
    looked_at   BIGINT NOT NULL,
    PRIMARY KEY (token, state, visit)
);

-- Who waits longest is served first.
CREATE INDEX fan_outs_pending ON fan_outs (looked_at, token, state, visit) WHERE pending;
CREATE INDEX fan_outs_swept ON fan_outs (top) WHERE sweep IN ('pause', 'resume');

-- The items, in chunks of JSON text: a batch of children reads one.
CREATE TABLE fan_out_items (
    token  TEXT COLLATE "C" NOT NULL,
    state  TEXT COLLATE "C" NOT NULL,
    visit  BIGINT NOT NULL,
    number BIGINT NOT NULL,
    items  TEXT NOT NULL,
    PRIMARY KEY (token, state, visit, number)
);
