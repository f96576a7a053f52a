//! Guards as one formula over tests of single values, and what each value is compared with.

use std::slice;

use stateous_engine::guard::{Comparison, Expr, Facts, Guard, Reads as GuardReads};
use stateous_engine::json::Object;

use super::{Atom, Budget, Undecidable};

/// When the guards all hold.
#[derive(Debug)]
pub(super) enum Formula {
    Constant(bool),
    /// The test of this number.
    Test(usize),
    Not(Box<Formula>),
    All(Vec<Formula>),
    Any(Vec<Formula>),
}

/// A question about one value, asked with the engine's own words.
#[derive(Debug)]
pub(super) struct Test {
    /// The value, by number.
    pub(super) atom: usize,
    /// A guard that is this test and nothing else.
    pub(super) guard: Guard,
    /// Asks whether this literal is in the value, or with `false`, whether it is not.
    pub(super) member: Option<(Expr, bool)>,
    /// How many literals it compares the value with.
    pub(super) literals: usize,
}

/// What one value is compared with.
#[derive(Debug, Default)]
pub(super) struct Reads {
    /// Literals that it is equal to, or not, or above, or below.
    pub(super) literals: Vec<Expr>,
    /// Literals that are searched in it.
    pub(super) members: Vec<Expr>,
}

#[derive(Debug)]
pub(super) struct Question {
    pub(super) atoms: Vec<(Atom, Reads)>,
    pub(super) tests: Vec<Test>,
    pub(super) formula: Formula,
}

impl Question {
    /// Whether all `guards` hold.
    pub(super) fn of(guards: &[&Guard], budget: &mut Budget) -> Result<Self, Undecidable> {
        let mut reader = Reader { atoms: Vec::new(), tests: Vec::new(), budget };
        let parts = guards.iter().map(|guard| reader.truth(&guard.tree));
        let formula = Formula::All(parts.collect::<Result<_, _>>()?);
        Ok(Self { atoms: reader.atoms, tests: reader.tests, formula })
    }
}

struct Reader<'b> {
    atoms: Vec<(Atom, Reads)>,
    tests: Vec<Test>,
    budget: &'b mut Budget,
}

impl Reader<'_> {
    fn truth(&mut self, expr: &Expr) -> Result<Formula, Undecidable> {
        let mut all = |parts: &[Expr]| parts.iter().map(|part| self.truth(part)).collect::<Result<_, _>>();
        Ok(match expr {
            Expr::And(parts) => Formula::All(all(parts)?),
            Expr::Or(parts) => Formula::Any(all(parts)?),
            Expr::Not(part) => Formula::Not(Box::new(self.truth(part)?)),
            Expr::Compare { first, rest } => {
                let lefts = [&**first].into_iter().chain(rest.iter().map(|(_, right)| right));
                let pairs = lefts.zip(rest).map(|(left, (how, right))| self.compare(left, *how, right));
                Formula::All(pairs.collect::<Result<_, _>>()?)
            }
            Expr::Branches { .. } => return Err(Undecidable::Branches),
            Expr::Context(_) | Expr::Payload(_) | Expr::Count(_) | Expr::Branch(_) => {
                let Some(atom) = atom_of(expr) else { return Err(Undecidable::Branches) };
                let zero = Expr::Number(stateous_engine::guard::Number::Integer(0.into()));
                let literals = vec![Expr::Bool(true), Expr::Bool(false), zero];
                self.test(atom, expr.clone(), literals, None)?
            }
            Expr::Null | Expr::Bool(_) | Expr::Number(_) | Expr::String(_) | Expr::List(_) => {
                Formula::Constant(constant(expr.clone()))
            }
        })
    }

    fn compare(&mut self, left: &Expr, how: Comparison, right: &Expr) -> Result<Formula, Undecidable> {
        let sides = [left, right];
        if sides.iter().any(|side| matches!(side, Expr::Branches { .. } | Expr::Branch(_))) {
            return Err(Undecidable::Branches);
        }
        let conditions =
            |side: &&Expr| matches!(side, Expr::Compare { .. } | Expr::And(_) | Expr::Or(_) | Expr::Not(_));
        if sides.iter().any(conditions) {
            return Err(Undecidable::Condition);
        }
        let searches = matches!(how, Comparison::In | Comparison::NotIn);
        let orders = !searches && !matches!(how, Comparison::Equal | Comparison::NotEqual);
        if orders && sides.iter().any(|side| matches!(side, Expr::List(_))) {
            return Err(Undecidable::OrdersList);
        }
        let whole = Expr::Compare { first: Box::new(left.clone()), rest: vec![(how, right.clone())] };
        match (atom_of(left), atom_of(right)) {
            (Some(_), Some(_)) => Err(Undecidable::TwoValues),
            (None, None) => Ok(Formula::Constant(constant(whole))),
            (None, Some(atom)) if searches => {
                let member = (left.clone(), how == Comparison::In);
                self.test(atom, whole, Vec::new(), Some(member))
            }
            (None, Some(atom)) => self.test(atom, whole, vec![left.clone()], None),
            (Some(atom), None) => {
                let literals = match right {
                    Expr::List(items) if searches => items.as_slice(),
                    other => slice::from_ref(other),
                };
                self.test(atom, whole, literals.to_vec(), None)
            }
        }
    }

    fn test(
        &mut self,
        atom: Atom,
        tree: Expr,
        literals: Vec<Expr>,
        member: Option<(Expr, bool)>,
    ) -> Result<Formula, Undecidable> {
        self.budget.spend(self.atoms.len())?;
        let known = self.atoms.iter().position(|(known, _)| *known == atom);
        let at = known.unwrap_or_else(|| {
            self.atoms.push((atom, Reads::default()));
            self.atoms.len() - 1
        });
        let count = literals.len();
        let reads = &mut self.atoms[at].1;
        reads.literals.extend(literals);
        reads.members.extend(member.iter().map(|(literal, _)| literal.clone()));
        self.tests.push(Test { atom: at, guard: guard(tree), member, literals: count });
        Ok(Formula::Test(self.tests.len() - 1))
    }
}

fn atom_of(expr: &Expr) -> Option<Atom> {
    match expr {
        Expr::Context(key) => Some(Atom::Context(key.clone())),
        Expr::Payload(field) => Some(Atom::Payload(field.clone())),
        Expr::Count(event) => Some(Atom::Count(event.clone())),
        _ => None,
    }
}

/// A guard that the engine evaluates; it was never text.
fn guard(tree: Expr) -> Guard {
    Guard { text: String::new(), tree, reads: GuardReads::default() }
}

/// What an expression says that reads nothing.
fn constant(tree: Expr) -> bool {
    let nothing = Object::new();
    guard(tree).holds(&Facts {
        context: &nothing,
        payload: &nothing,
        counts: &|_| 0,
        branches: &[],
        weights: &[],
    })
}
