//! Templates that are put in the place of others by a moved reference.
//! Their content reaches Machines because the owner points at another name; alone they do nothing.

use crate::compare::{Change, Pair};
use crate::judge::stage::Stage;
use crate::judge::verdict::Answer;
use crate::model::Effect;
use crate::model::Finding;
use crate::model::RuleId;
use crate::object::{Key, Segment};
use std::collections::BTreeMap;

/// The answer about a change inside a renamed template.
///
/// `owners` holds, for each owner whose reference moves, what that does to its Machines.
#[must_use]
pub(crate) fn renamed(
    stage: &Stage<'_>,
    pair: &Pair,
    from: &str,
    owners: &BTreeMap<Key, Effect>,
    change: &Change,
) -> Answer {
    let mut worst: Option<(&Key, Effect)> = None;
    let referrers = stage.referrers(&pair.key);
    for reference in &referrers {
        if let Some(effect) = owners.get(&reference.from)
            && worst.is_none_or(|(_, known)| *effect > known)
        {
            worst = Some((&reference.from, *effect));
        }
    }
    let answer = |effect, rule: RuleId, because: String| Answer {
        effect,
        touches: None,
        rule: rule.into(),
        because,
        source: "cluster-api, docs/book/src/tasks/updating-machine-templates.md, v1.14".to_owned(),
        finding: None,
        waits: None,
    };
    if begins_with(change, "metadata") {
        let because = "labels and annotations of a template object reach no Machine".to_owned();
        return answer(Effect::None, RuleId::of("template/renamed"), because);
    }
    match worst {
        Some((owner, effect)) => answer(
            effect,
            RuleId::of("template/renamed"),
            format!("{owner} moves from {from} to {}, and this is what its new Machines get", pair.key.name),
        ),
        None => answer(
            Effect::None,
            RuleId::of("template/renamed"),
            match referrers.first() {
                Some(reference) => format!("{} refers to it, and what that does is said there", reference.from),
                None => format!("nothing refers to {} after the write", pair.key.name),
            },
        ),
    }
}

/// A finding where a template gets another name and the same content.
#[must_use]
pub(crate) fn same_content(pair: &Pair, from: &str, effect: Effect) -> Option<Finding> {
    let changed = pair.changes.iter().any(|change| begins_with(change, "spec"));
    (!changed && effect == Effect::Rollout).then(|| {
        let message = format!(
            "{} takes the place of {from} with the same content: Machines are replaced and get nothing new; keep the old name to avoid it",
            pair.key
        );
        Finding::new("renamed-equal-content", pair.key.clone(), message)
    })
}

/// Whether a change lies under a key of the object.
fn begins_with(change: &Change, key: &str) -> bool {
    matches!(change.path.segments().first(), Some(Segment::Key(first)) if first == key)
}
