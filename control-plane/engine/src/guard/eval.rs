//! What a guard says of the facts.

use num_bigint::BigInt;

use super::value::{Number, Value};
use super::{Expr, Facts, Quantifier};
use crate::json::{Json, Object};

/// Whether the guard's value is truthy.
pub(super) fn truth(expr: &Expr, facts: &Facts<'_>) -> bool {
    Evaluator { facts, branch: None }.truth(expr)
}

#[derive(Clone, Copy)]
struct Evaluator<'a> {
    facts: &'a Facts<'a>,
    /// The child that a condition inside `branches` reads now.
    branch: Option<&'a Object>,
}

impl<'a> Evaluator<'a> {
    fn truth(self, expr: &'a Expr) -> bool {
        match expr {
            Expr::And(all) => all.iter().all(|e| self.truth(e)),
            Expr::Or(any) => any.iter().any(|e| self.truth(e)),
            Expr::Not(e) => !self.truth(e),
            Expr::Compare { first, rest } => {
                let mut left = self.value(first);
                rest.iter().all(|(how, right)| {
                    let right = self.value(right);
                    let holds = left.compare(*how, &right);
                    left = right;
                    holds
                })
            }
            Expr::Branches { quantifier, condition } => {
                let mut children = self.facts.branches.iter().filter_map(Json::as_object);
                let holds = |child: &'a Object| Self { branch: Some(child), ..self }.truth(condition);
                match quantifier {
                    Quantifier::All => children.all(holds),
                    Quantifier::Any => children.any(holds),
                }
            }
            _ => self.value(expr).is_truthy(),
        }
    }

    fn value(self, expr: &'a Expr) -> Value<'a> {
        match expr {
            Expr::Null => Value::Null,
            Expr::Bool(b) => Value::Bool(*b),
            Expr::Number(n) => Value::Number(n.clone()),
            Expr::String(s) => Value::String(s),
            Expr::List(items) => Value::Literals(items.iter().map(|e| self.value(e)).collect()),
            Expr::Context(key) => Value::of(self.facts.context.get(key)),
            Expr::Payload(field) => match self.branch {
                Some(child) => Value::of(child.get("payload").and_then(|p| p.get(field))),
                None => Value::of(self.facts.payload.get(field)),
            },
            Expr::Count(event) => Value::Number(Number::Integer(BigInt::from((self.facts.counts)(event)))),
            Expr::Branch(field) => Value::of(self.branch.and_then(|child| child.get(field))),
            Expr::Compare { .. } | Expr::And(_) | Expr::Or(_) | Expr::Not(_) | Expr::Branches { .. } => {
                Value::Bool(self.truth(expr))
            }
        }
    }
}
