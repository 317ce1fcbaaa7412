//! How a hold is said where the host swallows what a post-renderer prints: a report file at a well-known place,
//! the standard error of the Helm above where it is a pipe, the terminal where there is one. Never through the stream.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::{HostKind, parent};

/// Where the last report lies: `ROLLGATE_REPORT`, else `rollgate/last.json` in the state folder of the user.
/// `None` where neither is known.
#[must_use]
pub(crate) fn report_path(env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let text = |name: &str| env.get(name).filter(|text| !text.is_empty()).map(PathBuf::from);
    if let Some(path) = text("ROLLGATE_REPORT") {
        return Some(path);
    }
    // A relative folder is to be ignored, says the XDG base directory specification.
    let state = text("XDG_STATE_HOME").filter(|path| path.is_absolute());
    let state = state.or_else(|| Some(text("HOME")?.join(".local/state")))?;
    Some(state.join("rollgate").join("last.json"))
}

/// The variable by which whoever runs a post-renderer asks for a copy of its report.
pub(crate) const COPY: &str = "ROLLGATE_REPORT_COPY";

/// Where a run leaves its report: where the last one lies, and where somebody waits for a copy.
pub(crate) fn report_paths(env: &BTreeMap<String, String>) -> impl Iterator<Item = PathBuf> {
    let copy = env.get(COPY).filter(|text| !text.is_empty()).map(PathBuf::from);
    report_path(env).into_iter().chain(copy)
}

/// Writes a file that only its owner can read, whole or not at all: another run never sees half of it.
///
/// # Errors
/// When the folder cannot be made or the file cannot be written; an older report is then left as it was.
pub(crate) fn write_report(path: &Path, bytes: &[u8]) -> io::Result<()> {
    make_private_folder(folder_of(path))?;
    write_private(path, |out| out.write_all(bytes))
}

/// Writes a private file piece by piece, because what it holds need not be in memory whole, into a folder that is there. A device or a pipe
/// is written to and never replaced; a link is not followed, whoever has put it there.
///
/// # Errors
/// As [`write_report`], and what `write` returns.
pub(crate) fn write_private(path: &Path, write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> io::Result<()> {
    if path.file_name().is_none() {
        return Err(io::Error::other("the report needs a file name"));
    }
    match fs::symlink_metadata(path) {
        Ok(data) if is_open_already(path) || is_device(&data) => {
            let mut out = io::BufWriter::new(open_device(path, &data)?);
            write(&mut out)?;
            out.flush()
        }
        Ok(data) if data.is_symlink() => {
            Err(io::Error::other("it is a link, and links are not followed; name the file itself"))
        }
        Ok(data) if !data.is_file() => Err(io::Error::other("it is no file")),
        _ => replace(path, write),
    }
}

/// Opens a file to add to it; one that another program has put there. A link is not followed, and a device is none.
///
/// # Errors
/// When it cannot be opened, or is no file.
pub(crate) fn append(path: &Path) -> io::Result<fs::File> {
    let refuse = || io::Error::other("it is no file, and links are not followed");
    if fs::symlink_metadata(path).is_ok_and(|data| !data.is_file()) {
        return Err(refuse());
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let (opened, named) = (file.metadata()?, fs::symlink_metadata(path)?);
        if !opened.is_file() || (opened.dev(), opened.ino()) != (named.dev(), named.ino()) {
            return Err(refuse());
        }
    }
    Ok(file)
}

/// Opens what takes bytes without being a file; the very thing that was looked at, not what was put there since.
fn open_device(path: &Path, seen: &fs::Metadata) -> io::Result<fs::File> {
    if !is_open_already(path) {
        let mut options = OpenOptions::new();
        options.write(true);
        // A pipe that nobody reads must not stop the gate: without waiting, opening it fails.
        #[cfg(target_os = "linux")]
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, NO_WAIT);
        drop(options.open(path)?);
    }
    let file = OpenOptions::new().write(true).open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let found = file.metadata()?;
        if !is_open_already(path) && (found.dev(), found.ino()) != (seen.dev(), seen.ino()) {
            return Err(io::Error::other("something else was put there in between"));
        }
    }
    #[cfg(not(unix))]
    let _ = seen;
    Ok(file)
}

/// Puts a new file in the place of an old one or of none. Readers see the old report or the new one; that it outlives a power
/// failure is worth no wait.
fn replace(path: &Path, write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> io::Result<()> {
    // A name that nobody can foresee, made only where nothing stands, for the owner alone.
    let mut draft = tempfile::Builder::new().prefix(".rollgate-").suffix(".draft").tempfile_in(folder_of(path))?;
    let mut out = io::BufWriter::new(draft.as_file_mut());
    write(&mut out)?;
    out.flush()?;
    drop(out);
    draft.persist(path).map(drop).map_err(|error| error.error)
}

/// The folder that a file lies in.
#[must_use]
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The names by which a process calls what it has open already.
fn is_open_already(path: &Path) -> bool {
    let names = ["/dev/stdout", "/dev/stderr"];
    names.iter().any(|name| path == Path::new(name)) || path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd")
}

/// Whether something takes bytes without being a file: a terminal, `/dev/null`, a pipe with a name.
fn is_device(data: &fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        let kind = data.file_type();
        kind.is_char_device() || kind.is_fifo()
    }
    #[cfg(not(unix))]
    {
        let _ = data;
        false
    }
}

/// Makes the folder with what lies above it, closed to others where it is new.
///
/// # Errors
/// When it cannot be made.
pub(crate) fn make_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Where a message can be put, beside standard error.
#[derive(Debug, Clone)]
pub(crate) struct Channels {
    /// The folder of processes, `/proc`.
    pub proc: PathBuf,
    /// The terminal, `/dev/tty`.
    pub terminal: PathBuf,
    /// The Helm above, where there is one.
    pub helm_pid: Option<u32>,
}

impl Default for Channels {
    fn default() -> Self {
        Self { proc: PathBuf::from("/proc"), terminal: PathBuf::from("/dev/tty"), helm_pid: None }
    }
}

/// Where a message went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spoken {
    /// Nowhere else: the host shows standard error itself.
    NotNeeded,
    /// To the standard error of Helm.
    ParentStderr,
    /// To the terminal.
    Terminal,
    /// Nowhere: there is neither a pipe nor a terminal.
    Nowhere,
}

/// Says a message past a host that throws standard error away, which is Helm 4 (and an unknown host below a Helm).
/// At one place only, so that a person who sees both reads it once.
#[must_use]
pub(crate) fn past_host(message: &str, kind: Option<HostKind>, places: &Channels) -> Spoken {
    let swallows = match kind {
        Some(kind) => kind == HostKind::Helm4,
        None => places.helm_pid.is_some(),
    };
    if swallows { speak(message, places) } else { Spoken::NotNeeded }
}

/// Says a message past a Helm of any version while the post-renderer succeeds: all of them show its standard error at most where it
/// fails (helm `pkg/postrender/exec.go`, `Run`, v3.19; `pkg/postrenderer`, v4.0).
#[must_use]
pub(crate) fn past_success(message: &str, places: &Channels) -> Spoken {
    if places.helm_pid.is_some() { speak(message, places) } else { Spoken::NotNeeded }
}

/// To the standard error of Helm, else to the terminal.
fn speak(message: &str, places: &Channels) -> Spoken {
    let pipe = places.helm_pid.map(|pid| parent::stderr_of(&places.proc, pid)).filter(|path| is_pipe(path));
    if pipe.is_some_and(|path| put(&path, message).is_ok()) {
        return Spoken::ParentStderr;
    }
    match put(&places.terminal, message) {
        Ok(()) => Spoken::Terminal,
        Err(_) => Spoken::Nowhere,
    }
}

/// Whether a link in `/proc` leads to a pipe. A regular file is left alone: writing there would overwrite Helm's lines.
fn is_pipe(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        fs::metadata(path).is_ok_and(|data| data.file_type().is_fifo())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Writes a whole message to something that exists, without ever waiting for a reader.
fn put(path: &Path, message: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(target_os = "linux")]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, NO_WAIT);
    let mut file = options.open(path)?;
    let mut text = message.trim_end().to_owned();
    text.push('\n');
    file.write_all(text.as_bytes())
}

/// `O_NONBLOCK | O_NOCTTY` on the platforms of Linux that Helm is built for: a full pipe must not stop the gate.
#[cfg(target_os = "linux")]
const NO_WAIT: i32 = 0o4000 | 0o400;

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_report_has_one_place() {
        type Case<'a> = (&'a [(&'a str, &'a str)], Option<&'a str>);
        let table: &[Case<'_>] = &[
            (&[("ROLLGATE_REPORT", "/r.json"), ("HOME", "/h")], Some("/r.json")),
            (&[("XDG_STATE_HOME", "/s"), ("HOME", "/h")], Some("/s/rollgate/last.json")),
            (&[("XDG_STATE_HOME", "relative"), ("HOME", "/h")], Some("/h/.local/state/rollgate/last.json")),
            (&[("HOME", "/h")], Some("/h/.local/state/rollgate/last.json")),
            (&[], None),
        ];
        for (pairs, path) in table {
            assert_eq!(report_path(&env(pairs)), path.map(PathBuf::from), "{pairs:?}");
        }
    }

    #[test]
    fn a_copy_is_left_beside_the_last_report_and_not_in_its_place() {
        let all = |pairs: &[(&str, &str)]| report_paths(&env(pairs)).collect::<Vec<_>>();
        let last = PathBuf::from("/h/.local/state/rollgate/last.json");
        assert_eq!(all(&[("HOME", "/h"), (COPY, "/t/copy.json")]), [last.clone(), PathBuf::from("/t/copy.json")]);
        assert_eq!(all(&[("HOME", "/h"), (COPY, "")]), [last]);
    }

    #[cfg(unix)]
    #[test]
    fn a_report_is_private_whole_and_replaces_the_last_one() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = tempfile::tempdir().expect("a folder");
        let path = root.path().join("a/b/last.json");
        write_report(&path, b"one").expect("written");
        write_report(&path, b"two").expect("written again");
        assert_eq!(fs::read(&path).expect("readable"), b"two");
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(path.parent().expect("a folder")).expect("readable").count(), 1, "no draft stays");
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_written_to_and_a_link_is_not_followed() {
        let root = tempfile::tempdir().expect("a folder");
        let (link, victim) = (root.path().join("last.json"), root.path().join("victim"));
        fs::write(&victim, "mine").expect("a file");
        std::os::unix::fs::symlink(&victim, &link).expect("a link");
        let error = write_report(&link, b"x").expect_err("a link").to_string();
        assert!(error.contains("links are not followed"), "{error}");
        assert_eq!(fs::read_to_string(&victim).expect("readable"), "mine");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        write_report(Path::new("/dev/null"), b"x").expect("a device takes it");
        assert!(is_device(&fs::symlink_metadata("/dev/null").expect("there")), "it is a device still");
    }

    #[test]
    fn a_report_that_cannot_be_written_is_an_error_and_leaves_no_draft() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("last.json");
        fs::create_dir_all(folder.join("in the way")).expect("a folder");
        assert!(write_report(&folder, b"x").is_err());
        assert_eq!(fs::read_dir(root.path()).expect("readable").count(), 1);
    }

    #[test]
    fn a_regular_file_behind_stderr_is_left_alone() {
        let root = tempfile::tempdir().expect("a folder");
        let fd = root.path().join("7/fd");
        fs::create_dir_all(&fd).expect("a folder");
        fs::write(fd.join("2"), "log of helm").expect("a file");
        let places = Channels { proc: root.path().to_owned(), terminal: root.path().join("no-tty"), helm_pid: Some(7) };
        assert_eq!(past_host("HOLD", Some(HostKind::Helm4), &places), Spoken::Nowhere);
        assert_eq!(fs::read_to_string(fd.join("2")).expect("readable"), "log of helm");
        assert_eq!(past_host("HOLD", Some(HostKind::Helm3), &places), Spoken::NotNeeded);
        assert_eq!(past_host("HOLD", None, &Channels { helm_pid: None, ..places }), Spoken::NotNeeded);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_pipe_behind_stderr_gets_the_message() {
        use std::io::Read as _;
        let mut child = std::process::Command::new("sleep")
            .arg("30")
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("sleep runs");
        let places =
            Channels { helm_pid: Some(child.id()), terminal: PathBuf::from("/nowhere"), ..Channels::default() };
        assert_eq!(past_host("HOLD: md-0\n", Some(HostKind::Helm4), &places), Spoken::ParentStderr);
        child.kill().expect("killed");
        let mut text = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut text).expect("readable");
        child.wait().expect("ended");
        assert_eq!(text, "HOLD: md-0\n");
    }
}
