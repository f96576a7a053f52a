-- What listings are read by, so that a page costs the same on every page and beside any number of rows.

-- Tokens of a workflow, or of one of its states. The states of a workflow are few: each is a stretch of this index.
CREATE INDEX tokens_state ON tokens (workflow, state, status, entered_at DESC, id);

-- Tasks of a token that are no longer open: `tasks_open` holds the others. An index of both would be taken for a lookup of
-- open tasks too, and walk over a token's whole past.
CREATE INDEX tasks_token ON tasks (token, id) WHERE status IN ('finalizing', 'done', 'failed', 'cancelled');

-- Open tasks that are no longer queued: `tasks_queued` holds those that are.
CREATE INDEX tasks_at_work ON tasks (workflow, state, status, id) WHERE status IN ('claimed', 'started', 'waiting');
