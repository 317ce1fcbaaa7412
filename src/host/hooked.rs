//! What hooks do to the cluster, which are no part of the release: they take live objects away, make them anew, or make what was not there.
//! Read beside helm `pkg/action/hooks.go` (execHook), v3.22.0 and v4.3.1.

use super::hook::{self, Meeting};
use super::locate::Located;
use super::predict::Run;
use super::removals::deleted;
use super::write::{AfterWrite, Before, Last, NoDefinition, sent, write};
use super::{kinds, reprint};
use crate::compare::Action;
use crate::kinds::Role;
use crate::model::RuleId;
use crate::object::{LoadError, Object, is_deleting};
use crate::providers::kind;
use crate::schema;
use crate::world::{BaseKind, Unread, World, WriteMethod};

/// Rule of what a hook takes away and makes again.
pub(crate) const HOOK_RECREATES: RuleId = RuleId::of("host/hook-recreates");

impl<'a> Run<'a> {
    /// What a hook does to the object of its name.
    pub(super) fn meeting(&self, object: &Object) -> Result<Meeting, LoadError> {
        // Of two renders, the second is that of an upgrade.
        let base = if self.way.is_none() { BaseKind::Release } else { self.world.base.kind };
        let met = hook::meeting(object, &self.world.host, base, self.way)?;
        // How the second of two renders is written is not known.
        Ok(if self.way.is_none() && met == Meeting::Fails { Meeting::None } else { met })
    }

    /// Adds what hooks do to live objects of the same name, and what those make that have none.
    pub(super) fn hooks(&mut self) -> Result<(), LoadError> {
        let removed = self.out.pairs.iter().filter(|pair| pair.action == Action::Delete);
        self.removed = removed.map(|pair| pair.key.clone()).collect();
        let hooks = std::mem::take(&mut self.sorted.hooks);
        let world: &'a World = self.world;
        // Helm 3 shows none to its post-renderer: those of the last revision stand for them.
        let of_record = world.base.hooks.objects().iter().filter(|_| world.host.hides_hooks());
        let of_record = of_record.filter(|hook| kinds::is_compared(&hook.key) || kinds::may_take_others(&hook.key));
        for hook in hooks.into_iter().chain(of_record) {
            let met = self.meeting(hook)?;
            // Where nobody knows who writes it may be kubectl, which knows no hooks.
            let runs = met != Meeting::None || self.way.is_some() && world.host.kind.is_none() && !world.host.no_hooks;
            match met {
                _ if runs && self.is_made(hook) => {
                    self.create(hook)?;
                    self.sorted.rest.retain(|key| *key != hook.key);
                }
                Meeting::None => {}
                Meeting::Replaces if self.waits_for_end(hook) => {}
                Meeting::Replaces if self.remake(hook)? => {}
                Meeting::Replaces => self.give_way(hook, "before it makes the hook of the same name again"),
                Meeting::Removes => self.give_way(hook, "when the hook that it applied over it succeeded"),
                Meeting::Changes if kinds::is_compared(&hook.key) => self.write(hook)?,
                Meeting::Changes => {}
                Meeting::Fails => self.stop_at(hook)?,
            }
        }
        Ok(())
    }

    /// Whether a hook that runs makes an object that was not there: its controllers see it, also where it is deleted when it succeeded.
    fn is_made(&self, hook: &Object) -> bool {
        let key = self.locator.full(&hook.key);
        kinds::is_compared(&hook.key)
            && !self.is_written(&hook.key)
            && matches!(self.locator.in_live(&self.world.live, &hook.key), Located::Absent)
            && !self.out.pairs.iter().any(|pair| pair.key == key)
    }

    /// Adds what becomes of a live health check that a hook makes anew: nothing feels that it goes, and what comes acts at once.
    fn remake(&mut self, hook: &Object) -> Result<bool, LoadError> {
        if kind(&hook.key).role != Role::HealthCheck {
            return Ok(false);
        }
        let Some(live) = self.live_of(hook) else { return Ok(true) };
        let rendered = sent(reprint::value(hook, None)?.into_owned(), &live.key, self.world.host.kind);
        let Some(mut value) = self.live_value(live) else { return Ok(true) };
        schema::reshape(&mut value, &rendered);
        let before =
            Before { key: &live.key, live: &value, last: Last::Unknown, says_owners: false, definition: &NoDefinition };
        if let AfterWrite::Holds { predicted, .. } = write(WriteMethod::Replace, &before, &rendered, self.applier(None))
        {
            self.out.pairs.retain(|pair| pair.key != live.key);
            self.update(hook, live.key.clone(), value, predicted);
        }
        Ok(true)
    }

    /// Adds the pair of a live object that a hook of the same name deletes.
    fn give_way(&mut self, hook: &Object, when: &str) {
        let because = format!("the host deletes the live object {when}");
        if kinds::may_take_others(&hook.key) {
            self.take_others(hook, HOOK_RECREATES, &format!("it is deleted {when}"));
            return;
        }
        let Some(live) = self.live_of(hook) else { return };
        if self.removed.contains(&live.key) {
            // It goes with the release or with another hook, and this one makes it again before or after that.
            for pair in self.out.pairs.iter_mut().filter(|pair| pair.key == live.key && pair.rule.is_empty()) {
                (pair.rule, pair.because) = (HOOK_RECREATES.into(), because.clone());
            }
            return;
        }
        // A template that is made anew at once as it was reaches nothing.
        if kind(&hook.key).role == Role::Template && same_spec(hook, live) {
            return;
        }
        let Some(value) = self.live_value(live) else { return };
        self.removed.insert(live.key.clone());
        let mut pair = deleted(live, value);
        pair.rule = HOOK_RECREATES.into();
        pair.because = because;
        self.out.pairs.push(pair);
    }

    /// Whether a hook's live object is being deleted already, which is doubt: to delete it once more ends nothing sooner, and the API server
    /// refuses the hook as long as a finalizer keeps the object.
    fn waits_for_end(&mut self, hook: &Object) -> bool {
        let world: &'a World = self.world;
        let Located::Found(live) = self.locator.in_live(&world.live, &hook.key) else { return false };
        let is_ending = kinds::is_compared(&live.key) && live.value().is_ok_and(|value| is_deleting(&value));
        if is_ending {
            self.doubt_end(live, "its hook is made");
        }
        is_ending
    }

    /// Adds the doubt whether an object that is being deleted is gone in time for the one that takes its place.
    pub(super) fn doubt_end(&mut self, live: &Object, when: &str) {
        self.out.doubts.push(Unread {
            what: format!("whether {} is gone when {when}", live.key),
            why: "it is being deleted, and another one of that name can be made only once it is gone".to_owned(),
            remedy: "wait until it is gone".to_owned(),
            keys: vec![live.key.clone()],
        });
    }

    /// Adds the refusal of a hook that is there already and that nothing deletes first.
    fn stop_at(&mut self, hook: &Object) -> Result<(), LoadError> {
        if !kinds::is_compared(&hook.key) {
            return Ok(());
        }
        let Some(live) = self.live_of(hook) else { return Ok(()) };
        let Some(before) = self.live_value(live) else { return Ok(()) };
        if is_deleting(&before) {
            self.doubt_end(live, "its hook is made");
            return Ok(());
        }
        let because =
            "the hook is there already and its delete policy keeps it, so Helm cannot create it and stops".to_owned();
        self.refuse(hook, live, before, hook.value()?.into_owned(), RuleId::of("host/hook-exists"), because);
        Ok(())
    }
}

/// Whether a hook makes a live object as it is, as far as its `spec` goes.
fn same_spec(hook: &Object, live: &Object) -> bool {
    match (hook.value(), live.value()) {
        (Ok(hook), Ok(live)) => hook.get("spec") == live.get("spec"),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
