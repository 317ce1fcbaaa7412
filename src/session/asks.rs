//! Whether a chart asks about the cluster while Helm renders it: for objects (`lookup`), what the API server serves
//! (`.Capabilities.APIVersions`), which version it has, how often the release was written (`.Release.Revision`), or what time it is. Without
//! a cluster it hears of nothing, so that what is rendered here may not be what is written later. What makes no difference counts for
//! nothing, which Helm itself is asked: it renders a copy that fails at each call, the same chart beside Cluster API and for other versions,
//! and copies with something else in place of the revision and of the time.

mod files;
mod heard;
mod kubernetes;
mod revision;
mod template;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::Path;

use memchr::memmem;
use sha2::{Digest as _, Sha256};

use self::files::{copied, files};
pub(crate) use self::heard::Heard;
use self::kubernetes::Named;
use self::revision::{another_revision, is_template, names_revision};
use self::template::{another_time, calls, disarmed, resolves, tells_time, unresolved};
use crate::object::Key;
use crate::providers;
use crate::schema;
use crate::world::Unread;
use crate::yaml;

/// What a template is told of the API server (helm `pkg/chart/common/capabilities.go`, `Capabilities.APIVersions`).
const SERVED: &[u8] = b"APIVersions";
/// What a template is told of the API server's version, which is that of the Helm that renders where nothing is told.
const VERSION: &[u8] = b"KubeVersion";

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
        let asks: [(bool, &Asks); 6] = [
            (heard.objects, &Found::asks_objects),
            (heard.apis, &Found::asks_apis),
            (heard.version, &Found::asks_version),
            (heard.revision, &Found::asks_revision),
            (heard.time, &Found::asks_time),
            (heard.addresses, &Found::asks_addresses),
        ];
        let ask = |(is_heard, ask): &(bool, &Asks)| if *is_heard { None } else { ask(&found, rendering, &again) };
        let (why, remedy) = asks.iter().find_map(ask)?;
        Some(Self { why, remedy, of: Some(found.digest) })
    }

    /// That nobody could look.
    pub(crate) fn not_known(why: &str) -> Self {
        let why = format!("whether its chart asks about the cluster while Helm renders is not known: {why}");
        Self { why, remedy: "render it from a folder".to_owned(), of: None }
    }

    /// This as what makes a run undecided: `what` is rendered, for `keys`.
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
    /// The file that asks for the version of the API server.
    version: Option<String>,
    /// The file that names the revision of the release.
    revision: Option<String>,
    /// The file that tells the time.
    time: Option<String>,
    /// The file that looks for an address.
    addresses: Option<String>,
    /// The versions of compared groups that are named, as Helm takes them: with a kind or without.
    versions: BTreeSet<String>,
    /// The versions of Kubernetes that are named.
    kubernetes: Named,
    names_compared: bool,
    digest: String,
}

/// Renders another chart as that one was rendered, with further arguments.
type Again<'r> = dyn Fn(&Path, &[String]) -> anyhow::Result<Vec<u8>> + 'r;

/// Looks whether one thing that a chart may ask for makes a difference.
type Asks = dyn Fn(&Found, Rendering<'_>, &Again<'_>) -> Option<Why>;

/// Why something is not seen, and what to do about it.
type Why = (String, String);

impl Found {
    fn of(rendering: Rendering<'_>) -> anyhow::Result<Self> {
        let mut digest = Sha256::new();
        let mut out = Self {
            calls: Calls::None,
            served: None,
            version: None,
            revision: None,
            time: None,
            addresses: None,
            versions: BTreeSet::new(),
            kubernetes: Named::default(),
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
        self.kubernetes.add(text);
        // Any file may be evaluated; a template is.
        let is_better = |old: &str| !is_template(old) && is_template(name);
        let asks = !calls(text).is_empty();
        match &self.calls {
            Calls::Told => {}
            _ if asks && name.is_empty() => self.calls = Calls::Told,
            Calls::None if asks => self.calls = Calls::Chart(name.to_owned()),
            Calls::Chart(old) if asks && is_better(old) => self.calls = Calls::Chart(name.to_owned()),
            Calls::None | Calls::Chart(_) => {}
        }
        let says = |word: &'static [u8]| move |text: &[u8]| memmem::find(text, word).is_some();
        let note = |found: &mut Option<String>, says: &dyn Fn(&[u8]) -> bool| {
            if found.as_deref().is_none_or(is_better) && says(text) {
                *found = Some(if name.is_empty() { VALUES } else { name }.to_owned());
            }
        };
        note(&mut self.served, &says(SERVED));
        note(&mut self.version, &says(VERSION));
        note(&mut self.revision, &names_revision);
        note(&mut self.time, &tells_time);
        note(&mut self.addresses, &resolves);
    }

    /// Whether a call is reached: a copy in which each fails renders something else.
    fn asks_objects(&self, Rendering { chart, stream, .. }: Rendering<'_>, again: &Again<'_>) -> Option<Why> {
        let file = match &self.calls {
            Calls::None => return None,
            Calls::Told => VALUES,
            Calls::Chart(file) => file,
        };
        if matches!(self.calls, Calls::Chart(_)) && is_same_in_copy(chart, stream, |_, text| disarmed(text), again) {
            return None;
        }
        Some((
            format!("{file} asks the cluster while Helm renders (lookup), which finds nothing here"),
            "pass --helm-arg=--dry-run=server where Helm may ask the cluster".to_owned(),
        ))
    }

    /// Whether it makes a difference what is served: beside Cluster API, all of it, one version alone, or all but one of those that are
    /// named, it renders something else.
    fn asks_apis(&self, Rendering { chart, stream, .. }: Rendering<'_>, again: &Again<'_>) -> Option<Why> {
        let file = self.served.as_ref()?;
        let served = self.served_by_clusters();
        let version = |one: &str| one.split('/').nth(1).map(str::to_owned);
        let named = self.versions.iter().filter_map(|one| version(one));
        let alone: BTreeSet<String> = named.chain(["v1beta1", "v1beta2"].map(str::to_owned)).collect();
        let of_group = |one: &String| one.split('/').take(2).collect::<Vec<_>>().join("/");
        let missing: BTreeSet<String> = self.versions.iter().map(of_group).collect();
        let is_same_beside = |is_served: &dyn Fn(&String) -> bool| {
            let args: Vec<String> =
                served.iter().filter(|one| is_served(one)).map(|one| format!("--api-versions={one}")).collect();
            again(chart, &args).is_ok_and(|rendered| is_same(&rendered, stream))
        };
        if is_same_beside(&|_| true)
            && alone.iter().all(|wanted| is_same_beside(&|one| version(one).as_ref() == Some(wanted)))
            && missing.iter().all(|gone| is_same_beside(&|one| of_group(one) != *gone))
        {
            return None;
        }
        let one = self.versions.last().map(|version| format!("--api-versions={version}"));
        let one = one.as_deref().unwrap_or("--api-versions=GROUP/VERSION");
        Some((
            format!(
                "{file} asks what the API server serves (.Capabilities), and renders another stream beside Cluster API"
            ),
            format!("say what the cluster serves, such as --helm-arg={one}"),
        ))
    }

    /// What clusters serve of the groups that are compared, as far as it is known or named: a template may put its name together.
    fn served_by_clusters(&self) -> BTreeSet<String> {
        let mut served = self.versions.clone();
        for kind in schema::kinds() {
            let version = kind.rsplit_once('/').map(|(version, _)| version);
            served.extend([Some(kind), version].into_iter().flatten().map(str::to_owned));
        }
        served
    }

    /// Whether it makes a difference which version the API server has: the oldest and the newest, and those around each that is named.
    /// One that the chart refuses says nothing, and where it refuses all of them nobody knows.
    fn asks_version(&self, Rendering { chart, stream, .. }: Rendering<'_>, again: &Again<'_>) -> Option<Why> {
        let file = self.version.as_ref()?;
        let mut is_known = false;
        for (minor, patch) in self.kubernetes.around() {
            let Ok(rendered) = again(chart, &[format!("--kube-version=1.{minor}.{patch}")]) else { continue };
            is_known = is_same(&rendered, stream);
            if !is_known {
                break;
            }
        }
        (!is_known).then(|| {
            (
                format!(
                    "{file} may render another stream for another version of the API server (.Capabilities.KubeVersion)"
                ),
                "say which it has, such as --helm-arg=--kube-version=1.34.0".to_owned(),
            )
        })
    }

    /// Whether it makes a difference when it is rendered.
    fn asks_time(&self, rendering: Rendering<'_>, again: &Again<'_>) -> Option<Why> {
        let file = differs_in_copy(self.time.as_ref()?, rendering, again, |_, text| another_time(text))?;
        Some((
            format!("{file} renders what time it is (now), and so another stream when it is written"),
            "leave the time out of what it renders of Cluster API".to_owned(),
        ))
    }

    /// Whether it makes a difference which address a name has.
    fn asks_addresses(&self, rendering: Rendering<'_>, again: &Again<'_>) -> Option<Why> {
        let file = differs_in_copy(self.addresses.as_ref()?, rendering, again, |_, text| unresolved(text))?;
        Some((
            format!(
                "{file} asks which address a name has (getHostByName), which may be another one when it is written"
            ),
            "leave --enable-dns out, and give the address in the values".to_owned(),
        ))
    }

    /// Whether it makes a difference which revision of the release it becomes: one far away, which shows wherever a template shows all that it
    /// is given, and one of the next where the revision is named.
    fn asks_revision(&self, Rendering { chart, stream, .. }: Rendering<'_>, again: &Again<'_>) -> Option<Why> {
        let next: &[u64] = if self.revision.is_some() { &[2, 3] } else { &[] };
        let is_same = |revision: &u64| {
            is_same_in_copy(chart, stream, |name, text| another_revision(name, text, *revision), again)
        };
        if [1_000_000].iter().chain(next).all(is_same) {
            return None;
        }
        Some(match &self.revision {
            Some(file) => (
                format!("{file} renders another stream at each upgrade (.Release.Revision), and the first one here"),
                "leave .Release.Revision out of what it renders of Cluster API".to_owned(),
            ),
            None => (
                "one of its templates renders another stream each time, by all that it is given (.Release.Revision) or by chance"
                    .to_owned(),
                "leave what differs each time out of what it renders of Cluster API".to_owned(),
            ),
        })
    }
}

/// The file that asks for something, where a copy of the chart that is told something else renders another stream; always where a template
/// in the values asks, which no copy reaches.
fn differs_in_copy<'f>(
    file: &'f str,
    Rendering { chart, stream, .. }: Rendering<'_>,
    again: &Again<'_>,
    change: impl Fn(&str, &[u8]) -> Vec<u8>,
) -> Option<&'f str> {
    (file == VALUES || !is_same_in_copy(chart, stream, change, again)).then_some(file)
}

/// Whether a copy of a chart in which each file is changed renders the same.
fn is_same_in_copy(chart: &Path, stream: &[u8], change: impl Fn(&str, &[u8]) -> Vec<u8>, again: &Again<'_>) -> bool {
    let rendered = copied(chart, change).and_then(|copy| again(&copy.root, &[]));
    rendered.is_ok_and(|rendered| is_same(&rendered, stream))
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
