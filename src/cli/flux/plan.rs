//! `rollgate plan --base-ref REF --flux PATH`: both sides of a change rendered as Flux would, each HelmRelease judged as its own
//! release beside what the folder itself holds. What could not be rendered and may have changed makes the run undecided, by name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use bytes::Bytes;

use super::super::args::{Colour, CommonArgs, PlanArgs};
use super::super::releases::{self, Job};
use super::super::{Outside, Stop};
use super::found::{self, Failed, Found, One};
use super::walk::{LEFT_OUT, Side, Walk};
use super::{moved, remotes, settled, told_charts, versions};
use crate::exit::Exit;
use crate::flux::release::{self, Release};
use crate::flux::{SOURCES, values};
use crate::host::HostKind;
use crate::object::{Key, Object};
use crate::pipeline::Apart;
use crate::providers;
use crate::session::Trees;
use crate::session::flux::chart::Version;
use crate::session::flux::{Charts, Rendered, Scratch, Tools, releases as read_releases};
use crate::session::revisions::submodules::missing;
use crate::session::{self, Source, Unseen, input};
use crate::tree::Value;
use crate::world::{Unread, WriteMethod};

/// How a policy takes what was not seen.
const IGNORED: &str = "set `unseen: {inside: warn}` in the policy";

/// One side of the change, rendered.
struct Looked {
    side: Side,
    found: Found,
}

pub(in crate::cli) fn run(args: &PlanArgs, colour: Colour, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let base = args.revisions.base_ref.as_deref().unwrap_or_default();
    let trees = Trees::open_bare(args.revisions.asked(base), outside)?;
    let mut common = args.common.clone();
    common.under(&trees)?;
    let tools = Tools {
        charts: Charts {
            told: told_charts(&args.flux_chart),
            own: args.places.repo_source.clone(),
            remotes: remotes(Path::new(".")),
            trusts_unseen: false,
        },
        helm: args.source.helm.clone(),
        kustomize: args.source.kustomize.clone(),
        helm_args: args.source.helm_arg.clone(),
        scratch: Scratch::new(outside)?,
    };
    let (old, new) = both(args, &trees, &tools)?;
    let (mut apart, jobs, mut notes) = Change { base, old: &old, new: &new, trees: &trees, common: &common }.jobs();
    apart.judged.extend(new.side.rendered.iter().cloned());
    if let Some(module) = trees.lacks(&[".".into()]) {
        let (why, remedy) = missing(module);
        apart.unread.push(Unread { what: "what Flux applies of it".to_owned(), why, remedy, keys: Vec::new() });
    }
    let settled = settled::both(&old.side, &new.side).map_err(Stop::usage)?;
    apart.unread.extend(settled.unread);
    apart.forced = settled.forced;
    notes.extend(settled.notes);
    if input::is_empty(&new.side.stream()) {
        return Err(Stop::usage(anyhow!("there is no manifest below what --flux names")));
    }
    let streams = [("what Flux applies in the base", settled.old), ("what Flux applies", settled.new)];
    let [was, is] = streams.map(|(name, bytes)| Source::Given { name: name.to_owned(), bytes: bytes.into() });
    let folder = Job {
        title: "of the folder itself".to_owned(),
        context: None,
        // kustomize-controller applies, always (fluxcd/pkg `ssa/manager_apply.go`, `apply`).
        common: CommonArgs {
            host: Some(HostKind::Flux),
            method: common.method.or(Some(WriteMethod::ServerSideApply)),
            ..common.clone()
        },
        new: is,
        before: Some((Arc::clone(&trees), was, true)),
        apart: Some(Arc::new(apart)),
    };
    let jobs: Vec<Job> = std::iter::once(folder).chain(jobs).collect();
    releases::judge(&jobs, notes, args, colour, outside)
}

/// Both sides. What one cannot render the other leaves out, so that nothing looks new or gone that merely was not rendered.
fn both(args: &PlanArgs, trees: &Trees, tools: &Tools) -> Result<(Looked, Looked), Stop> {
    session::runtime()?;
    let told = args.common.told();
    let home = args.common.namespace.clone().unwrap_or_else(|| "default".to_owned());
    let given = || args.places.given(&told, &home, &args.common.deadline);
    // What cannot be given is said before anything is rendered.
    drop(given()?);
    let sides = |without: &BTreeSet<Key>| {
        trees.on_artifacts(|tree, root, _| {
            let given = given().map_err(|stop| stop.error)?;
            Walk { tools, tree, root, without }.side(&args.flux, given)
        })
    };
    let (mut old, mut new) = sides(&BTreeSet::new())?;
    if [&old, &new].into_iter().any(|side| recurses(side, tools)) {
        trees.with_submodules().map_err(Stop::usage)?;
        (old, new) = sides(&BTreeSet::new())?;
    }
    let undone: BTreeSet<Key> = old.undone.keys().chain(new.undone.keys()).cloned().collect();
    if old.undone.keys().ne(new.undone.keys()) {
        let (again_old, again_new) = sides(&undone)?;
        let why = |mut again: Side, before: &mut Side| {
            again.undone.append(&mut before.undone);
            again
        };
        (old, new) = (why(again_old, &mut old), why(again_new, &mut new));
    }
    settled::releases(&old, &mut new);
    let names: BTreeSet<String> = titles(&old)?.into_iter().collect();
    let (old, new) = (std::cell::RefCell::new(Some(old)), std::cell::RefCell::new(Some(new)));
    trees.on_artifacts(|tree, root, is_new| {
        let side = if is_new { new.take() } else { old.take() };
        let side = side.ok_or_else(|| anyhow!("a side was looked at twice"))?;
        let found = found::rendered(&side, tools, tree, root, |title| is_new && !names.contains(title))?;
        Ok(Looked { side, found })
    })
}

/// Whether this repository is served with its submodules.
fn recurses(side: &Side, tools: &Tools) -> bool {
    let is_one = |object: &&Object| object.key.group == SOURCES && object.key.kind == "GitRepository";
    side.given.objects.iter().filter(is_one).any(|object| {
        let recurses =
            object.value().is_ok_and(|value| value.pointer("/spec/recurseSubmodules") == Some(&Value::Bool(true)));
        recurses && tools.charts.is_own(side.given.namespace(&object.key), &object.key.name, &side.given).is_ok()
    })
}

fn titles(side: &Side) -> Result<Vec<String>, Stop> {
    let all = read_releases(&side.given).map_err(Stop::usage)?;
    Ok(all.into_iter().map(|one| one.map_or_else(|(title, _)| title, |release| release.title())).collect())
}

/// A change, both of its sides rendered.
struct Change<'c> {
    base: &'c str,
    old: &'c Looked,
    new: &'c Looked,
    trees: &'c Arc<Trees>,
    common: &'c CommonArgs,
}

impl Change<'_> {
    /// What is judged by itself, a job for each HelmRelease that renders something else, and what a person should know.
    fn jobs(&self) -> (Apart, Vec<Job>, Vec<String>) {
        let (mut apart, mut jobs, mut notes, mut same) = (Apart::default(), Vec::new(), Vec::new(), 0);
        for (title, now) in &self.new.found {
            match self.judged(title, now) {
                Ok(job) => {
                    apart.judged.extend(keys(&self.new.side, title));
                    if let Some(Ok(rendered)) = &now.rendered {
                        notes.extend(rendered.notes.iter().map(|note| format!("HelmRelease {title}: {note}")));
                    }
                    notes.extend(job.as_ref().and_then(|_| self.waits(title, now)));
                    same += usize::from(job.is_none());
                    jobs.extend(job);
                }
                Err(Some(why)) => {
                    // This says more than that something in it changes.
                    let keys = keys(&self.new.side, title);
                    apart.judged.extend(keys.iter().cloned());
                    apart.unread.push(unread("HelmRelease", title, &why, keys));
                }
                Err(None) => {}
            }
        }
        for (key, why) in self.unrendered() {
            apart.unread.push(unread("Kustomization", &title_of(key), why, vec![key.clone()]));
        }
        apart.unread.extend(moved::between(&self.old.side, &self.new.side));
        apart.judged.extend(self.sources(&apart));
        if same > 0 {
            notes.push(format!("{same} of the HelmReleases render the same in {} and in the change", self.base));
        }
        (apart, jobs, notes)
    }

    /// The Kustomizations that were not rendered, of which not only the object itself says what changes.
    fn unrendered(&self) -> BTreeMap<&Key, &str> {
        let mut out = BTreeMap::new();
        for (key, undone) in self.new.side.undone.iter().chain(&self.old.side.undone) {
            let both = [&self.old.side, &self.new.side].map(|side| side.undone.get(key));
            let is_same = matches!(both, [Some(before), Some(after)] if after.stays(before));
            if !is_same && (undone.why != LEFT_OUT || !out.contains_key(key)) {
                out.insert(key, undone.why.as_str());
            }
        }
        out
    }

    /// The job of a HelmRelease; none where both sides render the same. An error is why it is not known what it does; one without
    /// words where the object itself says whether something changes.
    fn judged(&self, title: &str, now: &One) -> Result<Option<Job>, Option<String>> {
        let was = self.old.found.get(title);
        let release = now.release.as_ref().map_err(|why| Some(why.clone()).filter(|why| why != release::REMOTE))?;
        let after = match &now.rendered {
            Some(Ok(after)) => after,
            Some(Err(failed)) => return Err(self.failed(failed, was, now)),
            None => return Err(None),
        };
        let before = match was.map(|was| (&was.release, &was.rendered)) {
            None => None,
            // The object itself says that what waited is let go.
            Some((Ok(was), _)) if was.wakes(release) => return Err(None),
            Some((Ok(was), _)) if was.corrects() != release.corrects() => {
                return Err(Some("Flux starts or stops correcting drift, which no file shows".to_owned()));
            }
            Some((Ok(was), Some(Ok(before)))) => {
                if let Some(why) = moved(was, before, release, after) {
                    return Err(Some(why));
                }
                Some(before)
            }
            Some((_, Some(Err(failed)))) => return Err(Some(format!("in {}: {}", self.base, failed.why))),
            Some(_) => return Err(Some(format!("what it was in {} cannot be rendered", self.base))),
        };
        let (old, new) = written(before, after, release);
        let unseen = self.unseen(title, was, now);
        let hidden = was.and_then(|was| self.hidden(was, now));
        if old == new && unseen.is_none() {
            return hidden.map_or(Ok(None), |why| Err(Some(why)));
        }
        if release.replaces() {
            return Err(Some("spec.upgrade.force may replace objects whole, which is not predicted".to_owned()));
        }
        if input::is_empty(&new) {
            // What only the cluster lets it render was never seen here.
            let why = unseen.filter(|_| old == new).map(|unseen| unseen.why);
            return Err(Some(why.unwrap_or_else(|| "it renders nothing any more".to_owned())));
        }
        let name = format!("HelmRelease {title}");
        Ok(Some(Job {
            title: title.to_owned(),
            context: None,
            common: CommonArgs {
                release: Some(release.release.clone()),
                namespace: Some(release.target.clone()),
                storage_namespace: Some(release.storage.clone()),
                host: Some(HostKind::Flux),
                method: self.common.method.or((!release.patches()).then_some(WriteMethod::ServerSideApply)),
                ..self.common.clone()
            },
            new: Source::Given { name: name.clone(), bytes: new },
            before: Some((Arc::clone(self.trees), Source::Given { name, bytes: old }, true)),
            apart: Some(Arc::new(Apart {
                unread: {
                    let hidden = hidden.map(|why| unread("HelmRelease", title, &why, keys(&self.new.side, title)));
                    unseen.into_iter().chain(hidden).collect()
                },
                ..Apart::default()
            })),
        }))
    }

    /// Whether one chart was told for both sides although the release names another one now.
    fn is_one_for_both(&self, was: &One, now: &One) -> bool {
        let (Ok(before), Ok(after)) = (&was.release, &now.release) else { return false };
        let chart = |release: &Release| {
            ["/spec/chart/spec", "/spec/chartRef"].map(|at| {
                let mut chart = release.value.pointer(at).cloned().unwrap_or_default();
                chart.as_object_mut().map(|chart| chart.shift_remove("interval"));
                chart
            })
        };
        now.told.is_some() && was.told == now.told && chart(before) != chart(after)
    }

    /// What of a HelmRelease two renders do not show: what ran before is older than the base, or what it renders renders from what changes.
    fn hidden(&self, was: &One, now: &One) -> Option<String> {
        if self.is_one_for_both(was, now) {
            return Some(
                "it names another chart or version, and one chart was told for both (--flux-chart)".to_owned(),
            );
        }
        let is_bumped = |(was, now): &(&Version, &Version)| was.version != now.version;
        let old = was.version.as_ref().zip(now.version.as_ref()).filter(is_bumped).map(|(was, _)| was);
        if let Some(why) = old.and_then(|old| versions::older(self.trees, old, self.base)) {
            return Some(why);
        }
        let mut both = now.brings.iter().filter_map(|(key, digest)| Some((key, digest, was.brings.get(key)?)));
        let (key, ..) = both.find(|(_, now, was)| now != was)?;
        Some(format!("it renders {key}, whose chart or folder changes in this repository, and that is not followed"))
    }

    /// What a person should know of a chart that changes and keeps its version.
    fn waits(&self, title: &str, now: &One) -> Option<String> {
        let was = self.old.found.get(title)?;
        let (before, after) = (was.version.as_ref()?, now.version.as_ref()?);
        (before.version == after.version && was.chart != now.chart).then(|| {
            format!(
                "HelmRelease {title}: its chart changes and its version {} does not, so Flux takes it up only with the next \
                 version, or where the HelmChart changes (reconcileStrategy ChartVersion)",
                after.version
            )
        })
    }

    /// What a chart that asks the cluster leaves unknown, where anything changes of what Helm renders it with.
    fn unseen(&self, title: &str, was: Option<&One>, now: &One) -> Option<Unread> {
        let of = |one: &'_ One| one.rendered.as_ref()?.as_ref().ok()?.unseen.clone();
        let (before, after) = (was.and_then(of), of(now));
        let unseen = Unseen::between(before.as_ref(), after.as_ref())?;
        Some(unseen.unread(format!("what HelmRelease {title} renders"), keys(&self.new.side, title)))
    }

    /// Why it matters that a HelmRelease could not be rendered: nothing where it says what it said before, and its chart is elsewhere or
    /// what it was. Then its sources and values say whether something changes, which are objects of the folder.
    fn failed(&self, failed: &Failed, was: Option<&One>, now: &One) -> Option<String> {
        let said = |one: &One| one.release.as_ref().ok().map(|release| release.content());
        let is_same = was.is_some_and(|was| said(was) == said(now) && was.chart == now.chart);
        (!is_same || now.chart.is_none() && !failed.is_elsewhere).then(|| failed.why.clone())
    }

    /// ConfigMaps and Secrets that only HelmReleases and Kustomizations take values from which are judged here.
    fn sources(&self, apart: &Apart) -> Vec<Key> {
        let mut used: BTreeMap<(String, String, String), bool> = BTreeMap::new();
        for (title, one) in self.new.found.iter().chain(&self.old.found) {
            let Ok(release) = &one.release else { continue };
            let keys = keys(&self.new.side, title);
            let is_unread = apart.unread.iter().any(|one| one.keys.iter().any(|key| keys.contains(key)));
            let is_judged = !is_unread && keys.iter().any(|key| apart.judged.contains(key));
            for reference in values::references(&release.value).unwrap_or_default() {
                *used.entry((reference.kind, release.namespace.clone(), reference.name)).or_insert(true) &= is_judged;
            }
        }
        for side in [&self.old.side, &self.new.side] {
            for (key, is_rendered, (kind, name)) in side.variables() {
                let namespace = key.namespace.clone().unwrap_or_default();
                *used.entry((kind, namespace, name)).or_insert(true) &= is_rendered;
            }
        }
        let given = &self.new.side.given;
        let is_only_theirs = |object: &&Object| {
            let key = &object.key;
            let name = (key.kind.clone(), given.namespace(key).to_owned(), key.name.clone());
            key.group.is_empty() && used.get(&name) == Some(&true) && !holds_compared(object)
        };
        given.objects.iter().filter(is_only_theirs).map(|object| object.key.clone()).collect()
    }
}

/// What counts of both renders: of the definitions in `crds` those that an upgrade writes.
fn written(before: Option<&Rendered>, after: &Rendered, release: &Release) -> (Bytes, Bytes) {
    let Some(before) = before else { return (Bytes::new(), after.bytes.clone()) };
    let (mut old, mut new) = (before.manifests.to_vec(), after.manifests.to_vec());
    for (name, definition) in &after.definitions {
        let was = before.definitions.get(name);
        let (is_left, was) = (was.is_some() && !release.replaces_definitions(), was.map(Bytes::as_ref));
        for (out, bytes) in [(&mut old, was), (&mut new, Some(definition.as_ref()))] {
            // What is left as it is says nothing in either.
            if let Some(bytes) = bytes.filter(|_| !is_left) {
                out.push(b'\n');
                out.extend_from_slice(bytes);
            }
        }
    }
    (old.into(), new.into())
}

/// Whether a text of an object names a group that is compared: then it may be a payload of somebody else too.
fn holds_compared(object: &Object) -> bool {
    providers::compared_words().any(|word| object.may_say(word))
}

/// Whether Flux takes a HelmRelease for another one: then it uninstalls the old one first (helm-controller
/// `internal/action/verify.go`, `ReleaseTargetChanged`).
fn moved(was: &Release, before: &Rendered, now: &Release, after: &Rendered) -> Option<String> {
    let changed = [
        ("its release name", &was.release, &now.release),
        ("its target namespace", &was.target, &now.target),
        ("its storage namespace", &was.storage, &now.storage),
    ];
    let changed = changed.into_iter().find(|(_, before, after)| before != after);
    let what =
        changed.map(|(what, ..)| what).or_else(|| (before.chart != after.chart).then_some("the name of its chart"))?;
    Some(format!(
        "{what} changes, so Flux uninstalls release {}/{} before it installs the new one",
        was.target, was.release
    ))
}

/// The objects of a HelmRelease, as they stand in the stream.
fn keys(side: &Side, title: &str) -> Vec<Key> {
    let all = side.given.objects.iter().filter(|object| release::is_one(object));
    all.filter(|object| format!("{}/{}", side.given.namespace(&object.key), object.key.name) == title)
        .map(|object| object.key.clone())
        .collect()
}

fn title_of(key: &Key) -> String {
    key.namespace.as_ref().map_or_else(|| key.name.clone(), |namespace| format!("{namespace}/{}", key.name))
}

fn unread(kind: &str, title: &str, why: &str, keys: Vec<Key>) -> Unread {
    Unread {
        what: format!("what {kind} {title} renders"),
        why: why.to_owned(),
        remedy: format!("give what it needs, plan it by itself, or {IGNORED}"),
        keys,
    }
}
