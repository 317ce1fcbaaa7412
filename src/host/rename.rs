//! Templates that get a new name with each new content: the old and the new one are paired through the reference that
//! an owner moves, so that a person sees what changes inside, and a new name for equal content is not overlooked.

use super::locate::Locator;
use super::pairs::blank;
use super::predict::Prediction;
use super::{kinds, referred};
use crate::compare::{Action, Pair, changes, without_identity};
use crate::hashed::{HashMap, HashSet};
use crate::kinds::Role;
use crate::kinds::contract::CLUSTER_CLASS;
use crate::kinds::fields;
use crate::kinds::references::{Reference, references};
use crate::model::Finding;
use crate::object::{Inventory, Key, is_deleting, may_be_equal};
use crate::parallel;
use crate::providers::{kind, kind_of};
use crate::schema;
use crate::tree::Value;
use crate::world::World;

/// A reference of one owner that moves from one object to another of the same kind.
struct Move {
    /// Kind of both.
    kind: String,
    /// Group that the new reference names, where it does.
    group: Option<String>,
    /// Namespace of both.
    namespace: Option<String>,
    /// Name before.
    from: String,
    /// Name after.
    to: String,
}

/// Pairs renamed templates, and says which removed templates are still in use.
pub(super) fn pair(out: &mut Prediction, world: &World, locator: &Locator<'_>) {
    let mut queue: Vec<Move> = parallel::map(&out.pairs, moves).into_iter().flatten().collect();
    let mut places = places(&out.pairs);
    let mut done: HashSet<(Key, String)> = HashSet::default();
    while let Some(moved) = queue.pop() {
        let Some(place) = place_of(out, &mut places, world, &moved) else { continue };
        let key = out.pairs[place].key.clone();
        if done.contains(&(key.clone(), moved.from.clone())) || out.pairs[place].renamed_from.is_some() {
            continue;
        }
        let old_key = key.with_name(moved.from.clone());
        if join(out, world, locator, place, &old_key) {
            queue.extend(moves(&out.pairs[place]));
            done.insert((key, moved.from));
        }
    }
    let mut consumed: HashSet<Key> = done.into_iter().map(|(key, from)| key.with_name(from)).collect();
    let missed = still_in_use(out, world);
    // The old one is shown in its successor, unless somebody else cannot do without it, or it takes its hosts along.
    consumed.retain(|key| !missed.contains(key) && kind(key).role != Role::InfraPool);
    let is_shown = |pair: &Pair| pair.action == Action::Delete && consumed.contains(&pair.key);
    let gone: HashSet<Key> = out.pairs.iter().filter(|pair| is_shown(pair)).map(|pair| pair.key.clone()).collect();
    out.pairs.retain(|pair| !is_shown(pair));
    for pair in &mut out.pairs {
        pair.takes_over = pair.predecessor().is_some_and(|old| gone.contains(&old));
    }
}

/// The references that an owner moves, or that differ between an old template and its successor.
fn moves(owner: &Pair) -> Vec<Move> {
    let (Some(live), Some(predicted)) = (&owner.live, &owner.predicted) else { return Vec::new() };
    let old = references(live);
    let new = references(predicted);
    let namespace = owner.key.namespace.clone();
    // A pool has no templates: its config and its infrastructure are named like them.
    let is_moved = |reference: &&Reference| {
        is_template(reference) || reference.kind == CLUSTER_CLASS || kind(&owner.key).role == Role::Pool
    };
    new.iter()
        .filter(is_moved)
        .filter_map(|to| {
            let from = counterpart(to, &old, &new)?;
            (from.name != to.name).then(|| Move {
                kind: to.kind.clone(),
                group: to.group.clone(),
                namespace: to.namespace.clone().or_else(|| namespace.clone()),
                from: from.name.clone(),
                to: to.name.clone(),
            })
        })
        .collect()
}

/// Whether a reference is one to a template.
fn is_template(reference: &Reference) -> bool {
    kind_of(reference.group.as_deref().unwrap_or_default(), &reference.kind).role == Role::Template
}

/// The old reference that a new one takes the place of: the one in the same role, else the only one of that kind.
fn counterpart<'r>(to: &Reference, old: &'r [Reference], new: &[Reference]) -> Option<&'r Reference> {
    let same_role = old.iter().find(|from| from.role == to.role && from.kind == to.kind);
    same_role.or_else(|| {
        let only = |references: &[Reference]| references.iter().filter(|other| other.kind == to.kind).count() == 1;
        old.iter().find(|from| from.kind == to.kind).filter(|_| only(old) && only(new))
    })
}

/// Where the pairs of a name stand.
type PairsByName = HashMap<String, Vec<usize>>;

fn places(pairs: &[Pair]) -> PairsByName {
    let mut places = PairsByName::default();
    for (place, pair) in pairs.iter().enumerate() {
        places.entry(pair.key.name.clone()).or_default().push(place);
    }
    places
}

/// The pair of the template that a reference moves to; made where the template is there already and stays as it is.
fn place_of(out: &mut Prediction, places: &mut PairsByName, world: &World, moved: &Move) -> Option<usize> {
    let fits = |key: &Key| {
        key.kind == moved.kind
            && key.name == moved.to
            && may_be_equal(key.namespace.as_ref(), moved.namespace.as_ref())
            && moved.group.as_ref().is_none_or(|group| *group == key.group)
    };
    let named = places.entry(moved.to.clone()).or_default();
    let fitting: Vec<usize> = named.iter().copied().filter(|place| fits(&out.pairs[*place].key)).collect();
    if !fitting.is_empty() {
        return fitting.into_iter().find(|place| out.pairs[*place].action == Action::Create);
    }
    let there = world.live.named(&moved.to).find(|object| fits(&object.key))?;
    let mut pair = blank(there.key.clone(), there.api_version.clone(), Action::Unchanged, 0);
    pair.predicted = Some(there.value().ok()?.into_owned());
    named.push(out.pairs.len());
    out.pairs.push(pair);
    Some(out.pairs.len() - 1)
}

/// Makes the pair of the new template one of old and new; false where the old one is not known.
fn join(out: &mut Prediction, world: &World, locator: &Locator<'_>, place: usize, old: &Key) -> bool {
    let Some(mut before) = known(&world.live, locator, old).or_else(|| known(&world.base.objects, locator, old)) else {
        return false;
    };
    let Some(after) = &out.pairs[place].predicted else { return false };
    schema::reshape(&mut before, after);
    let changes = changes(&without_identity(&before), &without_identity(after));
    if changes.is_empty() {
        let key = out.pairs[place].key.clone();
        let message = format!("{key} has a new name and the same content as {}; the move to it still counts", old.name);
        out.findings.push(Finding::new("renamed-equal-content", key, message));
    }
    let pair = &mut out.pairs[place];
    pair.live = Some(before);
    pair.changes = changes;
    pair.renamed_from = Some(old.name.clone());
    true
}

/// The tree of an object of one side.
fn known(objects: &Inventory, locator: &Locator<'_>, key: &Key) -> Option<Value> {
    locator.anywhere(objects, key)?.value().ok().map(std::borrow::Cow::into_owned)
}

/// Says which deleted templates another object will still refer to, and gives those that are missed for good: by more
/// than a MachineSet that goes away itself.
pub(super) fn still_in_use(out: &mut Prediction, world: &World) -> Vec<Key> {
    let gone: Vec<Key> = out
        .pairs
        .iter()
        .filter(|pair| pair.action == Action::Delete && kind(&pair.key).role == Role::Template)
        .map(|pair| pair.key.clone())
        .collect();
    let mut missed = Vec::new();
    if gone.is_empty() {
        return missed;
    }
    let users = users_after(out, world, &gone);
    for key in gone {
        let named = users.get(&key.name).map_or(&[][..], Vec::as_slice);
        let mut using = named.iter().filter(|(user, reference)| points_at(user, reference, &key)).map(|(user, _)| user);
        let Some(first) = using.clone().find(|user| kind(user).role != Role::Set).or_else(|| using.next()) else {
            continue;
        };
        let (id, message) = if kind(first).role == Role::Set {
            let until = "until the rollout ends no lost Machine of it can be made again";
            ("old-template-removed", format!("{key} is deleted while {first} still refers to it: {until}"))
        } else {
            missed.push(key.clone());
            let meaning = "no Machine can be made from it any more";
            ("template-in-use-removed", format!("{key} is deleted while {first} still refers to it: {meaning}"))
        };
        let message = format!("{message}; helm.sh/resource-policy: keep on the live template would leave it in place");
        out.findings.push(Finding::new(id, key, message));
    }
    missed
}

/// References by the name that they refer to, each with the object that holds it.
type Users = HashMap<String, Vec<(Key, Reference)>>;

/// Every reference to one of the names that will stand after the write.
fn users_after(out: &Prediction, world: &World, gone: &[Key]) -> Users {
    let names: HashSet<&str> = gone.iter().map(|key| key.name.as_str()).collect();
    let mut users = Users::default();
    let deleted: HashSet<&Key> =
        out.pairs.iter().filter(|pair| pair.action == Action::Delete).map(|pair| &pair.key).collect();
    let is_deleted = |above: &Key| {
        world.live.get(above).and_then(|object| object.value().ok()).is_some_and(|value| is_deleting(&value))
    };
    let mut add = |user: &Key, value: &Value| {
        let role = kind(user).role;
        if role == Role::Set && fields::is_spent_set(user, value, |owner| deleted.contains(owner)) {
            return;
        }
        if (role.is_workers() || role == Role::ControlPlane) && fields::is_going(user, value, is_deleted) {
            return;
        }
        for reference in references(value).into_iter().filter(|reference| names.contains(reference.name.as_str())) {
            users.entry(reference.name.clone()).or_default().push((user.clone(), reference));
        }
    };
    let mut touched: HashSet<&Key> = HashSet::with_capacity_and_hasher(out.pairs.len(), Default::default());
    for pair in &out.pairs {
        touched.insert(&pair.key);
        if let Some(predicted) = &pair.predicted {
            add(&pair.key, predicted);
        }
    }
    for object in world.live.objects() {
        if touched.contains(&object.key) || !kinds::is_compared(&object.key) || !referred::may_name(object, &names) {
            continue;
        }
        // A live side that cannot be read is doubt of its own where it is compared.
        let Ok(value) = object.value() else { continue };
        add(&object.key, &value);
    }
    users
}

/// Whether a reference of `user` means the object with this key.
fn points_at(user: &Key, reference: &Reference, key: &Key) -> bool {
    reference.kind == key.kind
        && reference.name == key.name
        && may_be_equal(reference.namespace.as_ref().or(user.namespace.as_ref()), key.namespace.as_ref())
        && reference.group.as_ref().is_none_or(|group| *group == key.group)
}
