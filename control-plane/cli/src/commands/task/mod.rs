//! `stateous task`: see the work of states, and report what was done outside.

mod report;
mod show;

use clap::{CommandFactory as _, Parser, Subcommand};
use stateous_api::Client;
use stateous_api::client::TasksQuery;

use super::advice;
use super::pages::Extent;
use super::remote::Remote;
use crate::Failed;
use crate::text::Out;

/// See tasks, which are the work of states, and report what was done outside.
#[derive(Parser)]
#[command(
    name = "stateous task",
    after_help = "Examples:\n  \
                  stateous task list                                # what waits or is worked on\n  \
                  stateous task list --unserved                     # what no supervisor asks for\n  \
                  stateous task show 17\n  \
                  stateous task report 17 signed '{\"by\": \"Ada\"}'   # the work of a waiting task is done\n  \
                  stateous task report 17 --failed 'nobody signed'"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    act: Option<Act>,
    #[command(flatten)]
    remote: Remote,
}

#[derive(Subcommand)]
enum Act {
    /// List tasks: those that are queued, worked on or waiting, unless told otherwise.
    #[command(after_help = "Examples:\n  \
                            stateous task list --status waiting --state orders/sign\n  \
                            stateous task list --token ORDER-1 --status any\n  \
                            stateous task list --unserved --all --json | jq length")]
    List {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        extent: Extent,
    },
    /// Show one task.
    Show {
        /// The task's number.
        #[arg(value_name = "TASK")]
        task: u64,
    },
    Report(report::Args),
}

/// Which tasks are listed.
#[derive(clap::Args, Debug, Clone)]
struct Which {
    /// Only tasks in this status: open, any, queued, claimed, waiting, done, failed, cancelled.
    #[arg(long)]
    status: Option<String>,
    /// Only tasks of this workflow.
    #[arg(long)]
    workflow: Option<String>,
    /// Only tasks of this state: STATE, or WORKFLOW/STATE.
    #[arg(long)]
    state: Option<String>,
    /// Only tasks of this token.
    #[arg(long, value_name = "ID")]
    token: Option<String>,
    /// Only tasks that this supervisor holds, or held last.
    #[arg(long, value_name = "NAME")]
    supervisor: Option<String>,
    /// Only queued tasks of states that no supervisor asked for in the last two minutes.
    #[arg(long)]
    unserved: bool,
}

impl Which {
    fn query(&self, cursor: String, limit: u32) -> TasksQuery {
        TasksQuery {
            status: self.status.clone(),
            workflow: self.workflow.clone(),
            state: self.state.clone(),
            token: self.token.clone(),
            supervisor: self.supervisor.clone(),
            unserved: self.unserved,
            limit: Some(limit),
            cursor: (!cursor.is_empty()).then_some(cursor),
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: Args, out: &mut Out) -> Result<(), Failed> {
    let Args { act: Some(act), remote } = args else {
        return Err(Failed::Usage(Box::new(Args::command())));
    };
    match act {
        Act::List { which, extent } => {
            remote.run(async |client| show::list(&client, &which, extent, out).await)
        }
        Act::Show { task } => {
            on(&remote, task, async |client| out.tell(&client.task(task).await?, show::words))
        }
        Act::Report(args) => {
            let report = args.report()?;
            on(&remote, args.task, async |client| {
                out.tell(&client.report(args.task, &report).await?, super::token::line)
            })
        }
    }
}

/// Acts on one task, and adds what to do next when that is refused.
fn on(
    remote: &Remote,
    task: u64,
    act: impl AsyncFnOnce(&Client) -> Result<(), Failed>,
) -> Result<(), Failed> {
    remote.run(async |client| act(&client).await.map_err(|failed| advice::of_task(task, failed)))
}
