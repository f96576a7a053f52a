//! What happens before the first request: the writer is taken, the graphs are compared with what the database holds, and
//! open leases are given back the time in which nobody could renew them.

use std::sync::Arc;

use stateous_engine::{Graph, Rules, Timestamp};
use stateous_store::{Clock, ControlRow, Failure, Store, SystemClock, Writer};
use tracing::info;

use crate::control_plane::ServeError;

/// A store that is ready to be served.
pub(crate) struct Prepared {
    pub(crate) writer: Box<dyn Writer>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// Does all of it in one transaction, so that a refusal leaves the database as it was.
pub(crate) fn prepare(
    store: &dyn Store,
    rules: &Rules,
    clock: Option<Arc<dyn Clock>>,
) -> Result<Prepared, ServeError> {
    let mut writer = store.writer()?;
    writer.begin()?;
    match in_transaction(writer.as_mut(), rules, clock) {
        Ok(clock) => Ok(Prepared { writer, clock }),
        Err(error) => {
            writer.rollback();
            Err(error)
        }
    }
}

fn in_transaction(
    writer: &mut dyn Writer,
    rules: &Rules,
    clock: Option<Arc<dyn Clock>>,
) -> Result<Arc<dyn Clock>, ServeError> {
    let control = writer.control()?;
    let clock = clock.unwrap_or_else(|| Arc::new(SystemClock::new(control.latest)));
    compare(writer, rules.catalog.graphs(), &control)?;
    extend_leases(writer, &control, clock.now())?;
    writer.commit(clock.now())?;
    Ok(clock)
}

/// A token that lives in a workflow or structure which is not served would stand still without a sign, with its tasks at
/// the head of every queue: so its graph is served too, or nothing is.
fn compare(writer: &mut dyn Writer, graphs: &[Graph], control: &ControlRow) -> Result<(), ServeError> {
    // `Catalog` refuses an empty list.
    let Some(default) = graphs.first() else { return Ok(()) };
    let served: Vec<_> = graphs.iter().map(|graph| (graph.name(), graph.structure())).collect();
    let live = writer.live_tokens_outside(&served)?;
    if live > 0 {
        return Err(ServeError::LiveTokens { live });
    }
    let recorded = (control.structure.as_deref(), control.checksum.as_deref());
    if recorded != (Some(default.structure()), Some(default.checksum())) {
        writer.record_graph(default.structure(), default.checksum())?;
    }
    Ok(())
}

/// While no control plane served, no supervisor could renew a lease: that time does not count.
fn extend_leases(writer: &mut dyn Writer, control: &ControlRow, now: Timestamp) -> Result<(), Failure> {
    let gap = now.ms_since(control.alive_at);
    // A new database was never alive, and holds no lease.
    if control.alive_at == Timestamp::default() || gap <= 0 {
        return Ok(());
    }
    let extended = writer.extend_leases(gap)?;
    if extended > 0 {
        info!(
            leases = extended,
            gap.ms = gap,
            "Extended {extended} lease(s) by the {gap} ms in which this database was not served"
        );
    }
    Ok(())
}
