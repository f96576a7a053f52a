//! `stateous token`: act on tokens over the HTTP API, list them, follow them and wait for them. Where the original has the
//! command too, the output is its own, line for line.

mod acts;
mod follow;
mod show;
mod wait;
mod watch;

use std::time::Duration;

use clap::{CommandFactory as _, Parser, Subcommand};
use stateous_api::{Client, Token};

use super::pages::Extent;
use super::remote::Remote;
use super::{advice, duration};
use crate::Failed;
use crate::text::{Out, object_argument, token_line};

/// Act on tokens: start, fire, show, pause, resume, cancel, retry; follow them and wait for them.
#[derive(Parser)]
#[command(
    name = "stateous token",
    after_help = "Examples:\n  \
                  stateous token start ORDER-1 '{\"title\": \"a pen\"}'\n  \
                  stateous token fire ORDER-1 reviewed '{\"approved\": true}' --key delivery-7\n  \
                  stateous token show ORDER-1\n  \
                  stateous token show --status failed --prefix ORDER- --all\n  \
                  stateous token watch ORDER-1                            # until it ends\n  \
                  stateous token wait ORDER-1 ORDER-2 --timeout 10m && echo shipped\n  \
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
    #[command(after_help = "Examples:\n  \
                            stateous token start ORDER-1 '{\"title\": \"a pen\"}'\n  \
                            stateous token start LOG-1 --text log=access.log --workflow log-report")]
    Start {
        #[command(flatten)]
        token: One,
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
    #[command(after_help = "Examples:\n  \
                            stateous token fire ORDER-1 reviewed '{\"approved\": true}'\n  \
                            stateous token fire ORDER-1 paid --key webhook-4711   # a second delivery changes nothing")]
    Fire {
        #[command(flatten)]
        token: One,
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
    /// Show a token, its children and its history. With no ID, list the tokens, the ones that moved last first.
    #[command(after_help = "Examples:\n  \
                            stateous token show ORDER-1\n  \
                            stateous token show ORDER-1 --all                   # our own kinds of entries, too\n  \
                            stateous token show --state orders/review --limit 20\n  \
                            stateous token show --status failed --all --json | jq -r '.[].token'\n  \
                            stateous token show --graph")]
    Show {
        /// A token; leave it out to list the tokens.
        #[arg(value_name = "ID")]
        id: Option<String>,
        #[command(flatten)]
        which: show::Which,
        /// With an ID, every kind of entry, not only those that the original knows; else, all tokens.
        #[command(flatten)]
        extent: Extent,
        /// Draw the workflow as a Mermaid diagram.
        #[arg(long)]
        graph: bool,
    },
    /// Show a token's history as it grows, until the token ends. A control plane that is started again is waited for.
    #[command(
        after_help = "Every line comes once, in order. With --json, one JSON object a line.\n\nExamples:\n  \
                            stateous token watch ORDER-1\n  \
                            stateous token watch ORDER-1 --json | jq -r 'select(.kind == \"note\").data.text'"
    )]
    Watch {
        #[command(flatten)]
        token: One,
        /// Every kind of entry, not only those that the original knows.
        #[arg(long)]
        all: bool,
    },
    /// Wait until tokens completed. Exit code 0 when all did, 1 when one ended in another way or the time is over.
    #[command(after_help = "Each token is told as soon as it is decided.\n\nExamples:\n  \
                            stateous token wait ORDER-1 && echo shipped\n  \
                            stateous token wait ORDER-1 ORDER-2 --timeout 10m\n  \
                            stateous token wait ORDER-1 --until-state review\n  \
                            stateous token wait ORDER-1 --status paused")]
    Wait {
        /// The tokens.
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
        /// Wait for this status instead: active, paused, completed, failed, cancelled.
        #[arg(long, value_parser = ["active", "paused", "completed", "failed", "cancelled"])]
        status: Option<String>,
        /// Wait until each has entered this state, now or before; END when it completed.
        #[arg(long, value_name = "STATE", conflicts_with = "status")]
        until_state: Option<String>,
        /// Wait at most so long: 30s, 10m, 6h.
        #[arg(long, value_name = "DURATION", value_parser = duration)]
        timeout: Option<Duration>,
    },
    /// Pause a token: it stands still, and what arrives for it is held.
    Pause(One),
    /// Resume a paused token: what it held applies in the order of arrival.
    Resume(One),
    /// Cancel a token: it ends for good.
    Cancel(One),
    /// Retry a failed token: it enters its last state again, with its context as it is and empty memory.
    Retry(One),
}

/// One token.
#[derive(clap::Args)]
struct One {
    /// The token's id, e.g. TICKET-1.
    #[arg(value_name = "ID")]
    id: String,
}

/// Runs the command.
pub(crate) fn run(args: Args, out: &mut Out) -> Result<(), Failed> {
    let Args { act: Some(act), remote } = args else {
        return Err(Failed::Usage(Box::new(Args::command())));
    };
    match act {
        Act::Start { token, context, workflow, texts } => {
            let context = acts::context_of(context.as_deref(), &texts)?;
            on(&remote, &token.id, async |client, id| acts::start(client, id, context, workflow, out).await)
        }
        Act::Fire { token, event, payload, key } => {
            let payload = payload.map(|text| object_argument(&text, "PAYLOAD_JSON")).transpose()?;
            let key = key.as_deref();
            on(&remote, &token.id, async |client, id| acts::fire(client, id, &event, payload, key, out).await)
        }
        Act::Show { id: Some(_), graph: true, .. } => {
            Err(anyhow::anyhow!("give a token ID or --graph, not both").into())
        }
        Act::Show { id: Some(_), which, extent, .. } if !which.is_all() || extent.is_limited() => {
            Err(anyhow::anyhow!("give a token ID or what to list, not both").into())
        }
        Act::Show { id: Some(id), extent, .. } => {
            on(&remote, &id, async |client, id| show::show(client, id, extent.all, out).await)
        }
        Act::Show { graph: true, .. } => remote.run(async |client| show::draw(&client, out).await),
        Act::Show { which, extent, .. } => {
            remote.run(async |client| show::list(&client, &which, extent, out).await)
        }
        Act::Watch { token, all } => {
            on(&remote, &token.id, async |client, id| watch::watch(client, id, all, out).await)
        }
        Act::Wait { ids, status, until_state, timeout } => {
            let until = match until_state {
                Some(state) => wait::Until::State(state),
                None => wait::Until::Status(status.unwrap_or_else(|| "completed".to_owned())),
            };
            remote.run(async |client| wait::wait(&client, ids, until, timeout, out).await)
        }
        Act::Pause(One { id }) => {
            on(&remote, &id, async |client, id| out.tell(&client.pause(id).await?, line))
        }
        Act::Resume(One { id }) => {
            on(&remote, &id, async |client, id| out.tell(&client.resume(id).await?, line))
        }
        Act::Cancel(One { id }) => {
            on(&remote, &id, async |client, id| out.tell(&client.cancel(id).await?, line))
        }
        Act::Retry(One { id }) => {
            on(&remote, &id, async |client, id| out.tell(&client.retry(id).await?, line))
        }
    }
}

/// Acts on one token, and adds what to do next when that is refused.
fn on(
    remote: &Remote,
    id: &str,
    act: impl AsyncFnOnce(&Client, &str) -> Result<(), Failed>,
) -> Result<(), Failed> {
    remote.run(async |client| match act(&client, id).await {
        Ok(()) => Ok(()),
        Err(failed) => Err(advice::of_token(&client, id, failed).await),
    })
}

/// A token as a line.
pub(super) fn line(token: &Token) -> String {
    token_line(&token.token, &token.state, token.visit, &token.status)
}
