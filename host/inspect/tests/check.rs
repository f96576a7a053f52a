//! The check of an upload, from the outside: bytes in, a report or every problem at once out.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use stateous_inspect::{ProblemCode, UPLOAD_BYTES_MAX, check, digest, is_digest};

const ROUTINE: &str = include_str!("routine.wat");

/// The problems of a component in text, one `code: message` a line.
fn problems(wat: &str) -> String {
    problems_of(&wat::parse_str(wat).unwrap())
}

fn problems_of(bytes: &[u8]) -> String {
    let problems = check(bytes).expect_err("it should have been refused");
    problems.iter().map(|p| format!("{}: {p}", p.code)).collect::<Vec<_>>().join("\n")
}

/// The hand-written routine with one piece of its text changed.
fn changed(from: &str, to: &str) -> String {
    assert!(ROUTINE.contains(from), "{from}");
    ROUTINE.replacen(from, to, 1)
}

#[test]
fn a_routine_passes_with_its_digest_and_imports() {
    let bytes = wat::parse_str(ROUTINE).unwrap();
    let report = check(&bytes).unwrap_or_else(|p| panic!("{p:?}"));
    assert_eq!(report.digest, digest(&bytes));
    assert!(is_digest(&report.digest), "{}", report.digest);
    assert_eq!(report.size, bytes.len() as u64);
    assert_eq!(report.imports[1], "stateous:routine/context@0.1.0");
    assert_eq!(report.imports.len(), 6);
    assert_eq!(report.sdk, None);
}

#[test]
fn the_sdk_says_who_it_is_from_inside_a_core_module() {
    let marked = changed("(memory (export", "(@custom \"stateous:sdk\" \"rust 0.1.0\")\n(memory (export");
    let report = check(&wat::parse_str(marked).unwrap()).unwrap();
    assert_eq!(report.sdk.as_deref(), Some("rust 0.1.0"));

    let garbage = changed("(memory (export", "(@custom \"stateous:sdk\" \"a\\00b\")\n(memory (export");
    assert_eq!(check(&wat::parse_str(garbage).unwrap()).unwrap().sdk, None);
}

#[test]
fn a_digest_has_one_spelling() {
    assert!(is_digest(&digest(b"")));
    for other in [
        "",
        "sha256:",
        "SHA256:00",
        &digest(b"").to_uppercase(),
        &digest(b"")[7..],
        "sha256:../../../../etc/passwd",
    ] {
        assert!(!is_digest(other), "{other}");
    }
}

#[test]
fn bytes_that_are_no_component_are_named() {
    assert!(problems_of(b"").starts_with("not_wasm: it is not WebAssembly: it begins with the bytes ``"));
    assert!(
        problems_of(b"fn main() {}")
            .starts_with("not_wasm: it is not WebAssembly: it begins with the bytes `666e206d61696e28`")
    );
    assert!(
        problems("(module)")
            .starts_with("core_module: it is a core WebAssembly module; a routine is a component.")
    );
    let mut cut = wat::parse_str(ROUTINE).unwrap();
    cut.truncate(cut.len() / 2);
    assert!(problems_of(&cut).starts_with("invalid_wasm: "), "{}", problems_of(&cut));
    let large = vec![0u8; UPLOAD_BYTES_MAX + 1];
    assert!(problems_of(&large).starts_with("too_large: it has 33554433 bytes; at most 33554432"));
}

#[test]
fn proposals_that_the_engine_turns_off_are_refused_by_name() {
    let threads = problems("(component (core module (memory 1 1 shared)))");
    assert!(threads.starts_with("invalid_wasm: it is not valid WebAssembly for this host: "), "{threads}");
    assert!(threads.contains("threads"), "{threads}");
}

#[test]
fn an_import_that_we_do_not_offer_is_named() {
    let wat = r#"(component (import "acme:db/query@1.0.0" (instance (export "run" (func (param "sql" string)))))
                            (import "query" (func)))"#;
    assert_eq!(
        problems(wat),
        "unknown_import: it imports `acme:db/query@1.0.0`, which this host does not offer: build it without, or run it elsewhere\n\
         unknown_import: it imports `query`, which this host does not offer: build it without, or run it elsewhere\n\
         no_run: it does not export the function `run` (it exports nothing): build it for the world stateous:routine/routine@0.1.0"
    );
    let store = problems(r#"(component (import "wasi:keyvalue/store@0.2.0" (instance)))"#);
    assert!(store.starts_with("unknown_import: it imports `wasi:keyvalue/store@0.2.0`, which"), "{store}");
    let http = problems(r#"(component (import "wasi:http/outgoing-handler@0.2.0" (instance)))"#);
    assert!(!http.contains("unknown_import"), "outgoing HTTP is offered: {http}");
    let unknown = problems(r#"(component (import "stateous:routine/teleport@0.1.0" (instance)))"#);
    assert!(unknown.starts_with("unknown_import: it imports `stateous:routine/teleport@0.1.0`"), "{unknown}");
}

#[test]
fn another_version_says_which_one_is_offered() {
    let ours = problems(r#"(component (import "stateous:routine/notes@0.2.0" (instance)))"#);
    assert!(
        ours.starts_with(
            "wrong_version: it imports `stateous:routine/notes@0.2.0`; this host offers 0.1.x: rebuild it with an SDK of that line"
        ),
        "{ours}"
    );
    let wasi = problems(r#"(component (import "wasi:cli/environment@0.3.0" (instance)))"#);
    assert!(
        wasi.starts_with("wrong_version: it imports `wasi:cli/environment@0.3.0`; this host offers 0.2.x"),
        "{wasi}"
    );
    let none = problems(r#"(component (import "stateous:routine/notes" (instance)))"#);
    assert!(
        none.starts_with("wrong_version: it imports `stateous:routine/notes`; this host offers 0.1.x"),
        "{none}"
    );
}

#[test]
fn a_newer_patch_version_fits_as_long_as_it_uses_nothing_new() {
    let same = changed("context@0.1.0", "context@0.1.9");
    assert!(check(&wat::parse_str(same).unwrap()).is_ok());
    let newer = ROUTINE.replacen("context@0.1.0", "context@0.1.9", 1).replacen(
        r#"(export "all""#,
        r#"(export "brand-new" (func)) (export "all""#,
        1,
    );
    assert_eq!(
        problems(&newer),
        "wrong_import: it imports `brand-new` of `stateous:routine/context@0.1.9`, which this host (version \
         0.1.0) does not have: update the host, or rebuild it with an older SDK"
    );
}

#[test]
fn a_capability_with_another_type_is_shown_with_both() {
    let wat = changed(r#"(param "value" string)"#, r#"(param "value" u32)"#);
    assert_eq!(
        problems(&wat),
        "wrong_import: it imports `set` of `stateous:routine/context@0.1.0` as `func(key: string, value: \
         u32) -> result<_, record{code: string, message: string}>`; this host has `func(key: string, value: \
         string) -> result<_, record{code: string, message: string}>`: rebuild it with an SDK for 0.1.0"
    );
}

#[test]
fn a_run_of_another_type_is_shown_with_both() {
    let wat = r#"(component
      (core module $m (memory (export "memory") 1) (func (export "run") (param i32 i32) (result i32) i32.const 0)
        (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024))
      (core instance $i (instantiate $m))
      (func (export "run") (param "input" string) (result string)
        (canon lift (core func $i "run") (memory (core memory $i "memory")) (realloc (core func $i "realloc")))))"#;
    let text = problems(wat);
    assert!(
        text.starts_with(
            "wrong_run: its `run` is `func(input: string) -> string`; the world has `func(task: record{token:"
        ),
        "{text}"
    );
}

#[test]
fn a_type_that_unfolds_to_millions_is_refused_and_cut() {
    let mut wat = String::from(r#"(component (type $t0 (tuple u8 u8))"#);
    for i in 1..18 {
        wat.push_str(&format!("(type $t{i} (tuple $t{} $t{}))", i - 1, i - 1));
    }
    wat.push_str(r#"(import "stateous:routine/log@0.1.0" (instance (alias outer 1 $t17 (type $t)) (export "write" (func (param "level" $t))))))"#);
    let text = problems(&wat);
    assert!(text.starts_with("wrong_import: it imports `write`"), "{}", &text[..200]);
    assert!(text.len() < 20_000, "{}", text.len());
}

#[test]
fn every_code_is_spelled_once() {
    use ProblemCode::*;
    let codes = [
        TooLarge,
        NotWasm,
        CoreModule,
        InvalidWasm,
        NoRun,
        WrongRun,
        UnknownImport,
        WrongVersion,
        WrongImport,
        CompileBomb,
        NotComponentizable,
    ];
    let spelled: std::collections::BTreeSet<_> = codes.iter().map(|c| c.as_str()).collect();
    assert_eq!(spelled.len(), codes.len());
}
