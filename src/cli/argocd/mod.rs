//! `rollgate plan APPLICATION... --host argocd`: what each Application renders, judged as its own release beside the Applications
//! themselves. What could not be rendered and may have changed makes the run undecided, by name.

mod application;
mod render;
mod side;

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;

use self::application::Application;
use self::side::{Failed, Look, One, Side, tools};
use super::args::{Colour, CommonArgs, PlanArgs};
use super::releases::{self, Job};
use super::{Outside, Stop};
use crate::exit::Exit;
use crate::host::{HostKind, has_option, kinds};
use crate::object::{Key, Stream};
use crate::pipeline::Apart;
use crate::session::revisions::submodules::missing;
use crate::session::{Source, Tree, Trees, Unseen, revisions};
use crate::world::Unread;

/// Judges what is asked, where it names Applications of Argo CD; nothing where it names none.
pub(super) fn run(args: &PlanArgs, colour: Colour, outside: &mut Outside<'_>) -> Result<Option<Exit>, Stop> {
    let is_asked = args.common.host == Some(HostKind::Argocd) && !args.source.paths.is_empty();
    let source = args.source.source(&args.common);
    if !is_asked || args.revisions.render.is_some() || args.source.paths.iter().any(|path| path.as_os_str() == "-") {
        return Ok(None);
    }
    match &args.revisions.base_ref {
        None => here(args, &source, colour, outside),
        Some(base) => between(args, base, &source, colour, outside),
    }
}

/// What is rendered now, against what is live.
fn here(args: &PlanArgs, source: &Source, colour: Colour, outside: &mut Outside<'_>) -> Result<Option<Exit>, Stop> {
    let root = revisions::git(&["rev-parse", "--show-toplevel"]).map_or_else(|_| PathBuf::from("."), PathBuf::from);
    let root = root.canonicalize().unwrap_or(root);
    // A file has the objects of one Application, so that what it renders is compared with nothing.
    let look = Look { tools: &tools(args, None), tree: Tree::here(), root: &root, observer: outside };
    let side = Side::of(source, &look, args.common.live == "cluster").map_err(Stop::usage)?;
    if side.found.is_empty() {
        return Ok(None);
    }
    let (mut apart, mut jobs) = (Apart::default(), Vec::new());
    for (title, one) in &side.found {
        let is_told = args.common.live != "cluster" || args.common.kube_context.is_some();
        match (&one.application, &one.rendered) {
            (Ok(app), Ok(_)) if app.elsewhere.is_some() && !is_told => {
                let why = format!("it writes into {}", app.elsewhere.as_deref().unwrap_or_default());
                apart.unread.push(unread(title, &format!("{why}; pass --kube-context where that is"), &one.key));
                apart.judged.insert(one.key.clone());
            }
            (Ok(app), Ok(bytes)) => {
                apart.judged.insert(one.key.clone());
                jobs.push(job(app, &args.common, (bytes.clone(), one.unseen.as_ref()), None));
            }
            (Err(why), _) | (_, Err(Failed { why, .. })) => {
                apart.judged.insert(one.key.clone());
                apart.unread.push(unread(title, why, &one.key));
            }
        }
    }
    let itself = Source::Given { name: side.input.name.clone(), bytes: side.input.text.bytes().clone() };
    // A file with what was rendered before has no Applications in it, and what it has is none of theirs to remove.
    let live = if args.common.live == "cluster" { "cluster" } else { "none" };
    let themselves = CommonArgs { live: live.to_owned(), ..args.common.clone() };
    let jobs = with_themselves(themselves, itself, None, apart, jobs);
    releases::judge(&jobs, Vec::new(), args, colour, outside).map(Some)
}

/// What a change makes of them.
fn between(
    args: &PlanArgs,
    base: &str,
    source: &Source,
    colour: Colour,
    outside: &mut Outside<'_>,
) -> Result<Option<Exit>, Stop> {
    let trees = Trees::open(args.revisions.asked(base), outside)?;
    let mut common = args.common.clone();
    common.under(&trees)?;
    let tools = tools(args, Some(base));
    let observer: &Outside<'_> = outside;
    let (old, new) = trees.on_both(|tree, root, _| {
        let source = source.within(tree).unwrap_or_else(|| Source::Given { name: source.name(), bytes: Bytes::new() });
        Side::of(&source, &Look { tools: &tools, tree, root, observer }, true)
    })?;
    if [&old, &new].into_iter().all(|side| side.found.is_empty() && side.others.is_empty()) {
        return Ok(None);
    }
    let (mut apart, mut jobs, mut same) = (Apart::default(), Vec::new(), 0);
    for (title, now) in &new.found {
        if let Some(module) = trees.lacks(&now.paths) {
            let (why, remedy) = missing(module);
            apart.judged.insert(now.key.clone());
            apart.unread.push(Unread { remedy, ..unread(title, &why, &now.key) });
            continue;
        }
        match changed(now, old.found.get(title), base) {
            Ok(None) => {
                same += 1;
                apart.judged.insert(now.key.clone());
            }
            Ok(Some((app, before, after, unseen))) => {
                apart.judged.insert(now.key.clone());
                apart.unread.extend(recreated(app, &before, &after));
                let [before, after] = [before, after].map(|bytes| with_settings(app, bytes));
                jobs.push(job(app, &common, (after, unseen), Some((Arc::clone(&trees), before))));
            }
            Err(Some(why)) => {
                apart.judged.insert(now.key.clone());
                apart.unread.push(unread(title, &why, &now.key));
            }
            Err(None) => {}
        }
    }
    apart.unread.extend(unfollowed(&old, &new));
    for job in &mut jobs {
        // An Application that another one renders is judged by itself.
        let own = job.apart.take().map(Arc::unwrap_or_clone).unwrap_or_default();
        job.apart = Some(Arc::new(Apart { judged: apart.judged.clone(), ..own }));
    }
    let notes = (same > 0).then(|| format!("{same} of the Applications render the same in {base} and in the change"));
    let given = |side: &Side| Source::Given { name: side.input.name.clone(), bytes: side.input.text.bytes().clone() };
    let before = Some((Arc::clone(&trees), given(&old)));
    let jobs = with_themselves(common, given(&new), before, apart, jobs);
    releases::judge(&jobs, notes.into_iter().collect(), args, colour, outside).map(Some)
}

/// An Application that renders something else: what it rendered, what it renders now, and what was not seen of that.
type Changed<'a> = (&'a Application, Bytes, Bytes, Option<&'a Unseen>);

/// What changes; nothing where it renders the same. An error is why that is not known, one without words where the object itself says
/// whether something changes.
fn changed<'a>(now: &'a One, was: Option<&'a One>, base: &str) -> Result<Option<Changed<'a>>, Option<String>> {
    let app = now.application.as_ref().map_err(|why| Some(why.clone()))?;
    let old = match was.map(|was| (&was.application, &was.rendered)) {
        None => None,
        Some((Ok(old), rendered)) => Some((old, rendered)),
        Some((Err(why), _)) => return Err(Some(format!("in {base}: {why}"))),
    };
    // Another cluster, other options, another policy: the object itself says so.
    if old.is_some_and(|(old, _)| !old.differs_in_sources_alone(app)) {
        return Err(None);
    }
    let is_same_object = old.is_some_and(|(old, _)| old.sources == app.sources);
    let after = match &now.rendered {
        Ok(after) => after.clone(),
        Err(failed) => {
            let is_same = is_same_object && old.is_some_and(|(_, before)| failed.stays(before));
            return Err((!is_same).then(|| failed.why.clone()));
        }
    };
    if let Some(was) = was.filter(|was| was.origins != now.origins) {
        let named = |one: &One| one.origins.iter().cloned().collect::<Vec<_>>().join(", ");
        let (from, to) = (named(was), named(now));
        return Err(Some(format!(
            "it moves from {from} to {to}, which is another tree than the two that are compared"
        )));
    }
    let before = match old {
        None => Bytes::new(),
        Some((_, Ok(before))) => before.clone(),
        Some((_, Err(failed))) => return Err(Some(format!("in {base}: {}", failed.why))),
    };
    let unseen = Unseen::between(was.and_then(|was| was.unseen.as_ref()), now.unseen.as_ref());
    if before == after {
        return unseen.map_or(Ok(None), |unseen| Err(Some(format!("{}; {}", unseen.why, unseen.remedy))));
    }
    if app.replaces() {
        return Err(Some("its syncOptions may replace objects whole, which is not predicted".to_owned()));
    }
    Ok(Some((app, before, after, unseen)))
}

/// Objects that a sync deletes and makes anew whether they change or not (argo-cd `gitops-engine/pkg/sync/sync_context.go`, `applyObject`,
/// v3.5.1: the options count where the target or the live object has them). Without `ApplyOutOfSyncOnly` a sync writes all of its objects.
fn recreated(app: &Application, before: &Bytes, after: &Bytes) -> Vec<Unread> {
    let (Ok(before), Ok(after)) = (Stream::load(before), Stream::load(after)) else { return Vec::new() };
    let mut out = Vec::new();
    for object in after.objects.objects().iter().filter(|object| kinds::is_compared(&object.key)) {
        let Some(was) = before.objects.objects().iter().find(|was| was.key == object.key) else { continue };
        let (Ok(now), Ok(was)) = (object.value(), was.value()) else { continue };
        let has = |option: &str| [&now, &was].into_iter().any(|value| has_option(value, option));
        if !has("Replace=true") || !has("Force=true") || now == was && app.has("ApplyOutOfSyncOnly=true") {
            continue;
        }
        out.push(Unread {
            what: format!("whether {} stays", object.key),
            why: "it says Replace=true,Force=true, and a sync deletes such an object and makes it anew, whether it changes or not".to_owned(),
            remedy: "take the options off in a change of its own, or say `unseen: {inside: warn}` in the policy".to_owned(),
            keys: vec![object.key.clone()],
        });
    }
    out
}

/// What an Application renders, with the Application behind it where it leaves fields alone: it is the same on both sides, and says which.
fn with_settings(app: &Application, rendered: Bytes) -> Bytes {
    let Some(settings) = app.leaves_alone().filter(|_| !rendered.is_empty()) else { return rendered };
    Bytes::from([&rendered[..], settings.as_bytes()].concat())
}

/// The job of an Application.
fn job(
    app: &Application,
    common: &CommonArgs,
    (after, unseen): (Bytes, Option<&Unseen>),
    before: Option<(Arc<Trees>, Bytes)>,
) -> Job {
    let name = format!("Application {}", app.title());
    let unread = unseen.map(|unseen| unseen.unread(format!("what {name} renders"), Vec::new()));
    Job {
        title: app.title(),
        context: None,
        common: CommonArgs {
            release: Some(app.name.clone()),
            namespace: app.target.clone().or_else(|| common.namespace.clone()),
            storage_namespace: Some(app.home.clone()),
            ..common.clone()
        },
        new: Source::Given { name: name.clone(), bytes: after },
        before: before.map(|(trees, bytes)| (trees, Source::Given { name, bytes }, true)),
        apart: Some(Arc::new(Apart { unread: unread.into_iter().collect(), ..Apart::default() })),
    }
}

/// What was named by itself, before what it renders.
fn with_themselves(
    common: CommonArgs,
    new: Source,
    before: Option<(Arc<Trees>, Source)>,
    apart: Apart,
    jobs: Vec<Job>,
) -> Vec<Job> {
    let before = before.map(|(trees, source)| (trees, source, true));
    let itself = Job {
        title: "of the Applications themselves".to_owned(),
        context: None,
        common,
        new,
        before,
        apart: Some(Arc::new(apart)),
    };
    std::iter::once(itself).chain(jobs).collect()
}

/// Objects that render from this repository and are not followed, where what they read of it changes and they do not.
fn unfollowed(old: &Side, new: &Side) -> Vec<Unread> {
    let changed = new.others.iter().filter(|(key, now)| old.others.get(key).is_some_and(|was| was != *now));
    let one = |(key, _): (&Key, _)| Unread {
        what: format!("what {key} brings"),
        why: "what it renders from changes in this repository, and it is not rendered here".to_owned(),
        remedy: "plan what it brings by itself, or say `unseen: {inside: warn}` in the policy".to_owned(),
        keys: vec![key.clone()],
    };
    changed.map(one).collect()
}

fn unread(title: &str, why: &str, key: &Key) -> Unread {
    Unread {
        what: format!("what Application {title} renders"),
        why: why.to_owned(),
        remedy: "render it by itself and plan that, or set `unseen: {inside: warn}` in the policy".to_owned(),
        keys: vec![key.clone()],
    }
}
