//! What is told about tasks.

use stateous_api::{Client, Task};

use super::Which;
use crate::Failed;
use crate::commands::pages::Extent;
use crate::text::{Columns, Format, Out, escape, local_time};

pub(super) async fn list(
    client: &Client,
    which: &Which,
    extent: Extent,
    out: &mut Out,
) -> Result<(), Failed> {
    let page = async |cursor, limit| client.tasks(&which.query(cursor, limit)).await;
    if out.format() == Format::Json {
        let mut list = out.list();
        extent.read(page, |tasks| tasks.iter().try_for_each(|task| list.item(task, words))).await?;
        return list.end("");
    }
    let mut columns =
        Columns::new(["TASK", "TOKEN", "STATE", "VISIT", "STATUS", "ATTEMPT", "SUPERVISOR", "SINCE"]);
    let mut is_empty = true;
    let add = |tasks: Vec<Task>| {
        for task in &tasks {
            is_empty = false;
            columns.row([
                &task.task.to_string(),
                &task.token,
                &format!("{}/{}", task.workflow, task.state),
                &task.visit.to_string(),
                &task.phase,
                &task.attempt.to_string(),
                task.supervisor.as_deref().unwrap_or_default(),
                &local_time(&task.queued_at),
            ]);
        }
        Ok(())
    };
    extent.read(page, add).await?;
    out.line(&if is_empty { "no tasks".to_owned() } else { columns.text() })
}

/// One task in a few lines.
pub(super) fn words(task: &Task) -> String {
    let mut lines = vec![
        format!(
            "task {}: {}/{} of {} (visit {}), {}",
            task.task,
            escape(&task.workflow),
            escape(&task.state),
            escape(&task.token),
            task.visit,
            escape(&task.phase),
        ),
        format!("  since       {}", local_time(&task.queued_at)),
        format!("  attempt     {}, {} failed", task.attempt, task.failures),
    ];
    if let Some(supervisor) = &task.supervisor {
        lines.push(format!("  supervisor  {}", escape(supervisor)));
    }
    if let Some(until) = &task.lease_until {
        lines.push(format!("  lease until {}", local_time(until)));
    }
    lines.join("\n")
}
