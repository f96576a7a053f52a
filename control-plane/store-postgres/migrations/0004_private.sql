-- What replay needs of a ledger entry beyond its data, which is the original's. Entries from before have none.
ALTER TABLE ledger ADD COLUMN private TEXT;
