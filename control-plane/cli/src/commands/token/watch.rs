//! `stateous token watch`: a token's history, line by line as it happens.

use jiff::tz::TimeZone;
use stateous_api::Client;
use stateous_engine::model::Kind;

use super::follow::{Follow, Next};
use super::line;
use super::show::history_line;
use crate::Failed;
use crate::text::{Format, Out, json_line};

pub(super) async fn watch(client: &Client, id: &str, all: bool, out: &mut Out) -> Result<(), Failed> {
    let mut follow = Follow::new(client.clone(), id.to_owned());
    let zone = TimeZone::system();
    while let Next::Entries(entries) = follow.next().await? {
        for entry in entries {
            if !all && Kind::parse(&entry.kind).is_some_and(|kind| !kind.is_original()) {
                continue;
            }
            match out.format() {
                Format::Json => out.line(&json_line(&entry))?,
                Format::Text => out.line(&history_line(id, &entry, &zone)?)?,
            }
        }
    }
    if out.format() == Format::Text {
        out.line(&line(&follow.token().await?))?;
    }
    Ok(())
}
