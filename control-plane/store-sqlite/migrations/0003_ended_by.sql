-- The event that completed a token, apart from the one that brought it into its last state: a join tells its parent both.
ALTER TABLE tokens ADD COLUMN ended_by_event TEXT;
ALTER TABLE tokens ADD COLUMN ended_by_payload TEXT;
