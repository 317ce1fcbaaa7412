//! What a whole process costs: the median of its times and the highest memory that Linux saw it use.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Median time and highest memory of one command.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) time: Duration,
    pub(crate) kib: u64,
}

/// Runs a command `runs` times with more in its environment, standard output thrown away.
pub(crate) fn cost(
    runs: usize,
    program: &Path,
    args: &[&str],
    stdin: Option<&Path>,
    environment: &[(&str, &Path)],
) -> Cost {
    let mut times = Vec::with_capacity(runs);
    let mut kib = 0;
    for _ in 0..runs {
        let mut command = Command::new(program);
        command
            .args(args)
            .envs(environment.iter().copied())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .env("XDG_STATE_HOME", std::env::temp_dir());
        command.stdin(stdin.map_or_else(Stdio::null, |file| Stdio::from(std::fs::File::open(file).expect("input"))));
        let start = Instant::now();
        let mut child = command.spawn().expect("the program starts");
        let status = PathBuf::from(format!("/proc/{}/status", child.id()));
        while child.try_wait().expect("the program runs").is_none() {
            kib = kib.max(high_water(&status));
            std::thread::sleep(Duration::from_micros(200));
        }
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Cost { time: times[times.len() / 2], kib }
}

/// The most memory that a process has used so far, in KiB; 0 where it has ended.
pub(crate) fn high_water(status: &Path) -> u64 {
    let text = std::fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    line.trim().trim_end_matches("kB").trim().parse().unwrap_or(0)
}
