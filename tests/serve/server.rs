//! The server as a process of its own, over a cluster that was read at one time.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A server that runs; it ends with this.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
    /// The folder with its certificate.
    pub(crate) folder: tempfile::TempDir,
    log: Arc<Mutex<Vec<String>>>,
    /// Reads its log until it ends.
    reader: Option<std::thread::JoinHandle<()>>,
}

/// A file beside the tests.
pub(crate) fn beside(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(file)
}

/// The cluster of most tests.
pub(crate) fn live() -> PathBuf {
    beside("scenarios/drain-timeout/live.yaml")
}

/// Puts one of the two certificates where a server reads it.
pub(crate) fn certify(folder: &Path, which: &str) {
    std::fs::copy(beside(&format!("serve/{which}.key")), folder.join("tls.key")).expect("the key can be copied");
    std::fs::copy(beside(&format!("serve/{which}.pem")), folder.join("tls.crt")).expect("it can be copied");
}

/// The command line of a server, as far as all have it.
pub(crate) fn program() -> Command {
    let program = std::env::var("ROLLGATE_BIN").unwrap_or_else(|_| env!("CARGO_BIN_EXE_rollgate").to_owned());
    let mut command = Command::new(program);
    command.args(["serve", "--policy", "none"]);
    command
}

impl Server {
    /// Starts one over a file, and waits until it listens.
    pub(crate) fn start(live: &Path, more: &[&str]) -> Self {
        let mut command = program();
        command.arg("--live").arg(live).args(more);
        Self::run(command)
    }

    /// Starts what is told, with a certificate and at a port of its own.
    pub(crate) fn run(mut command: Command) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        certify(folder.path(), "first");
        command
            .arg("--tls-cert")
            .arg(folder.path().join("tls.crt"))
            .arg("--tls-key")
            .arg(folder.path().join("tls.key"));
        Self::launch(command, folder)
    }

    /// Starts what is told at a port of its own, whatever its certificate, and waits until it listens.
    pub(crate) fn launch(mut command: Command, folder: tempfile::TempDir) -> Self {
        let mut child = command
            .args(["--listen", "127.0.0.1:0"])
            .env_remove("ROLLGATE_POLICY")
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let first = lines.next().expect("a line").expect("text");
        let serving: Value = serde_json::from_str(&first).unwrap_or_else(|_| panic!("it does not start: {first}"));
        let address = serving["address"].as_str().expect("an address").parse().expect("an address");
        let log = Arc::new(Mutex::new(vec![first]));
        let kept = Arc::clone(&log);
        let reader = std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                kept.lock().expect("no panic").push(line);
            }
        });
        Self { child, address, folder, log, reader: Some(reader) }
    }

    /// What it wrote so far, line by line.
    pub(crate) fn log(&self) -> Vec<Value> {
        let lines = self.log.lock().expect("no panic").clone();
        lines.iter().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"))).collect()
    }

    /// Waits until its log holds a line with this value. It answers first and writes the line afterwards.
    pub(crate) fn says(&self, key: &str, value: &str) -> Value {
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            if let Some(line) = self.log().into_iter().find(|line| line[key] == value) {
                return line;
            }
            assert!(Instant::now() < end, "it never says {key} {value}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// Lets it have so many bytes more than it has now, and no others.
    pub(crate) fn limit(&self, more: u64) {
        let limit = self.status("VmSize:") + more;
        let set =
            Command::new("prlimit").args([&format!("--pid={}", self.child.id()), &format!("--as={limit}")]).status();
        assert!(set.expect("prlimit, of util-linux").success());
    }

    /// Waits for its end, and for the last line that it wrote.
    pub(crate) fn ends(&mut self) -> ExitStatus {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(status) = self.child.try_wait().expect("it can be waited for") {
                if let Some(reader) = self.reader.take() {
                    reader.join().expect("its log can be read to the end");
                }
                return status;
            }
            assert!(Instant::now() < end, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Time that it has spent on cores, whatever else the machine does.
    pub(crate) fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("it runs");
        let words: Vec<&str> = stat.rsplit(')').next().expect("its name").split_whitespace().collect();
        // utime and stime, in hundredths of a second (proc(5)).
        let ticks: u64 = words[11..13].iter().map(|word| word.parse::<u64>().expect("a number")).sum();
        Duration::from_millis(ticks * 10)
    }

    /// Bytes of memory that it holds.
    pub(crate) fn memory(&self) -> u64 {
        self.status("VmRSS:")
    }

    fn status(&self, field: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("a line");
        line.trim().trim_end_matches(" kB").trim().parse::<u64>().expect("a number") * 1024
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
