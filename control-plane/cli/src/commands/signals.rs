//! SIGINT and SIGTERM, counted: the first asks for a graceful stop, the second for a stop at once.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// How many stop signals came so far.
pub(crate) fn stops() -> anyhow::Result<watch::Receiver<u32>> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let (count, seen) = watch::channel(0);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                () = count.closed() => return,
            }
            count.send_modify(|n| *n += 1);
        }
    });
    Ok(seen)
}

/// Returns once `n` signals came; never when nobody counts them any more.
pub(crate) async fn at_least(mut seen: watch::Receiver<u32>, n: u32) {
    if seen.wait_for(|count| *count >= n).await.is_err() {
        std::future::pending::<()>().await;
    }
}
