//! Whether Helm asks the cluster while it renders a chart (`lookup`). Without a cluster that finds nothing, so that what is rendered here
//! may not be what is written later. A call that this render never reaches counts for nothing: Helm renders a copy that would fail there.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use memchr::memmem;
use sha2::{Digest as _, Sha256};

use super::flux::artifact;
use crate::object::Key;
use crate::providers;
use crate::world::Unread;

/// Folders inside of folders.
const DEEPEST: usize = 16;
/// The function of Helm that asks (helm `pkg/engine/lookup_func.go`).
const ASKS: &[u8] = b"lookup";
/// A function that fails with as many arguments (helm `pkg/engine/engine.go`, `fail`: it takes one).
const FAILS: &[u8] = b"fail";

/// What cannot be seen of what is written, as Helm asks the cluster for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unseen {
    /// Why.
    pub why: String,
    /// A digest of all that it was rendered from; none where that could not be read.
    pub of: Option<String>,
}

/// What Helm was given and what it made of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rendering<'r> {
    /// The chart: a folder or an archive.
    pub chart: &'r Path,
    /// The values, and whatever else decides what comes out.
    pub told: &'r [&'r [u8]],
    /// What came out.
    pub stream: &'r [u8],
}

impl Unseen {
    /// What a chart that may ask leaves unseen; `again` renders another chart as this one was rendered.
    pub(crate) fn of(rendering: Rendering<'_>, again: impl FnOnce(&Path) -> anyhow::Result<Vec<u8>>) -> Option<Self> {
        let found = match Found::of(rendering) {
            Ok(found) => found,
            Err(error) => return Some(Self::not_known(&format!("{error:#}"))),
        };
        let why = match found.calls {
            Calls::None => return None,
            // What names no compared group renders no object of one, whatever the cluster answers.
            _ if !found.names_compared => return None,
            Calls::Chart(_) if is_never_reached(rendering, again).unwrap_or(false) => return None,
            Calls::Chart(file) => file,
            Calls::Told => "a template in its values".to_owned(),
        };
        let why = format!("{why} asks the cluster while Helm renders (lookup), which finds nothing here");
        Some(Self { why, of: Some(found.digest) })
    }

    /// That nobody could look.
    pub(crate) fn not_known(why: &str) -> Self {
        let why = format!("whether its chart asks the cluster while Helm renders (lookup) is not known: {why}");
        Self { why, of: None }
    }

    /// The same as what makes a run undecided: `what` is rendered, for `keys`.
    pub(crate) fn unread(&self, what: String, keys: Vec<Key>) -> Unread {
        let remedy =
            "say --helm-arg=--dry-run=server where Helm may ask the cluster, or `unseen: {inside: warn}` in the policy";
        Unread { what, why: self.why.clone(), remedy: remedy.to_owned(), keys }
    }

    /// What two renders leave unseen of the change between them: nothing where both were made of the same.
    pub(crate) fn between<'u>(before: Option<&'u Self>, after: Option<&'u Self>) -> Option<&'u Self> {
        match (before, after) {
            (Some(before), Some(after)) if before.of.is_some() && before.of == after.of => None,
            (before, after) => after.or(before),
        }
    }
}

/// Whether Helm was told to ask the cluster (helm `pkg/action/action.go`, `renderResources`, 3.13 on: only then `lookup` finds what is
/// there).
pub(crate) fn is_told_to_ask(args: &[String]) -> bool {
    let two = |pair: &[String]| matches!(pair, [option, value] if option == "--dry-run" && value == "server");
    args.iter().any(|argument| argument == "--dry-run=server") || args.windows(2).any(two)
}

/// Where calls stand.
enum Calls {
    None,
    /// In a file of the chart.
    Chart(String),
    /// In what Helm was told: a template may evaluate it.
    Told,
}

/// What stands in a chart and what it is rendered with.
struct Found {
    calls: Calls,
    names_compared: bool,
    digest: String,
}

impl Found {
    fn of(rendering: Rendering<'_>) -> anyhow::Result<Self> {
        let mut digest = Sha256::new();
        let mut add = |text: &[u8]| {
            digest.update(text.len().to_le_bytes());
            digest.update(text);
        };
        let mut names_compared = false;
        let mut asking: Option<String> = None;
        let is_template = |name: &str| name.contains("templates/");
        files(rendering.chart, &mut |name, text| {
            add(name.as_bytes());
            add(text);
            names_compared |= names_group(text);
            // Any file may be evaluated; a template is.
            let is_better = asking.as_deref().is_none_or(|old| !is_template(old) && is_template(name));
            if is_better && !calls(text).is_empty() {
                asking = Some(name.to_owned());
            }
            Ok(())
        })?;
        let mut is_told = false;
        for text in rendering.told {
            add(text);
            names_compared |= names_group(text);
            is_told |= !calls(text).is_empty();
        }
        let calls = match asking {
            _ if is_told => Calls::Told,
            Some(file) => Calls::Chart(file),
            None => Calls::None,
        };
        let digest = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { calls, names_compared, digest })
    }
}

/// Whether a text names a group that is compared.
fn names_group(text: &[u8]) -> bool {
    providers::compared_words().any(|word| memmem::find(text, word.as_bytes()).is_some())
}

/// Whether no call is reached: a copy in which each of them fails renders the same.
fn is_never_reached(
    Rendering { chart, stream, .. }: Rendering<'_>,
    again: impl FnOnce(&Path) -> anyhow::Result<Vec<u8>>,
) -> anyhow::Result<bool> {
    let copy = tempfile::Builder::new().prefix("rollgate-chart-").tempdir()?;
    let mut root: Option<PathBuf> = None;
    files(chart, &mut |name, text| {
        let Some(place) = unpacked(name) else { return Ok(()) };
        if place.file_name().is_some_and(|file| file == "Chart.yaml") {
            let folder = place.parent().unwrap_or(Path::new("")).to_owned();
            let is_above = |root: &PathBuf| folder.components().count() < root.components().count();
            if root.as_ref().is_none_or(is_above) {
                root = Some(folder);
            }
        }
        let file = copy.path().join(place);
        std::fs::create_dir_all(file.parent().unwrap_or(copy.path()))?;
        Ok(std::fs::write(file, disarmed(text))?)
    })?;
    let root = root.context("it holds no Chart.yaml")?;
    Ok(again(&copy.path().join(root)).is_ok_and(|rendered| rendered == stream))
}

/// Where a file of a chart stands once the archives in it are folders; none for an archive itself. A folder that ends like an archive
/// is taken for one by Helm (helm `pkg/chart/v2/loader/load.go`).
fn unpacked(name: &str) -> Option<PathBuf> {
    let mut out = PathBuf::new();
    let mut parts = name.split('/').peekable();
    while let Some(part) = parts.next() {
        match part.strip_suffix(".tgz") {
            Some(_) if parts.peek().is_none() && out.ends_with("charts") => return None,
            Some(bare) if parts.peek().is_some() && out.ends_with("charts") => {
                // The folder inside of an archive is that of its chart.
                let _its_folder = parts.next();
                out.push(format!("{bare}-unpacked"));
            }
            _ => out.push(part),
        }
    }
    Some(out)
}

/// Each file of a chart, which is a folder or an archive, and of the charts in it.
fn files(chart: &Path, with: &mut dyn FnMut(&str, &[u8]) -> anyhow::Result<()>) -> anyhow::Result<()> {
    if chart.is_dir() {
        return folder(chart, "", 0, with);
    }
    let bytes = std::fs::read(chart).context("cannot read its chart")?;
    artifact::each(&bytes, "", 0, &mut |_, name, text| with(name, text))
}

fn folder(
    path: &Path,
    name: &str,
    depth: usize,
    with: &mut dyn FnMut(&str, &[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let unreadable = || format!("cannot read {name} of its chart");
    ensure!(depth < DEEPEST, "folders of its chart lie too deep in each other");
    let entries: Result<Vec<_>, _> = std::fs::read_dir(path).with_context(unreadable)?.collect();
    let mut entries: Vec<_> = entries.with_context(unreadable)?.into_iter().map(|entry| entry.file_name()).collect();
    entries.sort();
    let is_charts = name == "charts" || name.ends_with("/charts");
    for entry in entries {
        let below = entry.to_string_lossy();
        let below = if name.is_empty() { below.into_owned() } else { format!("{name}/{below}") };
        let path = path.join(&entry);
        if path.is_dir() {
            folder(&path, &below, depth + 1, with)?;
            continue;
        }
        let bytes = std::fs::read(&path).with_context(|| format!("cannot read {below} of its chart"))?;
        with(&below, &bytes)?;
        if is_charts && path.extension().is_some_and(|end| end == "tgz") {
            artifact::each(&bytes, &below, 0, &mut |_, name, text| with(name, text))?;
        }
    }
    Ok(())
}

/// A template in which each call fails.
fn disarmed(template: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(template.len());
    let mut from = 0;
    for at in calls(template) {
        out.extend_from_slice(template.get(from..at).unwrap_or_default());
        out.extend_from_slice(FAILS);
        from = at + ASKS.len();
    }
    out.extend_from_slice(template.get(from..).unwrap_or_default());
    out
}

/// Where a template calls `lookup`.
fn calls(template: &[u8]) -> Vec<usize> {
    let mut out = Vec::new();
    if memmem::find(template, ASKS).is_some() {
        look(template, 0, &mut out);
    }
    out
}

/// Looks through what stands between braces (Go `text/template/parse/lex.go`); a text in it may be a template itself.
fn look(text: &[u8], start: usize, out: &mut Vec<usize>) {
    let mut at = 0;
    let byte = |at: usize| text.get(at).copied();
    while let Some(open) = memmem::find(text.get(at..).unwrap_or_default(), b"{{") {
        at += open + 2;
        let inner = text.get(at..).unwrap_or_default();
        let trimmed = inner.strip_prefix(b"-").unwrap_or(inner).trim_ascii_start();
        if trimmed.starts_with(b"/*") {
            at += memmem::find(inner, b"*/").unwrap_or(inner.len());
            continue;
        }
        while let Some(now) = byte(at) {
            match now {
                b'}' if byte(at + 1) == Some(b'}') => break,
                b'"' | b'`' | b'\'' => {
                    let end = quoted(text, at);
                    look(text.get(at + 1..end).unwrap_or_default(), start + at + 1, out);
                    at = end + 1;
                }
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                    let rest = text.get(at..).unwrap_or_default();
                    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
                    let word = rest.iter().take_while(|byte| is_of_word(byte)).count();
                    let is_field = at > 0 && matches!(byte(at - 1), Some(b'.' | b'$'));
                    if !is_field && rest.get(..word) == Some(ASKS) {
                        out.push(start + at);
                    }
                    at += word;
                }
                _ => at += 1,
            }
        }
    }
}

/// Where a text in quotes ends that begins at `start`: at its last quote.
fn quoted(text: &[u8], start: usize) -> usize {
    let quote = text.get(start).copied();
    let mut at = start + 1;
    while let Some(byte) = text.get(at).copied() {
        match byte {
            _ if Some(byte) == quote => return at,
            b'\\' if quote != Some(b'`') => at += 2,
            _ => at += 1,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::flux::artifact::tests::packed;

    const ASKING: &[u8] = b"{{- $old := lookup \"v1\" \"Secret\" \"a\" \"b\" }}";
    const COMPARED: &[u8] = b"apiVersion: cluster.x-k8s.io/v1beta1";

    fn write(folder: &Path, name: &str, text: &[u8]) {
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, text).expect("a file");
    }

    /// What is said of a chart whose copy renders what `again` says, where the chart itself rendered nothing.
    fn said(chart: &Path, told: &[&[u8]], again: &str) -> Option<String> {
        let again = again.as_bytes().to_vec();
        Unseen::of(Rendering { chart, told, stream: b"" }, |_| Ok(again)).map(|unseen| unseen.why)
    }

    #[test]
    fn a_file_that_asks_is_found_wherever_it_lies() {
        let folder = tempfile::tempdir().expect("a folder");
        let chart = folder.path();
        write(chart, "Chart.yaml", b"name: demo");
        write(chart, "templates/a.yaml", b"a: {{ .Values.lookup }}");
        write(chart, "files/data.tgz", b"no archive, and nothing that Helm unpacks");
        assert_eq!(said(chart, &[COMPARED], "other"), None);
        write(chart, "charts/sub.tgz", &packed(&[("sub/Chart.yaml", b"name: sub"), ("sub/templates/s.yaml", ASKING)]));
        assert_eq!(said(chart, &[], "other"), None, "it names no group that is compared");
        let why = said(chart, &[COMPARED], "other").expect("it asks");
        assert!(why.starts_with("charts/sub.tgz/sub/templates/s.yaml asks the cluster"), "{why}");
        write(chart, "a.md", ASKING);
        write(chart, "charts/near/templates/_helpers.tpl", ASKING);
        let why = said(chart, &[COMPARED], "other").expect("it asks");
        assert!(why.starts_with("charts/near/templates/_helpers.tpl asks the cluster"), "{why}");
        assert!(
            said(chart, &[COMPARED, ASKING], "").expect("they may ask").starts_with("a template in its values asks")
        );
        write(chart, "charts/bad.tgz", b"no archive");
        assert!(said(chart, &[COMPARED], "").expect("nobody knows").contains("is not known: "));
    }

    #[test]
    fn a_call_that_is_never_reached_counts_for_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let below = packed(&[("sub/Chart.yaml", b"name: sub"), ("sub/templates/s.yaml", ASKING)]);
        let files = [("demo/Chart.yaml", b"name: demo".as_slice()), ("demo/charts/sub-1.tgz", &below)];
        let files: Vec<(&str, &[u8])> = files.into_iter().chain([("demo/templates/a.yaml", COMPARED)]).collect();
        let archive = folder.path().join("demo.tgz");
        std::fs::write(&archive, packed(&files)).expect("an archive");
        let unpacked = folder.path().join("unpacked");
        files.iter().for_each(|(name, text)| write(&unpacked, name, text));
        for chart in [archive, unpacked.join("demo")] {
            let again = |copy: &Path| {
                let read = |name: &str| std::fs::read_to_string(copy.join(name)).expect(name);
                assert_eq!(read("Chart.yaml"), "name: demo");
                assert_eq!(read("charts/sub-1-unpacked/Chart.yaml"), "name: sub");
                assert!(!copy.join("charts/sub-1.tgz").exists());
                Ok(read("charts/sub-1-unpacked/templates/s.yaml").into_bytes())
            };
            let disarmed = b"{{- $old := fail \"v1\" \"Secret\" \"a\" \"b\" }}";
            let unseen = |stream: &[u8]| Unseen::of(Rendering { chart: &chart, told: &[], stream }, again);
            assert_eq!(unseen(disarmed), None);
            assert!(unseen(b"another").is_some());
            let fails = Unseen::of(Rendering { chart: &chart, told: &[], stream: b"" }, |_| anyhow::bail!("it failed"));
            assert!(fails.is_some(), "the call is reached");
        }
    }

    #[test]
    fn a_call_is_a_word_of_an_action() {
        let number = |text: &str| calls(text.as_bytes()).len();
        assert_eq!(number("lookup {{/* lookup */}} {{- /* lookup */ -}} {{ .lookup }} {{ $lookup }} {{ lookups }}"), 0);
        assert_eq!(number("{{ fail \"lookup failed\" }} {{ `lookup` }} {{ 'l' }} {{ \"a\\\" lookup\" }}"), 0);
        assert_eq!(
            number("{{ lookup }} {{- if (lookup \"v1\") }} {{ \"}}\" | lookup }} {{ tpl \"{{ lookup }}\" . }}"),
            4
        );
        assert_eq!(number("{{ lookup \"a"), 1);
        let disarmed = disarmed(b"lookup: {{ lookup .lookup }}{{ lookup }}");
        assert_eq!(String::from_utf8_lossy(&disarmed), "lookup: {{ fail .lookup }}{{ fail }}");
    }

    #[test]
    fn two_renders_of_the_same_leave_nothing_unseen_between_them() {
        let of = |of: Option<&str>| Unseen { why: format!("{of:?}"), of: of.map(str::to_owned) };
        let (one, two, unread) = (of(Some("1")), of(Some("2")), of(None));
        assert_eq!(Unseen::between(Some(&one), Some(&one)), None);
        assert_eq!(Unseen::between(Some(&unread), Some(&unread)), Some(&unread));
        for (before, after, expected) in [
            (Some(&one), Some(&two), Some(&two)),
            (Some(&one), None, Some(&one)),
            (None, Some(&two), Some(&two)),
            (None, None, None),
        ] {
            assert_eq!(Unseen::between(before, after), expected);
        }
    }

    #[test]
    fn helm_may_be_told_to_ask() {
        let told = |args: &[&str]| is_told_to_ask(&args.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>());
        assert!(told(&["--dry-run=server"]) && told(&["--set", "a=b", "--dry-run", "server"]));
        assert!(!told(&["--dry-run"]) && !told(&["--dry-run=client", "--set", "server"]) && !told(&[]));
    }
}
