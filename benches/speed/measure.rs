//! What whole processes cost beside each other: one after the other in turns, so that a busy machine is as busy for both.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::cost::high_water;

/// A command that is measured.
pub(crate) struct Call {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    /// What it reads, through a pipe; what comes out then goes through a pipe too.
    pub(crate) input: Option<PathBuf>,
    pub(crate) environment: Vec<(String, String)>,
}

impl Call {
    pub(crate) fn new(program: impl Into<PathBuf>, args: &[&str]) -> Self {
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        Self { program: program.into(), args, input: None, environment: Vec::new() }
    }

    /// This call between two pipes.
    pub(crate) fn between_pipes(mut self, input: &Path) -> Self {
        self.input = Some(input.to_owned());
        self
    }

    pub(crate) fn with(mut self, variables: &[(&str, String)]) -> Self {
        self.environment.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        self
    }

    fn command(&self) -> Command {
        self.prepared(Command::new(&self.program))
    }

    fn prepared(&self, mut command: Command) -> Command {
        command.args(&self.args).envs(self.environment.iter().cloned());
        command.env("XDG_STATE_HOME", std::env::temp_dir()).stderr(Stdio::null());
        command
    }

    /// Runs it once: how long it took, and the most memory that Linux saw it use, in KiB.
    fn run(&self) -> (Duration, u64) {
        let Some(input) = &self.input else { return self.alone() };
        let input = std::fs::read(input).expect("an input of this bench");
        let start = Instant::now();
        let mut child =
            self.command().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
        let status = PathBuf::from(format!("/proc/{}/status", child.id()));
        let (mut stdin, mut stdout) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let (count, kib) = std::thread::scope(|scope| {
            let input = &input;
            scope.spawn(move || stdin.write_all(input).expect("the program reads"));
            let (mut buffer, mut count, mut kib) = (vec![0; 1 << 16], 0, 0);
            loop {
                let read = stdout.read(&mut buffer).expect("the program writes");
                if read == 0 {
                    return (count, kib);
                }
                if count == 0 {
                    kib = high_water(&status);
                }
                count += read;
            }
        });
        assert_eq!(count, input.len(), "{}: not what went in", self.program.display());
        child.wait().expect("the program ends");
        (start.elapsed(), kib)
    }

    fn alone(&self) -> (Duration, u64) {
        let mut command = self.command();
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let start = Instant::now();
        let mut child = command.spawn().expect("the program starts");
        let status = PathBuf::from(format!("/proc/{}/status", child.id()));
        let mut kib = 0;
        while child.try_wait().expect("the program runs").is_none() {
            kib = kib.max(high_water(&status));
            std::thread::sleep(Duration::from_micros(100));
        }
        (start.elapsed(), kib)
    }

    /// The instructions of one run on one core, in millions, as valgrind counts them; `None` without valgrind. It runs threads one
    /// after the other, and those that have nothing to do would look for work meanwhile.
    pub(crate) fn instructions(&self) -> Option<f64> {
        let mut command = Command::new("valgrind");
        command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]).arg(&self.program);
        let mut command = self.prepared(command);
        command.env("RAYON_NUM_THREADS", "1");
        // Under valgrind a run takes fifty times as long, and one that is cut off counts too little.
        if self.args.first().is_some_and(|name| matches!(name.as_str(), "plan" | "post-render")) {
            command.args(["--deadline", "1h"]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        if let Some(input) = &self.input {
            command.stdin(std::fs::File::open(input).expect("an input of this bench"));
        }
        let said = command.output().ok()?.stderr;
        let said = String::from_utf8_lossy(&said);
        let line = said.lines().find(|line| line.contains(" I ") && line.contains("refs:"))?;
        let count: f64 = line.split_once("refs:")?.1.replace(',', "").trim().parse().ok()?;
        Some(count / 1e6)
    }
}

/// Medians over the turns.
#[derive(Clone, Copy, Default)]
pub(crate) struct Median {
    pub(crate) ms: f64,
    /// The fastest run: what the others lost is lost to neighbours.
    pub(crate) best: f64,
    pub(crate) mib: f64,
}

/// Runs all calls in turns.
pub(crate) fn in_turns(turns: usize, calls: &[&Call]) -> Vec<Median> {
    let mut times = vec![Vec::new(); calls.len()];
    let mut most = vec![0; calls.len()];
    for _ in 0..turns {
        for (place, call) in calls.iter().enumerate() {
            let (time, kib) = call.run();
            times[place].push(time.as_secs_f64() * 1000.0);
            most[place] = most[place].max(kib);
        }
    }
    let median = |(mut times, kib): (Vec<f64>, u64)| {
        times.sort_unstable_by(f64::total_cmp);
        Median { ms: times[times.len() / 2], best: times[0], mib: kib as f64 / 1024.0 }
    };
    times.into_iter().zip(most).map(median).collect()
}
