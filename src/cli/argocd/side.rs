//! The Applications of one side of a change: those that are named, and those that an Application renders, as in an app of apps.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use bytes::Bytes;

use super::super::args::PlanArgs;
use super::super::flux::remotes;
use super::application::Application;
use super::render::{Nowhere, Run, Tools};
use crate::object::{Key, Object, Stream};
use crate::session::tool::NotStarted;
use crate::session::{Input, Observer, Source, Tree, Unseen, reach, revisions};

/// Most Applications of one repository: more is a mistake.
const MOST: usize = 10_000;
/// Where an Application is that says nothing of it.
const HOME: &str = "argocd";

/// The Applications of one side, by their titles.
pub(super) type Found = BTreeMap<String, One>;

/// An Application of one side, and what it renders.
pub(super) struct One {
    pub(super) key: Key,
    pub(super) application: Result<Application, String>,
    pub(super) rendered: Result<Bytes, Failed>,
    /// Which repositories and revisions its sources are.
    pub(super) origins: BTreeSet<String>,
    /// The paths that they name.
    pub(super) paths: Vec<PathBuf>,
    /// What was not seen of it.
    pub(super) unseen: Option<Unseen>,
}

impl One {
    /// Whether two that are called the same are rendered from the same.
    fn is_same(&self, other: &Self) -> bool {
        let both = self.application.as_ref().ok().zip(other.application.as_ref().ok());
        both.is_some_and(|(one, other)| one.sources == other.sources && one.differs_in_sources_alone(other))
    }
}

/// Why it was not rendered.
#[derive(Clone)]
pub(super) struct Failed {
    pub(super) why: String,
    /// Whether its sources are elsewhere, so that only the object itself says what changes.
    is_elsewhere: bool,
    /// A digest of what of this repository it may be rendered from.
    reads: Option<String>,
}

impl Failed {
    /// Whether nothing of this repository that could change what it renders has changed, the object itself being the same.
    pub(super) fn stays(&self, before: &Result<Bytes, Self>) -> bool {
        let Err(before) = before else { return false };
        let is_known = self.reads.is_some() || self.is_elsewhere && before.is_elsewhere;
        is_known && self.reads == before.reads
    }
}

/// One side of the change.
pub(super) struct Side {
    pub(super) input: Input,
    pub(super) found: Found,
    /// Other objects that render from this repository, with a digest of what they read of it.
    pub(super) others: BTreeMap<Key, Option<String>>,
}

/// How one side is looked at.
pub(super) struct Look<'l> {
    pub(super) tools: &'l Tools,
    pub(super) tree: Tree<'l>,
    /// The root of the repository there.
    pub(super) root: &'l Path,
    pub(super) observer: &'l dyn Observer,
}

impl Side {
    /// Reads what is named in a tree, and renders its Applications; where it follows, those that they render, too.
    pub(super) fn of(source: &Source, look: &Look<'_>, follows: bool) -> anyhow::Result<Self> {
        let input = source.render(look.tree, false, look.observer)?;
        let stream = input.text.stream().map_err(|error| anyhow!("{}: {error}", input.name))?;
        let objects = stream.objects.objects().iter();
        let mut queue: VecDeque<(Object, String)> = objects.map(|object| (object.clone(), HOME.to_owned())).collect();
        let mut side = Self { input: input.clone(), found: Found::new(), others: BTreeMap::new() };
        while let Some((object, home)) = queue.pop_front() {
            if !Application::is_one(&object) {
                side.notes(&object, look);
                continue;
            }
            let (title, one) = look.one(&object, &home)?;
            if let Some(known) = side.found.get_mut(&title) {
                if !known.is_same(&one) {
                    known.application = Err("it stands there twice, and which one counts is not known".to_owned());
                }
                continue;
            }
            if side.found.len() > MOST {
                bail!("there are more than {MOST} Applications");
            }
            if let (true, Ok(bytes), Ok(app)) = (follows, &one.rendered, &one.application) {
                let stream = Stream::load(bytes).with_context(|| format!("what Application {title} renders"))?;
                let home = app.target.as_deref().unwrap_or(HOME);
                queue.extend(stream.objects.objects().iter().map(|object| (object.clone(), home.to_owned())));
            }
            side.found.insert(title, one);
        }
        Ok(side)
    }

    /// Notes what an object reads that is rendered by somebody else, where that may be of this repository.
    fn notes(&mut self, object: &Object, look: &Look<'_>) {
        let paths = reach::of_object(object);
        if !paths.is_empty() && look.tools.may_be_own(object) {
            self.others.insert(object.key.clone(), reach::digest(look.root, paths));
        }
    }
}

impl Look<'_> {
    /// An Application by its title, rendered. A tool that cannot be started is an error of the run.
    fn one(&self, object: &Object, home: &str) -> anyhow::Result<(String, One)> {
        let application = Application::read(object, home);
        let title = match &application {
            Ok(app) => app.title(),
            Err(_) => object.key.name.clone(),
        };
        let &Self { tools, tree, root, observer } = self;
        let run = Run { tools, tree, root, observer, unseen: RefCell::default() };
        let rendered = match &application {
            Ok(app) => match run.render(app) {
                Err(error) if error.is::<NotStarted>() => return Err(error),
                rendered => rendered.map_err(|error| Failed {
                    is_elsewhere: error.is::<Nowhere>(),
                    why: format!("{error:#}"),
                    reads: run.reads(app),
                }),
            },
            Err(why) => Err(Failed { why: why.clone(), is_elsewhere: false, reads: None }),
        };
        let origins = application.as_ref().map(|app| run.origins(app)).unwrap_or_default();
        let paths = reach::of_object(object);
        let unseen = Unseen::of_all(run.unseen.into_inner());
        Ok((title, One { key: object.key.clone(), application, rendered, origins, paths, unseen }))
    }
}

/// What renders; `base` is the branch that the change is for.
pub(super) fn tools(args: &PlanArgs, base: Option<&str>) -> Tools {
    let listed =
        revisions::git(&["for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes"]).unwrap_or_default();
    let branch = |name: &str| {
        let of_remote = || name.strip_prefix("refs/remotes/")?.split_once('/').map(|(_, branch)| branch.to_owned());
        name.strip_prefix("refs/heads/").map(str::to_owned).or_else(of_remote)
    };
    let named = revisions::git(&["remote"]).unwrap_or_default();
    let bare = |base: &str| {
        let of_remote = named.lines().find_map(|remote| base.strip_prefix(remote)?.strip_prefix('/'));
        of_remote.unwrap_or(base).to_owned()
    };
    Tools {
        helm: args.source.helm.clone(),
        helm_args: args.source.helm_arg.clone(),
        kustomize: args.source.kustomize.clone(),
        remotes: remotes(Path::new(".")),
        own: args.places.repo_source.clone(),
        branches: listed.lines().filter_map(branch).collect(),
        base: base.map(bare),
    }
}
