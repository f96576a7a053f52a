//! C and C++, with the clang of Zig, which brings a C library for WebAssembly.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::BuildError;
use crate::project::Language;
use crate::sdk::Sdk;
use crate::tools::{ZIG, asked};

/// Linear memory for the stack, in bytes: Zig's own default is 16 MiB of every instance.
const STACK_BYTES: u32 = 1 << 20;
/// The SDK's files that go into a component.
const SDK_FILES: [&str; 4] = ["src/stateous.c", "src/json.c", "src/wasm.c", "bindings/routine.c"];

/// The core module of a folder's sources.
pub(crate) fn build(folder: &Path) -> Result<Vec<u8>, BuildError> {
    let sdk = Sdk::of(Language::C, folder)?;
    let sdk = sdk.path();
    let zig = zig(folder)?;
    let (c, cpp) = sources(folder)?;
    let work = tempfile::tempdir().map_err(BuildError::io(std::env::temp_dir()))?;
    let module = work.path().join("module.wasm");

    let mut command = zig.command();
    // The one that knows C++ links its library too, so it is called only where there is some.
    command.current_dir(folder).arg(if cpp.is_empty() { "cc" } else { "c++" });
    command.args(["-target", "wasm32-wasi", "-mexec-model=reactor", "-Os", "-Wall", "-fno-exceptions"]);
    // Names of functions stay for backtraces; the rest of what -g adds is taken out again. Asserts stay too.
    command.args(["-g", "-UNDEBUG", &format!("-Wl,-z,stack-size={STACK_BYTES}")]);
    command.arg("-I").arg(sdk.join("include"));
    // What `__FILE__` says is the same on every machine.
    command.arg(format!("-ffile-prefix-map={}=stateous", sdk.display()));
    command.arg("-o").arg(&module).args(&cpp);
    command.args(["-x", "c", "-std=c11"]).args(&c).args(SDK_FILES.map(|file| sdk.join(file)));
    command.stdin(Stdio::null());
    let status = command.status().map_err(|source| BuildError::Start { tool: "zig".to_owned(), source })?;
    if !status.success() {
        return Err(BuildError::Failed { folder: folder.to_owned() });
    }
    std::fs::read(&module).map_err(BuildError::io(&module))
}

/// The C and the C++ files of a folder, its tests left out, sorted.
fn sources(folder: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>), BuildError> {
    let (mut c, mut cpp) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(folder).map_err(BuildError::io(folder))? {
        let name = PathBuf::from(entry.map_err(BuildError::io(folder))?.file_name());
        if name.to_string_lossy().starts_with("test") {
            continue;
        }
        match name.extension().and_then(|extension| extension.to_str()) {
            Some("c") => c.push(name),
            Some("cc" | "cpp") => cpp.push(name),
            _ => {}
        }
    }
    c.sort();
    cpp.sort();
    Ok((c, cpp))
}

/// How Zig is called.
enum Zig {
    Program(PathBuf),
    /// As pip installs it.
    Module,
}

impl Zig {
    fn command(&self) -> Command {
        match self {
            Self::Program(zig) => Command::new(zig),
            Self::Module => {
                let mut command = Command::new("python3");
                command.args(["-m", "ziglang"]);
                command
            }
        }
    }
}

fn zig(folder: &Path) -> Result<Zig, BuildError> {
    if let Some(zig) = ZIG.above(folder) {
        return Ok(Zig::Program(zig));
    }
    if asked("zig", &["version"]).is_some() {
        return Ok(Zig::Program("zig".into()));
    }
    if asked("python3", &["-m", "ziglang", "version"]).is_some() {
        return Ok(Zig::Module);
    }
    Err(BuildError::Missing { tool: "zig", how: ZIG.how() })
}
