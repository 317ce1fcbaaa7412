//! The processes above this one, as Linux shows them in `/proc`: which of them is Helm, and with which words.
//! Elsewhere, or where `/proc` may not be read, there is no answer, and no answer is never a guess.

use std::path::{Path, PathBuf};

/// A process above this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its words, the program first.
    pub words: Vec<String>,
}

impl Process {
    /// Base name of the program, without what wrappers add (`.helm-wrapped`, `helm.exe`).
    #[must_use]
    pub fn program(&self) -> &str {
        let path = self.words.first().map_or("", String::as_str);
        let base = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let base = base.strip_prefix('.').unwrap_or(base);
        let base = base.strip_suffix(".exe").unwrap_or(base);
        base.strip_suffix("-wrapped").unwrap_or(base)
    }

    /// Whether the program is Helm by its name: `helm`, `helm3`, `helm-v4.3.1`, `helm_linux_amd64`.
    #[must_use]
    pub fn is_helm(&self) -> bool {
        self.program().strip_prefix("helm").is_some_and(|rest| {
            let rest = rest.trim_start_matches(['-', '_']);
            rest.is_empty()
                || rest.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit())
                || is_platform(rest)
        })
    }
}

/// Whether a suffix is only the platform of a download.
fn is_platform(rest: &str) -> bool {
    ["linux", "darwin", "windows"].iter().any(|system| rest.starts_with(system))
}

/// How far up a wrapper may stand between Helm and this program.
const LEVELS: usize = 8;

/// The processes above `pid`, nearest first, as `proc` (usually `/proc`) shows them.
#[must_use]
pub(crate) fn chain(proc: &Path, pid: u32) -> Vec<Process> {
    let mut found = Vec::new();
    let mut child = pid;
    while found.len() < LEVELS {
        let Some(parent) = parent_of(proc, child).filter(|parent| *parent > 0) else { break };
        let Some(words) = words_of(proc, parent) else { break };
        found.push(Process { pid: parent, words });
        child = parent;
    }
    found
}

/// The nearest Helm above.
#[must_use]
pub(crate) fn helm(chain: &[Process]) -> Option<&Process> {
    chain.iter().find(|process| process.is_helm())
}

/// Where standard error of a process can be opened.
#[must_use]
pub(crate) fn stderr_of(proc: &Path, pid: u32) -> PathBuf {
    proc.join(pid.to_string()).join("fd/2")
}

/// The parent's number: the second field after the name, which may hold anything but ends at the last bracket.
fn parent_of(proc: &Path, pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(proc.join(pid.to_string()).join("stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The words of a process, NUL between them; none for a kernel thread.
fn words_of(proc: &Path, pid: u32) -> Option<Vec<String>> {
    let bytes = std::fs::read(proc.join(pid.to_string()).join("cmdline")).ok()?;
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(&bytes);
    Some(bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(words: &[&str]) -> Process {
        Process { pid: 1, words: words.iter().map(|word| (*word).to_owned()).collect() }
    }

    #[test]
    fn helm_is_known_by_its_name_and_look_alikes_are_not() {
        for name in
            ["helm", "/usr/bin/helm3", "/x/helm-v4.3.1", "helm.exe", "/nix/store/x/bin/.helm-wrapped", "helm_linux"]
        {
            assert!(process(&[name, "upgrade"]).is_helm(), "{name}");
        }
        for name in ["helmfile", "helm-controller", "/usr/bin/helmsman", "sh", "", "helm-diff"] {
            assert!(!process(&[name]).is_helm(), "{name}");
        }
    }

    #[test]
    fn helm_is_found_above_a_wrapper() {
        let root = tempfile::tempdir().expect("a folder");
        let write = |pid: u32, stat: &str, words: &str| {
            let folder = root.path().join(pid.to_string());
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(folder.join("stat"), stat).expect("a file");
            std::fs::write(folder.join("cmdline"), words).expect("a file");
        };
        write(30, "30 (rollgate) S 20 1 1", "rollgate\0post-render\0");
        write(20, "20 (sh (x) y) S 10 1 1", "sh\0pr.sh\0");
        write(10, "10 (helm) S 1 1 1", "/bin/helm\0upgrade\0demo\0./chart with space\0");
        write(1, "1 (init) S 0 0 0", "init\0");
        let chain = chain(root.path(), 30);
        assert_eq!(chain.len(), 3);
        let found = helm(&chain).expect("helm");
        assert_eq!(found.pid, 10);
        assert_eq!(found.words[3], "./chart with space");
    }

    #[test]
    fn without_proc_there_is_no_answer() {
        assert!(chain(Path::new("/nowhere"), 1).is_empty());
    }
}
