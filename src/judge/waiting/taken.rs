//! What an owner does with the Machines that it takes over.

use crate::judge::stage::Stage;
use crate::kinds::fields;
use crate::model::{Effect, Hold, Rollout};
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
    let who = format!("it takes over {} that nobody owns ({})", counted(count), all.join(", "));
    let (effect, what) = match (old, surplus) {
        (0, 0) => (Effect::None, "none of them is out of date or too many".to_owned()),
        // Nothing takes the place of what goes.
        (_, surplus) if wanted == 0 => (Effect::Delete, format!("deletes all {surplus}")),
        (0, surplus) => (Effect::Scale, format!("deletes {} that {} too many", counted(surplus), are(surplus))),
        (old, _) => (Effect::Rollout, format!("replaces {} that {} out of date", counted(old), are(old))),
    };
    if let Some(held) = held.filter(|_| effect != Effect::None) {
        let because = format!("{who} and {what}; {}, so this is held back and lands when {}", held.says, held.over);
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
        steps: vec![format!("takes over {} that nobody owns", counted(count)), what.clone()],
        causes: vec![format!("{key} is new")],
    });
    Taken { effect, waits: None, because: format!("{who} and {what}"), rollout }
}

/// A number of Machines.
fn counted(count: u64) -> String {
    crate::model::plural(count, "Machine")
}

/// The verb for so many.
const fn are(count: u64) -> &'static str {
    if count == 1 { "is" } else { "are" }
}
