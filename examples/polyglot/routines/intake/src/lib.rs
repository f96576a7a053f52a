//! The first desk, in Rust: takes the parcel in.
//!
//! Like every desk it writes down what it was given, is interrupted, and goes on from its note at the next attempt: so
//! the example shows that memory gives back every digit and character.

use stateous_routine::prelude::*;
use stateous_routine::serde_json::value::RawValue;

#[derive(Deserialize)]
struct Parcel {
    title: String,
    /// Larger than any integer of this language, so it stays the digits that it is.
    serial: Box<RawValue>,
    contents: Value,
}

#[derive(Serialize, Deserialize)]
struct Noted {
    title: String,
    serial: Box<RawValue>,
    contents: Value,
}

#[derive(Serialize)]
struct Stamp {
    desk: &'static str,
    language: &'static str,
}

#[derive(Event)]
enum Out {
    Accepted { serial: Box<RawValue>, says: String },
}

#[routine]
fn intake(ctx: &Context<Parcel>) -> Result<Out> {
    let parcel = ctx.data();
    let Some(noted) = ctx.memory().get::<Noted>("noted")? else {
        let noted = Noted {
            title: parcel.title.clone(),
            serial: parcel.serial.clone(),
            contents: parcel.contents.clone(),
        };
        ctx.memory().set("noted", &noted)?;
        return Err(Failure::retryable("intake was interrupted"));
    };
    let is_whole = noted.title == parcel.title
        && noted.serial.get() == parcel.serial.get()
        && noted.contents == parcel.contents;
    if !is_whole {
        return Err(Failure::fatal("intake forgot something"));
    }
    ctx.note(format_args!("taken in: {} 📦", parcel.title))?;
    ctx.set("journey", &[Stamp { desk: "intake", language: "Rust" }])?;
    Ok(Out::Accepted { serial: noted.serial, says: "Grüße aus dem Lager 📦".to_owned() })
}

#[cfg(test)]
mod tests {
    use stateous_routine::testing::Mock;

    use super::*;

    #[test]
    fn an_interrupted_intake_goes_on_from_its_note() {
        let mock = Mock::new(json!({"title": "a pen", "serial": 7, "contents": []}));
        assert!(mock.run(intake).failure().is_retryable());
        let ended = mock.run(intake);
        assert_eq!((ended.event(), &ended.payload()["serial"]), ("accepted", &json!(7)));
        assert_eq!(mock.notes(), ["taken in: a pen 📦"]);
    }
}
