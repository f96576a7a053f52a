//! Which trees are guards: each node is taken or refused by name, and what it reads is noted.

use std::collections::BTreeMap;
use std::ops::Range;

use super::parse::{Kind, Node};
use super::{Comparison, Expr, GuardError, Quantifier, Reads};

/// The fields of a child that a condition inside `branches` reads by name.
const BRANCH_FIELDS: [&str; 4] = ["workflow", "token", "status", "final"];

/// The guard that `node`, the tree of `text`, says, and what it reads.
pub(super) fn lower(text: &str, node: &Node) -> Result<(Expr, Reads), GuardError> {
    let mut checker = Checker { text, reads: Reads::default(), in_branch: false };
    let tree = checker.lower(node)?;
    Ok((tree, checker.reads))
}

struct Checker<'a> {
    text: &'a str,
    reads: Reads,
    /// Inside `branches.all(…)`, `branches.any(…)` or `branches.count(…)`.
    in_branch: bool,
}

fn fail<T>(node: &Node, problem: impl Into<String>) -> Result<T, GuardError> {
    Err(GuardError { problem: problem.into(), at: node.at.clone() })
}

fn is_name(node: &Node, name: &str) -> bool {
    matches!(&node.kind, Kind::Name(n) if n == name)
}

fn note(reads: &mut BTreeMap<String, Range<usize>>, name: &str, node: &Node) {
    reads.entry(name.to_owned()).or_insert_with(|| node.at.clone());
}

impl Checker<'_> {
    fn lower(&mut self, node: &Node) -> Result<Expr, GuardError> {
        match &node.kind {
            Kind::Number(number) => Ok(Expr::Number(number.clone())),
            Kind::String(text) => Ok(Expr::String(text.clone())),
            Kind::Name(name) => self.name(node, name),
            Kind::List(items) => {
                if let Some(other) = items.iter().find(|i| !is_literal(i)) {
                    return fail(other, "a list may only contain literals");
                }
                Ok(Expr::List(self.all(items)?))
            }
            Kind::Attribute(owner, field) => self.attribute(node, owner, field),
            Kind::Subscript(owner, key) => match &key.kind {
                Kind::String(key) if is_name(owner, "ctx") => {
                    note(&mut self.reads.context_keys, key, node);
                    Ok(Expr::Context(key.clone()))
                }
                _ => fail(node, "only ctx['key'] may be indexed"),
            },
            Kind::Call(function, arguments) => self.call(node, function, arguments),
            Kind::Compare(first, rest) => self.compare(first, rest),
            Kind::And(parts) => Ok(Expr::And(self.all(parts)?)),
            Kind::Or(parts) => Ok(Expr::Or(self.all(parts)?)),
            Kind::Not(operand) => Ok(Expr::Not(Box::new(self.lower(operand)?))),
        }
    }

    fn all(&mut self, nodes: &[Node]) -> Result<Vec<Expr>, GuardError> {
        nodes.iter().map(|node| self.lower(node)).collect()
    }

    fn name(&mut self, node: &Node, name: &str) -> Result<Expr, GuardError> {
        match name {
            "true" => Ok(Expr::Bool(true)),
            "false" => Ok(Expr::Bool(false)),
            "null" => Ok(Expr::Null),
            "payload" => fail(node, "name a payload field, e.g. payload.severity"),
            "ctx" => fail(node, "read one key, e.g. ctx['key']"),
            "branches" => {
                fail(node, "ask for all or one of the children: branches.all(…) or branches.any(…)")
            }
            _ if !BRANCH_FIELDS.contains(&name) => {
                fail(node, format!("unknown name {name:?}; a string needs quotes: '{name}'"))
            }
            _ if self.in_branch => {
                if name == "token" {
                    self.reads.one_branch.get_or_insert_with(|| node.at.clone());
                }
                Ok(Expr::Branch(name.to_owned()))
            }
            _ => fail(
                node,
                format!("{name:?} is a field of a child; read it in branches.all(…) or branches.any(…)"),
            ),
        }
    }

    fn attribute(&mut self, node: &Node, owner: &Node, field: &str) -> Result<Expr, GuardError> {
        if is_name(owner, "ctx") {
            return fail(node, format!("read context as ctx['{field}']"));
        }
        if !is_name(owner, "payload") {
            return fail(node, "only payload.<field> may be read with a dot, one level deep");
        }
        if self.in_branch {
            self.reads.one_branch.get_or_insert_with(|| node.at.clone());
        } else {
            note(&mut self.reads.payload_fields, field, node);
        }
        Ok(Expr::Payload(field.to_owned()))
    }

    fn compare(&mut self, first: &Node, rest: &[(Comparison, Node)]) -> Result<Expr, GuardError> {
        for (how, searched) in rest {
            let searchable = matches!(
                searched.kind,
                Kind::List(_) | Kind::Subscript(..) | Kind::Attribute(..) | Kind::Call(..)
            );
            if matches!(how, Comparison::In | Comparison::NotIn) && !searchable {
                return fail(searched, "'in' must search a list literal or a value, e.g. ctx['key']");
            }
        }
        let first = Box::new(self.lower(first)?);
        let rest = rest.iter().map(|(how, right)| Ok((*how, self.lower(right)?)));
        Ok(Expr::Compare { first, rest: rest.collect::<Result<_, GuardError>>()? })
    }

    fn call(&mut self, node: &Node, function: &Node, arguments: &[Node]) -> Result<Expr, GuardError> {
        if is_name(function, "count") {
            return match arguments {
                [Node { kind: Kind::String(event), .. }] => {
                    note(&mut self.reads.events, event, node);
                    Ok(Expr::Count(event.clone()))
                }
                _ => fail(node, "count() takes an event name as a string, e.g. count('stuck')"),
            };
        }
        let asked = match &function.kind {
            Kind::Attribute(owner, field) if is_name(owner, "branches") => quantifier(field),
            _ => None,
        };
        let quantifier = match asked {
            Some(quantifier) => quantifier,
            None => {
                let called = self.text.get(function.at.clone()).unwrap_or_default();
                return fail(
                    node,
                    format!(
                        "{called}() cannot be called; only count(), branches.all(), branches.any() and \
                         branches.count() can"
                    ),
                );
            }
        };
        let [condition] = arguments else {
            return fail(node, "branches.all(), branches.any() and branches.count() take one condition");
        };
        if self.in_branch {
            return fail(node, "branches.all(), branches.any() and branches.count() do not nest");
        }
        self.reads.branches.get_or_insert_with(|| node.at.clone());
        self.in_branch = true;
        let condition = Box::new(self.lower(condition)?);
        self.in_branch = false;
        Ok(Expr::Branches { quantifier, condition })
    }
}

fn quantifier(word: &str) -> Option<Quantifier> {
    match word {
        "all" => Some(Quantifier::All),
        "any" => Some(Quantifier::Any),
        "count" => Some(Quantifier::Count),
        _ => None,
    }
}

/// What may stand in a list: a literal or a name; which names, the node itself knows.
fn is_literal(node: &Node) -> bool {
    matches!(node.kind, Kind::Number(_) | Kind::String(_) | Kind::Name(_))
}
