//! How much memory this process may use, so that what is too large is said before it ends the program.

use std::fs;
use std::path::{Path, PathBuf};

/// What an input grows to when it is read, parsed and judged, as measured.
const GROWTH: u64 = 10;
/// What an input grows to where addresses are limited: what is asked for at once, while a list grows, counts there before it is used.
const GROWTH_OF_ADDRESSES: u64 = 24;
/// How many bytes ordinary text has for each value, key or line, which is what the growth was measured with.
const BYTES_OF_A_VALUE: u64 = 15;
/// Largest input where memory is no limit.
const LARGEST: u64 = 1024 * 1024 * 1024;

/// The least of the limits that hold for this process: of its addresses and data, of its control groups, of the machine.
#[must_use]
pub(crate) fn limit() -> Option<u64> {
    [address_space(), control_groups(Path::new("/sys/fs/cgroup")), machine()].into_iter().flatten().min()
}

/// The most bytes that one input may have.
#[must_use]
pub(crate) fn largest_input() -> u64 {
    let addresses = address_space().map(|limit| limit / GROWTH_OF_ADDRESSES);
    limit().map(|limit| limit / GROWTH).into_iter().chain(addresses).fold(LARGEST, u64::min)
}

/// What an input grows to among the addresses that are left, when it is read, copied and printed again.
const GROWTH_OF_WHAT_IS_LEFT: u64 = 16;

/// The most bytes that may be read from now on: no more than [`largest_input`], and no more than what is left of the addresses takes.
/// Threads and what the allocator keeps in store have taken their part by now, one time more than another.
#[must_use]
pub(crate) fn largest_now() -> u64 {
    room().map_or(u64::MAX, |room| room / GROWTH_OF_WHAT_IS_LEFT).min(largest_input())
}

/// What an input weighs: its bytes, and more where it is nothing but small values, each of which takes as much as a line of ordinary text.
#[must_use]
pub(crate) fn weight(input: &[u8]) -> u64 {
    let length = input.len() as u64;
    // Counting is spared where the heaviest input of this length would fit.
    if length.saturating_mul(BYTES_OF_A_VALUE) <= largest_input() {
        return length;
    }
    let values = memchr::memchr3_iter(b',', b':', b'\n', input).count() as u64;
    length.max(values.saturating_mul(BYTES_OF_A_VALUE))
}

/// What is said of an input that is larger.
#[must_use]
pub(crate) fn too_large(most: u64) -> String {
    let megabytes = |bytes: u64| bytes / (1024 * 1024);
    let of = limit().map_or_else(String::new, |limit| format!(" with {} MiB of memory", megabytes(limit)));
    format!(
        "it is too large: about {} MiB of ordinary text is the most that can be judged{of}; give more memory, or judge less at \
         once",
        megabytes(most)
    )
}

/// How much of this process is in memory now.
#[must_use]
pub(crate) fn used() -> Option<u64> {
    of_status("VmRSS:")
}

/// How many more addresses this process may have, where they are limited.
#[must_use]
pub(crate) fn room() -> Option<u64> {
    Some(address_space()?.saturating_sub(of_status("VmSize:")?))
}

fn of_status(word: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix(word))?;
    kilobytes.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// The limit of the addresses, which `ulimit -v` sets, or that of the data in them (`ulimit -d`), which counts what is reserved too.
#[must_use]
pub(crate) fn address_space() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let limit = |name: &str| -> Option<u64> {
        limits.lines().find_map(|line| line.strip_prefix(name))?.split_ascii_whitespace().next()?.parse().ok()
    };
    [limit("Max address space"), limit("Max data size")].into_iter().flatten().min()
}

/// The least limit of the control groups that the process is in.
fn control_groups(root: &Path) -> Option<u64> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    let read = |file: PathBuf| fs::read_to_string(file).ok()?.trim().parse::<u64>().ok();
    let mut least: Option<u64> = None;
    for line in text.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, group) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let (folder, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            "memory" => (root.join("memory"), "memory.limit_in_bytes"),
            _ => continue,
        };
        // In a container the group may be named as the host names it: then the root of what is seen is the group itself.
        for group in Path::new(group).ancestors() {
            let below = group.strip_prefix("/").unwrap_or(group);
            least = [least, read(folder.join(below).join(file))].into_iter().flatten().min();
        }
    }
    least
}

/// The memory of the machine.
fn machine() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let kilobytes: u64 =
        text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_small_values_weighs_more_than_its_bytes() {
        let small = b"a,".repeat(1024);
        assert_eq!(weight(&small), 2048, "what fits however it is made is not counted");
        let most = usize::try_from(largest_input()).expect("it fits") / 8;
        assert_eq!(weight(&b"a,".repeat(most / 2)), (most / 2) as u64 * BYTES_OF_A_VALUE);
        let line = b"    name: a-machine-of-the-edge\n";
        assert_eq!(weight(&line.repeat(most / line.len())), (most / line.len() * line.len()) as u64);
    }

    #[test]
    fn a_process_knows_what_it_may_use_and_what_it_uses() {
        let limit = limit().expect("a machine has memory");
        let used = used().expect("a process uses some");
        assert!(used > 0 && used < limit);
        assert!(largest_input() <= limit / GROWTH);
    }
}
