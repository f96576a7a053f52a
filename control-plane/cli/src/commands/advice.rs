//! What to do next, after a refusal.

use stateous_api::client::TasksQuery;
use stateous_api::{Client, ClientError, Code};
use stateous_engine::Graph;
use stateous_engine::graph::is_own_event;

use crate::Failed;

/// Advice for a refused act on a token.
pub(crate) async fn of_token(client: &Client, id: &str, failed: Failed) -> Failed {
    let hint = match failed.code() {
        Some(Code::TokenNotFound) => Some(match similar(id) {
            Some(prefix) => {
                format!("`stateous token show --prefix {prefix}` lists the tokens whose ids begin so")
            }
            None => "`stateous token show` lists the tokens".to_owned(),
        }),
        Some(Code::EventNotAllowed) => events(client, id).await,
        Some(Code::TokenNotActive) => again(client, id).await,
        _ => None,
    };
    failed.advised(|_| hint)
}

/// Advice for a refused act on a task.
pub(crate) fn of_task(task: u64, failed: Failed) -> Failed {
    let hint = match failed.code() {
        Some(Code::TaskNotFound) => Some("`stateous task list` lists the open tasks".to_owned()),
        Some(Code::TaskNotHeld) => Some(format!("`stateous task show {task}` says what became of it")),
        _ => None,
    };
    failed.advised(|_| hint)
}

/// The events that the token's state takes, as far as they can be told: the control plane serves one workflow's graph.
/// Whatever goes wrong on the way only means that there is no hint.
async fn events(client: &Client, id: &str) -> Option<String> {
    let token = client.token(id).await.ok()?;
    let of_token = TasksQuery {
        token: Some(id.to_owned()),
        status: Some("any".to_owned()),
        limit: Some(1),
        ..TasksQuery::default()
    };
    let workflow = client.tasks(&of_token).await.ok()?.items.pop().map(|task| task.workflow);
    let graph = Graph::parse(client.workflow().await.ok()?.get()).ok()?;
    // A top token without a task is in a parallel state of the default workflow, or was never of another one.
    let workflow = workflow.or_else(|| token.parent.is_none().then(|| graph.name().to_owned()))?;
    let mut events: Vec<String> = Vec::new();
    for way in graph.workflow(&workflow)?.transitions().filter(|way| way.source == token.state) {
        if !is_own_event(&way.event) && !events.contains(&way.event) {
            events.push(way.event.clone());
        }
    }
    Some(match &events[..] {
        [] => format!("'{}' takes no event from outside", token.state),
        _ => format!("'{}' takes {}", token.state, events.join(", ")),
    })
}

/// How a token that ended can go on.
async fn again(client: &Client, id: &str) -> Option<String> {
    let token = client.token(id).await.ok()?;
    match token.status.as_str() {
        "failed" if token.parent.is_none() => {
            Some(format!("`stateous token retry {id}` lets it enter '{}' again", token.state))
        }
        "paused" => Some(format!("`stateous token resume {id}` lets it move again")),
        "completed" | "failed" | "cancelled" => Some(format!("`stateous token show {id}` says how it ended")),
        _ => None,
    }
}

/// The beginning of an id that others probably share: without the number at its end.
fn similar(id: &str) -> Option<&str> {
    let prefix = id.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_fit = stateous_engine::names::is_token_id(prefix) && prefix.len() < id.len();
    is_fit.then_some(prefix)
}

impl Failed {
    /// The code of a control plane's refusal.
    fn code(&self) -> Option<Code> {
        match self {
            Self::Said(error) => error.downcast_ref::<ClientError>()?.code(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::similar;

    #[test]
    fn ids_with_a_number_have_neighbours() {
        assert_eq!(similar("ORDER-17"), Some("ORDER-"));
        assert_eq!(similar("T9"), Some("T"));
        assert_eq!(similar("order"), None);
        assert_eq!(similar("17"), None);
        assert_eq!(similar("a b1"), None);
    }
}
