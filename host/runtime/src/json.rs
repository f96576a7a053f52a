//! JSON from a guest: checked to the last escape, and kept as the text that it is.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::ports::{Refusal, RefusalCode as Code};

/// JSON as text, at most so many levels deep (a number has none, an object of numbers one).
pub(crate) fn json(value: &str, levels_max: usize) -> Result<(), Refusal> {
    let levels = levels(value);
    if levels > levels_max {
        let message = format!(
            "the value has {levels} levels of nesting, at most {levels_max} are kept: make it flatter"
        );
        return Err(Refusal::new(Code::InvalidJson, message));
    }
    serde_json::from_str::<Strict>(value).map(|Strict| ()).map_err(|e| {
        Refusal::new(
            Code::InvalidJson,
            format!("the value is not JSON: {e}. Pass JSON text, such as {{\"n\": 1}}"),
        )
    })
}

/// How deep the brackets go, strings left out. Counted before parsing, so that the parser meets no deep text.
fn levels(json: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Walks JSON and keeps nothing. Unlike `IgnoredAny` it decodes every string, so it finds lone surrogates.
struct Strict;

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Strict)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Strict;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self, A::Error> {
        while seq.next_element::<Strict>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<Strict, Strict>()?.is_some() {}
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(result: Result<(), Refusal>) -> &'static str {
        result.map_or_else(|refusal| refusal.code.as_str(), |()| "ok")
    }

    #[test]
    fn json_is_checked_to_the_last_escape() {
        let good = [
            "1",
            "null",
            " {\"a\": [1, 2.50, -3e400, true]} ",
            r#""𝄞 \u0000 \ud834\udd1e""#,
            "[]",
            &"9".repeat(400),
            r#"{"$serde_json::private::Number": "x"}"#,
        ];
        for text in good {
            assert_eq!(code(json(text, 64)), "ok", "{text}");
        }
        for text in [
            "",
            "{",
            "{'a': 1}",
            "[1,]",
            "01",
            "NaN",
            "1 2",
            r#""\ud800""#,
            r#"{"\udc00": 1}"#,
            "\"\n\"",
            "nul",
        ] {
            assert_eq!(code(json(text, 64)), "invalid_json", "{text}");
        }
    }

    #[test]
    fn depth_counts_brackets_outside_of_strings() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert_eq!(code(json(&nested(63), 63)), "ok");
        assert_eq!(code(json(&nested(64), 63)), "invalid_json");
        assert_eq!(code(json(&nested(1_000_000), 63)), "invalid_json");
        assert_eq!(code(json(r#"{"[[[": "{{{\"[[["}"#, 1)), "ok");
    }
}
