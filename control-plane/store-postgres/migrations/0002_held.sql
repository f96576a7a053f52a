-- What paused tokens hold until they are resumed or cancelled.

-- Since when a token is paused: its timers get that time back.
ALTER TABLE tokens ADD COLUMN paused_at BIGINT;

-- By family and arrival: all that a family holds is read in order, and the next place is found at its end. A held event
-- has no row once it was settled.
CREATE TABLE held (
    top          TEXT COLLATE "C" NOT NULL,
    arrival      BIGINT NOT NULL,
    token        TEXT COLLATE "C" NOT NULL,
    event        TEXT COLLATE "C" NOT NULL,
    payload      TEXT,
    -- Where an outcome came from; all three or none.
    origin_task  BIGINT,
    origin_state TEXT COLLATE "C",
    origin_visit BIGINT,
    context      TEXT NOT NULL,
    schedules    TEXT NOT NULL,
    PRIMARY KEY (top, arrival),
    CHECK ((origin_task IS NULL) = (origin_state IS NULL) AND (origin_task IS NULL) = (origin_visit IS NULL))
);
