//! `stateous task report`: what became of work that goes on outside.

use stateous_api::Report;

use crate::text::object_argument;

/// Report what became of a task that waits or is worked on. Whoever works on it finds that out at its next heartbeat.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("outcome").required(true).args(["event", "waiting", "failed"]))]
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
    /// The work goes on outside.
    #[arg(long)]
    waiting: bool,
    /// This attempt failed, and why.
    #[arg(long, value_name = "TEXT")]
    failed: Option<String>,
    /// With --failed: another attempt makes no sense.
    #[arg(long, requires = "failed")]
    no_retry: bool,
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
        Ok(Report { attempt: self.attempt, ..report })
    }
}
