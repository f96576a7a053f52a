//! The workflows that the model check plays: small, and between them every rule has its place.

use super::flow::{Field, Fields, Flow, Move, Parallel, State, When};

/// Every flow of the check.
pub(crate) fn all() -> Vec<Flow> {
    vec![orders(), release(), race(), tower()]
}

/// One token alone: guards on context, payload and counts, `otherwise`, guards that are both true, retries, a timeout that
/// leads on and one that does not, an `error` that leads on and one that does not.
pub(crate) fn orders() -> Flow {
    flow("orders")
        .context(fields("Order", 3).optional("n").default("tries", 0))
        .has(state("draft").timeout("2m", 120_000).retries(1))
        .has(state("review").timeout("3m", 180_000))
        .has(state("stuck"))
        .event("submitted")
        .event("nudge")
        .event("torn")
        .event_with("reviewed", fields("Verdict", 2).said("approved"))
        // From 1 to 3 both hold, and nobody may choose.
        .guarded("__start__", "__started__", "review", When::Above("n", 0))
        .guarded("__start__", "__started__", "draft", not(When::Above("n", 3)))
        .step("draft", "submitted", "review")
        .step("draft", "nudge", "draft")
        .guarded("draft", "torn", "review", When::Above("n", 0))
        .guarded("draft", "torn", "stuck", When::Above("n", 1))
        .guarded("review", "reviewed", "__end__", When::Said("approved"))
        .step("review", "reviewed", "draft")
        .guarded("review", "nudge", "review", When::Fewer("nudge", 3))
        .guarded("review", "error", "draft", When::Above("n", 0))
        .step("review", "timeout", "stuck")
        .step("stuck", "submitted", "__end__")
}

/// A parallel state that waits for all, with inputs that a child needs, and ways out of it before its join.
pub(crate) fn release() -> Flow {
    let lint = flow("lint")
        .context(fields("Lint", 3).required("n"))
        .has(state("scan").retries(1))
        .has(state("report"))
        .event_with("clean", fields("Clean", 2).said("ok"))
        .event("dirty")
        .begin("scan")
        .step("scan", "dirty", "report")
        .step("scan", "clean", "report")
        .guarded("report", "clean", "__end__", When::Said("ok"))
        .step("report", "dirty", "scan");
    let tests = flow("tests")
        .context(fields("Tests", 3).optional("n").default("runs", 1))
        .has(state("unit").timeout("1m", 60_000))
        .has(state("slow").timeout("2m", 120_000))
        .event("passed")
        .guarded("__start__", "__started__", "unit", When::Above("n", 0))
        .guarded("__start__", "__started__", "slow", When::Above("n", 7))
        .step("__start__", "__started__", "slow")
        .step("unit", "passed", "__end__")
        .step("slow", "passed", "unit")
        .step("slow", "timeout", "unit");
    flow("release")
        .context(fields("Release", 4).optional("n").default("tries", 0))
        .has(state("build").retries(1))
        .has(state("checks").timeout("5m", 300_000).parallel(false, &["lint", "tests"], &["n", "tries"]))
        .has(state("ship"))
        .event("go")
        .event("abort")
        .event("again")
        .begin("build")
        .step("build", "go", "checks")
        .guarded("checks", "joined", "ship", When::AllCompleted)
        .step("checks", "joined", "build")
        .step("checks", "timeout", "build")
        .step("checks", "abort", "__end__")
        .step("checks", "again", "checks")
        .step("ship", "again", "checks")
        .step("ship", "go", "__end__")
        .child(lint)
        .child(tests)
}

/// A parallel state that is done with its first child, straight from the start.
pub(crate) fn race() -> Flow {
    let runner = |name| {
        flow(name)
            .has(state("run").timeout("2m", 120_000))
            .has(state("last"))
            .event_with("leap", fields(if name == "hare" { "Hare" } else { "Tortoise" }, 2).said("ok"))
            .event("home")
            .begin("run")
            .step("run", "leap", "last")
            .step("run", "home", "__end__")
            .step("last", "home", "__end__")
            .step("last", "error", "run")
    };
    flow("race")
        .has(state("race").parallel(true, &["hare", "tortoise"], &[]))
        .has(state("prize").retries(2))
        .event("rain")
        .event("claimed")
        .begin("race")
        .guarded("race", "joined", "prize", When::AnyBranchSaid("ok"))
        .guarded("race", "joined", "race", When::AllCompleted)
        .step("race", "rain", "prize")
        .step("prize", "claimed", "race")
        .step("prize", "error", "__end__")
        .child(runner("hare"))
        .child(runner("tortoise"))
}

/// Parallel states within parallel states, and a join that nothing takes.
pub(crate) fn tower() -> Flow {
    let leaf = |name| {
        flow(name)
            .has(state("grow").timeout("1m", 60_000))
            .has(state("bloom").retries(1))
            .event("sun")
            .begin("grow")
            .step("grow", "sun", "bloom")
            .step("bloom", "sun", "__end__")
    };
    let floor = flow("floor")
        .context(fields("Floor", 3).optional("n"))
        .has(state("inner").parallel(true, &["leaf", "twig"], &[]))
        .has(state("sweep"))
        .event("up")
        .begin("inner")
        .guarded("inner", "joined", "sweep", When::AllCompleted)
        .step("inner", "up", "sweep")
        .step("sweep", "up", "inner")
        .step("sweep", "error", "__end__")
        .child(leaf("leaf"))
        .child(leaf("twig"));
    let cellar = flow("cellar")
        .has(state("dig").timeout("4m", 240_000).parallel(false, &["root"], &[]))
        .event("down")
        .begin("dig")
        .step("dig", "joined", "__end__")
        .step("dig", "down", "__end__")
        .child(leaf("root"));
    flow("tower")
        .context(fields("Tower", 3).optional("n"))
        .has(state("plan").timeout("2m", 120_000))
        .has(state("outer").parallel(false, &["floor", "cellar"], &["n"]))
        .event("build")
        .event("raze")
        .begin("plan")
        .step("plan", "build", "outer")
        .step("plan", "timeout", "outer")
        .guarded("outer", "joined", "plan", When::AllCompleted)
        .step("outer", "joined", "__end__")
        .step("outer", "raze", "plan")
        .step("plan", "raze", "__end__")
        .child(floor)
        .child(cellar)
}

fn flow(name: &'static str) -> Flow {
    let (states, events, moves, children) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    Flow { name, context: None, states, events, moves, children }
}

fn state(name: &'static str) -> State {
    State { name, timeout: None, retries: 0, parallel: None }
}

fn fields(name: &'static str, most: usize) -> Fields {
    Fields { name, fields: Vec::new(), most }
}

fn not(when: When) -> When {
    When::Not(Box::new(when))
}

impl Flow {
    fn context(mut self, fields: Fields) -> Self {
        self.context = Some(fields);
        self
    }

    fn has(mut self, state: State) -> Self {
        self.states.push(state);
        self
    }

    fn event(mut self, name: &'static str) -> Self {
        self.events.push((name, None));
        self
    }

    fn event_with(mut self, name: &'static str, payload: Fields) -> Self {
        self.events.push((name, Some(payload)));
        self
    }

    fn begin(self, to: &'static str) -> Self {
        self.step("__start__", "__started__", to)
    }

    fn step(mut self, from: &'static str, on: &'static str, to: &'static str) -> Self {
        self.moves.push(Move { from, on, to, when: None });
        self
    }

    fn guarded(mut self, from: &'static str, on: &'static str, to: &'static str, when: When) -> Self {
        self.moves.push(Move { from, on, to, when: Some(when) });
        self
    }

    fn child(mut self, flow: Self) -> Self {
        self.children.push(flow);
        self
    }
}

impl State {
    fn timeout(self, text: &'static str, ms: i64) -> Self {
        Self { timeout: Some((text, ms)), ..self }
    }

    fn retries(self, retries: u64) -> Self {
        Self { retries, ..self }
    }

    fn parallel(self, any: bool, workflows: &[&'static str], inputs: &[&'static str]) -> Self {
        let parallel = Parallel { workflows: workflows.to_vec(), any, inputs: inputs.to_vec() };
        Self { parallel: Some(parallel), ..self }
    }
}

impl Fields {
    fn field(mut self, name: &'static str, kind: &'static str, required: bool, default: Option<i64>) -> Self {
        self.fields.push(Field { name, kind, required, default });
        self
    }

    fn optional(self, name: &'static str) -> Self {
        self.field(name, "integer", false, None)
    }

    fn required(self, name: &'static str) -> Self {
        self.field(name, "integer", true, None)
    }

    fn default(self, name: &'static str, default: i64) -> Self {
        self.field(name, "integer", false, Some(default))
    }

    fn said(self, name: &'static str) -> Self {
        self.field(name, "boolean", true, None)
    }
}
