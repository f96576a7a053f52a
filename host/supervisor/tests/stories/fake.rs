//! A control plane that does as it is told, over real HTTP, on a thread of its own.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use http_body_util::{Full, Limited};
use serde_json::{Value, json};
use tokio::sync::watch;

/// How long a test waits for what must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// What the fake answers to one request instead of its usual answer.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// This status and body.
    Say(u16, Value),
    /// The usual answer, but it never arrives.
    BreakOff,
    /// The usual answer, so much later.
    Late(Duration),
    /// Nothing at all, for ever.
    Hang,
}

/// A request that came.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// `claim`, `started`, `heartbeat`, `report`, `return`, `note`, `memory`, `health` or `routines`.
    pub(crate) what: String,
    /// The task in the path, if there is one.
    pub(crate) task: Option<u64>,
    pub(crate) body: Value,
    /// The body's exact text.
    pub(crate) text: String,
}

#[derive(Default)]
struct Script {
    calls: Vec<Call>,
    queue: VecDeque<Value>,
    granted: HashMap<String, Vec<Value>>,
    answers: HashMap<&'static str, VecDeque<Answer>>,
    always: HashMap<&'static str, Answer>,
    lost: BTreeSet<u64>,
    down: bool,
}

/// The running fake.
#[derive(Clone)]
pub(crate) struct Fake {
    pub(crate) url: String,
    script: Arc<Mutex<Script>>,
    changed: watch::Sender<u64>,
}

impl Fake {
    pub(crate) fn start() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let fake = Self { url, script: Arc::default(), changed: watch::channel(0).0 };
        let app = axum::Router::new().fallback(handle).with_state(fake.clone());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                axum::serve(tokio::net::TcpListener::from_std(listener).unwrap(), app).await.unwrap();
            });
        });
        fake
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }

    fn change<T>(&self, change: impl FnOnce(&mut Script) -> T) -> T {
        let done = change(&mut self.script());
        self.changed.send_modify(|n| *n += 1);
        done
    }

    /// Queues a task; `more` goes over the usual grant.
    pub(crate) fn queue(&self, task: u64, more: &Value) {
        let mut grant = json!({
            "task": task, "token": format!("T-{task}"), "state": "draft", "visit": 1, "attempt": 1,
            "context": {"title": "x"}, "memory": {}, "entered_by": {"name": "__started__"},
            "workflow": "orders", "structure": "sha256:0", "lease_ms": 120_000,
            "routine": {"digest": "sha256:d", "name": "draft", "version": 1}
        });
        for (key, value) in more.as_object().unwrap() {
            grant[key] = value.clone();
        }
        self.change(|script| script.queue.push_back(grant));
    }

    /// Answers the next such request so.
    pub(crate) fn once(&self, what: &'static str, answer: Answer) {
        self.change(|script| script.answers.entry(what).or_default().push_back(answer));
    }

    /// Answers all such requests so.
    pub(crate) fn always(&self, what: &'static str, answer: Answer) {
        self.change(|script| script.always.insert(what, answer));
    }

    /// Whoever holds the task does not hold it any more.
    pub(crate) fn take_back(&self, task: u64) {
        self.change(|script| script.lost.insert(task));
    }

    /// Nobody gets an answer, or everybody does again.
    pub(crate) fn set_down(&self, down: bool) {
        self.change(|script| script.down = down);
    }

    /// Everything that came, in order.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.script().calls.clone()
    }

    /// What came, in short, without heartbeats: `claim`, `memory 1`, `report 1`.
    pub(crate) fn order(&self) -> Vec<String> {
        let calls = self.calls();
        let told = calls.iter().filter(|call| call.what != "heartbeat" && call.what != "claim");
        told.map(|call| call.task.map_or(call.what.clone(), |task| format!("{} {task}", call.what))).collect()
    }

    /// The requests of one kind.
    pub(crate) fn of(&self, what: &str) -> Vec<Call> {
        self.calls().into_iter().filter(|call| call.what == what).collect()
    }

    /// Waits until so many requests of a kind came, and returns them.
    pub(crate) async fn wait_for(&self, what: &str, n: usize) -> Vec<Call> {
        let mut changed = self.changed.subscribe();
        let waiting = async {
            while self.of(what).len() < n {
                changed.changed().await.unwrap();
            }
        };
        if tokio::time::timeout(PATIENCE, waiting).await.is_err() {
            panic!("{n} {what} did not come; came: {:?}", self.order());
        }
        self.of(what)
    }

    /// The same, without giving way to anything else on this thread.
    pub(crate) fn block_for(&self, what: &'static str, n: usize) {
        let (fake, (came, wait)) = (self.clone(), std::sync::mpsc::channel());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(fake.wait_for(what, n));
            came.send(()).unwrap();
        });
        wait.recv().unwrap();
    }

    async fn usual(&self, call: &Call) -> (u16, Value) {
        match &*call.what {
            "health" => (200, json!({"workflow": "orders", "checksum": "sha256:c"})),
            "claim" => (200, self.claim(&call.body).await),
            "started" => (200, json!({"disposition": "run"})),
            "heartbeat" => {
                let lost = self.script().lost.clone();
                let named = call.body["tasks"].as_array().unwrap().clone();
                let lost: Vec<_> =
                    named.into_iter().filter(|t| lost.contains(&t.as_u64().unwrap())).collect();
                (200, json!({"lost": lost}))
            }
            "report" => (200, json!({"token": "T-1"})),
            "note" | "memory" | "return" => (204, Value::Null),
            "routines" => (200, json!("bytes")),
            other => (404, json!({"error": format!("no {other} here"), "code": "not_found"})),
        }
    }

    async fn claim(&self, body: &Value) -> Value {
        let asked = tokio::time::Instant::now();
        let until = asked + Duration::from_millis(body["wait_ms"].as_u64().unwrap_or(0));
        let mut changed = self.changed.subscribe();
        loop {
            let grants = self.grants(body);
            let wait = async { changed.changed().await.unwrap() };
            if !grants.is_empty() || tokio::time::timeout_at(until, wait).await.is_err() {
                return json!({"grants": grants, "waited_ms": asked.elapsed().as_millis() as u64});
            }
        }
    }

    fn grants(&self, body: &Value) -> Vec<Value> {
        let mut script = self.script();
        let request = body["request"].as_str().unwrap().to_owned();
        if let Some(granted) = script.granted.get(&request) {
            return granted.clone();
        }
        let max = body["max"].as_u64().unwrap() as usize;
        let none = body["states"].as_array().is_some_and(Vec::is_empty);
        let n = if none { 0 } else { max.min(script.queue.len()) };
        let grants: Vec<Value> = script.queue.drain(..n).collect();
        if !grants.is_empty() {
            script.granted.insert(request, grants.clone());
        }
        grants
    }
}

async fn handle(State(fake): State<Fake>, request: Request) -> Response {
    let path: Vec<String> = request.uri().path().split('/').skip(1).map(str::to_owned).collect();
    let (what, task) = match &path[..] {
        [_, task, what] => (what.clone(), task.parse().ok()),
        [first, _] if first == "routines" => (first.clone(), None),
        other => (other.last().unwrap().clone(), None),
    };
    let bytes = axum::body::to_bytes(request.into_body(), 2 << 20).await.unwrap();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let body = serde_json::from_str(&text).unwrap_or(Value::Null);
    let call = Call { what, task, body, text };
    let (answer, down) = fake.change(|script| {
        script.calls.push(call.clone());
        let once = script.answers.get_mut(&*call.what).and_then(VecDeque::pop_front);
        (once.or_else(|| script.always.get(&*call.what).cloned()), script.down)
    });
    if down {
        return respond(200, broken());
    }
    match answer {
        None => {
            let (status, body) = fake.usual(&call).await;
            respond(status, Body::from(body.to_string()))
        }
        Some(Answer::Say(status, body)) => respond(status, Body::from(body.to_string())),
        Some(Answer::BreakOff) => {
            fake.usual(&call).await;
            respond(200, broken())
        }
        Some(Answer::Late(by)) => {
            let (status, body) = fake.usual(&call).await;
            tokio::time::sleep(by).await;
            respond(status, Body::from(body.to_string()))
        }
        Some(Answer::Hang) => std::future::pending().await,
    }
}

fn respond(status: u16, body: Body) -> Response {
    Response::builder().status(status).body(body).unwrap()
}

/// A body that breaks off: to the client, the connection failed.
fn broken() -> Body {
    Body::new(Limited::new(Full::new(Bytes::from_static(b"{}")), 1))
}
