-- What paused tokens hold until they are resumed or cancelled.

-- Since when a token is paused: its timers get that time back.
ALTER TABLE tokens ADD COLUMN paused_at INTEGER;

-- Clustered by family and arrival: all that a family holds is read in one piece and in order, and the next place is
-- found at its end. A held event has no row once it was settled.
CREATE TABLE held (
    top          TEXT NOT NULL,
    arrival      INTEGER NOT NULL,
    token        TEXT NOT NULL,
    event        TEXT NOT NULL,
    payload      TEXT,
    -- Where an outcome came from; all three or none.
    origin_task  INTEGER,
    origin_state TEXT,
    origin_visit INTEGER,
    context      TEXT NOT NULL,
    schedules    TEXT NOT NULL,
    PRIMARY KEY (top, arrival),
    CHECK ((origin_task IS NULL) = (origin_state IS NULL) AND (origin_task IS NULL) = (origin_visit IS NULL))
) STRICT, WITHOUT ROWID;
