//! Writes the access log that this example ships, always the same one, on stdout:
//!
//! ```sh
//! cargo run --release --example generate > ../../access.log
//! ```
//!
//! Two days of a small shop: a daily curve, a burst of errors, crawlers, IPv6, and lines as real logs have them: cut
//! off, in the wrong place, of other programs, with quotes in them.

use std::fmt::Write as _;

const LINES: usize = 3_200;
/// 2026-11-02T00:00:00Z.
const BEGIN: u64 = 1_793_577_600;
const SECONDS: u64 = 2 * 86_400;

fn main() {
    print!("{}", access_log());
}

/// The whole log.
pub fn access_log() -> String {
    let mut random = Random(0x5747_4154_4f55_5321);
    let mut log = String::new();
    let mut at = BEGIN;
    for number in 1..=LINES {
        at += step(&mut random, at, number);
        let line = good_line(&mut random, at);
        if random.below(90) == 0 {
            log.push_str(&bad_line(&mut random, &line));
        } else {
            log.push_str(&line);
        }
        log.push('\n');
    }
    // As when the disk was full: the last line is cut off and has no end.
    log.push_str("198.51.100.23 - - [03/Nov/2026:23:5");
    log
}

/// Seconds to the next request: short at noon, long at night, and whatever is left stretched over the lines that are.
fn step(random: &mut Random, at: u64, number: usize) -> u64 {
    let left = (BEGIN + SECONDS).saturating_sub(at) / (LINES - number + 1) as u64;
    let hour = at % 86_400 / 3_600;
    let weight = if (8..20).contains(&hour) { 2 } else { 5 };
    random.below(left.max(1) * weight * 2 / 3 + 1)
}

fn good_line(random: &mut Random, at: u64) -> String {
    let client = client(random);
    let is_burst = (BEGIN + 121_000..BEGIN + 124_600).contains(&at);
    let (method, path, size) = match random.below(100) {
        0..18 => ("GET", "/".to_owned(), 5_120),
        18..30 => ("GET", "/assets/app.css".to_owned(), 18_322),
        30..40 => ("GET", "/assets/app.js".to_owned(), 94_210),
        40..60 => ("GET", format!("/products/{}", 100 + random.below(60) * random.below(3)), 7_400),
        60..70 => ("GET", format!("/search?q={}", WORDS[random.pick(WORDS.len())]), 6_100),
        70..78 => ("POST", "/cart".to_owned(), 310),
        78..83 => ("POST", "/checkout".to_owned(), 890),
        83..88 => ("GET", "/api/stock".to_owned(), 1_450),
        88..92 => ("GET", "/favicon.ico".to_owned(), 1_150),
        92..95 => ("GET", "/wp-login.php".to_owned(), 162),
        95..97 => ("HEAD", "/".to_owned(), 0),
        97 => ("GET", r#"/search?q=\"quoted\""#.to_owned(), 6_020),
        98 => ("GET", "/images/caf\u{e9}.jpg".to_owned(), 40_110),
        _ => ("GET", format!("/download/catalogue-{}.pdf", random.below(4)), 2_480_000),
    };
    let status = match random.below(100) {
        _ if path == "/wp-login.php" => 404,
        0..45 if is_burst && !path.starts_with("/assets") => 503,
        0 => 500,
        1..4 => 404,
        4..8 => 304,
        8..10 => 301,
        _ if path == "/cart" => 201,
        _ => 200,
    };
    let bytes = match status {
        200 | 201 if size > 0 => (size + random.below(size / 10 + 1)).to_string(),
        404 => "162".to_owned(),
        500 | 503 => "192".to_owned(),
        _ => "-".to_owned(),
    };
    let user = if random.below(40) == 0 { "ada" } else { "-" };
    let agent = AGENTS[random.pick(AGENTS.len())];
    let instant = instant(at);
    let mut line = format!("{client} - {user} [{instant}] \"{method} {path} HTTP/1.1\" {status} {bytes}");
    // A string is a sink that never fails.
    let _ = write!(line, " \"-\" \"{agent}\"");
    line
}

fn bad_line(random: &mut Random, good: &str) -> String {
    let cut = |from: usize, to: usize, random: &mut Random| {
        let mut at = from + random.pick(to - from);
        while !good.is_char_boundary(at) {
            at -= 1;
        }
        good[..at].to_owned()
    };
    match random.below(9) {
        0 => cut(5, 40, random),
        1 => cut(40, 60, random),
        2 => String::new(),
        3 => {
            "\u{1}\u{0}\u{7f}\u{fffd}\u{fffd}\u{202e}gnp.egami \u{1b}[31m\u{4}\u{3}".replace('\u{0}', "\u{2}")
        }
        4 => good.replacen("/Nov/", "/Nop/", 1),
        5 => good.replacen("[0", "[4", 1),
        6 => good.replacen("\" 2", "\" 9", 1).replacen("\" 3", "\" 7", 1).replacen("\" 4", "\" 0", 1),
        7 => "nginx: [warn] 1024 worker_connections are not enough, reusing connections".to_owned(),
        _ => good.replacen('"', "", 1),
    }
}

fn client(random: &mut Random) -> String {
    match random.below(10) {
        0 => "66.249.66.1".to_owned(),
        1 => format!("2001:db8:{:x}::{:x}", random.below(4), 1 + random.below(30)),
        2 => format!("host{}.example.net", random.below(5)),
        3..5 => format!("203.0.113.{}", 1 + random.below(8)),
        _ => format!("192.0.2.{}", 1 + random.below(120)),
    }
}

fn instant(at: u64) -> String {
    let day = 2 + (at - BEGIN) / 86_400;
    let (hour, minute, second) = (at % 86_400 / 3_600, at % 3_600 / 60, at % 60);
    format!("{day:02}/Nov/2026:{hour:02}:{minute:02}:{second:02} +0000")
}

const WORDS: [&str; 6] = ["pen", "ink", "blue+ink", "paper", "a4", "envelope"];
const AGENTS: [&str; 5] = [
    "Mozilla/5.0 (X11; Linux x86_64)",
    "Mozilla/5.0 (iPhone)",
    "curl/8.5.0",
    "Googlebot/2.1",
    "shop-app/3.2 (\\\"beta\\\")",
];

/// SplitMix64: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn pick(&mut self, len: usize) -> usize {
        (self.next() % len as u64) as usize
    }
}
