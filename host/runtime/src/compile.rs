//! Compiling, in a child process.
//!
//! Compiling cannot be stopped from inside, and an upload can make it cost minutes and gigabytes or make the
//! compiler panic. So a child does it, one at a time: it bounds its own memory and CPU time first, the parent
//! bounds the wall time, and a death of any kind is an answer.

use std::fs;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use rlimit::Resource;
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;

use crate::engine;
use crate::options::CompileWorker;
use crate::text;

const MEMORY_BYTES_MAX: u64 = 4 << 30;
const CPU_SECONDS_MAX: u64 = 120;
/// A compiled form is 2 to 10 times its component, of which there are at most 32 MiB.
const OUTPUT_BYTES_MAX: u64 = 1 << 30;
const NICE: i32 = 10;
/// The most that is read of what the child says.
const WORDS_BYTES_MAX: u64 = 8 << 10;

/// Why there is no compiled form.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CompileError {
    /// The compiler refused it or crashed.
    Failed(String),
    /// It met a bound on memory or time.
    Limit(String),
    /// The child could not be started or heard.
    Host(String),
}

/// The work of the child: compiles the component at `input` and writes the compiled form to `output`.
///
/// To be called first thing in a process of its own: it bounds this whole process to 4 GiB of address space
/// and 120 s of CPU time, for good.
///
/// # Errors
/// One sentence for the parent, to be written to standard error with exit code 1.
pub fn compile_worker(input: &Path, output: &Path) -> Result<(), String> {
    bound_this_process().map_err(|e| format!("the bounds of the compile worker could not be set: {e}"))?;
    let component = fs::read(input).map_err(|e| format!("{} cannot be read: {e}", input.display()))?;
    let engine = engine::compiling().map_err(|e| format!("the WebAssembly engine did not start: {e:#}"))?;
    let compiled = engine.precompile_component(&component).map_err(|e| format!("{e:#}"))?;
    fs::write(output, compiled).map_err(|e| format!("{} cannot be written: {e}", output.display()))
}

fn bound_this_process() -> std::io::Result<()> {
    for (resource, most) in [
        (Resource::AS, MEMORY_BYTES_MAX),
        (Resource::CPU, CPU_SECONDS_MAX),
        (Resource::FSIZE, OUTPUT_BYTES_MAX),
        (Resource::CORE, 0),
    ] {
        // A lower bound that is there already stays.
        let (_, hard) = resource.get()?;
        let most = most.min(hard);
        resource.set(most, most)?;
    }
    rustix::process::nice(NICE)?;
    Ok(())
}

/// Compiles in a child process, with the component and the compiled form in files of `workshop`. Dropping the
/// future kills the child.
pub(crate) async fn compile(
    worker: &CompileWorker,
    component: &[u8],
    workshop: &Path,
) -> Result<Vec<u8>, CompileError> {
    let (input, output) = (workshop.join("in.wasm"), workshop.join("out.cwasm"));
    let host = |what: &str, e: std::io::Error| CompileError::Host(format!("{what}: {e}"));
    tokio::fs::write(&input, component)
        .await
        .map_err(|e| host("the component cannot be written for the compiler", e))?;

    let mut child = Command::new(&worker.exe)
        .args(&worker.args)
        .args([&input, &output])
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|e| host(&format!("the compile worker {} does not start", worker.exe.display()), e))?;
    let mut words = Vec::new();
    let ended = timeout(worker.wall, async {
        if let Some(stderr) = child.stderr.take() {
            stderr.take(WORDS_BYTES_MAX).read_to_end(&mut words).await?;
        }
        child.wait().await
    });
    match ended.await {
        Err(_) => {
            // An error means that it is dead already.
            let _ = child.kill().await;
            Err(CompileError::Limit(format!("it was not compiled within {:?}", worker.wall)))
        }
        Ok(Err(e)) => Err(host("the compile worker was lost", e)),
        Ok(Ok(status)) if status.success() => {
            tokio::fs::read(&output).await.map_err(|e| host("the compile worker left no compiled form", e))
        }
        Ok(Ok(status)) => Err(judge(status, &String::from_utf8_lossy(&words))),
    }
}

/// What the end of a child that did not succeed means.
fn judge(status: ExitStatus, words: &str) -> CompileError {
    use std::os::unix::process::ExitStatusExt;
    const SIGKILL: i32 = 9;
    const SIGXCPU: i32 = 24;
    const PANIC: i32 = 101;

    let words = text::printable(words.trim());
    match (status.code(), status.signal()) {
        (_, Some(SIGXCPU | SIGKILL)) => CompileError::Limit(format!(
            "it took more than {CPU_SECONDS_MAX} s of CPU time, or the machine ran out of memory"
        )),
        // How Rust ends when an allocation fails.
        (_, Some(_)) if words.contains("memory allocation of") => {
            CompileError::Limit(format!("it took more than {} of memory", text::size(MEMORY_BYTES_MAX)))
        }
        (_, Some(signal)) => CompileError::Failed(format!("the compiler died of signal {signal}. {words}")),
        (Some(PANIC), _) => CompileError::Failed(format!("the compiler crashed: {words}")),
        _ if words.is_empty() => CompileError::Failed(format!("the compiler gave no reason ({status})")),
        _ => CompileError::Failed(words),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use super::*;

    /// What becomes of a compilation whose worker is this shell script.
    async fn with(script: &str, wall: Duration) -> Result<Vec<u8>, CompileError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("worker.sh");
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        let mut worker = CompileWorker::new("/bin/sh", [path]);
        worker.wall = wall;
        compile(&worker, b"component", dir.path()).await
    }

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn the_child_gets_the_component_and_its_output_comes_back() {
        let out = with("PATH=/bin:/usr/bin; cat $1 > $2; echo ' compiled' >> $2", LONG).await.unwrap();
        assert_eq!(out, b"component compiled\n");
    }

    #[tokio::test]
    async fn every_death_is_an_answer() {
        let limit = |e| matches!(e, Err(CompileError::Limit(_)));
        let failed = |words: &'static str| move |e| e == Err(CompileError::Failed(words.to_owned()));
        assert!(failed("bad component")(with("echo bad component >&2; exit 1", LONG).await));
        assert!(failed("the compiler gave no reason (exit status: 7)")(with("exit 7", LONG).await));
        assert!(failed("the compiler crashed: thread panicked")(
            with("echo thread panicked >&2; exit 101", LONG).await
        ));
        assert!(failed("the compiler died of signal 11. ")(with("kill -SEGV $$", LONG).await));
        assert!(limit(with("kill -XCPU $$", LONG).await));
        assert!(limit(with("echo 'memory allocation of 9 bytes failed' >&2; kill -ABRT $$", LONG).await));
        assert!(limit(with("exec /bin/sleep 60", Duration::from_millis(50)).await));
        assert!(matches!(with("exit 0", LONG).await, Err(CompileError::Host(_))));
    }

    #[tokio::test]
    async fn a_worker_that_is_not_there_is_the_hosts_fault() {
        let dir = tempfile::tempdir().unwrap();
        let worker = CompileWorker::new("/no/such/program", ["compile-worker"]);
        let error = compile(&worker, b"", dir.path()).await.unwrap_err();
        assert!(
            matches!(&error, CompileError::Host(m) if m.contains("/no/such/program does not start")),
            "{error:?}"
        );
    }
}
