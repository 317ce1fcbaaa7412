//! `rollgate plan APPLICATION... --host argocd`: what each Application renders, judged as its own release beside the Applications
//! themselves. What could not be rendered and may have changed makes the run undecided, by name.

mod application;
mod render;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use bytes::Bytes;

use self::application::Application;
use self::render::{Nowhere, Run, Tools};
use super::args::{Colour, CommonArgs, PlanArgs};
use super::flux::remotes;
use super::releases::{self, Job};
use super::{Outside, Stop};
use crate::exit::Exit;
use crate::host::HostKind;
use crate::object::Key;
use crate::pipeline::Apart;
use crate::session::{Input, Observer, Source, Tree, Trees, Unseen, revisions};
use crate::world::Unread;

/// The Applications of one side, by their titles.
type Found = BTreeMap<String, One>;

/// An Application of one side, and what it renders.
struct One {
    key: Key,
    application: Result<Application, String>,
    rendered: Result<Bytes, Failed>,
    /// What was not seen of it.
    unseen: Option<Unseen>,
}

/// Why it was not rendered.
#[derive(Clone)]
struct Failed {
    why: String,
    /// Whether its sources are elsewhere, so that only the object itself says what changes.
    is_elsewhere: bool,
}

/// One side of the change.
struct Side {
    input: Input,
    found: Found,
}

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
    let side = Side::of(source, &tools(args), Tree::here(), &root, outside).map_err(Stop::usage)?;
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
    let tools = tools(args);
    let observer: &Outside<'_> = outside;
    let (old, new) = trees.on_both(|tree, root, _| {
        let source = source.within(tree).unwrap_or_else(|| Source::Given { name: source.name(), bytes: Bytes::new() });
        Side::of(&source, &tools, tree, root, observer)
    })?;
    if old.found.is_empty() && new.found.is_empty() {
        return Ok(None);
    }
    let (mut apart, mut jobs, mut same) = (Apart::default(), Vec::new(), 0);
    for (title, now) in &new.found {
        match changed(now, old.found.get(title), base) {
            Ok(None) => {
                same += 1;
                apart.judged.insert(now.key.clone());
            }
            Ok(Some((app, before, after, unseen))) => {
                apart.judged.insert(now.key.clone());
                jobs.push(job(app, &common, (after, unseen), Some((Arc::clone(&trees), before))));
            }
            Err(Some(why)) => {
                apart.judged.insert(now.key.clone());
                apart.unread.push(unread(title, &why, &now.key));
            }
            Err(None) => {}
        }
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
        Err(failed) if failed.is_elsewhere && is_same_object => return Err(None),
        Err(failed) => return Err(Some(failed.why.clone())),
    };
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

impl Side {
    /// Reads what is named in a tree, and renders its Applications.
    fn of(
        source: &Source,
        tools: &Tools,
        tree: Tree<'_>,
        root: &Path,
        observer: &dyn Observer,
    ) -> anyhow::Result<Self> {
        let input = source.render(tree, false, observer)?;
        let stream = input.text.stream().map_err(|error| anyhow!("{}: {error}", input.name))?;
        let mut found = Found::new();
        for object in stream.objects.objects().iter().filter(|object| Application::is_one(object)) {
            let application = Application::read(object);
            let title = match &application {
                Ok(app) => app.title(),
                Err(_) => object.key.name.clone(),
            };
            let run = Run { tools, tree, root, observer, unseen: RefCell::default() };
            let rendered = match &application {
                Ok(app) => run
                    .render(app)
                    .map_err(|error| Failed { is_elsewhere: error.is::<Nowhere>(), why: format!("{error:#}") }),
                Err(why) => Err(Failed { why: why.clone(), is_elsewhere: false }),
            };
            let unseen = Unseen::of_all(run.unseen.into_inner());
            found.insert(title, One { key: object.key.clone(), application, rendered, unseen });
        }
        Ok(Self { input, found })
    }
}

fn tools(args: &PlanArgs) -> Tools {
    let listed =
        revisions::git(&["for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes"]).unwrap_or_default();
    let branch = |name: &str| {
        let of_remote = || name.strip_prefix("refs/remotes/")?.split_once('/').map(|(_, branch)| branch.to_owned());
        name.strip_prefix("refs/heads/").map(str::to_owned).or_else(of_remote)
    };
    Tools {
        helm: args.source.helm.clone(),
        helm_args: args.source.helm_arg.clone(),
        kustomize: args.source.kustomize.clone(),
        remotes: remotes(Path::new(".")),
        own: args.places.repo_source.clone(),
        branches: listed.lines().filter_map(branch).collect(),
    }
}

fn unread(title: &str, why: &str, key: &Key) -> Unread {
    Unread {
        what: format!("what Application {title} renders"),
        why: why.to_owned(),
        remedy: "render it by itself and plan that, or set `unseen: {inside: warn}` in the policy".to_owned(),
        keys: vec![key.clone()],
    }
}
