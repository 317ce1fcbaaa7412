//! The failure domain of workers: what the topology says of a group, else what its class of workers says.
//! Read beside `exp/topology/desiredstate/desired_state.go` (computeMachineDeployment, computeMachinePool) of Cluster API 1.14. It stands in
//! the Machine template of a MachineDeployment, so another one replaces its Machines; what it does to a pool its provider decides.

use super::blueprint::class_of;
use super::forecast::{Fate, Side};
use super::values::list;
use crate::judge::stage::Stage;
use crate::judge::verdict::Answer;
use crate::kinds::fields::text;
use crate::model::{Effect, RuleId};
use crate::object::{Key, Path, Segment};
use crate::rules::Rules;
use crate::tree::Value;

/// Lists of workers, and the word for one of them.
const WORKERS: [(&str, &str); 2] = [("machineDeployments", "machineDeployment"), ("machinePools", "machinePool")];

/// Where it is said, of a group and of a class of workers.
const DOMAIN: [&str; 2] = ["/failureDomain", "/failureDomains"];

/// The failure domain of a group, as it comes out of a Cluster and its class.
pub(super) fn of<'v>(class: &'v Value, lists: &str, group: &'v Value) -> Option<&'v Value> {
    let said = |holder: &'v Value| DOMAIN.iter().find_map(|place| holder.pointer(place)).filter(|said| is_said(said));
    said(group).or_else(|| {
        let own = text(group, "/class");
        let mut all = list(class, &format!("/spec/workers/{lists}"));
        all.find(|item| own.is_some() && text(item, "/class") == own).and_then(said)
    })
}

/// Whether a value says anything.
fn is_said(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}

/// The groups whose failure domain becomes another one although the topology says of them what it said: their class changes, or they take
/// another one.
pub(super) fn fates(rules: &Rules, before: Side<'_>, after: Side<'_>) -> Vec<Fate> {
    let mut out = Vec::new();
    for (lists, word) in WORKERS {
        let pointer = format!("/spec/topology/workers/{lists}");
        for group in list(after.cluster, &pointer) {
            let name = text(group, "/name").unwrap_or_default();
            let Some(had) = list(before.cluster, &pointer).find(|had| text(had, "/name") == Some(name)) else {
                continue;
            };
            let own = |group: &Value| DOMAIN.map(|place| group.pointer(place).cloned());
            let (was, is) = (of(before.class, lists, had), of(after.class, lists, group));
            if own(had) == own(group) && was != is {
                let shown = |domain: Option<&Value>| domain.map_or_else(|| "none".to_owned(), ToString::to_string);
                let because = format!("its failure domain becomes another one, {} after {}", shown(is), shown(was));
                let effect = if word == "machinePool" { Effect::Unknown } else { Effect::Rollout };
                let answer = Answer::known(rules, effect, RuleId::of("topology/failure-domain")).saying(because);
                out.push(Fate::new(word, name, answer));
            }
        }
    }
    out
}

/// Whether a place of a topology is the failure domain of a group that comes out as it was.
pub(super) fn stays(stage: &Stage<'_>, key: &Key, (old, new): (&Value, &Value), path: &Path) -> bool {
    let [_, _, Segment::Key(workers), Segment::Key(lists), Segment::Index(place), Segment::Key(field), ..] =
        path.segments()
    else {
        return false;
    };
    let at = format!("/spec/topology/{workers}/{lists}");
    let Some(group) = new.pointer(&format!("{at}/{place}")) else { return false };
    let Some(had) = list(old, &at).find(|had| text(had, "/name") == text(group, "/name")) else { return false };
    if !DOMAIN.contains(&format!("/{field}").as_str()) {
        return false;
    }
    let was = class_of(key, old).and_then(|class| stage.written_before(&class));
    let is = class_of(key, new).and_then(|class| stage.written_after(&class));
    was.zip(is).is_some_and(|(was, is)| of(&was, lists, had) == of(&is, lists, group))
}
