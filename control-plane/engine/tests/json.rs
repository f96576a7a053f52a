//! The strict reader: each refusal has its kind, and nothing is lost on the way.

use proptest::prelude::*;

use stateous_engine::json::{Json, JsonError, parse, parse_stored};
use stateous_engine::limits;

fn kind(text: &str) -> &'static str {
    match parse(text) {
        Ok(_) => "ok",
        Err(JsonError::Syntax { .. }) => "syntax",
        Err(JsonError::TooDeep { .. }) => "deep",
        Err(JsonError::NumberTooLong { .. }) => "long",
        Err(JsonError::LoneSurrogate) => "surrogate",
        Err(JsonError::Infinite { .. }) => "infinite",
    }
}

#[test]
fn each_refusal_has_its_own_kind() {
    let check = |text: &str, wanted: &str| assert_eq!(kind(text), wanted, "{text:.60}");
    for good in
        ["{}", "\u{feff}{}", " [1, -0, 0.5e-7, true, null]\r\n\t", r#""é\u00e9\ud83d\ude00\/""#, "1e-999"]
    {
        check(good, "ok");
    }
    for bad in [
        "",
        " ",
        "{",
        "[1,]",
        "{\"a\":1,}",
        "{'a':1}",
        "NaN",
        "-Infinity",
        "Infinity",
        "01",
        "1.",
        ".5",
        "+1",
        "1e",
        "nul",
        "\"a",
        "\"\n\"",
        "\"\\x\"",
        "\"\\u12\"",
        "1 2",
        "[1 2]",
        "{\"a\" 1}",
        "{1:2}",
        "\u{a0}1",
        "-",
    ] {
        check(bad, "syntax");
    }
    for surrogate in [r#""\ud800""#, r#""\udc00""#, r#""\ud800\ud800""#, r#""\ud800x""#, r#"{"\ud800":1}"#] {
        check(surrogate, "surrogate");
    }
    check("[1e999]", "infinite");
    check("-1.8e308", "infinite");
    check("1.7976931348623157e308", "ok");
    check(&"9".repeat(limits::DIGITS), "ok");
    check(&"9".repeat(limits::DIGITS + 1), "long");
    assert!(parse(b"\"\xff\"").is_err());
}

#[test]
fn depth_is_counted_before_it_costs_stack() {
    let nest = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert_eq!(kind(&nest(limits::DEPTH)), "ok");
    assert_eq!(kind(&nest(limits::DEPTH + 1)), "deep");
    assert_eq!(kind(&"{\"a\":".repeat(300_000)), "deep");
    assert_eq!(kind(&"[[],[]],".repeat(3)), "syntax");
    assert!(parse(format!("[{}1]", "[],".repeat(500))).is_ok());
}

#[test]
fn values_are_kept_as_they_came() {
    let check = |text: &str| assert_eq!(parse(text).unwrap().to_string(), text);
    check(&format!("[{}]", "1234567890".repeat(40)));
    check(r#"{"z":1.50,"a":1e+5,"m":-0,"d":-0.0,"e":1e-7}"#);
    check(r#"{"$serde_json::private::Number":"12"}"#);
    check(r#"{"$serde_json::private::RawValue":"12"}"#);
    let hostile = r#"{"a":{"$serde_json::private::Number":"x"}}"#;
    assert_eq!(Json::Object(parse_stored(hostile).unwrap()).to_string(), hostile);
    assert!(parse_stored("[]").is_err());
    // The one thing that serde_json writes anew is the mark of an exponent.
    assert_eq!(parse("1.50E5").unwrap().to_string(), "1.50e+5");
    assert_eq!(parse(r#"{"a":1,"b":2,"a":3}"#).unwrap().to_string(), r#"{"a":3,"b":2}"#);
}

#[test]
fn a_syntax_error_says_where() {
    let error = parse("{\n  \"é\": nope\n}").unwrap_err();
    assert_eq!(error.to_string(), "not valid JSON: a value was expected at line 2, column 8");
}

proptest! {
    #[test]
    fn any_text_is_answered_as_serde_json_answers_it(text in r#"[\[\]{}:,"\\u0-9eE.+\-a-f \n]{0,40}"#) {
        let theirs = serde_json::from_str::<Json>(&text);
        match parse(&text) {
            Ok(ours) => prop_assert_eq!(theirs.unwrap(), ours),
            Err(JsonError::Infinite { .. }) => {}
            Err(_) => prop_assert!(theirs.is_err(), "{} was refused", text),
        }
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = parse(bytes);
    }
}
