//! Connections: accepted, given their limits, and ended.
//!
//! HTTP/1.1 with keep-alive. `TCP_NODELAY` is set, for an answer goes out in one piece and must not wait for the
//! acknowledgement of the one before. A peer has thirty seconds for its next request's head, so idle and half-open
//! connections go by themselves; the time for bodies is in `body`.

use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{debug, warn};

use crate::control_plane::Stage;

/// How long a peer may take for a request's head, counted from the end of the request before.
const HEAD: Duration = Duration::from_secs(30);
/// The largest head.
const HEAD_BYTES: usize = 64 << 10;
/// How long the requests in progress may take once the control plane stops.
const FINISH: Duration = Duration::from_secs(5);
/// How long to wait when no connection can be accepted, such as when there are no file descriptors left.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves until the stage leaves `Serving`, then ends the connections. The listener is closed first.
pub(crate) async fn serve(listener: TcpListener, router: Router, mut stage: watch::Receiver<Stage>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(stream, router.clone(), stage.clone()));
                }
                Err(error) => {
                    warn!(error = %error, "Cannot accept a connection: {error}");
                    tokio::time::sleep(PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
            () = reaches(&mut stage, Stage::Stopping) => break,
        }
    }
    drop(listener);
    tokio::select! {
        () = async { while connections.join_next().await.is_some() {} } => {}
        () = tokio::time::sleep(FINISH) => {}
        () = reaches(&mut stage, Stage::Aborting) => {}
    }
    connections.shutdown().await;
}

async fn connection(stream: TcpStream, router: Router, mut stage: watch::Receiver<Stage>) {
    // Without it the connection works too, only slower.
    let _ = stream.set_nodelay(true);
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(HEAD_BYTES);
    let serving = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut serving = std::pin::pin!(serving);
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = reaches(&mut stage, Stage::Stopping) => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        // The peer went away or spoke no HTTP: its business, not ours.
        debug!(error = %error, "A connection ended: {error}");
    }
}

/// Ends once the stage is `wanted` or later.
pub(crate) async fn reaches(stage: &mut watch::Receiver<Stage>, wanted: Stage) {
    // The sender lives as long as the control plane: its end is the last stage.
    let _ = stage.wait_for(|stage| *stage >= wanted).await;
}
