//! Guards as a language: whatever the text and the data, an answer.

#![expect(clippy::unwrap_used, reason = "a test ends where its own data is wrong")]

use proptest::prelude::*;
use stateous_engine::guard::{Facts, Guard};
use stateous_engine::json::{Object, parse};

fn holds(guard: &str, context: &str) -> bool {
    let context = parse(context).unwrap();
    let empty = Object::new();
    let facts = Facts {
        context: context.as_object().unwrap(),
        payload: &empty,
        counts: &|event| event.len() as u64,
        branches: &[],
        weights: &[],
    };
    Guard::parse(guard).unwrap_or_else(|error| panic!("{guard}: {error}")).holds(&facts)
}

#[test]
fn integers_and_floats_are_compared_exactly() {
    let check = |left: &str, sign: &str, right: &str| {
        let context = format!(r#"{{"l":{left},"r":{right}}}"#);
        assert!(holds(&format!("ctx['l'] {sign} ctx['r']"), &context), "{left} {sign} {right}");
        assert!(!holds(&format!("not ctx['l'] {sign} ctx['r']"), &context), "{left} {sign} {right}");
    };
    let digits = "9".repeat(400);
    check(&digits, "<", &format!("1{}", "0".repeat(400)));
    check(&digits, ">", "1.7976931348623157e308");
    check(&format!("-{digits}"), "<", "-1.7976931348623157e308");
    check("9007199254740993", ">", "9007199254740992.0");
    check("9007199254740993", "!=", "9007199254740992.0");
    check("9007199254740992", "==", "9.007199254740992e15");
    check("2", "<", "2.5");
    check("-2", ">", "-2.5");
    check("0", "==", "-0.0");
    check("1", "==", "true");
}

#[test]
fn nesting_has_an_end() {
    let nested = |n: usize| format!("{}true{}", "(".repeat(n), ")".repeat(n));
    assert!(holds(&nested(200), "{}"));
    for deep in [nested(100_000), "not ".repeat(100_000), "[".repeat(100_000), "ctx[".repeat(100_000)] {
        let error = Guard::parse(&deep).unwrap_err();
        assert!(error.to_string().contains("nested"), "{error}");
    }
    assert!(Guard::parse(&vec!["true"; 50_000].join(" and ")).is_ok());
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>()) {
        if let Err(error) = Guard::parse(&text) {
            prop_assert!(text.get(error.at.clone()).is_some(), "{:?} is outside {text:?}", error.at);
        }
    }

    #[test]
    fn no_text_of_the_language_panics(text in r#"(ctx|payload|count|branches|\['a'\]|\.all|\.b|\(|\)| and | or |not |<|==| in |'é'|"|\\u|-|1|\.|e5|,|\[|\]|#|\n|0x|_| ){0,14}"#) {
        match Guard::parse(&text) {
            Ok(guard) => {
                let empty = Object::new();
                let facts = Facts { context: &empty, payload: &empty, counts: &|_| 0, branches: &[], weights: &[] };
                let _ = guard.holds(&facts);
            }
            Err(error) => prop_assert!(text.get(error.at.clone()).is_some(), "{:?} is outside {text:?}", error.at),
        }
    }

    #[test]
    fn integers_are_ordered(a in any::<i128>(), b in any::<i128>()) {
        let context = format!(r#"{{"a":{a},"b":{b}}}"#);
        prop_assert_eq!(holds("ctx['a'] < ctx['b']", &context), a < b);
        prop_assert_eq!(holds("ctx['a'] >= ctx['b']", &context), a >= b);
        prop_assert_eq!(holds(&format!("ctx['a'] == {a}"), &context), true);
    }

    #[test]
    fn floats_are_ordered(a in any::<f64>().prop_filter("finite", |f| f.is_finite()), b in -1000i32..1000) {
        let context = format!(r#"{{"a":{a:e},"b":{b}}}"#);
        prop_assert_eq!(holds("ctx['a'] < ctx['b']", &context), a < f64::from(b));
        prop_assert_eq!(holds("ctx['b'] <= ctx['a']", &context), f64::from(b) <= a);
    }
}
