//! Which revision of a release changed a place of an object, and which of them were rollouts by themselves: the owner as one
//! revision wrote it against the owner as the next one did, asked of its own mirror.

use jiff::Timestamp;

use crate::compare;
use crate::kinds::fields::target;
use crate::kinds::{Mirror, Versions};
use crate::model::{Cause, Change};
use crate::object::{Key, Object, Path, Segment};
use crate::providers::machines;
use crate::tree::Value;
use crate::world::ReleaseStatus;
use crate::world::history::{History, Recorded};

/// A revision that changed something.
#[derive(Debug, Clone)]
pub(crate) struct RevisionStep {
    /// Name of the release.
    pub release: String,
    /// Number of the revision.
    pub number: u64,
    /// Number of the revision that it is compared with.
    pub previous: u64,
    /// Its state.
    pub status: ReleaseStatus,
    /// When it was written.
    pub written: Option<Timestamp>,
    /// What Helm said about it.
    pub description: String,
    /// The chart with its version, and that of the revision before.
    pub charts: (String, String),
    /// What it changed.
    pub moves: Vec<Move>,
}

/// A change that a revision made to an object.
#[derive(Debug, Clone)]
pub(crate) struct Move {
    /// The object, as the newer revision names it.
    pub key: Key,
    /// Its name before, where a reference moved to another object.
    pub renamed_from: Option<String>,
    /// What differs.
    pub change: Change,
}

/// Two revisions that follow each other, as they were read.
struct Pair<'h> {
    history: &'h History,
    old: &'h Recorded,
    new: &'h Recorded,
    /// The place of the newer one.
    place: usize,
}

impl<'h> Pair<'h> {
    /// The revision, with what it changed.
    fn step(&self, moves: Vec<Move>) -> RevisionStep {
        RevisionStep {
            release: self.history.name.clone(),
            number: self.new.number,
            previous: self.old.number,
            status: self.new.status,
            written: self.new.written,
            description: self.new.description.clone(),
            charts: (self.old.chart.clone(), self.new.chart.clone()),
            moves,
        }
    }

    /// An object before the newer revision.
    fn before(&self, key: &Key) -> Option<&'h Object> {
        self.history.at(self.place.checked_sub(1)?, key)
    }

    /// An object before and after the newer revision, where that changed it.
    fn both(&self, key: &Key) -> Option<(&'h Object, &'h Object)> {
        let new = self.new.objects.get(key)?;
        Some((self.before(key)?, new))
    }
}

/// All pairs of revisions that follow each other, the newest first.
fn pairs(histories: &[History]) -> Vec<Pair<'_>> {
    let mut out = Vec::new();
    for history in histories {
        let follow = history.revisions.iter().zip(history.revisions.iter().skip(1)).enumerate();
        out.extend(follow.map(|(place, (old, new))| Pair { history, old, new, place: place + 1 }));
    }
    out.sort_by_key(|pair| std::cmp::Reverse((pair.new.written, pair.new.number)));
    out
}

/// The revisions that changed a place of an owner, the newest first. `live` is the owner as it stands, in the superset form, by
/// which the items of lists are found again.
#[must_use]
pub(crate) fn revisions(
    histories: &[History],
    key: &Key,
    live: &Value,
    path: &Path,
    versions: &Versions,
) -> Vec<RevisionStep> {
    let changed = |pair: Pair<'_>| {
        let (old, new) = pair.both(key)?;
        let (old, new) = (machines::read(old, versions)?, machines::read(new, versions)?);
        let (before, after) = (like(&old, live, path), like(&new, live, path));
        let mut moves = moves(key, path, item(live, path.segments()).as_deref(), before, after);
        if moves.is_empty() {
            return None;
        }
        moves.extend(behind(&pair, key, &old, &new, path));
        Some(pair.step(moves))
    };
    pairs(histories).into_iter().filter_map(changed).collect()
}

/// The revisions that changed anything below a place of an object, the newest first: for a Cluster and its class, whose
/// controllers write the owners.
#[must_use]
pub(crate) fn below(histories: &[History], key: &Key, at: &[&str], versions: &Versions) -> Vec<RevisionStep> {
    let path = at.iter().fold(Path::root(), |path, step| path.key(*step));
    let changed = |pair: Pair<'_>| {
        let (old, new) = pair.both(key)?;
        let (old, new) = (machines::read(old, versions)?, machines::read(new, versions)?);
        let moves = moves(key, &path, None, path.get(&old), path.get(&new));
        (!moves.is_empty()).then(|| pair.step(moves))
    };
    pairs(histories).into_iter().filter_map(changed).collect()
}

/// A revision that replaces Machines by itself, as the mirror of their owner has it.
pub(super) struct Rolled {
    pub(super) release: String,
    pub(super) number: u64,
    pub(super) written: Timestamp,
    pub(super) causes: Vec<Cause>,
    /// The owner before and after it, in the superset form with defaults.
    pub(super) old: Value,
    pub(super) new: Value,
}

/// The revisions that replaced the Machines of an owner, the newest first.
pub(super) fn rolled(
    histories: &[History],
    key: &Key,
    mirror: &dyn Mirror,
    versions: &Versions,
    now: Timestamp,
) -> Vec<Rolled> {
    let found = |pair: Pair<'_>| {
        let (old, new) = pair.both(key)?;
        let (mut old, mut new) = (machines::read(old, versions)?, machines::read(new, versions)?);
        mirror.fill_in(&mut old, versions);
        mirror.fill_in(&mut new, versions);
        let always = mirror.of_specs(&new, &new, versions, now);
        let mut causes: Vec<Cause> = Vec::new();
        for cause in mirror.of_specs(&old, &new, versions, now) {
            if !always.contains(&cause) && !causes.contains(&cause) {
                causes.push(cause);
            }
        }
        let (release, number, written) = (pair.history.name.clone(), pair.new.number, pair.new.written?);
        (!causes.is_empty()).then_some(Rolled { release, number, written, causes, old, new })
    };
    pairs(histories).into_iter().filter_map(found).collect()
}

/// What differs at a place of an owner, by the smallest places below it.
#[must_use]
pub(crate) fn places(
    key: &Key,
    owner: &Value,
    path: &Path,
    before: Option<&Value>,
    after: Option<&Value>,
) -> Vec<Move> {
    moves(key, path, item(owner, path.segments()).as_deref(), before, after)
}

/// What the innermost item of a list is called that a path goes through: what hides secrets asks for it.
fn item(value: &Value, steps: &[Segment]) -> Option<String> {
    let (step, rest) = steps.split_first()?;
    match step {
        Segment::Key(name) => item(value.get(name)?, rest),
        Segment::Index(index) => {
            let this = value.get(index)?;
            let name = || ["path", "name", "key"].iter().find_map(|field| this.get(field)?.as_str());
            item(this, rest).or_else(|| name().map(str::to_owned))
        }
    }
}

/// What differs at a place, by the smallest places below it.
fn moves(key: &Key, path: &Path, item: Option<&str>, before: Option<&Value>, after: Option<&Value>) -> Vec<Move> {
    let of = |mut change: Change| {
        let below = std::mem::replace(&mut change.path, path.clone());
        below.segments().iter().for_each(|segment| change.path.push(segment.clone()));
        change.item = change.item.or_else(|| item.map(str::to_owned));
        Move { key: key.clone(), renamed_from: None, change }
    };
    let null = Value::Null;
    compare::part_changes(before.unwrap_or(&null), after.unwrap_or(&null)).into_iter().map(of).collect()
}

/// Where a reference moved to another object, what differs between the two.
fn behind(pair: &Pair<'_>, key: &Key, old: &Value, new: &Value, path: &Path) -> Vec<Move> {
    let Some((old, new)) = referred(key, old, path).zip(referred(key, new, path)) else { return Vec::new() };
    let Some((before, after)) = pair.before(&old).zip(pair.history.at(pair.place, &new)) else { return Vec::new() };
    apart(before, after)
}

/// What differs between two objects of which one took the place of the other.
#[must_use]
pub(crate) fn apart(before: &Object, after: &Object) -> Vec<Move> {
    let (Ok(old), Ok(new)) = (before.value(), after.value()) else { return Vec::new() };
    let of = |change: Change| Move {
        key: after.key.clone(),
        renamed_from: Some(before.key.name.clone()).filter(|name| *name != after.key.name),
        change,
    };
    let is_content = |change: &Change| change.path.starts_with(&["spec"]);
    compare::changes(&old, &new).into_iter().filter(is_content).map(of).collect()
}

/// The object that the reference around a path means: the path is that of the reference or of a field of it.
pub(super) fn referred(key: &Key, owner: &Value, path: &Path) -> Option<Key> {
    let namespace = key.namespace.as_deref();
    let whole = || target(path.get(owner)?, namespace);
    let (_, above) = path.segments().split_last()?;
    let part = || target(Path::from(above.to_vec()).get(owner)?, namespace);
    whole().or_else(part)
}

/// The value at a place of an owner in another form of it; `there` is the one that the path is from.
#[must_use]
pub(crate) fn like<'v>(value: &'v Value, there: &Value, path: &Path) -> Option<&'v Value> {
    found(value, there, path.segments())
}

/// The value at a path of another tree of the same object: an item of a list is the one that is called as it is there.
fn found<'v>(value: &'v Value, there: &Value, steps: &[Segment]) -> Option<&'v Value> {
    let Some((step, rest)) = steps.split_first() else { return Some(value) };
    match step {
        Segment::Key(name) => found(value.get(name)?, there.get(name).unwrap_or(&Value::Null), rest),
        Segment::Index(index) => {
            let there = there.get(index).unwrap_or(&Value::Null);
            let name = ["path", "name", "key"].iter().find_map(|field| Some((*field, there.get(field)?)));
            let same = |other: &&Value| name.is_some_and(|(field, name)| other.get(field) == Some(name));
            let item = match name {
                Some(_) => value.as_array()?.iter().find(same)?,
                None => value.get(index)?,
            };
            found(item, there, rest)
        }
    }
}
