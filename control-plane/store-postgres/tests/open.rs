//! What is refused at the door, with which sentence, and that it is left as it was.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use stateous_engine::Timestamp;
use stateous_private_postgres::Cluster;
use stateous_store::{Failure, FailureKind, Store};
use stateous_store_postgres::{Limits, Options, PostgresStore};

/// When the tests open databases.
const NOW: Timestamp = Timestamp(1_795_950_988_123);

fn open(url: &str) -> Result<PostgresStore, Failure> {
    let options = Options { host: "vm".to_owned(), now: NOW, limits: Limits::default() };
    stateous_store_postgres::open(url, &options)
}

fn name(url: &str) -> &str {
    url.rsplit('/').next().unwrap()
}

/// A database of ours.
fn database(cluster: &Cluster) -> String {
    let url = cluster.database();
    drop(open(&url).unwrap());
    url
}

/// Checks that a URL is refused with a sentence that says `says`, and does not tell a password.
fn check(url: &str, kind: FailureKind, says: &str) {
    let Err(failure) = open(url) else { panic!("{url} was opened; expected {says:?}") };
    assert_eq!(failure.kind, kind, "{failure:?}");
    assert!(failure.message.contains(says), "{}", failure.message);
    assert!(!failure.message.contains('\n') && !failure.message.contains("s3cret"));
}

/// Everything in a database that a person could have made.
fn contents(cluster: &Cluster, url: &str) -> String {
    let objects =
        "SELECT relkind, relname FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY relname";
    cluster.query(name(url), objects)
}

#[test]
fn urls_that_lead_nowhere() {
    let Some(cluster) = Cluster::shared() else { return };
    check("postgres://[", FailureKind::Unusable, "cannot be read");
    check("postgres://u:s3cret@127.0.0.1:1/x", FailureKind::Busy, "cannot be reached");
    check(&cluster.url("nowhere"), FailureKind::Unusable, "createdb");
    let nobody = cluster.url("postgres").replace("postgres@", "nobody:s3cret@");
    check(&nobody, FailureKind::Unusable, "user or the password");
}

#[test]
fn a_database_that_keeps_another_encoding() {
    let Some(cluster) = Cluster::shared() else { return };
    let latin = "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0";
    cluster.sql("postgres", latin);
    check(&cluster.url("latin"), FailureKind::Unusable, "UTF8");
    assert_eq!(contents(cluster, &cluster.url("latin")), "");
}

#[test]
fn tables_of_another_program() {
    let Some(cluster) = Cluster::shared() else { return };
    for tables in [
        "CREATE TABLE tokens (id text)",
        "CREATE TABLE migrations (id serial, migration text)",
        "CREATE TABLE migrations (); COMMENT ON TABLE migrations IS 'another program'",
    ] {
        let url = cluster.database();
        cluster.sql(name(&url), tables);
        let before = contents(cluster, &url);
        check(&url, FailureKind::Unusable, "another program's tables");
        assert_eq!(contents(cluster, &url), before);
    }
    // Tables of other names are neighbours.
    let url = cluster.database();
    cluster.sql(name(&url), "CREATE TABLE photos (id text)");
    drop(open(&url).unwrap());
    drop(open(&url).unwrap());
}

#[test]
fn a_newer_schema() {
    let Some(cluster) = Cluster::shared() else { return };
    let url = database(cluster);
    cluster.sql(name(&url), "INSERT INTO migrations SELECT n, 'later', 0 FROM generate_series(50, 99) AS n");
    let before = contents(cluster, &url);
    check(&url, FailureKind::Unusable, "written by a newer stateous");
    assert_eq!(contents(cluster, &url), before);
}

#[test]
fn tables_that_another_program_changed() {
    let Some(cluster) = Cluster::shared() else { return };
    for change in [
        "DROP TABLE contexts",
        "DROP INDEX tasks_queued",
        "ALTER TABLE tasks ADD COLUMN color TEXT",
        "ALTER TABLE tasks ALTER COLUMN attempt TYPE int",
        "ALTER TABLE tokens DROP CONSTRAINT tokens_status_check",
        "UPDATE migrations SET name = 'other'",
    ] {
        let url = database(cluster);
        cluster.sql(name(&url), change);
        check(&url, FailureKind::Unusable, "are not those of schema version");
    }
    // A table or index of one's own does no harm.
    let url = database(cluster);
    let mine = "CREATE INDEX mine ON ledger (at); CREATE TABLE notes_of_mine (x TEXT); ANALYZE";
    cluster.sql(name(&url), mine);
    drop(open(&url).unwrap());
}

#[test]
fn a_schema_of_ones_own() {
    let Some(cluster) = Cluster::shared() else { return };
    let url = cluster.database();
    cluster.sql(name(&url), "CREATE TABLE tokens (id text); CREATE SCHEMA ours");
    let url = format!("{url}?options=-csearch_path%3Dours");
    drop(open(&url).unwrap());
    drop(open(&url).unwrap());
    check(&url.replace("ours", "nowhere"), FailureKind::Unusable, "search_path");
}

#[test]
fn a_user_without_rights() {
    let Some(cluster) = Cluster::shared() else { return };
    let url = cluster.database();
    cluster.sql(name(&url), "CREATE ROLE guest LOGIN");
    let guest = url.replace("postgres@", "guest@");
    check(&guest, FailureKind::Unusable, "grant it all rights");
    cluster.sql(name(&url), "GRANT ALL ON SCHEMA public TO guest");
    drop(open(&guest).unwrap());
}

#[test]
fn a_database_that_is_served_already() {
    let Some(cluster) = Cluster::shared() else { return };
    let url = cluster.database();
    let store = open(&url).unwrap();
    let holder = format!("(process {} on vm, since 2026-11-29T11:16:28.123000Z)", std::process::id());
    check(&url, FailureKind::NotServing, &holder);
    // By whatever name it goes; another database of the same server is another matter.
    check(&url.replace("127.0.0.1", "localhost"), FailureKind::NotServing, &holder);
    drop(open(&cluster.database()).unwrap());
    drop(store);
    drop(open(&url).unwrap());
}

#[test]
fn what_a_commit_promises_does_not_hang_on_the_servers_settings() {
    let Some(cluster) = Cluster::shared() else { return };
    let url = cluster.database();
    let settings = "ALTER DATABASE test SET synchronous_commit = off; \
        ALTER DATABASE test SET default_transaction_isolation = 'serializable'";
    cluster.sql("postgres", &settings.replace("test", name(&url)));
    drop(open(&url).unwrap());
    // What a session set cannot be seen from another, so the writer's own statement writes it down.
    let watch = "CREATE TABLE seen (name text, value text); \
        CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS \
        'BEGIN INSERT INTO seen SELECT name, setting FROM pg_settings; RETURN new; END'; \
        CREATE TRIGGER see BEFORE UPDATE ON control FOR EACH ROW EXECUTE FUNCTION see()";
    cluster.sql(name(&url), watch);
    let store = open(&url).unwrap();
    let mut writer = store.writer().unwrap();
    cluster.sql(name(&url), "DELETE FROM seen");
    writer.begin().unwrap();
    writer.record_graph("s", "c").unwrap();
    writer.commit(NOW).unwrap();
    let of = |setting: &str| {
        cluster.query(name(&url), &format!("SELECT DISTINCT value FROM seen WHERE name = '{setting}'"))
    };
    assert_eq!(of("synchronous_commit"), "on");
    assert_eq!(of("plan_cache_mode"), "force_custom_plan");
    assert_eq!(of("transaction_isolation"), "read committed");
    let limits = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"].map(of);
    assert_eq!(limits, ["30000", "10000", "15000"]);
    let keepalives = ["tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count"].map(of);
    assert_eq!(keepalives, ["30", "10", "3"]);
}
