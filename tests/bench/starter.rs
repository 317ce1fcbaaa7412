//! Finds the bench's programs and starts it, for each test binary and benchmark that needs it.
//!
//! The bench ends when its stdin closes, which the kernel does when the process that started it ends, however it ends.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// A bench that is ready.
pub(crate) struct Started {
    /// Kubeconfig of an administrator.
    pub(crate) kubeconfig: PathBuf,
    /// The bench itself; its stdin is held open here.
    pub(crate) process: Child,
}

/// The folder of the programs: `ROLLGATE_BENCH_BIN`, else where `build.sh` puts them.
///
/// # Errors
///
/// Where one that is needed is not there, by name.
pub(crate) fn find(needed: &[&str]) -> Result<PathBuf, String> {
    let bin = match std::env::var_os("ROLLGATE_BENCH_BIN").filter(|bin| !bin.is_empty()) {
        Some(bin) => PathBuf::from(bin),
        None => {
            let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bench/build.sh");
            let output =
                Command::new(script).arg("--bin-dir").output().map_err(|e| format!("build.sh does not run: {e}"))?;
            PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())
        }
    };
    match ["bench", "etcd", "kube-apiserver"].iter().chain(needed).find(|name| !bin.join(name).exists()) {
        Some(name) => Err(format!("the bench is not built ({} has no {name})", bin.display())),
        None => Ok(bin),
    }
}

/// Starts it with its files and logs in the folder `out`, and waits until it is ready.
///
/// # Panics
///
/// With its log, where it does not start.
pub(crate) fn start(bin: &Path, out: &Path, options: &[&str]) -> Started {
    fs::create_dir_all(out).expect("the folder of the run can be made");
    let log = out.join("bench.log");
    let mut process = Command::new(bin.join("bench"))
        .arg("up")
        .args(options)
        .arg("--bin-dir")
        .arg(bin)
        .arg("--out")
        .arg(out)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(File::create(&log).expect("the log can be made"))
        .spawn()
        .expect("the starter runs");
    let mut line = String::new();
    BufReader::new(process.stdout.take().expect("stdout is a pipe")).read_line(&mut line).expect("stdout can be read");
    let Ok(ready) = serde_json::from_str::<Value>(&line) else {
        panic!("the bench does not start: {}", fs::read_to_string(log).unwrap_or_default());
    };
    // Told at once, whether or not what tests print is captured.
    drop(writeln!(
        std::io::stderr(),
        "bench: ready after {} s, logs in {}",
        ready["seconds"],
        out.join("logs").display()
    ));
    let kubeconfig = PathBuf::from(ready["kubeconfig"].as_str().expect("the line names the kubeconfig"));
    Started { kubeconfig, process }
}
