//! Settings files in, settings or one line out.

use super::*;

fn load(name: &str, text: &str, given: Given) -> Result<Settings, String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), text).unwrap();
    let home = folder.path().display().to_string();
    Settings::load(folder.path(), given).map_err(|error| error.to_string().replace(&home, "FOLDER"))
}

#[test]
fn a_url_is_enough() {
    let settings = load(TOML, "url = 'http://127.0.0.1:8080/'", Given::default()).unwrap();
    let defaults = Settings {
        url: "http://127.0.0.1:8080".into(),
        name: host(),
        slots: 4,
        states: None,
        caps: Limits::default_caps(),
        cache_bytes: 2 << 30,
        outbox_bytes: 1 << 30,
        listen: None,
        http: HttpSettings::default(),
        settings: BTreeMap::new(),
        secrets: Secrets::new(),
        routines: BTreeMap::new(),
    };
    assert_eq!(settings, defaults);
}

#[test]
fn everything_can_be_said() {
    let text = r#"
        url = "http://control:8080/base"
        name = "build-box-1"
        slots = 1000
        states = ["draft", "orders/review"]
        [limits]
        fuel = 5_000_000_000
        memory = "32MiB"
        wall = "90s"
    "#;
    let settings = load(TOML, text, Given::default()).unwrap();
    assert_eq!(settings.states, Some(vec!["draft".to_owned(), "orders/review".to_owned()]));
    assert_eq!((&*settings.name, settings.slots), ("build-box-1", 1000));
    let caps = settings.caps;
    assert_eq!((caps.fuel, caps.memory_bytes, caps.wall.as_secs()), (5_000_000_000, 32 << 20, 90));
}

#[test]
fn the_original_s_file_is_read_when_there_is_no_toml() {
    let text = "# A Stateous supervisor.\nurl: \"http://127.0.0.1:8080\"    # the control plane\ntasks: 7\nname: vm\n";
    let settings = load(YAML, text, Given::default()).unwrap();
    assert_eq!((&*settings.url, &*settings.name, settings.slots), ("http://127.0.0.1:8080", "vm", 7));
}

#[test]
fn what_is_given_goes_before_the_file() {
    let given = Given { url: Some("http://other:1".into()), name: Some("me".into()), slots: Some(2) };
    let text = "url = 'http://127.0.0.1:8080'\nname = 'vm'\nslots = 9";
    let settings = load(TOML, text, given.clone()).unwrap();
    assert_eq!((&*settings.url, &*settings.name, settings.slots), ("http://other:1", "me", 2));

    let empty = tempfile::tempdir().unwrap();
    assert_eq!(Settings::load(empty.path(), given).unwrap().slots, 2, "no file is needed");
}

#[test]
fn every_mistake_is_told_on_one_line() {
    let check = |name: &str, text: &str, wanted: &str| {
        let error = load(name, text, Given::default()).unwrap_err();
        assert_eq!(error, wanted);
        assert_eq!(error.lines().count(), 1);
    };
    check(
        TOML,
        "",
        "FOLDER has no stateous.toml: write `url = \"http://127.0.0.1:8080\"` into one, or give the URL",
    );
    check(
        TOML,
        "url = 'ftp://a'\nslots = 0\ncolour = 1\nname = ''\nstates = ['A']\n[limits]\nfuel = -1\nmemory = '1TB'\nwall = 5\nheat = 1",
        "cannot use FOLDER/stateous.toml: url: \"ftp://a\" is not the URL of a control plane, such as \
         \"http://127.0.0.1:8080\"; slots: 0 is not a whole number from 1 to 1000; name: \"\" is not a text of 1 to 128 \
         characters; states: [\"A\"] is not a list of states, such as [\"orders/draft\"]; colour: there is no such \
         setting (there are url, slots, name, states, cache, \
         outbox, listen, limits, http, settings, secrets, routines); limits.fuel: -1 is not a whole number of instructions; \
         limits.memory: \"1TB\" is not a size such as \"256MiB\", at most 4 GiB; limits.wall: 5 is not a duration such \
         as \"90s\", \"10m\" or \"6h\"; limits.heat: there is no such setting (there are fuel, memory, wall)",
    );
    check(
        YAML,
        "url: 'http://a'\nslots: 3\n",
        "cannot use FOLDER/stateous.yaml: slots: there is no such setting (there are url, tasks, name)",
    );
    check(YAML, "- 1\n", "cannot use FOLDER/stateous.yaml: it is not a list of settings by name");
    for (name, text, wanted) in [
        (TOML, "url = \n", "cannot read FOLDER/stateous.toml: line 1: "),
        (YAML, "url: [\n", "cannot read FOLDER/stateous.yaml: "),
    ] {
        let error = load(name, text, Given::default()).unwrap_err();
        assert!(error.starts_with(wanted) && error.lines().count() == 1, "{error}");
    }
}

#[test]
fn what_is_given_is_checked_too() {
    let check = |given: Given, wanted: &str| {
        let error = load(TOML, "url = 'http://a'", given).unwrap_err();
        assert!(error.contains(wanted), "{error}");
    };
    check(Given { slots: Some(1001), ..Given::default() }, "1 to 1000 routines at once, not 1001");
    check(Given { name: Some("a\nb".into()), ..Given::default() }, "is not a supervisor's name");
    check(Given { url: Some("nowhere".into()), ..Given::default() }, "http:// or https://");
    let error = Settings::load(Path::new("/no/such/folder"), Given::default()).unwrap_err();
    assert_eq!(error.to_string(), "/no/such/folder is not a folder");
}

#[test]
fn what_routines_may_do_can_be_said() {
    let text = r#"
        url = "http://a"
        cache = "1GiB"
        listen = "127.0.0.1:9464"
        [http]
        allow = ["GET https://api.example.com/v1/"]
        private = ["Ledger.internal", "10.0.0.1"]
        body = "1MiB"
        timeout = "30s"
        requests = 10
        [settings]
        city = "Bern"
        most = 5
        [secrets.API_TOKEN]
        file = "stateous.toml"
        hosts = ["api.example.com"]
        states = ["orders/draft"]
        [routines]
        "orders/draft" = "target/draft.wasm"
    "#;
    // The file's own text is no header, so this secret is refused; all else is read.
    let error = load(TOML, text, Given::default()).unwrap_err();
    assert_eq!(
        error,
        "cannot use FOLDER/stateous.toml: secrets.API_TOKEN: its value is not 1 to 8192 visible ASCII characters, which a \
         header can hold"
    );
    let variable = text.replace("file = \"stateous.toml\"", "env = \"CARGO_MANIFEST_DIR\"");
    let settings = load(TOML, &variable, Given::default()).unwrap();
    assert_eq!((settings.cache_bytes, settings.listen), (1 << 30, "127.0.0.1:9464".parse().ok()));
    assert_eq!(settings.http.allow[0].to_string(), "GET https://api.example.com/v1/");
    assert_eq!(settings.http.private, ["10.0.0.1".to_owned(), "ledger.internal".to_owned()].into());
    let http = &settings.http;
    assert_eq!((http.body_bytes, http.timeout.as_secs(), http.requests), (1 << 20, 30, 10));
    assert_eq!(settings.settings["most"], "5");
    assert_eq!(settings.secrets["API_TOKEN"].hosts, ["api.example.com".to_owned()].into());
    assert_eq!(settings.secrets["API_TOKEN"].value, env!("CARGO_MANIFEST_DIR"));
    assert!(settings.routines["orders/draft"].ends_with("target/draft.wasm"));
}

#[test]
fn what_routines_may_do_is_told_key_by_key() {
    let check = |text: &str, wanted: &str| {
        let error = load(TOML, &format!("url = 'http://a'\n{text}"), Given::default()).unwrap_err();
        assert_eq!(error.strip_prefix("cannot use FOLDER/stateous.toml: ").unwrap(), wanted);
        assert_eq!(error.lines().count(), 1);
    };
    check(
        "[http]\nallow = ['GET x']",
        "http.allow: 'GET x' is no HTTP rule: its URL has no scheme; write it as 'GET https://api.example.com/v1/', with or \
         without methods, port and path",
    );
    check(
        "[http]\nprivate = ['a/b']",
        "http.private: [\"a/b\"] is not a list of hosts, such as [\"ledger.internal\"]",
    );
    check(
        "[http]\nhosts = []",
        "http.hosts: there is no such setting (there are allow, private, body, timeout, requests)",
    );
    check(
        "[settings]\nx = []",
        "settings.x: it is not a text of at most 65536 bytes, a number, true or false",
    );
    check("[secrets.A]\nhosts = ['a']", "secrets.A: it says `env` or `file`, one of them");
    check(
        "[secrets.A]\nenv = 'STATEOUS_NO_SUCH_VARIABLE'\nhosts = ['a']",
        "secrets.A.env: the variable STATEOUS_NO_SUCH_VARIABLE is not set",
    );
    check("[secrets.A]\nenv = 'HOME'", "secrets.A.hosts: it is missing; nobody gets the secret without");
    check(
        "[routines]\ndraft = 'x'",
        "routines.\"draft\": it is not a state and a file, such as \"orders/draft\" = \"target/draft.wasm\"",
    );
    check("listen = '9464'", "listen: \"9464\" is not an address and port, such as \"127.0.0.1:9464\"");
}
