//! Guests made of a list of calls: each becomes a few lines of WebAssembly text, each string a piece of its
//! data.

use std::fmt::Write;

const TEMPLATE: &str = include_str!("scripted.wat");

/// Where the strings lie. Long ones are filled at run time, above.
const DATA_BEGINS: usize = 1024;

/// A routine that makes these calls in order, then ends.
///
/// What a call reads is logged as `info`, the code of a refusal as `error`.
#[derive(Default)]
pub(crate) struct Script {
    data: Vec<u8>,
    code: String,
}

impl Script {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// WebAssembly text as it is; `$i` is a free local.
    pub(crate) fn code(mut self, code: &str) -> Self {
        writeln!(self.code, "{code}").unwrap();
        self
    }

    /// The calls of `body`, so many times.
    pub(crate) fn repeat(mut self, times: u32, body: impl FnOnce(Self) -> Self) -> Self {
        let label = self.code.len();
        writeln!(self.code, "(local.set $i (i32.const 0)) (loop $l{label}").unwrap();
        let mut this = body(self);
        writeln!(
            this.code,
            "(local.set $i (i32.add (local.get $i) (i32.const 1))) (br_if $l{label} (i32.lt_u (local.get $i) (i32.const {times}))))"
        )
        .unwrap();
        this
    }

    pub(crate) fn context_get(self, key: &str) -> Self {
        self.call("context-get", &[key], "$log-option")
    }

    pub(crate) fn context_all(self) -> Self {
        self.code("(call $context-all (i32.const 0)) (call $info (i32.load (i32.const 0)) (i32.load (i32.const 4)))")
    }

    pub(crate) fn context_set(self, key: &str, value: &str) -> Self {
        self.call("context-set", &[key, value], "$log-refusal")
    }

    pub(crate) fn memory_get(self, key: &str) -> Self {
        self.call("memory-get", &[key], "$log-option")
    }

    pub(crate) fn memory_set(self, key: &str, value: &str) -> Self {
        self.call("memory-set", &[key, value], "$log-refusal")
    }

    pub(crate) fn memory_delete(self, key: &str) -> Self {
        self.call("memory-delete", &[key], "$log-refusal")
    }

    /// Logs the first key.
    pub(crate) fn memory_first_key(self) -> Self {
        self.code(
            "(call $memory-keys (i32.const 0)) (call $info (i32.load (i32.load (i32.const 0))) \
             (i32.load offset=4 (i32.load (i32.const 0))))",
        )
    }

    pub(crate) fn note(self, text: &str) -> Self {
        self.call("notes-add", &[text], "$log-refusal")
    }

    pub(crate) fn schedule(mut self, name: &str, payload: Option<&str>, after: &str) -> Self {
        let (name, after) = (self.text(name), self.text(after));
        let payload = self.option(payload);
        self.code(&format!(
            "(call $timers-schedule {name} {payload} {after} (i32.const 0)) (call $log-refusal)"
        ))
    }

    /// 0 is debug, 3 is error.
    pub(crate) fn log(mut self, level: u32, text: &str) -> Self {
        let text = self.text(text);
        self.code(&format!("(call $log-write (i32.const {level}) {text})"))
    }

    /// Ends with an event.
    pub(crate) fn event(mut self, name: &str, payload: Option<&str>) -> Self {
        let name = self.text(name);
        let payload = self.option(payload);
        self.words(&format!("(i32.const 0) (i32.const 0) {name} {payload}"))
    }

    /// Ends with an event whose payload is an object with one string of so many bytes.
    pub(crate) fn event_with_payload_of(mut self, name: &str, bytes: usize) -> Self {
        let name = self.text(name);
        let at = 1 << 20;
        self.code = format!(
            "{}\n(drop (memory.grow (i32.const {})))\n(memory.fill (i32.const {at}) (i32.const 120) (i32.const {bytes}))\n\
             (i32.store align=1 (i32.const {at}) (i32.const 0x2261227b)) (i32.store16 align=1 (i32.const {}) (i32.const 0x223a))\n\
             (i32.store16 align=1 (i32.const {}) (i32.const 0x7d22))",
            self.code,
            bytes / 65536 + 32,
            at + 4,
            at + bytes - 2
        );
        self.words(&format!(
            "(i32.const 0) (i32.const 0) {name} (i32.const 1) (i32.const {at}) (i32.const {bytes})"
        ))
    }

    /// Ends with a failure.
    pub(crate) fn fail(mut self, message: &str, retry: bool) -> Self {
        let message = self.text(message);
        self.words(&format!("(i32.const 1) {message} (i32.const {})", u32::from(retry)))
    }

    /// The component.
    pub(crate) fn build(self) -> Vec<u8> {
        let mut data = String::new();
        for byte in &self.data {
            write!(data, "\\{byte:02x}").unwrap();
        }
        let data = format!("(data (i32.const {DATA_BEGINS}) \"{data}\")");
        let wat = TEMPLATE.replacen("(;data;)", &data, 1).replacen("(;code;)", &self.code, 1);
        wat::parse_str(&wat).unwrap_or_else(|e| panic!("{e}"))
    }

    fn call(mut self, function: &str, arguments: &[&str], then: &str) -> Self {
        let arguments = arguments.iter().map(|text| self.text(text)).collect::<Vec<_>>().join(" ");
        self.code(&format!("(call ${function} {arguments} (i32.const 0)) (call {then})"))
    }

    /// Address and length of a string.
    fn text(&mut self, text: &str) -> String {
        let at = DATA_BEGINS + self.data.len();
        self.data.extend_from_slice(text.as_bytes());
        assert!(self.data.len() < 100_000, "the strings reach into the heap");
        format!("(i32.const {at}) (i32.const {})", text.len())
    }

    fn option(&mut self, text: Option<&str>) -> String {
        text.map_or("(i32.const 0) (i32.const 0) (i32.const 0)".to_owned(), |text| {
            format!("(i32.const 1) {}", self.text(text))
        })
    }

    /// The outcome, word by word, and the return. Its last constant is an address or a small number.
    fn words(mut self, words: &str) -> Self {
        for (i, word) in words.split_inclusive(')').enumerate() {
            writeln!(self.code, "(i32.store (i32.const {}) {word})", 64 + 4 * i).unwrap();
        }
        self.code("(return (i32.const 64))")
    }
}
