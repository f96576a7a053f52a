//! The proof, held against the original's verdicts (0.2.2) and against its own examples.

use std::path::Path;

use stateous_engine::guard::{Facts, Guard};
use stateous_engine::json::{Json, Object, parse_nested};

use super::{ASKING, Atom, Budget, Example, Purse, STEPS, Where, ask, of_group};
use crate::definition::When;
use crate::diagnostic::Problems;

fn read(name: &str) -> Json {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    parse_nested(&text, 100).unwrap()
}

fn guard(text: &str) -> Guard {
    Guard::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Whether the engine says that `guard` holds on `data`.
fn holds(guard: &Guard, data: &Example, event: &str) -> bool {
    let (mut context, mut payload) = (Object::new(), Object::new());
    for (atom, value) in data {
        match atom {
            Atom::Context(key) => drop(context.insert(key.clone(), value.clone())),
            Atom::Payload(field) => drop(payload.insert(field.clone(), value.clone())),
            Atom::Count(_) => {}
        }
    }
    let counts = |counted: &str| {
        let found = data.iter().find(|(atom, _)| *atom == Atom::Count(counted.to_owned()));
        found.map_or(u64::from(counted == event), |(_, n)| n.as_u64().unwrap())
    };
    guard.holds(&Facts { context: &context, payload: &payload, counts: &counts, branches: &[], weights: &[] })
}

/// `exclusive`, `overlap` or `undecidable`; an example is put to the engine.
fn verdict(first: &str, second: &str, place: &Where<'_>) -> &'static str {
    let guards = [guard(first), guard(second)];
    match ask(&[&guards[0], &guards[1]], place, &mut Budget(STEPS)) {
        Ok(None) => "exclusive",
        Err(_) => "undecidable",
        Ok(Some(data)) => {
            for guard in &guards {
                assert!(holds(guard, &data, place.event), "{} does not hold with {data:?}", guard.text);
            }
            "overlap"
        }
    }
}

#[test]
fn the_verdicts_are_the_originals() {
    let vectors = read("exclusive.json");
    let pairs = vectors["pairs"].as_array().unwrap();
    for pair in pairs {
        let text = |key: &str| pair[key].as_str().unwrap();
        let model = &vectors["models"][text("model")];
        let schemas = model["schemas"].as_object().unwrap();
        let schema = |key: &str| model[key].as_str().map(|name| &schemas[name]);
        let place =
            Where { event: text("event"), context: schema("context"), payload: schema("payload"), schemas };
        let (first, second) = (text("first"), text("second"));
        let ours = verdict(first, second, &place);
        assert_eq!(ours, verdict(second, first, &place), "{first} / {second}");
        if pair["why"] == "they read too many values to try every case" {
            // We look at fewer cases, so we may know.
            continue;
        }
        assert_eq!(ours, text("verdict"), "{first} / {second}");
    }
    assert!(pairs.len() > 300, "{}", pairs.len());
}

/// The verdict and what it cost, in steps, without a schema.
fn free(first: &str, second: &str) -> (&'static str, u64) {
    let schemas = Object::new();
    let place = Where { event: "go", context: None, payload: None, schemas: &schemas };
    let guards = [guard(first), guard(second)];
    let mut budget = Budget(STEPS);
    let _ = ask(&[&guards[0], &guards[1]], &place, &mut budget);
    (verdict(first, second, &place), STEPS - budget.0)
}

#[test]
fn many_terms_cost_little_where_each_narrows_the_choice() {
    let terms = |n: usize, negated: &str, and: &str| {
        let all: Vec<_> = (0..n).map(|i| format!("'x{i}' {negated} ctx['tags']")).collect();
        all.join(and)
    };
    // The original takes four seconds to say that it does not know.
    let (answer, cost) = free(&terms(20, "in", " and "), "'x7' not in ctx['tags']");
    assert_eq!(answer, "exclusive");
    assert!(cost < 50_000, "{cost}");
    let (answer, cost) = free(&terms(200, "in", " and "), "ctx['tags'] != null");
    assert_eq!(answer, "overlap");
    assert!(cost < 2_500_000, "{cost}");
}

#[test]
fn what_takes_too_long_is_given_up() {
    // Whether the number of bits that are set is odd: nothing is known before the last.
    fn odd(from: usize, to: usize) -> String {
        if to - from == 1 {
            return format!("ctx['b{from}']");
        }
        let (a, b) = (odd(from, from.midpoint(to)), odd(from.midpoint(to), to));
        format!("(({a}) and not ({b}) or not ({a}) and ({b}))")
    }
    let (answer, cost) = free(&odd(0, 32), &format!("not {}", odd(0, 32)));
    assert_eq!(answer, "undecidable");
    assert!(cost <= STEPS, "{cost}");
    // Long lists cost time before any case is tried.
    let numbers: Vec<_> = (0..20_000).map(|n| format!("{}", 3 * n)).collect();
    let long = format!("ctx['n'] in [{}]", numbers.join(", "));
    assert_eq!(free(&long, "ctx['n'] == 1").0, "undecidable");
    let apart: Vec<_> = (0..20_000).map(|n| format!("ctx['n{n}'] == 1")).collect();
    assert_eq!(free(&apart.join(" and "), "ctx['m'] == 1").0, "undecidable");
}

#[test]
fn a_file_has_a_bound_of_its_own() {
    let schemas = Object::new();
    let place = Where { event: "go", context: None, payload: None, schemas: &schemas };
    let whens: Vec<_> =
        (0..20).map(|n| When { guard: guard(&format!("payload.n == {n}")), at: 0..0, inner: None }).collect();
    let whens: Vec<_> = whens.iter().collect();
    let check = |purse: u64, wanted: &[&str]| {
        let mut problems = Problems::new("w", "");
        assert_eq!(of_group(&whens, &place, &mut Purse(purse), &mut problems), wanted.is_empty());
        assert_eq!(problems.into_sorted().iter().map(|p| p.code).collect::<Vec<_>>(), wanted);
    };
    check(10 * ASKING, &["guards_undecided"]);
    check(10_000 * ASKING, &[]);
}

#[test]
fn where_the_original_is_wrong_we_are_not() {
    let schemas = parse_nested(
        r#"{"C": {"properties": {"n": {"type": "integer"}, "f": {"type": "number"}}, "required": ["n", "f"]},
            "P": {"properties": {"n": {"type": "integer", "default": 0}}}}"#,
        9,
    );
    let schemas = schemas.unwrap();
    let schemas = schemas.as_object().unwrap();
    let place = Where { event: "go", context: Some(&schemas["C"]), payload: Some(&schemas["P"]), schemas };
    let check = |first: &str, second: &str, wanted: &str| {
        assert_eq!(verdict(first, second, &place), wanted, "{first} / {second}");
    };
    // It calls all of these exclusive. 1 is equal to true:
    check("ctx['n'] == true", "count('x') == 0", "overlap");
    // There are numbers above a large one, though not one above it:
    check("ctx['f'] > 1e300", "count('x') == 0", "overlap");
    // What a payload leaves out gets no default and reads as null:
    check("not payload.n > 0", "not payload.n <= 0", "overlap");
    // A text can be searched, and so can an object's keys:
    check("'a' in ctx['any'] and 'b' in ctx['any']", "ctx['any'] > ''", "overlap");
    // What stands in parentheses is read, too; it looks only at what stands beside them:
    check("(ctx['n'] > 1) == true", "ctx['n'] > 0", "undecidable");
}
