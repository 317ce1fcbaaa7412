//! How a rollout goes: the simulated loops of its controllers, told in numbers and a sentence.
//! What is played is the Machines as they were read; where none was, those that the old spec would have made, all of them healthy.

use std::collections::BTreeSet;

use super::Weighed;
use super::simulate::{End, Fleet, Pace, Played, Wait};
use crate::hashed::HashMap;
use crate::kinds::fields::number;
use crate::model::{Course, Standing, Strategy, Unit, plural, plural_is};

/// Names that a sentence shows.
const NAMES: usize = 3;

/// The course of the rollout of an owner that wants so many Machines.
#[must_use]
pub(super) fn of(owner: &Weighed<'_>, wanted: u64) -> Course {
    let strategy = owner.mirror.strategy(owner.new, wanted);
    let has_sets = matches!(strategy, Strategy::Rolling { .. } | Strategy::OnDelete { .. });
    let (standing, old) = fleet(owner, has_sets);
    let is_outdated = |machine: &Standing| old.contains(&machine.name);
    let pace = Pace { makes: owner.makes_none.is_none(), hosts: owner.hosts, ..Pace::EVEN };
    let fleet = Fleet::of(wanted, &standing, is_outdated);
    let mut played = owner.plays.worst(&strategy, &fleet, pace);
    let stops = stops(owner, &played);
    if matches!(played.end, End::Stuck(Wait::NotReady(_) | Wait::Going(_))) {
        // What it waits for may come to be healthy: then it goes on from there.
        let healed: Vec<Standing> = standing
            .iter()
            .map(|machine| Standing { is_ready: !machine.is_going, is_condemned: false, ..machine.clone() })
            .collect();
        let other = owner.plays.worst(&strategy, &Fleet::of(wanted, &healed, is_outdated), pace);
        played = Played { lowest: other.lowest.min(played.lowest), peak: other.peak.max(played.peak), ..other };
    }
    let deleted: Vec<String> = played.deleted().map(str::to_owned).collect();
    let is_read = standing.iter().all(|machine| !machine.name.starts_with(UNREAD));
    // Between failure domains that are alike, chance decides.
    let domains: BTreeSet<&str> = standing.iter().map(|machine| machine.domain.as_str()).collect();
    let seconds = |field: &str| {
        let told = owner.mirror.deletion(owner.new).and_then(|deletion| number(deletion, field));
        told.filter(|seconds| *seconds > 0)
    };
    Course {
        lowest: played.lowest,
        peak: played.peak,
        more: played.peak.saturating_sub(fleet.count()),
        made: played.made(),
        deleted: deleted.len() as u64,
        order: if is_read && domains.len() < 2 { deleted } else { Vec::new() },
        stops,
        drain_seconds: seconds("/nodeDrainTimeoutSeconds"),
        volume_detach_seconds: seconds("/nodeVolumeDetachTimeoutSeconds"),
    }
}

/// Whether the strategy after the write lets a rollout that is due already go further, or with fewer Machines left, than the one before.
#[must_use]
pub(crate) fn has_more_room(owner: &Weighed<'_>, wanted: u64) -> bool {
    let [was, is] = [owner.old, owner.new].map(|side| owner.mirror.strategy(side, wanted));
    if was == is {
        return false;
    }
    let pace = Pace { makes: owner.makes_none.is_none(), hosts: owner.hosts, ..Pace::EVEN };
    let [was, is] = [was, is].map(|strategy| {
        let has_sets = matches!(strategy, Strategy::Rolling { .. } | Strategy::OnDelete { .. });
        let (standing, old) = fleet(owner, has_sets);
        owner.plays.worst(&strategy, &Fleet::of(wanted, &standing, |machine| old.contains(&machine.name)), pace)
    });
    is.lowest < was.lowest || is.deleted().count() > was.deleted().count()
}

/// How the name of a Machine begins that nobody read.
const UNREAD: &str = "(";

/// The Machines of an owner, one MachineSet for each unit of workers, and the names of those that are out of date.
fn fleet(owner: &Weighed<'_>, has_sets: bool) -> (Vec<Standing>, BTreeSet<String>) {
    let mut old = BTreeSet::new();
    let mut out = Vec::new();
    let mut places: HashMap<&str, Vec<usize>> = HashMap::default();
    for (place, machine) in owner.standing.iter().enumerate() {
        places.entry(&machine.name).or_default().push(place);
    }
    for (place, unit) in owner.units.iter().enumerate() {
        let found = unit.names.iter().filter_map(|name| places.get(name.as_str())).flatten();
        let own: BTreeSet<usize> = found.copied().collect();
        let named = own.len() as u64;
        out.extend(own.into_iter().filter_map(|place| owner.standing.get(place)).cloned());
        let set = if has_sets { format!("{UNREAD}{place})") } else { String::new() };
        out.extend((named..unit.count).map(|number| unread(format!("{UNREAD}{place}.{number})"), set.clone(), unit)));
        if !unit.after.is_empty() {
            old.extend(
                out.iter()
                    .rev()
                    .take(usize::try_from(unit.count.max(named)).unwrap_or(usize::MAX))
                    .map(|one| one.name.clone()),
            );
        }
    }
    let known: BTreeSet<String> = out.iter().map(|machine| machine.name.clone()).collect();
    let of_old: BTreeSet<String> =
        out.iter().filter(|machine| old.contains(&machine.name)).map(|machine| machine.set.clone()).collect();
    for machine in owner.standing.iter().filter(|machine| machine.is_going && !known.contains(&machine.name)) {
        if of_old.contains(&machine.set) {
            old.insert(machine.name.clone());
        }
        out.push(machine.clone());
    }
    (out, old)
}

/// A Machine that nobody read: healthy, as far as anybody knows.
fn unread(name: String, set: String, unit: &Unit) -> Standing {
    Standing {
        name,
        set,
        set_born: i64::from(unit.after.is_empty()),
        born: 0,
        is_ready: true,
        is_sick: false,
        is_going: false,
        is_marked: false,
        is_condemned: false,
        domain: String::new(),
    }
}

/// Why it does not come to its end by itself, in a sentence.
fn stops(owner: &Weighed<'_>, played: &Played) -> Option<String> {
    let so_far = match played.deleted().count() {
        0 => "replaces nothing".to_owned(),
        deleted => format!("stops after it deleted {}", plural(deleted as u64, "Machine")),
    };
    let wait = match &played.end {
        End::Settled => return None,
        End::Endless => return Some("no end can be predicted".to_owned()),
        End::Stuck(wait) => wait,
    };
    let why = match wait {
        Wait::Stopped(why) => why.clone(),
        Wait::NotReady(names) => format!("until {} healthy", are(names)),
        Wait::Going(names) => format!("until {} gone", are(names)),
        Wait::NoHost(count) => {
            let free = match owner.hosts {
                None | Some(0) => "no host is free".to_owned(),
                Some(free) => format!("only {} free", plural_is(free, "host")),
            };
            format!("{free}, and {} would wait for one", plural(*count, "new Machine"))
        }
        Wait::ByHand => "until somebody deletes the Machines that are out of date".to_owned(),
        Wait::CannotMake => owner.makes_none.unwrap_or("no Machine can be made").to_owned(),
        Wait::NoRoom => "no Machine may be deleted and none may be added".to_owned(),
    };
    let link = if why.starts_with("until") { " " } else { ": " };
    Some(format!("{so_far}{link}{why}"))
}

/// "cp-1 is", "cp-1 and cp-2 are".
fn are(names: &[String]) -> String {
    match names {
        [one] => format!("{one} is"),
        [first, .., last] if names.len() <= NAMES => match names.len() {
            2 => format!("{first} and {last} are"),
            _ => format!("{} are", names.join(", ")),
        },
        _ => format!("{} are", plural(names.len() as u64, "Machine")),
    }
}

impl Course {
    /// How long a drain may take, where somebody set a limit.
    pub(super) fn drains(&self) -> Option<String> {
        self.drain_seconds.map(|seconds| format!("each drain may take up to {}", told(seconds)))
    }
}

/// "90s", "10m", "1h 30m".
fn told(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, _) => format!("{seconds}s"),
        (0, minutes, 0) => format!("{minutes}m"),
        (0, minutes, seconds) => format!("{minutes}m {seconds}s"),
        (hours, 0, 0) => format!("{hours}h"),
        (hours, minutes, _) => format!("{hours}h {minutes}m"),
    }
}
