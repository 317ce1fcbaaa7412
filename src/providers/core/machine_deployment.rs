//! Mirror of the MachineDeployment controller: which MachineSets are old, and why.
//! Read beside `core/reconcilers/machinedeployment/mdutil/util.go` (MachineTemplateUpToDate, FindNewAndOldMachineSets)
//! of Cluster API 1.14; up to 1.13 it is `internal/controllers/machinedeployment/mdutil/util.go`.

use std::cmp::Reverse;

use jiff::{SignedDuration, Timestamp};

use super::changes::{AFTER_INCLUSIVE, AFTER_KEEPS_EQUAL, IN_PLACE_FIELDS, REFERENCES_WITHOUT_NAMESPACE, V1BETA2};
use crate::kinds::Versions;
use crate::kinds::contract::{CORE, MACHINE, MACHINE_SET};
use crate::kinds::diff;
use crate::kinds::diff::Style;
use crate::kinds::fields;
use crate::kinds::fields::number;
use crate::kinds::fields::text;
use crate::kinds::mirror::{Case, Mirror, MirrorRules, are, has_no_machines};
use crate::kinds::standing;
use crate::model::RuleId;
use crate::model::{Basis, Cause, DeletionOrder, Hold, Member, Standing, Strategy, Unit, Why, plural};
use crate::object::{Key, Object, Path, Presence, View, is_deleting};
use crate::providers::kubeadm::mirror::{derived_creation, with_v};
use crate::providers::machines;
use crate::tree::{Value, json};

/// What the Go types of a Machine template keep apart.
const STYLE: Style = Style { keep_empty: &[], drop_zero: &[], keep_blank: &["dataSecretName"] };

/// What the Go types of v1beta1 up to 1.10 keep apart: a reference, a failure domain and the id of a provider are pointers there.
const OLD_STYLE: Style = Style {
    keep_empty: &["configRef"],
    drop_zero: &[],
    keep_blank: &["dataSecretName", "failureDomain", "providerID"],
};

/// As finely as the API server notes times.
const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// Template fields that are carried to Machines in place, so that they never make a MachineSet old.
const IN_PLACE: &[&str] = &["clusterName", "providerID", "minReadySeconds", "readinessGates", "deletion", "taints"];

/// A MachineSet with its Machines.
#[derive(Clone)]
pub(crate) struct Set {
    /// Its name; empty where it is derived.
    pub name: String,
    /// The MachineSet in the superset form.
    pub value: Value,
    /// Names of its Machines that are not being deleted, where they could be read.
    pub machines: Vec<String>,
    /// How many Machines it has.
    pub count: u64,
}

impl std::fmt::Debug for Set {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, machines, count, .. } = self;
        let mut shown = f.debug_struct("Set");
        shown.field("name", name).field("machines", machines).field("count", count).finish_non_exhaustive()
    }
}

/// The mirror of MachineDeployments.
#[derive(Debug)]
pub(crate) struct Workers;

static RULES: MirrorRules = MirrorRules {
    later: RuleId::of("md/on-delete"),
    after: Some(RuleId::of("md/rollout-after")),
    equal: None,
    later_says: Some("no Machine that exists is out of date by this; the next new Machine is made with it"),
};

impl Mirror for Workers {
    fn rules(&self) -> &'static MirrorRules {
        &RULES
    }

    fn fill_in(&self, owner: &mut Value, _versions: &Versions) {
        default(owner);
    }

    /// Machines are judged by their MachineSet, never one by one.
    fn outdated(&self, _member: &Member, _owner: &Value, _versions: &Versions, _now: Timestamp) -> Vec<Cause> {
        Vec::new()
    }

    fn derived(&self, _owner: &Value, _versions: &Versions, _now: Timestamp) -> Vec<(Member, u64)> {
        Vec::new()
    }

    fn of_specs(&self, old: &Value, new: &Value, versions: &Versions, now: Timestamp) -> Vec<Cause> {
        outdated(&derived(old, now), new, versions, now).into_iter().flatten().collect()
    }

    fn units(&self, case: &Case<'_>) -> (Basis, Vec<Unit>) {
        let Case { live, key, old, new, versions, now, .. } = *case;
        let real = sets(live, key, versions);
        let (basis, sets) = match real.is_empty() && !has_no_machines(old) {
            true => (Basis::Specs, derived(old, now)),
            false => (Basis::Machines, real),
        };
        let before = match basis {
            Basis::Specs => vec![Vec::new(); sets.len()],
            Basis::Machines => outdated(&sets, old, versions, now),
        };
        let after = outdated(&sets, new, versions, now);
        let units = sets.into_iter().zip(before.into_iter().zip(after)).map(|(set, (before, after))| Unit {
            names: set.machines,
            count: set.count,
            before,
            after,
        });
        (basis, units.collect())
    }

    fn holds(&self, key: &Key, owner: &Value) -> Vec<Hold> {
        let mut out = Vec::new();
        if owner.pointer("/spec/paused") == Some(&Value::Bool(true)) {
            out.push(Hold {
                why: Why::RolloutPaused,
                places: vec![(key.clone(), Some(Path::root().key("spec").key("paused")))],
                says: "it is paused".to_owned(),
                over: "it is no longer paused".to_owned(),
            });
        }
        if text(owner, "/spec/rollout/strategy/type") == Some("OnDelete") {
            out.push(Hold {
                why: Why::OnDelete,
                places: vec![(key.clone(), Some(Path::root().key("spec").key("rollout").key("strategy").key("type")))],
                says: "the strategy is OnDelete".to_owned(),
                over: "the strategy is no longer OnDelete or somebody deletes a Machine".to_owned(),
            });
        }
        out
    }

    fn room(&self, owner: &Value, wanted: u64) -> (u64, u64) {
        let told = |key: &str| owner.pointer(&format!("/spec/rollout/strategy/rollingUpdate/{key}"));
        let surge = told("maxSurge").map_or(1, |value| fields::scaled(value, wanted, true).unwrap_or(0));
        let unavailable = told("maxUnavailable").map_or(0, |value| fields::scaled(value, wanted, false).unwrap_or(0));
        // Both zero would stand still, so the controller takes one Machine away at a time.
        if surge == 0 && unavailable == 0 { (0, 1) } else { (surge, unavailable) }
    }

    fn steps(&self, each: &str, (_, wanted): (u64, u64), (surge, unavailable): (u64, u64)) -> Vec<String> {
        let mut out = vec!["makes a new MachineSet and empties the old ones".to_owned()];
        if surge > 0 {
            out.push(format!(
                "adds up to {} first, so that at most {} run",
                plural(surge, "new Machine"),
                wanted + surge
            ));
        }
        let least = wanted.saturating_sub(unavailable);
        out.push(format!("drains and deletes old Machines as long as {least} of {wanted} stay available"));
        out.push(format!("repeats until {each} {} replaced", are(each)));
        out
    }

    /// `machinedeployment_controller.go` reconcile; the order is that of `machineset_deletion_order.go` getDeletePriorityFunc.
    fn strategy(&self, owner: &Value, wanted: u64) -> Strategy {
        let order = match text(owner, "/spec/deletion/order") {
            Some("Newest") => DeletionOrder::Newest,
            Some("Oldest") => DeletionOrder::Oldest,
            _ => DeletionOrder::Random,
        };
        if text(owner, "/spec/rollout/strategy/type") == Some("OnDelete") {
            return Strategy::OnDelete { order };
        }
        let (surge, unavailable) = self.room(owner, wanted);
        Strategy::Rolling { surge, unavailable: unavailable.min(wanted), order }
    }

    fn standing(&self, case: &Case<'_>) -> Vec<Standing> {
        let sets = case.live.owned_by(case.key).filter(|object| object.key.kind == MACHINE_SET);
        let of_set = |set: &Object| {
            let born = set.value().map_or(0, |set| standing::born(&set));
            let own = case.live.owned_by(&set.key).filter(|object| object.key.kind == MACHINE);
            let stands = |object: &Object| {
                let machine = object.value().ok()?;
                Some(Standing { set: set.key.name.clone(), set_born: born, ..standing::of(&object.key.name, &machine) })
            };
            own.filter_map(stands).collect::<Vec<_>>()
        };
        sets.flat_map(of_set).collect()
    }

    fn deletion<'o>(&self, owner: &'o Value) -> Option<&'o Value> {
        owner.pointer("/spec/template/spec/deletion")
    }

    fn machine_names(&self, live: &dyn View, key: &Key, versions: &Versions) -> Option<Vec<String>> {
        Some(sets(live, key, versions).into_iter().flat_map(|set| set.machines).collect())
    }
}

/// The reasons why a MachineSet does not match its MachineDeployment (MachineTemplateUpToDate).
#[must_use]
fn template_differs(set: &Value, owner: &Value, versions: &Versions) -> Vec<Cause> {
    let said =
        |object: &Value, key: &str| object.pointer("/spec/template/spec").and_then(|spec| spec.get(key)).cloned();
    let is_same = |key: &str| said(set, key) == said(owner, key);
    let rollout_fields = |object: &Value| {
        let mut spec = object.pointer("/spec/template/spec").cloned().unwrap_or_else(|| json!({}));
        if let Some(map) = spec.as_object_mut() {
            // Up to 1.8 all is compared that is not carried to Machines, and these two were not.
            let is_carried = |key: &&&str| {
                !matches!(**key, "clusterName" | "providerID") || is_same(key) || versions.has(&IN_PLACE_FIELDS)
            };
            IN_PLACE.iter().filter(is_carried).for_each(|key| drop(map.remove(key)));
            // 1.9 stopped to compare the namespace of references, 1.11 knows nothing but group, kind and name.
            const OTHERS: [&str; 3] = ["uid", "resourceVersion", "fieldPath"];
            for pointer in ["/bootstrap/configRef", "/infrastructureRef"] {
                let Some(reference) = spec.pointer_mut(pointer).and_then(Value::as_object_mut) else { continue };
                if OTHERS.iter().any(|key| reference.contains_key(key)) && versions.has(&V1BETA2) {
                    OTHERS.iter().for_each(|key| drop(reference.remove(key)));
                }
                if reference.contains_key("namespace")
                    && (versions.has(&V1BETA2) || versions.has(&REFERENCES_WITHOUT_NAMESPACE))
                {
                    reference.remove("namespace");
                }
            }
        }
        let style = if versions.has(&V1BETA2) { STYLE } else { OLD_STYLE };
        diff::prune(&mut spec, style);
        spec
    };
    let (have, want) = (rollout_fields(set), rollout_fields(owner));
    let at = Path::root().key("spec").key("template").key("spec");
    diff::places(Some(&have), Some(&want), &at)
        .into_iter()
        .filter_map(|path| {
            let below = path.to_string();
            let rule = match below.strip_prefix("spec.template.spec.")?.split('.').next()? {
                "version" => RuleId::of("md/version"),
                "bootstrap" => RuleId::of("md/bootstrap"),
                "infrastructureRef" => RuleId::of("md/infrastructure-template"),
                "failureDomain" => RuleId::of("md/failure-domain"),
                _ if versions.has(&IN_PLACE_FIELDS) => return None,
                _ => RuleId::of("md/template"),
            };
            let word = |value: &Value| path_text(value, &path);
            Some(Cause { rule, detail: format!("{} to {}", word(set), word(owner)), path })
        })
        .collect()
}

/// The text at a path, or a dash.
fn path_text(value: &Value, path: &Path) -> String {
    match path.get(value) {
        Some(Value::String(text)) => text.to_string(),
        Some(value) => value.to_string(),
        None => "nothing".to_owned(),
    }
}

/// The reasons why each MachineSet is old, in the given order; none for the one that is kept (FindNewAndOldMachineSets).
#[must_use]
pub(crate) fn outdated(sets: &[Set], owner: &Value, versions: &Versions, now: Timestamp) -> Vec<Vec<Cause>> {
    let mut causes: Vec<Vec<Cause>> = sets.iter().map(|set| template_differs(&set.value, owner, versions)).collect();
    let mut candidates: Vec<usize> = (0..sets.len()).filter(|place| causes[*place].is_empty()).collect();
    candidates.sort_by_key(|place| (Reverse(number(&sets[*place].value, "/spec/replicas")), sets[*place].name.clone()));
    let after = text(owner, "/spec/rollout/after").and_then(|stamp| stamp.parse::<Timestamp>().ok());
    // Up to 1.7 the time itself is not over yet, and a MachineSet made in the same second is kept.
    let due = after.filter(|after| if versions.has(&AFTER_INCLUSIVE) { now >= *after } else { now > *after });
    let keeps_equal = || versions.has(&AFTER_KEEPS_EQUAL) || !versions.has(&AFTER_INCLUSIVE);
    let kept = candidates.iter().copied().find(|place| match due {
        None => true,
        Some(after) => {
            let created = text(&sets[*place].value, "/metadata/creationTimestamp");
            // In 1.8 and 1.9 a MachineSet made in the same second is old, since 1.10 it is kept again.
            created
                .and_then(|stamp| stamp.parse::<Timestamp>().ok())
                .is_none_or(|created| if keeps_equal() { created >= after } else { created > after })
        }
    });
    for place in candidates.into_iter().filter(|place| Some(*place) != kept) {
        causes[place].push(match due {
            Some(after) => {
                Cause::at(RuleId::of("md/rollout-after"), &["spec", "rollout", "after"], format!("{after} is over"))
            }
            None => {
                Cause::at(RuleId::of("md/duplicate-set"), &["spec", "template"], "another MachineSet matches as well")
            }
        });
    }
    causes
}

/// The live MachineSets of a MachineDeployment.
#[must_use]
pub(crate) fn sets(live: &dyn View, owner: &Key, versions: &Versions) -> Vec<Set> {
    let own = live.owned_by(owner).filter(|object| object.key.kind == MACHINE_SET);
    own.filter_map(|object| Some(set(live, &object.key, machines::read(object, versions)?))).collect()
}

/// A live MachineSet with its Machines.
#[must_use]
pub(crate) fn set(live: &dyn View, key: &Key, value: Value) -> Set {
    let own: Vec<&Object> = live.owned_by(key).filter(|object| object.key.kind == MACHINE).collect();
    let stays = |object: &&&Object| object.value().is_ok_and(|machine| !is_deleting(&machine));
    let names: Vec<String> = own.iter().filter(stays).map(|object| object.key.name.clone()).collect();
    // Where not one of its Machines was read, the status says how many there are; where it says nothing, there are as many as
    // are wanted, unless the Machines of the namespace were listed.
    let count = if own.is_empty() {
        let of_namespace = Key::of(CORE, MACHINE, key.namespace.clone(), key.name.as_str());
        let are_listed = || matches!(live.get(&of_namespace), Presence::Absent);
        let told = number(&value, "/status/replicas");
        let wanted = || number(&value, "/spec/replicas").filter(|_| !are_listed());
        told.or_else(wanted).unwrap_or(0)
    } else {
        names.len() as u64
    };
    Set { name: key.name.clone(), value, machines: names, count }
}

/// The MachineSet that the owner would have made.
#[must_use]
pub(crate) fn derived(owner: &Value, now: Timestamp) -> Vec<Set> {
    let template = owner.pointer("/spec/template").cloned().unwrap_or_default();
    let count = number(owner, "/spec/replicas").unwrap_or(1);
    // One second later than the time that it was made after: some versions replace one that was made in the same second.
    let made = derived_creation(owner, now);
    let later = made.parse::<Timestamp>().ok().and_then(|made| made.checked_add(SECOND).ok());
    let value = json!({
        "metadata": {"creationTimestamp": later.map_or(made, |later| later.to_string())},
        "spec": {"replicas": count, "template": template},
    });
    vec![Set { name: String::new(), value, machines: Vec::new(), count }]
}

/// The owner with what the webhook fills in (`machinedeployment.go` Default).
fn default(owner: &mut Value) {
    with_v(owner.pointer_mut("/spec/template/spec/version"));
}
