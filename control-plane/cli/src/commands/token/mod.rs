//! `stateous token`: start, fire, show, pause, resume, cancel and retry tokens over the HTTP API. Where the original has the
//! command too, the output is its own, line for line.

mod acts;
mod show;

use clap::{CommandFactory as _, Parser, Subcommand};
use stateous_api::Token;

use super::remote::Remote;
use crate::Failed;
use crate::text::{Out, object_argument, token_line};

/// Act on tokens: start, fire, show, pause, resume, cancel, retry.
#[derive(Parser)]
#[command(
    name = "stateous token",
    after_help = "Examples:\n  \
                  stateous token start ORDER-1 '{\"title\": \"a pen\"}'\n  \
                  stateous token fire ORDER-1 reviewed '{\"approved\": true}' --key delivery-7\n  \
                  stateous token show ORDER-1\n  \
                  stateous token show --url http://control.example:8080   # or STATEOUS_URL"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    act: Option<Act>,
    #[command(flatten)]
    remote: Remote,
}

#[derive(Subcommand)]
enum Act {
    /// Start a token. Starting one that exists shows it.
    Start {
        /// The token's id, e.g. TICKET-1.
        #[arg(value_name = "ID")]
        id: String,
        /// The token's context: a JSON object.
        #[arg(value_name = "CONTEXT_JSON")]
        context: Option<String>,
        /// The workflow to follow; without it, the one that the control plane was started with.
        #[arg(long)]
        workflow: Option<String>,
        /// Put the text of a file into the context: `--text log=access.log`. Bytes that are not UTF-8 become U+FFFD.
        #[arg(long = "text", value_name = "KEY=FILE")]
        texts: Vec<String>,
    },
    /// Fire an event on a token.
    Fire {
        /// The token's id, e.g. TICKET-1.
        #[arg(value_name = "ID")]
        id: String,
        /// The event's name.
        #[arg(value_name = "EVENT")]
        event: String,
        /// The event's payload: a JSON object.
        #[arg(value_name = "PAYLOAD_JSON")]
        payload: Option<String>,
        /// An idempotency key: the same key fires once.
        #[arg(long)]
        key: Option<String>,
    },
    /// Show a token, its children and its history. With no ID, list the tokens.
    Show {
        /// A token; leave it out to list the tokens.
        #[arg(value_name = "ID")]
        id: Option<String>,
        /// Every kind of entry, not only those that the original knows.
        #[arg(long)]
        all: bool,
        /// Draw the workflow as a Mermaid diagram.
        #[arg(long)]
        graph: bool,
    },
    /// Pause a token: it stands still, and what arrives for it is held.
    Pause {
        /// The token's id, e.g. TICKET-1.
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Resume a paused token: what it held applies in the order of arrival.
    Resume {
        /// The token's id, e.g. TICKET-1.
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Cancel a token: it ends for good.
    Cancel {
        /// The token's id, e.g. TICKET-1.
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Retry a failed token: it enters its last state again, with its context as it is and empty memory.
    Retry {
        /// The token's id, e.g. TICKET-1.
        #[arg(value_name = "ID")]
        id: String,
    },
}

/// Runs the command.
pub(crate) fn run(args: Args, out: &mut Out) -> Result<(), Failed> {
    let Args { act, remote } = args;
    match act {
        None => Err(Failed::Usage(Box::new(Args::command()))),
        Some(Act::Start { id, context, workflow, texts }) => {
            let context = acts::context_of(context.as_deref(), &texts)?;
            remote.run(|client| acts::start(client, id, context, workflow, out))
        }
        Some(Act::Fire { id, event, payload, key }) => {
            let payload = payload.map(|text| object_argument(&text, "PAYLOAD_JSON")).transpose()?;
            remote.run(|client| acts::fire(client, id, event, payload, key, out))
        }
        Some(Act::Show { id: Some(_), graph: true, .. }) => {
            Err(anyhow::anyhow!("give a token ID or --graph, not both").into())
        }
        Some(Act::Show { id: None, graph: true, .. }) => remote.run(|client| show::draw(client, out)),
        Some(Act::Show { id: None, .. }) => remote.run(|client| show::list(client, out)),
        Some(Act::Show { id: Some(id), all, .. }) => remote.run(|client| show::show(client, id, all, out)),
        Some(Act::Pause { id }) => {
            remote.run(|client| async move { out.tell(&client.pause(&id).await?, line) })
        }
        Some(Act::Resume { id }) => {
            remote.run(|client| async move { out.tell(&client.resume(&id).await?, line) })
        }
        Some(Act::Cancel { id }) => {
            remote.run(|client| async move { out.tell(&client.cancel(&id).await?, line) })
        }
        Some(Act::Retry { id }) => {
            remote.run(|client| async move { out.tell(&client.retry(&id).await?, line) })
        }
    }
}

/// A token as a line.
fn line(token: &Token) -> String {
    token_line(&token.token, &token.state, token.visit, &token.status)
}
