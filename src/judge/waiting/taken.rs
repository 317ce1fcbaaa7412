//! What an owner does with the Machines that it takes over.

use crate::judge::stage::Stage;
use crate::kinds::fields;
use crate::model::{Effect, Hold, Rollout, is};
use crate::object::Key;
use crate::tree::Value;

/// What an owner takes over and does with it.
pub(in crate::judge) struct Taken {
    /// What happens to Machines.
    pub(in crate::judge) effect: Effect,
    /// What happens to them as soon as what holds it back ends.
    pub(in crate::judge) waits: Option<Effect>,
    /// One sentence.
    pub(in crate::judge) because: String,
    /// The weight, where Machines are replaced or deleted.
    pub(in crate::judge) rollout: Option<Rollout>,
}

/// The answer about an owner that takes over Machines, some of which are out of date.
pub(super) fn taken(
    stage: &Stage<'_>,
    key: &Key,
    owner: &Value,
    held: Option<&Hold>,
    outdated: Vec<String>,
    all: Vec<String>,
) -> Taken {
    let wanted = fields::wanted(owner, None);
    let (count, old) = (all.len() as u64, outdated.len() as u64);
    let surplus = count.saturating_sub(wanted);
    let who = format!("it adopts {} without an owner ({})", counted(count), all.join(", "));
    let (effect, what) = match (old, surplus) {
        (0, 0) => (Effect::None, "none of them is outdated or too many".to_owned()),
        // Nothing takes the place of what goes.
        (_, surplus) if wanted == 0 => (Effect::Delete, format!("deletes all {surplus}")),
        (0, surplus) => (Effect::Scale, format!("deletes {} that {} too many", counted(surplus), is(surplus))),
        (old, _) => (Effect::Rollout, format!("replaces {} that {} outdated", counted(old), is(old))),
    };
    if let Some(held) = held.filter(|_| effect != Effect::None) {
        let because = held.tells(&format!("{who} and {what}"));
        return Taken { effect: Effect::Latent, waits: Some(effect), because, rollout: None };
    }
    let (machines, names) = match effect {
        Effect::Delete => (surplus, all),
        Effect::Rollout => (old.max(surplus), outdated),
        _ => (surplus, Vec::new()),
    };
    let rollout = (effect != Effect::None).then(|| Rollout {
        owner: key.clone(),
        cluster: stage.cluster_of(key, owner).map(|cluster| cluster.name.clone()).unwrap_or_default(),
        effect,
        replicas: Some(wanted),
        present: None,
        machines: Some(machines),
        machine_names: names,
        max_surge: None,
        max_unavailable: None,
        course: None,
        steps: vec![format!("adopts {} without an owner", counted(count)), what.clone()],
        causes: vec![format!("{key} is new")],
    });
    Taken { effect, waits: None, because: format!("{who} and {what}"), rollout }
}

/// A number of Machines.
fn counted(count: u64) -> String {
    crate::model::plural(count, "Machine")
}
