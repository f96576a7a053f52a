//! What a guard says of the facts.

use num_bigint::BigInt;

use super::value::{Number, Value};
use super::{Comparison, Expr, Facts, Quantifier};
use crate::json::{Json, Object};
use crate::model::Status;

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
                let mut left = &**first;
                rest.iter().all(|(how, right)| {
                    let holds = self.compares(left, *how, right);
                    left = right;
                    holds
                })
            }
            Expr::Branches { quantifier: Quantifier::All, condition } => {
                self.children().all(|(child, _)| self.holds_for(child, condition))
            }
            Expr::Branches { quantifier: Quantifier::Any, condition } => {
                self.children().any(|(child, _)| self.holds_for(child, condition))
            }
            _ => self.value(expr).is_truthy(),
        }
    }

    /// Each ended child that is told, and for how many it stands. One that stands for none is none.
    fn children(self) -> impl Iterator<Item = (&'a Object, u64)> {
        let weights = self.facts.weights.iter().copied().chain(std::iter::repeat(1));
        let told = self.facts.branches.iter().zip(weights);
        told.filter_map(|(child, weight)| Some((child.as_object()?, weight)))
            .filter(|(_, weight)| *weight > 0)
    }

    fn holds_for(self, child: &'a Object, condition: &'a Expr) -> bool {
        Self { branch: Some(child), ..self }.truth(condition)
    }

    /// A child that completed with errors completed: whatever is asked of its status is asked of both words.
    fn compares(self, left: &'a Expr, how: Comparison, right: &'a Expr) -> bool {
        let compare = |left: &Value<'a>, right: &Value<'a>| left.compare(how, right);
        let (value, other) = (self.value(left), self.value(right));
        let holds = compare(&value, &other);
        let completed = Value::String(Status::Completed.as_str());
        let as_completed = if self.completed_with_errors(left) {
            compare(&completed, &other)
        } else if self.completed_with_errors(right) {
            compare(&value, &completed)
        } else {
            return holds;
        };
        match how {
            Comparison::NotEqual | Comparison::NotIn => holds && as_completed,
            _ => holds || as_completed,
        }
    }

    fn completed_with_errors(self, expr: &Expr) -> bool {
        let status = || self.branch.and_then(|child| child.get("status")).and_then(Json::as_str);
        matches!(expr, Expr::Branch(field) if field == "status")
            && status() == Some(Status::CompletedWithErrors.as_str())
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
            Expr::Branches { quantifier: Quantifier::Count, condition } => {
                let holding = self.children().filter(|(child, _)| self.holds_for(child, condition));
                Value::Number(Number::Integer(BigInt::from(holding.map(|(_, weight)| weight).sum::<u64>())))
            }
            Expr::Branch(field) => Value::of(self.branch.and_then(|child| child.get(field))),
            Expr::Compare { .. } | Expr::And(_) | Expr::Or(_) | Expr::Not(_) | Expr::Branches { .. } => {
                Value::Bool(self.truth(expr))
            }
        }
    }
}
