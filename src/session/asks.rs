//! Whether a chart asks about the cluster while Helm renders it: for objects (`lookup`), what the API server serves
//! (`.Capabilities.APIVersions`), or how often the release was written (`.Release.Revision`). Without a cluster it hears of nothing, so that
//! what is rendered here may not be what is written later. What makes no difference counts for nothing, which Helm itself is asked: it renders
//! a copy that fails at each call, the same chart beside Cluster API, and a copy with something else in place of the revision.

mod files;
mod template;

use std::collections::BTreeSet;
use std::path::Path;

use memchr::memmem;
use sha2::{Digest as _, Sha256};

use self::files::{copied, files};
use self::template::{calls, disarmed};
use crate::object::Key;
use crate::providers;
use crate::world::Unread;
use crate::yaml;

/// What a template is told of the API server (helm `pkg/chart/common/capabilities.go`, `Capabilities.APIVersions`).
const SERVED: &[u8] = b"APIVersions";
/// What a template is told of how often the release was written: 1, where nobody is asked (helm `pkg/action/install.go`, `RunWithContext`).
const REVISION: &[u8] = b"Release.Revision";
/// Something else that stands in the same places.
const NO_REVISION: &[u8] = b"Release.Namespace";

/// What cannot be seen of what is written, as the chart asks about the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unseen {
    /// Why.
    pub why: String,
    /// What to do about it.
    pub remedy: String,
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
    /// What of the cluster the chart was told.
    pub heard: Heard,
}

/// What a chart hears of the cluster as it is rendered, or need not hear as who writes it does not either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Heard {
    /// Its objects (`lookup`).
    pub objects: bool,
    /// What its API server serves.
    pub apis: bool,
    /// Which revision of the release it becomes.
    pub revision: bool,
}

impl Heard {
    /// Whether there is nothing that it does not hear of.
    pub(crate) const fn is_all(self) -> bool {
        self.objects && self.apis && self.revision
    }

    /// What Helm is told by its arguments (helm `pkg/action/action.go`, `renderResources`, 3.13 on: with `--dry-run=server`, and only then,
    /// `lookup` finds what is there; `pkg/cmd/template.go`: what is served is only what `--api-versions` says).
    pub(crate) fn by(args: &[String]) -> Self {
        let has = |of: &dyn Fn(&str) -> bool| args.iter().any(|argument| of(argument));
        let has_two = |of: &dyn Fn(&str, &str) -> bool| args.windows(2).any(|pair| of(&pair[0], &pair[1]));
        Self {
            objects: has(&|one| one == "--dry-run=server")
                || has_two(&|option, value| option == "--dry-run" && value == "server"),
            apis: has(&|one| one.starts_with("--api-versions="))
                || has_two(&|option, _| ["--api-versions", "-a"].contains(&option)),
            revision: false,
        }
    }
}

impl Unseen {
    /// What a chart that may ask leaves unseen; `again` renders another chart as this one was rendered, with further arguments.
    pub(crate) fn of(
        rendering: Rendering<'_>,
        again: impl Fn(&Path, &[String]) -> anyhow::Result<Vec<u8>>,
    ) -> Option<Self> {
        let heard = rendering.heard;
        if heard.is_all() {
            return None;
        }
        let found = match Found::of(rendering) {
            Ok(found) => found,
            Err(error) => return Some(Self::not_known(&format!("{error:#}"))),
        };
        // What names no compared group renders no object of one, whatever the cluster answers.
        if !found.names_compared {
            return None;
        }
        let objects = || (!heard.objects).then(|| found.asks_objects(rendering, &again)).flatten();
        let apis = || (!heard.apis).then(|| found.asks_apis(rendering, &again)).flatten();
        let revision = || (!heard.revision).then(|| found.asks_revision(rendering, &again)).flatten();
        let (why, remedy) = objects().or_else(apis).or_else(revision)?;
        Some(Self { why, remedy, of: Some(found.digest) })
    }

    /// That nobody could look.
    pub(crate) fn not_known(why: &str) -> Self {
        let why = format!("whether its chart asks about the cluster while Helm renders is not known: {why}");
        Self { why, remedy: "render it from a folder".to_owned(), of: None }
    }

    /// The same as what makes a run undecided: `what` is rendered, for `keys`.
    pub(crate) fn unread(&self, what: String, keys: Vec<Key>) -> Unread {
        let remedy = format!("{}, or `unseen: {{inside: warn}}` in the policy", self.remedy);
        Unread { what, why: self.why.clone(), remedy, keys }
    }

    /// What several charts that are rendered together leave unseen.
    pub(crate) fn of_all(all: Vec<Self>) -> Option<Self> {
        let of = all.iter().map(|one| one.of.as_deref()).collect::<Option<Vec<_>>>().map(|all| all.concat());
        all.into_iter().next().map(|first| Self { of, ..first })
    }

    /// What two renders leave unseen of the change between them: nothing where both were made of the same.
    pub(crate) fn between<'u>(before: Option<&'u Self>, after: Option<&'u Self>) -> Option<&'u Self> {
        match (before, after) {
            (Some(before), Some(after)) if before.of.is_some() && before.of == after.of => None,
            (before, after) => after.or(before),
        }
    }
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
    /// The file that asks what is served.
    served: Option<String>,
    /// The file that names the revision of the release.
    revision: Option<String>,
    /// The versions of compared groups that are named, as Helm takes them: with a kind or without.
    versions: BTreeSet<String>,
    names_compared: bool,
    digest: String,
}

/// Why something is not seen, and what to do about it.
type Why = (String, String);

impl Found {
    fn of(rendering: Rendering<'_>) -> anyhow::Result<Self> {
        let mut digest = Sha256::new();
        let mut out = Self {
            calls: Calls::None,
            served: None,
            revision: None,
            versions: BTreeSet::new(),
            names_compared: false,
            digest: String::new(),
        };
        let mut add = |text: &[u8]| {
            digest.update(text.len().to_le_bytes());
            digest.update(text);
        };
        files(rendering.chart, &mut |name, text| {
            add(name.as_bytes());
            add(text);
            out.look(name, text);
            Ok(())
        })?;
        for text in rendering.told {
            add(text);
            out.look("", text);
        }
        out.digest = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(out)
    }

    /// Looks at a file of the chart, or at what Helm was told, which has no name.
    fn look(&mut self, name: &str, text: &[u8]) {
        self.names_compared |= names_group(text);
        add_versions(text, &mut self.versions);
        // Any file may be evaluated; a template is.
        let is_template = |name: &str| name.contains("templates/");
        let is_better = |old: &str| !is_template(old) && is_template(name);
        let asks = !calls(text).is_empty();
        match &self.calls {
            Calls::Told => {}
            _ if asks && name.is_empty() => self.calls = Calls::Told,
            Calls::None if asks => self.calls = Calls::Chart(name.to_owned()),
            Calls::Chart(old) if asks && is_better(old) => self.calls = Calls::Chart(name.to_owned()),
            Calls::None | Calls::Chart(_) => {}
        }
        for (found, word) in [(&mut self.served, SERVED), (&mut self.revision, REVISION)] {
            if found.as_deref().is_none_or(is_better) && memmem::find(text, word).is_some() {
                *found = Some(if name.is_empty() { VALUES } else { name }.to_owned());
            }
        }
    }

    /// Whether a call is reached: a copy in which each fails renders something else.
    fn asks_objects(
        &self,
        Rendering { chart, stream, .. }: Rendering<'_>,
        again: &impl Fn(&Path, &[String]) -> anyhow::Result<Vec<u8>>,
    ) -> Option<Why> {
        let file = match &self.calls {
            Calls::None => return None,
            Calls::Told => VALUES,
            Calls::Chart(file) => file,
        };
        let is_never_reached = || {
            let copy = copied(chart, disarmed)?;
            again(&copy.root, &[]).map(|rendered| is_same(&rendered, stream))
        };
        if matches!(self.calls, Calls::Chart(_)) && is_never_reached().unwrap_or(false) {
            return None;
        }
        Some((
            format!("{file} asks the cluster while Helm renders (lookup), which finds nothing here"),
            "say --helm-arg=--dry-run=server where Helm may ask the cluster".to_owned(),
        ))
    }

    /// Whether it makes a difference what is served: beside the groups of Cluster API that the chart names it renders something else.
    fn asks_apis(
        &self,
        Rendering { chart, stream, .. }: Rendering<'_>,
        again: &impl Fn(&Path, &[String]) -> anyhow::Result<Vec<u8>>,
    ) -> Option<Why> {
        let file = self.served.as_ref()?;
        let args: Vec<String> = self.versions.iter().map(|version| format!("--api-versions={version}")).collect();
        if again(chart, &args).is_ok_and(|rendered| is_same(&rendered, stream)) {
            return None;
        }
        let one = args.last().map_or("--api-versions=GROUP/VERSION", String::as_str);
        Some((
            format!(
                "{file} asks what the API server serves (.Capabilities), and renders another stream beside Cluster API"
            ),
            format!("say what the cluster serves, such as --helm-arg={one}"),
        ))
    }

    /// Whether it makes a difference which revision of the release it becomes.
    fn asks_revision(
        &self,
        Rendering { chart, stream, .. }: Rendering<'_>,
        again: &impl Fn(&Path, &[String]) -> anyhow::Result<Vec<u8>>,
    ) -> Option<Why> {
        let file = self.revision.as_ref()?;
        let makes_none = || {
            let copy = copied(chart, another_revision)?;
            again(&copy.root, &[]).map(|rendered| is_same(&rendered, stream))
        };
        if file != VALUES && makes_none().unwrap_or(false) {
            return None;
        }
        Some((
            format!("{file} renders another stream at each upgrade (.Release.Revision), and the first one here"),
            "leave .Release.Revision out of what it renders of Cluster API".to_owned(),
        ))
    }
}

/// Whether two streams have the same objects of compared groups: their other documents may be new each time.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let compared = |stream| {
        let sections = yaml::split(stream).ok()?;
        let documents = sections.iter().map(|section| section.document.of(stream));
        Some(documents.filter(|document| names_group(document)).collect::<Vec<_>>())
    };
    one == other || compared(one).is_some_and(|one| Some(one) == compared(other))
}

/// How values are called that hold a template.
const VALUES: &str = "a template in its values";

/// A template with something else in place of the revision.
fn another_revision(template: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(template.len());
    let mut from = 0;
    for at in memmem::find_iter(template, REVISION) {
        out.extend_from_slice(template.get(from..at).unwrap_or_default());
        out.extend_from_slice(NO_REVISION);
        from = at + REVISION.len();
    }
    out.extend_from_slice(template.get(from..).unwrap_or_default());
    out
}

/// Whether a text names a group that is compared.
fn names_group(text: &[u8]) -> bool {
    providers::compared_words().any(|word| memmem::find(text, word.as_bytes()).is_some())
}

/// Adds each version of a compared group that a text names, with its kind where it names one: `cluster.x-k8s.io/v1beta2/Cluster`.
fn add_versions(text: &[u8], out: &mut BTreeSet<String>) {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'/');
    for token in text.split(|byte| !is_of_name(byte)).filter(|token| names_group(token)) {
        let Ok(token) = std::str::from_utf8(token) else { continue };
        let mut parts = token.split('/').skip(1);
        if let (Some(version), kind, None) = (parts.next(), parts.next(), parts.next())
            && version.starts_with('v')
            && kind.is_none_or(|kind| kind.starts_with(|first: char| first.is_ascii_uppercase()))
        {
            out.insert(token.to_owned());
        }
    }
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

    const NOTHING: Heard = Heard { objects: false, apis: false, revision: false };

    /// What is said of a chart whose copy renders what `again` says, where the chart itself rendered nothing.
    fn said(chart: &Path, told: &[&[u8]], again: &str) -> Option<String> {
        let rendering = Rendering { chart, told, stream: b"", heard: NOTHING };
        Unseen::of(rendering, |_, _| Ok(again.as_bytes().to_vec())).map(|unseen| unseen.why)
    }

    #[test]
    fn a_file_that_asks_is_found_wherever_it_lies() {
        let folder = tempfile::tempdir().expect("a folder");
        let chart = folder.path();
        write(chart, "Chart.yaml", b"name: demo");
        write(chart, "templates/a.yaml", b"a: {{ .Values.lookup }}");
        write(chart, "files/data.tgz", b"no archive, and nothing that Helm unpacks");
        assert_eq!(said(chart, &[COMPARED], "kind: cluster.x-k8s.io"), None);
        write(chart, "charts/sub.tgz", &packed(&[("sub/Chart.yaml", b"name: sub"), ("sub/templates/s.yaml", ASKING)]));
        assert_eq!(said(chart, &[], "kind: cluster.x-k8s.io"), None, "it names no group that is compared");
        let why = said(chart, &[COMPARED], "kind: cluster.x-k8s.io").expect("it asks");
        assert!(why.starts_with("charts/sub.tgz/sub/templates/s.yaml asks the cluster"), "{why}");
        write(chart, "a.md", ASKING);
        write(chart, "charts/near/templates/_helpers.tpl", ASKING);
        let why = said(chart, &[COMPARED], "kind: cluster.x-k8s.io").expect("it asks");
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
            let again = |copy: &Path, _: &[String]| {
                let read = |name: &str| std::fs::read_to_string(copy.join(name)).expect(name);
                assert_eq!(read("Chart.yaml"), "name: demo");
                assert_eq!(read("charts/sub-1-unpacked/Chart.yaml"), "name: sub");
                assert!(!copy.join("charts/sub-1.tgz").exists());
                Ok(read("charts/sub-1-unpacked/templates/s.yaml").into_bytes())
            };
            let disarmed = b"{{- $old := fail \"v1\" \"Secret\" \"a\" \"b\" }}";
            let unseen =
                |stream: &[u8]| Unseen::of(Rendering { chart: &chart, told: &[], stream, heard: NOTHING }, again);
            assert_eq!(unseen(disarmed), None);
            assert!(unseen(COMPARED).is_some(), "an object goes");
            let rendering = Rendering { chart: &chart, told: &[], stream: b"", heard: NOTHING };
            let fails = Unseen::of(rendering, |_, _| anyhow::bail!("it failed"));
            assert!(fails.is_some(), "the call is reached");
        }
    }

    #[test]
    fn two_renders_of_the_same_leave_nothing_unseen_between_them() {
        let of = |of: Option<&str>| Unseen { why: format!("{of:?}"), remedy: String::new(), of: of.map(str::to_owned) };
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
    fn what_is_served_counts_where_it_makes_a_difference() {
        let folder = tempfile::tempdir().expect("a folder");
        let chart = folder.path();
        write(chart, "Chart.yaml", b"name: demo");
        write(
            chart,
            "templates/md.yaml",
            b"{{ if .Capabilities.APIVersions.Has \"cluster.x-k8s.io/v1beta2/Cluster\" }}",
        );
        write(chart, "README.md", b"See https://example.org/cluster.x-k8s.io/a and .Capabilities.APIVersions.");
        let beside = |heard: Heard, rendered: &'static str| {
            let rendering = Rendering { chart, told: &[], stream: b"", heard };
            Unseen::of(rendering, |_, args: &[String]| {
                assert_eq!(args, ["--api-versions=cluster.x-k8s.io/v1beta2/Cluster"]);
                Ok(rendered.as_bytes().to_vec())
            })
        };
        let unseen = beside(NOTHING, "kind: cluster.x-k8s.io").expect("it asks");
        assert!(unseen.why.starts_with("templates/md.yaml asks what the API server serves"), "{}", unseen.why);
        assert!(
            unseen.remedy.ends_with("--helm-arg=--api-versions=cluster.x-k8s.io/v1beta2/Cluster"),
            "{}",
            unseen.remedy
        );
        assert_eq!(beside(NOTHING, ""), None, "it makes no difference");
        assert_eq!(beside(Heard { apis: true, ..NOTHING }, "kind: cluster.x-k8s.io"), None, "it was told");
        let failed = Rendering { chart, told: &[], stream: b"", heard: NOTHING };
        assert!(Unseen::of(failed, |_, _| anyhow::bail!("it failed")).is_some(), "a difference too");
    }

    #[test]
    fn the_revision_counts_where_it_makes_a_difference() {
        let folder = tempfile::tempdir().expect("a folder");
        let chart = folder.path();
        write(chart, "Chart.yaml", b"name: demo");
        write(chart, "templates/md.yaml", b"# cluster.x-k8s.io\nname: t-{{ .Release.Revision }}");
        let unseen = |heard: Heard| {
            let stream = b"# cluster.x-k8s.io\nname: t-1";
            Unseen::of(Rendering { chart, told: &[], stream, heard }, |copy, _| {
                let text = std::fs::read_to_string(copy.join("templates/md.yaml")).expect("a file");
                Ok(text
                    .replace("{{ .Release.Namespace }}", "telco")
                    .replace("{{ .Release.Revision }}", "1")
                    .into_bytes())
            })
        };
        let why = unseen(NOTHING).expect("it counts").why;
        assert!(why.starts_with("templates/md.yaml renders another stream at each upgrade"), "{why}");
        assert_eq!(unseen(Heard { revision: true, ..NOTHING }), None);
        write(
            chart,
            "templates/md.yaml",
            b"# cluster.x-k8s.io\nname: t-1\n---\nkind: ConfigMap\nname: {{ .Release.Revision }}",
        );
        let stream = b"# cluster.x-k8s.io\nname: t-1\n---\nkind: ConfigMap\nname: 1";
        let other = Unseen::of(Rendering { chart, told: &[], stream, heard: NOTHING }, |copy, _| {
            Ok(std::fs::read(copy.join("templates/md.yaml")).expect("a file"))
        });
        assert_eq!(other, None, "no object of Cluster API has it");
    }

    #[test]
    fn helm_may_be_told_of_the_cluster() {
        let heard = |args: &[&str]| {
            let Heard { objects, apis, .. } = Heard::by(&args.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>());
            (objects, apis)
        };
        assert_eq!(heard(&["--dry-run=server", "-a", "example.org/v1"]), (true, true));
        assert_eq!(heard(&["--set", "a=b", "--dry-run", "server"]), (true, false));
        assert_eq!(heard(&["--api-versions=example.org/v1", "--dry-run=client", "--set", "server"]), (false, true));
        assert_eq!(heard(&["--dry-run"]), (false, false));
        assert_eq!(heard(&[]), (false, false));
    }
}
