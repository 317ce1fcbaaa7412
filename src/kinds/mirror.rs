//! How a controller decides which Machines are out of date. A provider implements `outdated` and `derived` for one Machine of its
//! control plane, beside the Go file that decides; the rest has the shape that all control planes share.

use jiff::Timestamp;

use super::fields::{number, plain_number};
use super::standing;
use super::versions::Versions;
use crate::alike::Kept;
use crate::model::{Basis, Cause, Effect, Hold, Member, RuleId, Standing, Strategy, Unit};
use crate::object::{Key, Path, View};
use crate::tree::Value;

/// What a mirror is asked about an owner: both sides in the superset form, with defaults.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The live objects.
    pub live: &'a dyn View,
    /// The Machines of the owner that were read, with what they were made of; for control planes.
    pub members: &'a dyn Fn() -> Vec<Member>,
    /// Whether what a reference means was looked for, so that its absence is known.
    pub was_read: &'a dyn Fn(&Value) -> bool,
    /// The owner.
    pub key: &'a Key,
    /// The `apiVersion` in which it is written; empty where it is not.
    pub api_version: &'a str,
    /// The owner before the write.
    pub old: &'a Value,
    /// The owner after it.
    pub new: &'a Value,
    /// The providers' versions.
    pub versions: &'a Versions,
    /// The clock.
    pub now: Timestamp,
    /// What was compared already, for other owners.
    pub compared: &'a Compared,
}

/// Configs that were compared with what an owner says, each pair once in a run: in a fleet most owners and Machines say the same, in one
/// memory.
#[derive(Debug, Default)]
pub struct Compared(Kept<(usize, usize, String), Beside>);

/// What came of a comparison, with both that were compared: as long as they are kept no other value gets their memory.
#[derive(Debug, Clone)]
struct Beside {
    _both: (Value, Value),
    causes: Vec<Cause>,
}

impl Compared {
    /// What differs between a config and what an owner of a version says, found where it was not yet. `find` may use nothing but the three.
    pub(crate) fn get(
        &self,
        versions: &Versions,
        (config, owner, version): (&Value, &Value, &str),
        find: impl FnOnce() -> Vec<Cause>,
    ) -> Vec<Cause> {
        let (Value::Object(one), Value::Object(other)) = (config, owner) else { return find() };
        let made = || Beside { _both: (config.clone(), owner.clone()), causes: find() };
        self.0.get(versions.case(), &(one.memory(), other.memory(), version.to_owned()), made).causes
    }
}

impl std::fmt::Debug for Case<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Case").field("key", &self.key).finish_non_exhaustive()
    }
}

/// The ids of what a mirror says.
#[derive(Debug, Clone, Copy)]
pub struct MirrorRules {
    /// Machines that are made later get it.
    pub later: RuleId,
    /// A time after which Machines are replaced.
    pub after: Option<RuleId>,
    /// A part of the configuration that no rule names and that makes no Machine out of date; `None` where there is no such part.
    pub equal: Option<RuleId>,
    /// What is said of later Machines instead of the sentence of that id.
    pub later_says: Option<&'static str>,
}

/// A doubt that the mirror has about a field.
#[derive(Debug, Clone)]
pub struct Doubt {
    /// What it may do.
    pub effect: Effect,
    /// Under which id.
    pub rule: RuleId,
}

/// Why one Machine after the other is out of date beside one owner.
pub(crate) type Comparison<'c> = Box<dyn FnMut(&'c Member) -> Vec<Cause> + 'c>;

/// One controller's decision.
pub trait Mirror: Sync {
    /// The ids under which it speaks.
    fn rules(&self) -> &'static MirrorRules;

    /// Fills in what webhooks and the controller fill in.
    fn fill_in(&self, _owner: &mut Value, _versions: &Versions) {}

    /// Why one Machine is out of date, in the controller's own order; empty where it is not.
    fn outdated(&self, member: &Member, owner: &Value, versions: &Versions, now: Timestamp) -> Vec<Cause>;

    /// Why each Machine of an owner is out of date, asked for one after the other: what several of them share need not be looked at for
    /// each.
    fn against<'c>(
        &'c self,
        owner: &'c Value,
        versions: &'c Versions,
        now: Timestamp,
        _compared: &'c Compared,
    ) -> Comparison<'c> {
        Box::new(move |member| self.outdated(member, owner, versions, now))
    }

    /// Where an owner says what its Machines are compared with, as JSON pointers: what stands at no such place makes none of them out
    /// of date, whatever it says.
    fn compared(&self) -> &'static [&'static str] {
        &[""]
    }

    /// The Machines that the owner would have made, and how many of each are alike.
    fn derived(&self, owner: &Value, versions: &Versions, now: Timestamp) -> Vec<(Member, u64)>;

    /// A Machine that may be in the place of any of those by now, where it was made otherwise than they were.
    fn replacement(&self, _owner: &Value, _versions: &Versions, _now: Timestamp) -> Option<Member> {
        None
    }

    /// What Machines made of the old spec are out of date for when the new one is wanted.
    fn of_specs(&self, old: &Value, new: &Value, versions: &Versions, now: Timestamp) -> Vec<Cause> {
        self.derived(old, versions, now)
            .iter()
            .flat_map(|(member, _)| self.outdated(member, new, versions, now))
            .collect()
    }

    /// What a Machine made by an owner is out of date for at once.
    fn perpetual(&self, _owner: &Value, _versions: &Versions, _now: Timestamp) -> Vec<Cause> {
        Vec::new()
    }

    /// The Machines of an owner, real where they were read, derived from the old spec otherwise.
    fn units(&self, case: &Case<'_>) -> (Basis, Vec<Unit>) {
        let Case { old, new, versions, now, compared, .. } = *case;
        let mut members = (case.members)();
        members.retain(|member| !member.is_deleting());
        if members.is_empty() && !has_no_machines(old) {
            let alike = self.derived(old, versions, now).into_iter().map(|(member, count)| Unit {
                names: Vec::new(),
                count,
                before: Vec::new(),
                after: self.outdated(&member, new, versions, now),
            });
            return (Basis::Specs, self.or_replaced(alike.collect(), case));
        }
        fill_unread(&mut members, case.was_read, || self.derived(old, versions, now));
        let says_same = self.compared().iter().all(|place| match (old.pointer(place), new.pointer(place)) {
            (Some(old), Some(new)) => old.is_same(new),
            (old, new) => old.is_none() && new.is_none(),
        });
        let against = |owner| self.against(owner, versions, now, compared);
        let (mut before_of, mut after_of) = (against(old), against(new));
        let units = members.iter().map(|member| {
            let after = after_of(member);
            let before = match self.shown_by(member, old, case.api_version, versions) {
                Some(shown) => self.outdated(member, &shown, versions, now),
                None if says_same => after.clone(),
                None => before_of(member),
            };
            let names = Some(member.name.clone()).filter(|name| !name.is_empty()).into_iter().collect();
            Unit { names, count: 1, before, after }
        });
        (Basis::Machines, units.collect())
    }

    /// Machines that nobody read, as the first ones or as those that have taken their places: whichever is out of date.
    fn or_replaced(&self, mut units: Vec<Unit>, case: &Case<'_>) -> Vec<Unit> {
        if units.iter().any(|unit| unit.after.is_empty())
            && let Some(member) = self.replacement(case.old, case.versions, case.now)
        {
            let after = self.outdated(&member, case.new, case.versions, case.now);
            units.iter_mut().filter(|unit| unit.after.is_empty()).for_each(|unit| unit.after.clone_from(&after));
        }
        units
    }

    /// What keeps the Machines of an owner as they are by its own spec, beside the pause that all owners share.
    fn holds(&self, _key: &Key, _owner: &Value) -> Vec<Hold> {
        Vec::new()
    }

    /// The owner before the write as this Machine shows it, where the owner's own API version hides something of it.
    fn shown_by(&self, _member: &Member, _owner: &Value, _api_version: &str, _versions: &Versions) -> Option<Value> {
        None
    }

    /// The template without which the controller stops before anything is compared.
    fn needed<'o>(&self, _owner: &'o Value) -> Option<&'o Value> {
        None
    }

    /// A field about which the mirror cannot answer from what was read.
    fn doubt(&self, _path: &Path, _basis: Basis, _new: &Value) -> Option<Doubt> {
        None
    }

    /// Where the owner says a time after which Machines are replaced.
    fn clock(&self) -> &'static [&'static str] {
        &["spec", "rollout", "after"]
    }

    /// Whether a field has no say, because another one has taken its place.
    fn is_overruled(&self, _path: &Path, _old: &Value, _new: &Value) -> bool {
        false
    }

    /// Whether a field of the spec is a part of the configuration of Machines.
    fn is_config(&self, _field: &str) -> bool {
        false
    }

    /// The room that the strategy gives: Machines above and below the wanted number.
    fn room(&self, owner: &Value, _wanted: u64) -> (u64, u64) {
        let surge = owner.pointer("/spec/rollout/strategy/rollingUpdate/maxSurge").map_or(1, plain_number);
        (surge, u64::from(surge == 0))
    }

    /// What happens when Machines are replaced, in order; `each` is "all 3 outdated Machines", `there` how many there are.
    fn steps(&self, each: &str, counts: (u64, u64), (surge, _): (u64, u64)) -> Vec<String> {
        one_by_one(each, counts, surge)
    }

    /// What a Machine itself carries of a place of its owner, beside its bootstrap config.
    fn carried(&self, _member: &Member, _path: &Path) -> Option<Value> {
        None
    }

    /// What its controller does with Machines that are out of date.
    fn strategy(&self, owner: &Value, wanted: u64) -> Strategy {
        Strategy::OneByOne { surge: self.room(owner, wanted).0, sick_first: true, is_late: false }
    }

    /// The Machines of an owner as its loop sees them, those that are being deleted too.
    fn standing(&self, case: &Case<'_>) -> Vec<Standing> {
        let stands = |member: &Member| standing::of_control_plane(&member.name, &member.machine, self.preflight());
        (case.members)().iter().map(stands).collect()
    }

    /// The conditions that each Machine of a control plane must have before another one is made or deleted.
    fn preflight(&self) -> &'static [&'static str] {
        &[]
    }

    /// Where the owner says how long the deletion of one of its Machines may take.
    fn deletion<'o>(&self, owner: &'o Value) -> Option<&'o Value> {
        owner.pointer("/spec/machineTemplate/spec/deletion")
    }

    /// The names of the Machines of an owner, where they were read.
    fn machine_names(&self, _live: &dyn View, _key: &Key, _versions: &Versions) -> Option<Vec<String>> {
        None
    }
}

/// The steps of a control plane that replaces one Machine at a time; `there` of those that it wants are there.
#[must_use]
pub(crate) fn one_by_one(each: &str, (there, wanted): (u64, u64), surge: u64) -> Vec<String> {
    let leave = "moves etcd leadership off 1 outdated Machine, drains it and deletes it".to_owned();
    let mut out = if surge > 0 {
        // What is missing is made first, in the new form (`updateControlPlane` scales up below replicas and surge).
        let most = wanted.saturating_add(surge);
        let make = match most.saturating_sub(there) {
            0 => None,
            1 => Some(format!("adds 1 Machine, so that {most} run, and waits until it is healthy")),
            more => Some(format!(
                "adds {more} Machines one by one, so that {most} run, and waits each time until the new one is healthy"
            )),
        };
        make.into_iter().chain([leave]).collect()
    } else {
        let least = wanted.saturating_sub(1);
        vec![leave, format!("makes 1 Machine in its place and waits until it is healthy; {least} run meanwhile")]
    };
    let are = are(each);
    out.push(format!("repeats, one Machine at a time, until {each} {are} replaced"));
    out
}

/// The verb for what [`Mirror::steps`] calls all Machines: `the outdated Machine`, `all 3 outdated Machines`.
#[must_use]
pub(crate) fn are(each: &str) -> &'static str {
    if each.ends_with('s') { "are" } else { "is" }
}

/// Whether the controller said, for this very spec, that there are no Machines yet.
#[must_use]
pub(crate) fn has_no_machines(owner: &Value) -> bool {
    let observed = number(owner, "/status/observedGeneration");
    number(owner, "/status/replicas") == Some(0)
        && observed.is_some()
        && observed == number(owner, "/metadata/generation")
}

/// Where a bootstrap config or infrastructure Machine was not read, takes what the old spec would have made: an object that
/// is known to be missing counts as matching, one that nobody looked for does not, whatever its siblings show.
fn fill_unread(
    members: &mut [Member],
    was_read: &dyn Fn(&Value) -> bool,
    derived: impl FnOnce() -> Vec<(Member, u64)>,
) {
    if members.iter().all(|member| member.config.is_some() && member.infra.is_some()) {
        return;
    }
    let Some((last, _)) = derived().pop() else { return };
    for member in members {
        let config = member.machine.pointer("/spec/bootstrap/configRef").cloned().unwrap_or_default();
        if member.config.is_none() && !was_read(&config) {
            member.config.clone_from(&last.config);
        }
        let infra = member.machine.pointer("/spec/infrastructureRef").cloned().unwrap_or_default();
        if member.infra.is_none() && !was_read(&infra) {
            member.infra.clone_from(&last.infra);
        }
    }
}
