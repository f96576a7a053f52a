-- What listings are read by, so that a page costs the same on every page and beside any number of rows.

-- Tokens of a workflow, or of one of its states. The states of a workflow are few: each is a stretch of this index.
CREATE INDEX tokens_state ON tokens (workflow, state, status, entered_at DESC, id);

-- Tasks of a token, ended ones too, and open tasks that are no longer queued: `tasks_queued` holds those that are.
CREATE INDEX tasks_token ON tasks (token, id);
CREATE INDEX tasks_at_work ON tasks (workflow, state, status, id) WHERE status IN ('claimed', 'started', 'waiting');
