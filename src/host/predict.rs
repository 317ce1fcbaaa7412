//! Every object that the host is about to write or delete, before and after.
//! Objects whose text is the same on both sides are counted and never read; trees live as long as their pair.

use std::sync::OnceLock;

use super::answered::Answered;
use super::argo::Application;
use super::ask::Write;
use super::locate::{Located, Locator};
use super::pairs::refused_by_schema;
use super::removals::Takers;
use super::reversioned::Reversioned;
use super::server::{Asking, Ours, Recorded, Server};
use super::stream::{self, Sorted};
use super::write::{AfterWrite, sent};
use super::{by_others, carried, controllers, foreign, kinds, kustomized, method, referred, rename, reprint, stored};
use crate::apiserver::apply::KUSTOMIZE;
use crate::compare::Pair;
use crate::hashed::HashSet;
use crate::host::HostKind;
use crate::kinds::Versions;
use crate::model::Finding;
use crate::model::RuleId;
use crate::object::{Inventory, Key, LoadError, Object};
use crate::parallel;
use crate::world::{BaseKind, LiveKind, Unread, World, WriteMethod};

/// How many objects one piece of work looks at.
const FEW: usize = 16;

/// What the host is about to do, as far as it can be told.
#[derive(Debug, Clone, Default)]
pub struct Prediction {
    /// Objects that are made, changed or deleted; what stays as it is has no pair, except a template that an owner
    /// moves to. Changes are not judged yet; an effect that is set already is a fact of the host (a refusal).
    pub pairs: Vec<Pair>,
    /// What deserves a line of its own.
    pub findings: Vec<Finding>,
    /// What a person should know and nobody is held for.
    pub warnings: Vec<String>,
    /// What could not be seen.
    pub doubts: Vec<Unread>,
    /// Changed objects that carry others, which are not in the stream.
    pub carried: Vec<Unread>,
    /// Controllers of Cluster API that run otherwise after the write.
    pub controllers: Vec<Unread>,
    /// Rendered objects that were compared.
    pub compared: usize,
    /// Rendered objects that passed through.
    pub passed: Vec<Key>,
    /// Objects that stay as they are, are sent all the same, and may be refused.
    pub again: Vec<Pair>,
    /// How it was predicted that the host writes; `None` for an old render, where new simply takes the place of old.
    pub way: Option<WriteMethod>,
    /// What was predicted for the other way of writing, where it is not known which one it will be and the two differ, and by the answers
    /// of the API server, where it was asked. The worst of them all counts.
    pub others: Vec<Self>,
    /// The API server's answers beside what was predicted; empty unless this is the prediction by its word.
    pub answered: Vec<Answered>,
}

/// Predicts what the host does with the rendered objects.
///
/// # Errors
/// When a rendered object is not what Kubernetes reads.
pub fn predict(rendered: &Inventory, world: &World) -> Result<Prediction, LoadError> {
    if is_old_render(world) || world.source.kind == LiveKind::None {
        return Run::new(rendered, world, None)?.finish();
    }
    let ways = method::ways(world);
    let mut prediction = Run::new(rendered, world, ways.first().copied())?.finish()?;
    if let Some(way) = ways.get(1) {
        let other = Run::new(rendered, world, Some(*way))?.finish()?;
        if !alike(&prediction, &other) {
            prediction.warnings.push(
                "it is unknown how the host writes: both ways were predicted, and the worse one counts; pass --host or \
                 --method"
                    .to_owned(),
            );
            prediction.others.push(other);
        }
    }
    if let Some(answers) = &world.answers {
        let server = Recorded { answers };
        for way in ways {
            let run = Run { server: &server, ..Run::new(rendered, world, Some(way))? };
            prediction.others.push(run.finish()?);
        }
    }
    Ok(prediction)
}

/// What the host is about to send, so that the API server can be asked about it. Nothing where there is no cluster.
///
/// # Errors
/// When a rendered object is not what Kubernetes reads.
pub fn writes(rendered: &Inventory, world: &World) -> Result<Vec<Write>, LoadError> {
    let mut all = Vec::new();
    if is_old_render(world) || world.source.kind == LiveKind::None {
        return Ok(all);
    }
    for way in method::ways(world) {
        let mut run = Run { server: &Asking, ..Run::new(rendered, world, Some(way))? };
        run.look()?;
        all.extend(run.writes);
    }
    Ok(all)
}

/// Whether the live side is an earlier render and its own base.
fn is_old_render(world: &World) -> bool {
    world.base.kind == BaseKind::Live
        || world.source.kind == LiveKind::OldRender && world.base.kind == BaseKind::Unknown
}

/// Whether two predictions come to the same objects.
fn alike(one: &Prediction, other: &Prediction) -> bool {
    one.doubts == other.doubts
        && one.findings == other.findings
        && one.again.iter().map(|pair| &pair.key).eq(other.again.iter().map(|pair| &pair.key))
        && one.pairs.len() == other.pairs.len()
        && one.pairs.iter().zip(&other.pairs).all(|(one, other)| {
            one.key == other.key
                && one.action == other.action
                && one.effect == other.effect
                && one.predicted == other.predicted
                && one.live == other.live
        })
}

/// One prediction while it is made.
pub(super) struct Run<'a> {
    /// The stream, sorted.
    pub(super) sorted: Sorted<'a>,
    /// Both sides as they were given.
    pub(super) rendered: &'a Inventory,
    /// What was read.
    pub(super) world: &'a World,
    /// Finds objects in the other sides.
    pub(super) locator: Locator<'a>,
    /// The way of writing; `None` where new takes the place of old.
    pub(super) way: Option<WriteMethod>,
    /// The field manager of what is applied, where an object does not say it itself.
    pub(super) manager: &'static str,
    /// What came out so far.
    pub(super) out: Prediction,
    /// The application of Argo CD that writes, where it is known.
    pub(super) argo: Option<Application>,
    /// Owners of Machines whose removed fields could not be seen.
    pub(super) blind: Vec<Key>,
    /// Objects whose namespace is not known.
    pub(super) homeless: Vec<Key>,
    /// Objects of which nobody asked whether they are there.
    pub(super) unasked: Vec<Key>,
    /// How many live objects were brought into the rendered version.
    pub(super) reshaped: usize,
    /// Who says what becomes of each write.
    pub(super) server: &'a dyn Server,
    /// The writes that it is to be asked about first.
    pub(super) writes: Vec<Write>,
    /// What goes with other objects.
    pub(super) takers: OnceLock<Takers<'a>>,
    /// Live objects that are deleted, as far as hooks ask.
    pub(super) removed: HashSet<Key>,
}

impl<'a> Run<'a> {
    /// A run that has not looked at anything yet.
    fn new(rendered: &'a Inventory, world: &'a World, way: Option<WriteMethod>) -> Result<Self, LoadError> {
        let out = Prediction { way, ..Prediction::default() };
        let sorted = stream::sort(rendered, &world.host)?;
        let locator = Locator::new(world);
        let argo = Application::of(world).or_else(|| {
            // What an object says about itself counts where the application is not known, too.
            (world.host.kind == Some(HostKind::Argocd)).then(Application::default)
        });
        let (blind, homeless, unasked) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self {
            sorted,
            rendered,
            world,
            locator,
            way,
            manager: method::manager(world),
            out,
            argo,
            blind,
            homeless,
            unasked,
            reshaped: 0,
            server: &Ours,
            writes: Vec::new(),
            takers: OnceLock::new(),
            removed: HashSet::default(),
        })
    }

    /// Looks at everything, and gives what came out.
    fn finish(mut self) -> Result<Prediction, LoadError> {
        self.look()?;
        Ok(self.out)
    }

    /// Looks at everything.
    fn look(&mut self) -> Result<(), LoadError> {
        let compared = std::mem::take(&mut self.sorted.compared);
        let few: Vec<&[&Object]> = compared.chunks(FEW).collect();
        for part in parallel::pieces(&few, compared.len(), |objects| self.part(objects)) {
            self.take(part?);
        }
        self.removals()?;
        self.hooks()?;
        self.out.passed = std::mem::take(&mut self.sorted.rest);
        referred::add(self)?;
        foreign::add(self)?;
        carried::add(self)?;
        by_others::add(self)?;
        controllers::add(self)?;
        self.refusals();
        rename::pair(&mut self.out, self.world, &self.locator);
        self.say();
        Ok(())
    }

    /// A run of its own over a few objects, which does not touch this one.
    fn part(&self, objects: &[&Object]) -> Result<Self, LoadError> {
        let doubles = objects.iter().filter_map(|object| self.sorted.doubles.get(&object.key).copied()).collect();
        let mut part = Self {
            sorted: Sorted { doubles, ..Sorted::default() },
            rendered: self.rendered,
            world: self.world,
            locator: self.locator,
            way: self.way,
            manager: self.manager,
            out: Prediction { way: self.way, compared: objects.len(), ..Prediction::default() },
            argo: self.argo.clone(),
            blind: Vec::new(),
            homeless: Vec::new(),
            unasked: Vec::new(),
            reshaped: 0,
            server: self.server,
            writes: Vec::new(),
            takers: OnceLock::new(),
            removed: HashSet::default(),
        };
        for object in objects {
            part.write(object)?;
        }
        Ok(part)
    }

    /// Takes over what came out of another run.
    fn take(&mut self, part: Self) {
        let (out, other) = (&mut self.out, part.out);
        out.pairs.extend(other.pairs);
        out.again.extend(other.again);
        out.findings.extend(other.findings);
        out.warnings.extend(other.warnings);
        out.doubts.extend(other.doubts);
        out.answered.extend(other.answered);
        out.compared += other.compared;
        self.blind.extend(part.blind);
        self.homeless.extend(part.homeless);
        self.unasked.extend(part.unasked);
        self.reshaped += part.reshaped;
        self.writes.extend(part.writes);
    }

    /// The versions of the providers as far as they are told, the newest of the others.
    pub(super) fn versions(&self) -> Versions {
        Versions::of(&self.world.told_versions())
    }

    /// Predicts one rendered object.
    pub(super) fn write(&mut self, object: &Object) -> Result<(), LoadError> {
        let live = match self.locator.in_live(&self.world.live, &object.key) {
            Located::Found(live) => live,
            Located::Absent => return self.create(object),
            // What is compared only where it is referred to is not read as a whole.
            Located::Unread if !kinds::is_compared(&object.key) => return self.create(object),
            Located::Unread => {
                self.unasked.push(self.locator.full(&object.key));
                return Ok(());
            }
            Located::NoNamespace => {
                self.homeless.push(object.key.clone());
                return Ok(());
            }
        };
        if self.way.is_none() && super::hook::was_left(live, &self.world.host) {
            self.doubt_left(&live.key);
        }
        let base = self.base_of(&object.key);
        let is_untouched = !self.server.is_asked_about_all() && self.is_untouched(object, live, base);
        if is_untouched && !self.may_be_refused_again(object) && !stored::may_sort(object, live) {
            return Ok(());
        }
        let rendered = sent(reprint::value(object, Some(live))?.into_owned(), &live.key, self.world.host.kind);
        // What is equal to live is shared by now, and the base shares it too.
        base.into_iter().for_each(|base| stream::read_as_one(object, base));
        let Some(mut live_value) = self.live_value(live) else { return Ok(()) };
        self.note_valueless(&live.key, &live_value, &rendered);
        let was = live_value.clone();
        if stored::bring(&mut live_value, &rendered) && !is_untouched {
            self.reshaped += 1;
        }
        if self.applier(Some(&live_value)).manager == KUSTOMIZE
            && ([&live_value, &rendered].into_iter().any(kustomized::rests) || kustomized::is_made_once(&rendered))
        {
            return Ok(());
        }
        let Some((way, rendered)) = self.by_argo(object, &live_value, rendered) else { return Ok(()) };
        let outcome = match way {
            None => AfterWrite::sure(self.after_render(&was, &live_value, rendered.clone())),
            // Between two renders nobody is asked.
            Some(WriteMethod::Recreate) if self.way.is_none() => {
                self.recreate(live, live_value);
                return Ok(());
            }
            Some(way) => match self.attempt(object, live, way, &live_value, &rendered) {
                None => return Ok(()),
                Some(AfterWrite::Recreated) => {
                    self.recreate(live, live_value);
                    return Ok(());
                }
                Some(AfterWrite::Refused { rule, because }) => {
                    self.refuse(object, live, live_value, rendered, rule, because);
                    return Ok(());
                }
                Some(outcome) => outcome,
            },
        };
        let pairs = self.out.pairs.len();
        if let AfterWrite::Holds { predicted, unsure, .. } = outcome {
            if let Some(because) = refused_by_schema(&live.key, &live_value, &predicted, || self.versions()) {
                self.refuse(object, live, live_value, predicted, RuleId::of("host/schema"), because);
                return Ok(());
            }
            self.note_unsure(&live.key, unsure);
            if stored::may_sort(object, live)
                && (predicted != live_value || self.is_unchanged_sent(object, way, &live.key, &live_value, &rendered))
                && let Ok(read) = live.value()
            {
                stored::show_order(&live.key, &object.api_version, &read, &mut live_value);
            }
            let again = self.may_be_refused_again(object).then(|| live_value.clone());
            let written = predicted.clone();
            self.update(object, live.key.clone(), live_value, predicted);
            let sides = Reversioned { was: &was, rendered: &rendered, last: base, way };
            self.doubt_lost(object, &live.key, &sides, &written);
            if let (Some(way), Some(live_value)) = (way, again.filter(|_| self.out.pairs.len() == pairs)) {
                self.write_again(object, way, live.key.clone(), live_value, &rendered);
            }
        }
        self.note_forced(object, pairs)
    }

    /// Whether equal texts already say that nothing is written.
    fn is_untouched(&self, object: &Object, live: &Object, base: Option<&Object>) -> bool {
        match self.way {
            None => stream::same_text(object, live),
            // A custom resource gets the patch between the two manifests, whatever live holds.
            Some(WriteMethod::MergePatch) if !kinds::is_built_in(&object.key) => {
                base.is_some_and(|base| stream::same_text(object, base))
            }
            Some(_) => false,
        }
    }
}
