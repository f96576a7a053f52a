-- By which event a child token ended: its parent's join reads the branch.
ALTER TABLE tokens ADD COLUMN ended_by_event TEXT COLLATE "C";
ALTER TABLE tokens ADD COLUMN ended_by_payload TEXT;
