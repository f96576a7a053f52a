//! The search for a choice of regions that makes a formula true.
//!
//! It chooses a region for one value after the other and asks after each choice whether the formula is true, false or
//! still open, so that a choice which cannot work is dropped before the next value is looked at. Regions that answer
//! every test alike are one. A list is never written out: each member that guards ask for is a choice of its own.

use std::collections::HashSet;

use stateous_engine::guard::{Expr, Facts};
use stateous_engine::json::{Json, Object};

use super::formula::{Formula, Question, Test};
use super::regions::{Lists, Regions, equal, json_of};
use super::{Atom, Budget, Example, Undecidable};

/// What it costs to ask the engine for one test, and for each literal that the test compares with, in steps.
const ASK: usize = 40;
const ASK_LITERAL: usize = 30;

/// One value that guards read, and what is known of it.
struct Value {
    classes: Vec<Class>,
    lists: Option<Lists>,
    /// The chosen class.
    class: Option<usize>,
    /// For each member of `lists`, whether it is chosen to be in the list.
    members: Vec<Option<bool>>,
}

/// Regions that answer every test alike.
struct Class {
    /// `None` stands for the lists that equal no literal.
    value: Option<Json>,
    /// The answer to each test of the value.
    answers: Vec<bool>,
}

/// Where a test finds its answer.
struct Asked {
    atom: usize,
    /// Its place among the tests of the value.
    at: usize,
    /// The member that it asks for, and whether it wants it there.
    member: Option<(usize, bool)>,
}

/// Something to choose.
#[derive(Clone, Copy)]
enum Choice {
    Class(usize),
    Member(usize, usize),
}

struct Search<'q> {
    question: &'q Question,
    values: Vec<Value>,
    asked: Vec<Asked>,
    choices: Vec<Choice>,
}

/// Data that makes the question's formula true; `None` when no data does.
pub(super) fn run(
    question: &Question,
    regions: Vec<Regions>,
    budget: &mut Budget,
) -> Result<Option<Example>, Undecidable> {
    let mut search = Search { question, values: Vec::new(), asked: Vec::new(), choices: Vec::new() };
    let mut tests: Vec<Vec<&Test>> = vec![Vec::new(); regions.len()];
    for test in &question.tests {
        let lists = regions[test.atom].lists.as_ref();
        let member = test.member.as_ref().and_then(|(literal, wanted)| {
            let at = lists?.members.iter().position(|member| equal(member, literal))?;
            Some((at, *wanted))
        });
        budget.spend(lists.map_or(0, |lists| lists.members.len()))?;
        search.asked.push(Asked { atom: test.atom, at: tests[test.atom].len(), member });
        tests[test.atom].push(test);
    }
    for (at, regions) in regions.into_iter().enumerate() {
        let classes = classes(&question.atoms[at].0, &regions, &tests[at], budget)?;
        let members = vec![None; regions.lists.as_ref().map_or(0, |lists| lists.members.len())];
        search.choices.push(Choice::Class(at));
        search.choices.extend((0..members.len()).map(|member| Choice::Member(at, member)));
        search.values.push(Value { classes, lists: regions.lists, class: None, members });
    }
    if search.values.iter().any(|value| value.classes.is_empty()) {
        return Ok(None);
    }
    search.run(budget)
}

/// The regions of one value, those that answer `tests` alike put together.
fn classes(
    atom: &Atom,
    regions: &Regions,
    tests: &[&Test],
    budget: &mut Budget,
) -> Result<Vec<Class>, Undecidable> {
    let cost: usize = tests.iter().map(|test| ASK + ASK_LITERAL * test.literals).sum();
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for value in &regions.values {
        budget.spend(cost)?;
        let answers = answers(atom, value, tests);
        if seen.insert(answers.clone()) {
            found.push(Class { value: Some(value.clone()), answers });
        }
    }
    if let Some(lists) = &regions.lists {
        budget.spend(cost)?;
        let answers = answers(atom, &Json::Array(vec![lists.filler.clone()]), tests);
        found.push(Class { value: None, answers });
    }
    Ok(found)
}

/// What the engine says to each of `tests` when `atom` is `value`.
fn answers(atom: &Atom, value: &Json, tests: &[&Test]) -> Vec<bool> {
    let (mut context, mut payload, mut counted) = (Object::new(), Object::new(), 0);
    match atom {
        Atom::Context(key) => drop(context.insert(key.clone(), value.clone())),
        Atom::Payload(field) => drop(payload.insert(field.clone(), value.clone())),
        // A number too large for a count was not reached by any token.
        Atom::Count(_) => counted = value.as_u64().unwrap_or(u64::MAX),
    }
    let facts =
        Facts { context: &context, payload: &payload, counts: &|_| counted, branches: &[], weights: &[] };
    tests.iter().map(|test| test.guard.holds(&facts)).collect()
}

impl Search<'_> {
    fn run(mut self, budget: &mut Budget) -> Result<Option<Example>, Undecidable> {
        // How many of the choices are made.
        let mut made = 0;
        loop {
            match self.truth(&self.question.formula, budget)? {
                Some(true) => return Ok(Some(self.example())),
                None if made < self.choices.len() => {
                    self.begin(self.choices[made]);
                    made += 1;
                }
                _ => loop {
                    budget.spend(1)?;
                    if made == 0 {
                        return Ok(None);
                    }
                    if self.advance(self.choices[made - 1]) {
                        break;
                    }
                    made -= 1;
                },
            }
        }
    }

    /// Makes a choice for the first time.
    fn begin(&mut self, choice: Choice) {
        match choice {
            Choice::Class(value) => self.values[value].class = Some(0),
            Choice::Member(value, member) => self.values[value].members[member] = Some(false),
        }
    }

    /// Makes a choice anew; when all was tried, forgets it and says no.
    fn advance(&mut self, choice: Choice) -> bool {
        match choice {
            Choice::Class(value) => {
                let Value { classes, class, .. } = &mut self.values[value];
                *class = class.map(|c| c + 1).filter(|c| *c < classes.len());
                class.is_some()
            }
            Choice::Member(value, member) => {
                let open = self.values[value].is_open_list();
                let chosen = &mut self.values[value].members[member];
                // In any other value, nothing is to be chosen here.
                *chosen = chosen.and_then(|present| (open && !present).then_some(true));
                chosen.is_some()
            }
        }
    }

    /// Whether `formula` is true, as far as what was chosen tells.
    fn truth(&self, formula: &Formula, budget: &mut Budget) -> Result<Option<bool>, Undecidable> {
        budget.spend(1)?;
        let (parts, decisive) = match formula {
            Formula::Constant(constant) => return Ok(Some(*constant)),
            Formula::Test(test) => return Ok(self.answer(*test)),
            Formula::Not(part) => return Ok(self.truth(part, budget)?.map(|truth| !truth)),
            Formula::All(parts) => (parts, false),
            Formula::Any(parts) => (parts, true),
        };
        let mut open = false;
        for part in parts {
            match self.truth(part, budget)? {
                Some(truth) if truth == decisive => return Ok(Some(decisive)),
                Some(_) => {}
                None => open = true,
            }
        }
        Ok((!open).then_some(!decisive))
    }

    fn answer(&self, test: usize) -> Option<bool> {
        let Asked { atom, at, member } = self.asked[test];
        let value = &self.values[atom];
        let class = &value.classes[value.class?];
        match member {
            Some((member, wanted)) if class.value.is_none() => {
                value.members[member].map(|present| present == wanted)
            }
            _ => Some(class.answers[at]),
        }
    }

    /// What was chosen, as data. What was not chosen does not matter.
    fn example(&self) -> Example {
        let chosen = self.values.iter().zip(&self.question.atoms);
        let data = chosen.filter_map(|(value, (atom, _))| Some((atom.clone(), value.data()?)));
        data.collect()
    }
}

impl Value {
    fn is_open_list(&self) -> bool {
        self.class.is_some_and(|class| self.classes[class].value.is_none())
    }

    fn data(&self) -> Option<Json> {
        if let Some(value) = &self.classes[self.class?].value {
            return Some(value.clone());
        }
        let lists = self.lists.as_ref()?;
        let present = lists.members.iter().zip(&self.members).filter(|(_, chosen)| **chosen == Some(true));
        let chosen = Expr::List(present.map(|(member, _)| member.clone()).collect());
        let mut list = json_of(&chosen)?.as_array().cloned()?;
        if list.is_empty() || lists.literals.iter().any(|literal| equal(literal, &chosen)) {
            list.push(lists.filler.clone());
        }
        Some(Json::Array(list))
    }
}
