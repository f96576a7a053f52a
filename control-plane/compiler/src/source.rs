//! TOML values with their places: each getter answers with the value, or notes what else was seen.

use std::ops::Range;

use serde_json::Number;
use stateous_engine::json::{self, Json, Object};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::definition::At;
use crate::diagnostic::{Problems, suggestion};

pub(crate) type Value<'i> = Spanned<DeValue<'i>>;

/// The entries of a table in the order of the file, whatever order the map keeps.
pub(crate) fn entries<'t, 'i>(table: &'t DeTable<'i>) -> Vec<(At<String>, &'t Value<'i>)> {
    let named = |(key, value): (&Spanned<DeString<'i>>, &'t Value<'i>)| {
        (At { value: key.get_ref().to_string(), at: key.span() }, value)
    };
    let mut found: Vec<_> = table.iter().map(named).collect();
    found.sort_by_key(|(key, _)| key.at.start);
    found
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Notes that something else was expected.
pub(crate) fn wrong_type(value: &Value<'_>, wanted: &str, problems: &mut Problems<'_>) {
    let message = format!("{wanted} was expected, not {}", kind(value.get_ref()));
    problems.error("wrong_type", value.span(), message);
}

pub(crate) fn unknown_key(key: &At<String>, known: &[&str], problems: &mut Problems<'_>) {
    let problem = problems.error("unknown_key", key.at.clone(), format!("unknown key '{}'", key.value));
    problem.help = suggestion(&key.value, known.iter().copied());
}

pub(crate) fn text(value: &Value<'_>, problems: &mut Problems<'_>) -> Option<At<String>> {
    let found = value.get_ref().as_str().map(|text| At { value: text.to_owned(), at: value.span() });
    if found.is_none() {
        wrong_type(value, "a text", problems);
    }
    found
}

pub(crate) fn boolean(value: &Value<'_>, problems: &mut Problems<'_>) -> Option<bool> {
    let found = value.get_ref().as_bool();
    if found.is_none() {
        wrong_type(value, "true or false", problems);
    }
    found
}

pub(crate) fn table<'t, 'i>(value: &'t Value<'i>, problems: &mut Problems<'_>) -> Option<&'t DeTable<'i>> {
    let found = value.get_ref().as_table();
    if found.is_none() {
        wrong_type(value, "a table", problems);
    }
    found
}

/// Where the first character of the text `value` stands at `at`, if each character stands for itself there.
pub(crate) fn inner(source: &str, at: &Range<usize>, value: &str) -> Option<usize> {
    let raw = source.get(at.clone())?;
    let quotes = ["\"\"\"\n", "'''\n", "\"\"\"\r\n", "'''\r\n", "\"\"\"", "'''", "\"", "'"];
    let opening = quotes.into_iter().find(|quote| raw.starts_with(quote))?;
    raw[opening.len()..].starts_with(value).then_some(at.start + opening.len())
}

/// The value as JSON; what JSON cannot say is noted.
pub(crate) fn to_json(value: &Value<'_>, problems: &mut Problems<'_>) -> Option<Json> {
    match value.get_ref() {
        DeValue::String(text) => Some(Json::String(text.to_string())),
        DeValue::Boolean(b) => Some(Json::Bool(*b)),
        DeValue::Integer(integer) => {
            let digits = match i128::from_str_radix(integer.as_str(), integer.radix()) {
                Ok(value) => value.to_string(),
                Err(_) => integer.as_str().trim_start_matches('+').to_owned(),
            };
            let number =
                digits.parse::<Number>().ok().filter(|n| integer.radix() == 10 || n.is_i64() || n.is_u64());
            if number.is_none() {
                problems.error("wrong_type", value.span(), "this number is too large; write it in decimal");
            }
            number.map(Json::Number)
        }
        DeValue::Float(float) => {
            let finite = float.as_str().parse::<f64>().ok().filter(|f| f.is_finite());
            let number = finite.and_then(|f| json::float(f).parse::<Number>().ok());
            if number.is_none() {
                problems.error(
                    "wrong_type",
                    value.span(),
                    "JSON has no infinity and no NaN; leave the limit out",
                );
            }
            number.map(Json::Number)
        }
        DeValue::Datetime(_) => {
            let problem = problems.error("wrong_type", value.span(), "JSON has no dates");
            problem.help("put it in quotes: it is a text in JSON");
            None
        }
        DeValue::Array(list) => {
            // All items, so that each mistake is told, then only if all are good.
            let items: Vec<_> = list.iter().map(|item| to_json(item, problems)).collect();
            items.into_iter().collect::<Option<_>>().map(Json::Array)
        }
        DeValue::Table(table) => {
            let fields = entries(table).into_iter().map(|(key, value)| (key.value, to_json(value, problems)));
            let fields: Vec<_> = fields.collect();
            let fields = fields.into_iter().map(|(key, value)| Some((key, value?)));
            fields.collect::<Option<Object>>().map(Json::Object)
        }
    }
}
