//! `stateous task report`: what became of work that goes on outside.

use stateous_api::Report;

use crate::text::object_argument;

/// Report what became of a task that waits or is worked on. Whoever works on it finds that out at its next heartbeat.
#[derive(clap::Args)]
#[command(
    group = clap::ArgGroup::new("outcome").required(true).args(["event", "waiting", "failed"]),
    after_help = "Examples:\n  \
                  stateous task report 17 signed '{\"by\": \"Ada\"}'\n  \
                  stateous task report 17 --failed 'nobody signed' --no-retry",
    override_usage = "stateous task report <TASK> <EVENT> [PAYLOAD_JSON]\n       \
                      stateous task report <TASK> --failed <TEXT> [--no-retry]\n       \
                      stateous task report <TASK> --waiting --supervisor <NAME>"
)]
pub(super) struct Args {
    /// The task's number.
    #[arg(value_name = "TASK")]
    pub(super) task: u64,
    /// It ended with this event, which moves the token.
    #[arg(value_name = "EVENT")]
    event: Option<String>,
    /// The event's payload: a JSON object.
    #[arg(value_name = "PAYLOAD_JSON", requires = "event")]
    payload: Option<String>,
    /// The work goes on outside. Only the supervisor that holds the task can say so.
    #[arg(long, requires = "supervisor")]
    waiting: bool,
    /// This attempt failed, and why.
    #[arg(long, value_name = "TEXT")]
    failed: Option<String>,
    /// With --failed: another attempt makes no sense.
    #[arg(long, requires = "failed")]
    no_retry: bool,
    /// Report as this supervisor, which holds the task; without it, it is a report from outside.
    #[arg(long, value_name = "NAME")]
    supervisor: Option<String>,
    /// Only if the task is at this attempt.
    #[arg(long, value_name = "N")]
    attempt: Option<u64>,
}

impl Args {
    /// The report that these words ask for.
    pub(super) fn report(&self) -> anyhow::Result<Report> {
        let report = match (&self.event, &self.failed) {
            (Some(event), _) => {
                let payload =
                    self.payload.as_deref().map(|text| object_argument(text, "PAYLOAD_JSON")).transpose()?;
                let payload = payload.map(|payload| serde_json::value::to_raw_value(&payload)).transpose()?;
                Report::event(event, payload)
            }
            (None, Some(why)) => Report::failed(why, !self.no_retry),
            (None, None) => Report::waiting(),
        };
        Ok(Report { attempt: self.attempt, supervisor: self.supervisor.clone(), ..report })
    }
}
