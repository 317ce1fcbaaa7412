//! What is said beside the effects: why a gate holds, what deserves a line of its own, how many Machines move.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Call, Decision, Effect};
use crate::object::{Key, Location};

/// Why a run decided as it did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Reason {
    /// The gate that answers.
    pub gate: String,
    /// Its answer.
    pub decision: Decision,
    /// One line that names the object, the field and what happens.
    pub message: String,
    /// What a person does about it where no command does it: one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// The next command, a whole one, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Other commands, where a person has the choice; each a whole one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub or: Vec<String>,
    /// The last ones of these commands, until it is known how the run was called.
    #[serde(skip)]
    pub calls: Vec<Call>,
    /// The object that it is about, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<Key>,
    /// What else it is about.
    #[serde(flatten)]
    pub about: About,
}

/// What a reason or a finding is about, so that nobody has to take sentences apart. What it does not say of itself is filled in
/// from its object when the report is made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct About {
    /// The field of the object that weighs most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The rule that decided about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What it does to Machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// How many Machines are replaced, destroyed or lost by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machines: Option<u64>,
    /// Their names, where Machines could be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machine_names: Vec<String>,
    /// Where it stands in what was rendered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
}

/// The word before what a person does; before a command stands another one.
pub(crate) const DO: &str = "do";
/// The word before a command where another one stands before it.
pub(crate) const OR: &str = "or";
/// What a command begins with.
const PROGRAMS: [&str; 3] = ["rollgate ", "kubectl ", "helm "];

impl Reason {
    /// An answer of a gate that is about no object yet.
    #[must_use]
    pub fn new(gate: impl Into<String>, decision: Decision, message: impl Into<String>) -> Self {
        Self { gate: gate.into(), decision, message: message.into(), ..Self::default() }
    }

    /// This reason with the next command.
    #[must_use]
    pub fn with_next(mut self, next: impl Into<Option<String>>) -> Self {
        self.next = next.into();
        self
    }

    /// This reason with what a person does about it.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<Option<String>>) -> Self {
        self.remedy = remedy.into();
        self
    }

    /// This reason with what somebody advises: a command is told from a sentence by the program that it calls.
    #[must_use]
    pub fn with_advice(self, advice: &str) -> Self {
        match PROGRAMS.iter().any(|program| advice.starts_with(program)) {
            true => self.with_next(advice.to_owned()),
            false => self.with_remedy(Some(advice.to_owned()).filter(|advice| !advice.is_empty())),
        }
    }

    /// This reason with these commands of this program in the place of any other, behind what it says beside.
    #[must_use]
    pub fn with_calls(mut self, calls: impl IntoIterator<Item = Call>) -> Self {
        let own = self.calls.len();
        self.calls = calls.into_iter().collect();
        let mut steps = self.take_steps();
        steps.truncate(steps.len().saturating_sub(own));
        steps.extend(self.calls.iter().map(Call::to_string));
        self.set_steps(steps);
        self
    }

    /// Says its commands as `line` writes them.
    pub fn complete(&mut self, line: impl Fn(&Call) -> String) {
        let mut steps = self.take_steps();
        steps.truncate(steps.len().saturating_sub(self.calls.len()));
        steps.extend(self.calls.iter().map(line));
        self.set_steps(steps);
    }

    /// Names the command that explains its gate, where something is to be done and no command does it. Of a read that failed its own
    /// remedy is all there is to say.
    pub fn lead_on(&mut self) {
        if self.gate == READ && self.remedy.is_some() {
            return;
        }
        if (self.decision > Decision::Warn || self.remedy.is_some()) && self.next.is_none() {
            self.next = Some(format!("rollgate explain {}", self.gate));
        }
    }

    /// Puts a command before all others.
    pub fn lead_with(&mut self, step: String) {
        let steps = std::iter::once(step).chain(self.take_steps()).collect();
        self.set_steps(steps);
    }

    /// What can be done, each with the word that stands before it.
    pub fn steps(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = self.remedy.iter().map(|step| (DO, step)).chain(self.next.iter().map(|step| ("next", step)));
        all.chain(self.or.iter().map(|step| (OR, step))).map(|(word, step)| (word, step.as_str()))
    }

    fn take_steps(&mut self) -> Vec<String> {
        self.next.take().into_iter().chain(std::mem::take(&mut self.or)).collect()
    }

    fn set_steps(&mut self, steps: Vec<String>) {
        let mut steps = steps.into_iter();
        self.next = steps.next();
        self.or = steps.collect();
    }

    /// This reason about an object.
    #[must_use]
    pub fn of(mut self, object: &Key) -> Self {
        self.object = Some(object.clone());
        self
    }

    /// This reason about so many Machines.
    #[must_use]
    pub const fn with_machines(mut self, machines: Option<u64>) -> Self {
        self.about.machines = machines;
        self
    }
}

/// The gate of what could not be read.
const READ: &str = "read";

/// The gate and the finding that say what goes out as it was instead of replacing Machines.
pub(crate) const SET_BACK: &str = "set-back";

/// Something that deserves a line of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Hash)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Its id, such as `pending-rollout`.
    pub id: String,
    /// What it is about.
    pub object: Key,
    /// One sentence.
    pub message: String,
    /// The gate that answers because of it, where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// What else it is about.
    #[serde(flatten)]
    pub about: About,
}

impl Finding {
    /// Something about an object.
    #[must_use]
    pub fn new(id: impl Into<String>, object: Key, message: impl Into<String>) -> Self {
        Self { id: id.into(), object, message: message.into(), gate: None, about: About::default() }
    }

    /// This finding about a field of its object.
    #[must_use]
    pub fn at(mut self, path: impl ToString) -> Self {
        self.about.path = Some(path.to_string());
        self
    }
}

/// What happens to the Machines of one owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Rollout {
    /// The control plane, MachineDeployment or pool that owns the Machines.
    pub owner: Key,
    /// Name of the cluster; empty where it is not known.
    pub cluster: String,
    /// `rollout` or `delete`.
    pub effect: Effect,
    /// Machines wanted, as predicted; `None` where it is not known.
    pub replicas: Option<u64>,
    /// Machines that are there now and stay unless this write takes them; `None` where they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub present: Option<u64>,
    /// Machines that are replaced, destroyed or lost to their owner; `None` where it is not known.
    pub machines: Option<u64>,
    /// Their names, where Machines could be read.
    pub machine_names: Vec<String>,
    /// Machines above `replicas` at one time.
    pub max_surge: Option<u64>,
    /// Machines below `replicas` at one time.
    pub max_unavailable: Option<u64>,
    /// What happens, in order, one line each.
    pub steps: Vec<String>,
    /// How it goes, played Machine by Machine; absent where no Machine is replaced, or its controller is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub course: Option<Course>,
    /// Paths in the owner (or in what it refers to) that cause it.
    pub causes: Vec<String>,
}

impl Rollout {
    /// The entry of so many Machines of an owner, of whose strategy nothing is said.
    #[must_use]
    pub fn plain(owner: &Key, cluster: &str, effect: Effect, machine_names: Vec<String>, machines: u64) -> Self {
        Self {
            owner: owner.clone(),
            cluster: cluster.to_owned(),
            effect,
            replicas: None,
            present: None,
            machines: Some(machines),
            machine_names,
            max_surge: None,
            max_unavailable: None,
            steps: Vec::new(),
            course: None,
            causes: Vec::new(),
        }
    }
}

/// Owners of one cluster that roll, counted together over those that can be at it at the same time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Together {
    /// Namespace of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub cluster: String,
    /// The owners that are at it at the same time.
    pub owners: Vec<Key>,
    /// Machines that all owners of the cluster that roll have now.
    pub machines: u64,
    /// The fewest of them that are available at one time.
    pub lowest: u64,
    /// The most Machines at one time: so many hosts and addresses are in use then.
    pub peak: u64,
    /// What one of them may wait for that another one keeps back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<String>,
}

/// How a rollout goes, as the simulated loops of its controllers play it at several paces, the worst of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Course {
    /// The fewest Machines that are available at one time.
    pub lowest: u64,
    /// The most Machines at one time, those on their way out too: so many hosts and addresses are in use then.
    pub peak: u64,
    /// How many more that is than now.
    pub more: u64,
    /// Machines that are made.
    pub made: u64,
    /// Machines that are deleted.
    pub deleted: u64,
    /// Their names in the order in which they go; empty where the order is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<String>,
    /// Why it does not come to its end by itself; absent where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stops: Option<String>,
    /// Seconds that a drain may take; absent where nothing ends one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain_seconds: Option<u64>,
    /// Seconds that volumes may take to be let go; absent where nothing ends the wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_detach_seconds: Option<u64>,
}
