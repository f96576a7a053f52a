//! `stateous supervisor`: who does the work.

use clap::{CommandFactory as _, Parser, Subcommand};
use stateous_api::Client;

use super::remote::Remote;
use crate::Failed;
use crate::text::{Columns, Format, Out, local_time};

/// See the supervisors that work for a control plane.
#[derive(Parser)]
#[command(
    name = "stateous supervisor",
    after_help = "Examples:\n  \
                  stateous supervisor list\n  \
                  stateous task list --supervisor build-box-1   # what one of them works on"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    act: Option<Act>,
    #[command(flatten)]
    remote: Remote,
}

#[derive(Subcommand)]
enum Act {
    /// List the supervisors that spoke to the control plane in the last ten minutes.
    List,
}

/// Runs the command.
pub(crate) fn run(args: Args, out: &mut Out) -> Result<(), Failed> {
    let Args { act: Some(Act::List), remote } = args else {
        return Err(Failed::Usage(Box::new(Args::command())));
    };
    remote.run(async |client| list(&client, out).await)
}

async fn list(client: &Client, out: &mut Out) -> Result<(), Failed> {
    let supervisors = client.supervisors().await?;
    if out.format() == Format::Json {
        return out.tell(&supervisors, |_| String::new());
    }
    if supervisors.is_empty() {
        return out.line("no supervisors");
    }
    let mut columns = Columns::new(["SUPERVISOR", "TASKS", "LAST SEEN", "STATES"]);
    for one in &supervisors {
        let states = one
            .states
            .as_ref()
            .map_or_else(|| "every state that has a routine".to_owned(), |states| states.join(", "));
        columns.row([&one.name, &one.tasks.to_string(), &local_time(&one.last_seen), &states]);
    }
    out.line(&columns.text())
}
