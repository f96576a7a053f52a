//! `stateous serve`: the control plane.

use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::json;
use stateous_engine::{Catalog, Graph};
use stateous_server::{ControlPlane, Options};
use stateous_store::Store;
use stateous_supervisor::{Given, Stopping};
use tokio::sync::watch;

use super::host::Host;
use super::{database, graphs, logging, signals};
use crate::Failed;
use crate::text::{Format, Out, json_line, say};

/// Where a control plane listens unless told otherwise.
const LISTEN: &str = "127.0.0.1:8080";
/// The shortest lease that the original's supervisors keep: they send a heartbeat every 30 seconds.
const ORIGINAL_LEASE_MS: i64 = 60_000;
/// How long a standby that took the database waits for its predecessor's port.
const PORT_FREED: Duration = Duration::from_secs(10);

/// Run the control plane: the HTTP API and the clock, over one database. With --json, one line on stdout tells the URL
/// once it serves.
#[derive(clap::Args)]
#[command(
    after_help = "Ctrl-C once: finish the requests that are being answered. Twice: stop at once.\n\nExamples:\n  \
                        stateous serve orders/build/orders.json\n  \
                        stateous serve orders/workflow.toml --supervise orders-supervisor\n  \
                        stateous serve orders.json --db sqlite:////var/lib/stateous/orders.db --listen 127.0.0.1:0 --json"
)]
pub(crate) struct Args {
    /// Graph files, or workflow.toml files; the first is the default workflow.
    #[arg(value_name = "GRAPH", required = true)]
    graphs: Vec<PathBuf>,
    /// The database: sqlite:///FILE, relative to the current folder, or postgres://USER:PASSWORD@HOST:PORT/DATABASE.
    #[arg(long, value_name = "URL", default_value = "sqlite:///stateous.db")]
    db: String,
    /// Where to listen. Port 0 takes a free port.
    #[arg(long, value_name = "HOST:PORT", default_value = LISTEN)]
    listen: String,
    /// A host name under which clients reach this control plane, besides localhost and IP addresses.
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// How long a supervisor may be silent before its task is tried again: 30s, 2m.
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = lease)]
    lease: i64,
    /// Wait while another control plane serves the database, and take its place when it ends.
    #[arg(long)]
    standby: bool,
    /// Also run the supervisor of this folder, in the same process.
    #[arg(long, value_name = "FOLDER")]
    supervise: Option<PathBuf>,
}

fn lease(text: &str) -> Result<i64, String> {
    stateous_engine::time::parse_duration(text)
        .filter(|ms| *ms <= 86_400_000)
        .ok_or_else(|| "a lease is a whole number and s, m or h, from 1s to 24h, such as 2m".to_owned())
}

/// Runs the command.
pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failed> {
    logging::start();
    let address = listen_address(&args.listen)?;
    let graphs =
        args.graphs.iter().map(|file| graphs::load(file, Format::Text)).collect::<Result<Vec<_>, _>>()?;
    let (listener, store) = if args.standby {
        // The one that serves may listen where we will.
        let store = database::stand_by(&args.db)?;
        (bind_freed(address, &args.listen)?, store)
    } else {
        (bind(address, &args.listen)?, database::open(&args.db)?)
    };
    let options = Options { lease_ms: args.lease, hosts: args.hosts.clone(), ..Options::default() };
    if args.lease < ORIGINAL_LEASE_MS {
        say(
            "warning: with a lease under 60s, a supervisor of the Python Stateous, which sends a heartbeat every 30 \
             seconds, can lose tasks that it works on",
        );
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let served = runtime.block_on(serve(listener, store, graphs, options, args.supervise.as_deref(), out));
    runtime.shutdown_background();
    served
}

async fn serve(
    listener: TcpListener,
    store: Arc<dyn Store>,
    graphs: Vec<Graph>,
    options: Options,
    supervise: Option<&Path>,
    out: &mut Out,
) -> Result<(), Failed> {
    let stops = signals::stops()?;
    let plane = ControlPlane::start(listener, store, Catalog::new(graphs)?, options).await?;
    let address = plane.address();
    say(&format!("serving on http://{address} (Ctrl-C stops)"));
    if out.format() == Format::Json {
        // Whoever chose port 0 reads here which port it became.
        out.line(&json_line(&json!({"url": format!("http://{address}")})))?;
    }
    if !address.ip().is_loopback() {
        say(&format!(
            "warning: anybody who can reach {address} can act on every token: there are no api keys"
        ));
    }
    match supervise {
        None => until_stopped(plane, stops).await,
        Some(folder) => {
            let given = Given { url: Some(format!("http://{address}")), ..Given::default() };
            let host = Host::new(folder, given)?;
            with_supervisor(plane, host, stops).await
        }
    }
}

/// Serves until a signal; a second one drops what is left.
async fn until_stopped(mut plane: ControlPlane, stops: watch::Receiver<u32>) -> Result<(), Failed> {
    let mut asked = 0;
    loop {
        tokio::select! {
            ended = plane.wait() => {
                ended?;
                say("stopped");
                return Ok(());
            }
            () = signals::at_least(stops.clone(), asked + 1) => {
                asked += 1;
                plane.stop();
            }
        }
    }
}

/// The supervisor stops first, while the control plane still takes its reports.
async fn with_supervisor(
    mut plane: ControlPlane,
    host: Host,
    stops: watch::Receiver<u32>,
) -> Result<(), Failed> {
    let (stopper, stopping) = Stopping::new();
    let supervisor = tokio::spawn(host.run(stopping));
    let forward = tokio::spawn({
        let stops = stops.clone();
        async move {
            for n in 1.. {
                signals::at_least(stops.clone(), n).await;
                stopper.signal();
            }
        }
    });
    let supervised = tokio::select! {
        ended = plane.wait() => {
            ended?;
            return Err(anyhow::anyhow!("the control plane ended while its supervisor ran").into());
        }
        supervised = supervisor => supervised.context("the supervisor broke")?,
    };
    forward.abort();
    plane.stop();
    plane.wait().await?;
    say("stopped");
    supervised?;
    Ok(())
}

/// The address in `HOST:PORT`, `[::1]:PORT`, `:PORT` or a bare port.
pub(crate) fn listen_address(text: &str) -> anyhow::Result<SocketAddr> {
    let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
    let Ok(port) = port.parse::<u16>() else {
        bail!("--listen takes HOST:PORT, such as {LISTEN}, not '{text}'")
    };
    let host = match host {
        "" => "127.0.0.1",
        host => host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host),
    };
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, port));
    }
    let found = (host, port).to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    found.with_context(|| format!("--listen: there is no host '{host}'"))
}

/// A listener on `address`. What went wrong is said in the words of the option.
pub(crate) fn bind(address: SocketAddr, shown: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            anyhow::anyhow!(
                "cannot listen on {shown}: the port is in use; choose another with --listen HOST:PORT"
            )
        }
        std::io::ErrorKind::AddrNotAvailable => {
            anyhow::anyhow!("cannot listen on {shown}: this machine does not have that address")
        }
        _ => anyhow::anyhow!("cannot listen on {shown}: {error}"),
    })
}

/// A listener on an address that another control plane may be about to leave.
#[expect(clippy::disallowed_methods, reason = "nobody tells when a port is free: it is tried")]
fn bind_freed(address: SocketAddr, shown: &str) -> anyhow::Result<TcpListener> {
    let deadline = Instant::now() + PORT_FREED;
    loop {
        match bind(address, shown) {
            Err(_) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(50)),
            bound => return bound,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listen_takes_what_the_original_takes() {
        let check =
            |text: &str, address: &str| assert_eq!(listen_address(text).unwrap().to_string(), address);
        check("127.0.0.1:8080", "127.0.0.1:8080");
        check("[::1]:8080", "[::1]:8080");
        check(":8080", "127.0.0.1:8080");
        check("8080", "127.0.0.1:8080");
        check("0.0.0.0:0", "0.0.0.0:0");
        for bad in ["", "nowhere", "127.0.0.1:", "127.0.0.1:99999", "no host:80"] {
            assert!(listen_address(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn leases_have_bounds() {
        assert_eq!(lease("2m"), Ok(120_000));
        for bad in ["0s", "25h", "soon", ""] {
            assert!(lease(bad).is_err(), "{bad}");
        }
    }
}
