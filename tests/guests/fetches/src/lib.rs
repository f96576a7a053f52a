//! Sends one request as its context says, and tells what came of it. A redirect is followed by asking again.

use stateous_routine::prelude::*;

#[derive(Deserialize)]
struct Wanted {
    method: String,
    url: String,
    #[serde(default)]
    authorization: Option<String>,
    #[serde(default)]
    body: String,
}

#[derive(Event)]
enum Out {
    Done { status: u16, body: String },
    Refused { code: String, message: String },
}

#[routine]
fn fetches(ctx: &Context<Wanted>) -> Result<Out> {
    let wanted = ctx.data();
    let mut url = wanted.url.clone();
    loop {
        let mut request = ctx.request(&wanted.method, &url).body(wanted.body.as_bytes());
        if let Some(value) = &wanted.authorization {
            request = request.header("authorization", value);
        }
        match request.send() {
            Ok(answer) => match answer.header("location") {
                Some(next) => url = next.to_owned(),
                None => return Ok(Out::Done { status: answer.status, body: answer.text() }),
            },
            Err(stateous_routine::Error::Http(error)) => {
                return Ok(Out::Refused { code: error.code().to_owned(), message: error.to_string() });
            }
            Err(other) => return Err(other.into()),
        }
    }
}
