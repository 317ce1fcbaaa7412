//! Holds a recorded rollout against the simulator of the controllers' loops.
//!
//! Equal up to timing means: some order in which the simulated loops have their turns gives exactly the recorded events, one by one, and
//! leaves nothing to do after the last; and the simulator on its own makes as many Machines, deletes the same ones in the same
//! order, and has the same peak.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rollgate::facade::impact::simulate::{Act, End, Fleet, Pace, Played, Wait, play, worst};
use rollgate::facade::model::{Standing, Strategy};
use rollgate::facade::object::Key;
use rollgate::facade::providers::kind;
use rollgate::facade::tree::Value;

/// States of a search that are too many to be a rollout.
const MOST: usize = 200_000;

/// A recorded rollout.
pub(crate) struct Record<'r>(pub(crate) &'r Value);

/// What a recording comes to in numbers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) made: usize,
    /// Names of the Machines of before, in the order of their deletion.
    pub(crate) deleted: Vec<String>,
    pub(crate) peak: usize,
    pub(crate) lowest: usize,
    /// The number of Machines, whenever it changed.
    pub(crate) counts: Vec<usize>,
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

impl Record<'_> {
    pub(crate) fn name(&self) -> &str {
        text(&self.0["name"])
    }

    fn wanted(&self) -> u64 {
        self.0["owner"]["spec"]["replicas"].as_u64().expect("a number")
    }

    fn never(&self) -> bool {
        self.0["newMachinesNeverStart"] == true
    }

    pub(crate) fn by_hand(&self) -> bool {
        self.0["deletedByHand"] == true
    }

    pub(crate) fn strategy(&self) -> Strategy {
        let owner = &self.0["owner"];
        let key = Key::new(text(&owner["apiVersion"]), text(&owner["kind"]), Some("demo"), "demo");
        let mirror = kind(&key).mirror.expect("an owner with a mirror");
        mirror.strategy(owner, self.wanted())
    }

    /// Whether a Machine counts as healthy is known before it shows: a control plane looks into the workload cluster itself.
    fn looks_itself(&self) -> bool {
        matches!(self.strategy(), Strategy::OneByOne { .. }) && !self.never()
    }

    /// Machines that were there at one time beyond what is due: made before the controller saw the first that it made.
    pub(crate) fn unseen(&self) -> u64 {
        let due = worst(&self.strategy(), &self.fleet(), Pace::EVEN).peak;
        match self.strategy() {
            Strategy::OneByOne { is_late: true, .. } => (self.sum().peak as u64).saturating_sub(due),
            _ => 0,
        }
    }

    pub(crate) fn fleet(&self) -> Fleet {
        let has_sets = !matches!(self.strategy(), Strategy::OneByOne { .. } | Strategy::Stopped { .. });
        let standing = |machine: &Value| Standing {
            name: text(&machine["name"]).to_owned(),
            set: if has_sets { "old".to_owned() } else { String::new() },
            set_born: 0,
            born: text(&machine["born"]).parse::<jiff::Timestamp>().expect("a time").as_second(),
            is_ready: machine["ready"] == true,
            is_sick: machine["ready"] != true,
            is_going: false,
            is_marked: false,
            is_condemned: false,
            domain: String::new(),
        };
        let machines: Vec<Standing> = self.0["machines"].as_array().into_iter().flatten().map(standing).collect();
        Fleet::of(self.wanted(), &machines, |_| true)
    }

    fn events(&self) -> Vec<(&str, &str)> {
        let events = self.0["events"].as_array().into_iter().flatten();
        events.map(|event| text(event).split_once(' ').expect("a word and a name")).collect()
    }

    pub(crate) fn sum(&self) -> Sum {
        let fleet = self.fleet();
        let old: BTreeSet<&str> = fleet.machines.iter().map(|machine| machine.name.as_str()).collect();
        let mut ready: BTreeMap<&str, bool> =
            fleet.machines.iter().map(|machine| (machine.name.as_str(), machine.is_ready)).collect();
        let count = |ready: &BTreeMap<&str, bool>| ready.values().filter(|is| **is).count();
        let mut out =
            Sum { made: 0, deleted: Vec::new(), peak: ready.len(), lowest: count(&ready), counts: vec![ready.len()] };
        for (word, name) in self.events() {
            match word {
                "make" => {
                    out.made += 1;
                    ready.insert(name, false);
                }
                "delete" => {
                    out.deleted.extend(old.contains(name).then(|| name.to_owned()));
                    ready.insert(name, false);
                }
                "gone" => drop(ready.remove(name)),
                word => drop(ready.insert(name, word == "ready")),
            }
            out.peak = out.peak.max(ready.len());
            out.lowest = out.lowest.min(count(&ready));
            if out.counts.last() != Some(&ready.len()) {
                out.counts.push(ready.len());
            }
        }
        out
    }

    /// What the simulator comes to on its own.
    pub(crate) fn played(&self) -> Played {
        if self.never() {
            return play(&self.strategy(), self.fleet(), Pace { ready: None, ..Pace::EVEN });
        }
        worst(&self.strategy(), &self.fleet(), Pace { unseen: self.unseen(), ..Pace::EVEN })
    }

    /// Where the recording and the simulation are not equal up to timing.
    pub(crate) fn differs(&self) -> Option<String> {
        self.is_explained().and_then(|()| if self.by_hand() { self.goes_on_by_hand() } else { self.is_played() }).err()
    }

    /// Whether nothing happens until somebody deletes a Machine, and then as much as was seen.
    fn goes_on_by_hand(&self) -> Result<(), String> {
        let (sum, played) = (self.sum(), self.played());
        let mut fleet = self.fleet();
        for machine in fleet.machines.iter_mut().filter(|machine| sum.deleted.contains(&machine.name)) {
            machine.is_going = true;
            machine.is_ready = false;
        }
        let made = play(&self.strategy(), fleet, Pace::EVEN).made();
        let waits = played.end == End::Stuck(Wait::ByHand) && played.acts.is_empty();
        (waits && made == sum.made as u64)
            .then_some(())
            .ok_or_else(|| format!("{}: {played:?}, then {made}", self.name()))
    }

    /// Whether the simulator on its own comes to the same numbers.
    fn is_played(&self) -> Result<(), String> {
        let (sum, played) = (self.sum(), self.played());
        // Those that were made beyond what was due go again under names of their own.
        let deleted: Vec<&str> =
            played.deleted().filter(|name| self.unseen() == 0 || !name.starts_with("new-")).collect();
        let mut counts: Vec<u64> = played.counts.iter().map(|counts| counts.there).collect();
        counts.dedup();
        // One at a time there is one sequence; where several may move at once, only their extremes are the same.
        let (has_one_sequence, is_plane) = match self.strategy() {
            Strategy::Rolling { surge, unavailable, .. } => {
                (surge + unavailable == 1 && played.made() == sum.deleted.len() as u64, false)
            }
            // What is made before the controller looks again is one moment there, and one after the other here.
            Strategy::OneByOne { .. } => (self.unseen() == 0, true),
            _ => (true, false),
        };
        let same = played.made() == sum.made as u64
            && deleted == sum.deleted
            && played.peak == sum.peak as u64
            && (!has_one_sequence || counts == sum.counts.iter().map(|count| *count as u64).collect::<Vec<_>>())
            // Machines of a control plane count as healthy before they show it.
            && (is_plane || played.lowest == sum.lowest as u64);
        same.then_some(()).ok_or_else(|| format!("{}: simulated {played:?}\n  recorded {sum:?}", self.name()))
    }

    /// Whether some order of turns gives these events; what cannot be explained otherwise.
    pub(crate) fn is_explained(&self) -> Result<(), String> {
        let strategy = self.strategy();
        let turns = Turns { looks_itself: self.looks_itself(), unseen: self.unseen() };
        let mut nodes: BTreeSet<Node> = BTreeSet::from([Node { fleet: self.fleet(), lanes: vec![VecDeque::new(); 4] }]);
        for (place, event) in self.events().into_iter().enumerate() {
            let reached = closed(nodes, &strategy, turns);
            nodes = reached.iter().flat_map(|node| node.after(event, self.by_hand())).collect();
            if nodes.is_empty() {
                let could: BTreeSet<&Act> =
                    reached.iter().flat_map(|node| node.lanes.iter().filter_map(VecDeque::front)).collect();
                return Err(format!(
                    "{}: event {place}, {event:?}, has no cause; what could come: {could:?}",
                    self.name()
                ));
            }
        }
        // What is left has come to rest: no turn of anybody does anything that could be seen.
        let last = Turns { looks_itself: false, unseen: 0 };
        let rests = |node: &Node| closed(BTreeSet::from([node.clone()]), &strategy, last).iter().all(Node::is_quiet);
        if nodes.iter().any(|node| node.is_quiet() && rests(node)) {
            return Ok(());
        }
        Err(format!("{}: something is left to do after the last event", self.name()))
    }
}

/// What turns may be like.
#[derive(Clone, Copy)]
struct Turns {
    /// Whether a control plane looks into the workload cluster itself.
    looks_itself: bool,
    /// So many of the Machines that it made its controller may not see.
    unseen: u64,
}

/// A moment of a search: the Machines, and what was decided and not yet seen, by whose loop decided it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Node {
    fleet: Fleet,
    lanes: Vec<VecDeque<Act>>,
}

impl Node {
    fn is_quiet(&self) -> bool {
        self.lanes.iter().all(VecDeque::is_empty)
    }

    /// What one turn of somebody makes of it.
    fn turns(&self, strategy: &Strategy, Turns { looks_itself, unseen }: Turns) -> Vec<Self> {
        let mut out = Vec::new();
        let mut with = |turn: &dyn Fn(&mut Self)| {
            let mut node = self.clone();
            turn(&mut node);
            out.push(node);
        };
        if self.lanes[0].is_empty() {
            for unseen in 0..=unseen {
                with(&|node| node.lanes[0].extend(node.fleet.late_turn(strategy, true, unseen).0));
            }
        }
        for set in 0..self.fleet.sets.len() {
            if self.lanes[set + 1].is_empty() {
                with(&|node| node.fleet.tell(set));
                with(&|node| node.lanes[set + 1].extend(node.fleet.set_turn(set, strategy, true).0));
            }
        }
        if looks_itself {
            for place in 0..self.fleet.machines.len() {
                with(&|node| node.fleet.machines[place].is_ready = !node.fleet.machines[place].is_going);
            }
        }
        out
    }

    /// What an event makes of it; nothing where it cannot come now.
    fn after(&self, (word, name): (&str, &str), by_hand: bool) -> Vec<Self> {
        let mut out = Vec::new();
        for lane in 0..self.lanes.len() {
            let mut node = self.clone();
            match (word, node.lanes[lane].pop_front()) {
                ("make", Some(Act::Make(made))) => {
                    let machine = node.fleet.machines.iter_mut().find(|machine| machine.name == made);
                    machine.expect("it was made").name = name.to_owned();
                    out.push(node);
                }
                ("delete", Some(Act::Delete(deleted))) if deleted == name => out.push(node),
                _ => {}
            }
        }
        let mut node = self.clone();
        let place = node.fleet.machines.iter().position(|machine| machine.name == name);
        if let Some(place) = place {
            let is_going = node.fleet.machines[place].is_going;
            match word {
                "ready" if !is_going => {
                    node.fleet.machines[place].is_ready = true;
                    node.fleet.machines[place].is_sick = false;
                }
                "unready" if !is_going => node.fleet.machines[place].is_ready = false,
                "ready" | "unready" => {}
                "gone" if is_going => drop(node.fleet.machines.remove(place)),
                "delete" if by_hand && !is_going => {
                    node.fleet.machines[place].is_going = true;
                    node.fleet.machines[place].is_ready = false;
                }
                _ => return out,
            }
            out.push(node);
        }
        out
    }
}

/// Everything that turns lead to before the next event.
fn closed(start: BTreeSet<Node>, strategy: &Strategy, how: Turns) -> BTreeSet<Node> {
    let mut open: Vec<Node> = start.iter().cloned().collect();
    let mut all = start;
    while let Some(node) = open.pop() {
        for next in node.turns(strategy, how) {
            if all.insert(next.clone()) {
                open.push(next);
            }
        }
        assert!(all.len() < MOST, "the search does not end");
    }
    all
}
