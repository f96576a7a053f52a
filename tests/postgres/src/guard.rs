//! Who cleans up: a small process that outlives whoever started it, for no longer than it takes to end the cluster.
//!
//! A cluster that the tests of a process share is never dropped, and a test that is killed drops nothing. So the guard
//! waits for the end of a pipe that only this process holds open; the system closes it however this process ends.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::{ClusterError, doing};

/// Ends the server of the folder `$1` at once, with its children, and removes the folder.
const SCRIPT: &str = r#"
trap '' INT TERM HUP
read -r _
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ]; then
    for each in $pid $(cat /proc/"$pid"/task/*/children 2>/dev/null); do kill -CONT "$each" 2>/dev/null; done
    kill -QUIT "$pid" 2>/dev/null
    waited=0
    # One that has ended and that nobody has asked after yet is a zombie.
    while kill -0 "$pid" 2>/dev/null && [ "$(cut -d ' ' -f 3 /proc/"$pid"/stat 2>/dev/null)" != Z ] &&
        [ "$waited" -lt 200 ]; do sleep 0.05; waited=$((waited + 1)); done
fi
# What its children still write while they end makes a folder that is not empty.
tried=0
until rm -rf "$1" 2>/dev/null || [ "$tried" -ge 100 ]; do sleep 0.1; tried=$((tried + 1)); done
"#;

/// A guard of one folder.
#[derive(Debug)]
pub(crate) struct Guard(Child);

impl Guard {
    /// Watches over a folder that will hold a cluster.
    pub(crate) fn watch(folder: &Path) -> Result<Self, ClusterError> {
        let child = Command::new("sh")
            .args(["-c", SCRIPT, "guard"])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Ok(Self(child.map_err(doing("start the guard of a private Postgres"))?))
    }

    /// Cleans up now, and waits for that.
    pub(crate) fn clean_up(&mut self) {
        drop(self.0.stdin.take());
        // If it cannot be waited for it has ended already.
        let _ = self.0.wait();
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.clean_up();
    }
}
