//! The values worth trying: one of each region that the literals divide a domain into.

use num_bigint::BigInt;
use num_traits::FromPrimitive;
use stateous_engine::guard::{Expr, Number};
use stateous_engine::json::{self, Json, Object};

use super::domain::{ARRAY, BOOLEAN, Domain, INTEGER, NULL, NUMBER, OBJECT, STRING};
use super::formula::Reads;
use super::{Atom, Budget, Undecidable};

/// The values worth trying for one thing that guards read.
#[derive(Debug)]
pub(super) struct Regions {
    /// What people would write comes first: it is shown where it does as well as the others.
    pub(super) values: Vec<Json>,
    /// Any other list, when a list may stand here.
    pub(super) lists: Option<Lists>,
}

/// All lists that are not empty and equal no literal: any choice of the members that guards ask for, and `filler`.
#[derive(Debug)]
pub(super) struct Lists {
    /// No two of them are equal.
    pub(super) members: Vec<Expr>,
    /// A text that no guard speaks of.
    pub(super) filler: Json,
    /// Lists that guards compare the whole value with.
    pub(super) literals: Vec<Expr>,
}

/// The regions of `atom` in `domain`.
pub(super) fn of(
    atom: &Atom,
    domain: &Domain,
    reads: &Reads,
    budget: &mut Budget,
) -> Result<Regions, Undecidable> {
    if !reads.members.is_empty() && !domain.has(ARRAY) {
        return Err(Undecidable::NotAList(atom.to_string()));
    }
    // Each literal is the middle of a few values.
    budget.spend(8 * (reads.literals.len() + reads.members.len()))?;
    let mut regions = Regions { values: Vec::new(), lists: None };
    match &domain.values {
        Some(values) => regions.values.clone_from(values),
        None => fill(&mut regions, domain, reads, budget)?,
    }
    if domain.has(NULL) {
        regions.values.push(Json::Null);
    }
    Ok(regions)
}

fn fill(
    regions: &mut Regions,
    domain: &Domain,
    reads: &Reads,
    budget: &mut Budget,
) -> Result<(), Undecidable> {
    let values = &mut regions.values;
    let searched: Vec<&str> = reads.members.iter().filter_map(text_of).collect();
    if domain.has(INTEGER | NUMBER) {
        values.extend(numbers(domain, &reads.literals));
    }
    if domain.has(STRING) {
        let texts = || reads.literals.iter().filter_map(text_of);
        values.extend(texts().map(Json::from));
        values.extend([Json::from("x"), Json::from("")]);
        // What sorts right behind a text is the text and a NUL; a longer text mostly does as well.
        values.extend(texts().map(|s| Json::from(format!("{s}x"))));
        values.extend(texts().map(|s| Json::from(format!("{s}\0"))));
        // `in` searches texts, too: each text that is searched, and one that holds them all.
        values.extend(searched.iter().map(|s| Json::from(*s)));
        values.push(Json::from(searched.concat()));
    }
    if domain.has(BOOLEAN) {
        values.extend([Json::Bool(false), Json::Bool(true)]);
    }
    if domain.has(OBJECT) {
        let some = Object::from_iter([("~".to_owned(), Json::Bool(true))]);
        values.extend([Json::Object(some), Json::Object(Object::new())]);
        // Of an object, `in` searches the keys.
        let keys = searched.iter().map(|key| ((*key).to_owned(), Json::Bool(true)));
        values.push(Json::Object(keys.collect()));
    }
    if domain.has(ARRAY) {
        let literals = reads.literals.iter().filter(|l| matches!(l, Expr::List(_))).cloned();
        let literals: Vec<_> = literals.collect();
        let members = distinct(&reads.members, budget)?;
        values.push(Json::Array(Vec::new()));
        values.extend(literals.iter().filter_map(json_of));
        regions.lists = Some(Lists { filler: filler(reads), members, literals });
    }
    Ok(())
}

fn text_of(literal: &Expr) -> Option<&str> {
    if let Expr::String(text) = literal { Some(text) } else { None }
}

/// A number on each literal, next to it on both sides, between two of them and beyond them all.
fn numbers(domain: &Domain, literals: &[Expr]) -> Vec<Json> {
    let mut points: Vec<Number> = literals.iter().filter_map(number).collect();
    points.push(Number::Integer(0.into()));
    points.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    points.dedup();
    let mut whole: Vec<BigInt> = points.iter().flat_map(neighbours).collect();
    if let Some(minimum) = domain.minimum {
        whole.push(minimum.into());
        whole.retain(|n| *n >= BigInt::from(minimum));
    }
    // 0, 1, 2 before -1: a smaller number is easier to read.
    whole.sort_by_key(|n| (n.sign() == num_bigint::Sign::Minus, n.magnitude().clone()));
    whole.dedup();
    let mut found: Vec<Json> =
        whole.iter().filter_map(|n| json_of_number(&Number::Integer(n.clone()))).collect();
    if domain.has(NUMBER) {
        let floats: Vec<f64> = points.iter().map(to_float).collect();
        // Halved first, so that two large ones do not add up to infinity.
        let between = floats.windows(2).map(|pair| pair[0] / 2.0 + pair[1] / 2.0);
        let beyond = floats.first().map(|f| f - 1.0).into_iter().chain(floats.last().map(|f| f + 1.0));
        let all = floats.iter().copied().chain(between).chain(beyond);
        found.extend(all.filter_map(|f| json_of_number(&Number::Float(f))));
    }
    found
}

/// The whole numbers at `number` and next to it.
fn neighbours(number: &Number) -> Vec<BigInt> {
    match number {
        Number::Integer(n) => vec![n - 1, n.clone(), n + 1],
        Number::Float(f) => {
            let ends = BigInt::from_f64(f.floor()).zip(BigInt::from_f64(f.ceil()));
            ends.map_or_else(Vec::new, |(floor, ceil)| vec![&floor - 1, floor, ceil.clone(), ceil + 1])
        }
    }
}

/// The number that a literal is to a comparison: true is 1. Infinity, which no data has, is none.
fn number(literal: &Expr) -> Option<Number> {
    match literal {
        Expr::Bool(b) => Some(Number::Integer(u8::from(*b).into())),
        Expr::Number(Number::Float(f)) if f.is_infinite() => None,
        Expr::Number(number) => Some(number.clone()),
        _ => None,
    }
}

fn to_float(number: &Number) -> f64 {
    match number {
        Number::Integer(n) => n.to_string().parse().unwrap_or(0.0),
        Number::Float(f) => *f,
    }
}

fn json_of_number(number: &Number) -> Option<Json> {
    let text = match number {
        Number::Integer(n) => n.to_string(),
        Number::Float(f) if f.is_finite() => json::float(*f),
        Number::Float(_) => return None,
    };
    text.parse().ok().map(Json::Number)
}

/// A literal as data; `None` for infinity.
pub(super) fn json_of(literal: &Expr) -> Option<Json> {
    match literal {
        Expr::Null => Some(Json::Null),
        Expr::Bool(b) => Some(Json::Bool(*b)),
        Expr::Number(number) => json_of_number(number),
        Expr::String(text) => Some(Json::from(text.as_str())),
        Expr::List(items) => items.iter().map(json_of).collect::<Option<_>>().map(Json::Array),
        _ => None,
    }
}

/// The literals without repeats. Equal is what `in` finds: 1, 1.0 and true are one.
fn distinct(literals: &[Expr], budget: &mut Budget) -> Result<Vec<Expr>, Undecidable> {
    let mut kept: Vec<Expr> = Vec::new();
    for literal in literals {
        budget.spend(kept.len())?;
        if !kept.iter().any(|known| equal(known, literal)) {
            kept.push(literal.clone());
        }
    }
    Ok(kept)
}

/// Whether two literals are equal to `in`.
pub(super) fn equal(a: &Expr, b: &Expr) -> bool {
    match (a, b) {
        (Expr::List(a), Expr::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Expr::Bool(a), Expr::Number(b)) | (Expr::Number(b), Expr::Bool(a)) => {
            Number::Integer(u8::from(*a).into()) == *b
        }
        _ => a == b,
    }
}

/// A text that is no member and in no list that guards speak of.
fn filler(reads: &Reads) -> Json {
    let longest = |literal: &Expr| match literal {
        Expr::String(text) => text.len(),
        Expr::List(items) => items
            .iter()
            .map(|item| if let Expr::String(text) = item { text.len() } else { 0 })
            .max()
            .unwrap_or(0),
        _ => 0,
    };
    let tildes = |literal: &&Expr| {
        matches!(literal, Expr::String(s) if s.starts_with('~')) || matches!(literal, Expr::List(_))
    };
    let known = reads.members.iter().chain(&reads.literals).filter(tildes);
    Json::from("~".repeat(known.map(longest).max().unwrap_or(0) + 1))
}
