//! What is not known because a class, or its clusters, lie in another release than the old render that is all that was read.

use crate::judge::stage::Stage;
use crate::judge::topology::blueprint::{class_of, templates};
use crate::judge::verdict::Answer;
use crate::kinds::contract::made_by;
use crate::kinds::{Role, Typed};
use crate::model::{Effect, RuleId};
use crate::object::{Key, may_be_equal};
use crate::providers::kind;
use crate::tree::Value;

/// How one makes the rest known.
const ADD: &str =
    "a render shows its own release alone: compare with the cluster or a snapshot, or add the rest to --live";

/// The answer about classes, or a template that they are made of, where no cluster of them was read although some may be there.
pub(super) fn clusters(stage: &Stage<'_>, key: &Key, classes: &[Key]) -> Option<Answer> {
    let is_it = |named: &Key| (&named.group, &named.kind, &named.name) == (&key.group, &key.kind, &key.name);
    let is_made_of = |class: &Key, value: &Value| class == key || templates(class, value).iter().any(is_it);
    let is_reached = |class: &&Key| {
        [stage.written_before(class), stage.written_after(class)]
            .into_iter()
            .flatten()
            .any(|value| is_made_of(class, &value))
    };
    // Clusters of another class beside it say nothing of its own.
    let is_home = |class: &Key, named: &Key| named.name == class.name && is_beside(class, named);
    let is_old = |class: &&Key| is_of_clusters_elsewhere(stage, class, is_home) && stage.before(class).is_some();
    let class = classes.iter().filter(is_old).find(is_reached)?;
    let because = format!("each cluster of the class {} takes it, and none was read; {ADD}", class.name);
    Some(Answer::known(stage.rules, Effect::Unknown, RuleId::of("class/clusters-unread")).saying(because))
}

/// Why clusters may have a class that goes, although none was read: the webhook refuses its removal while a cluster has it. A release with
/// clusters of some class counts as the home of all of its clusters.
pub(crate) fn clusters_of_deleted(stage: &Stage<'_>, key: &Key) -> Option<String> {
    let is_home = |class: &Key, named: &Key| {
        is_beside(class, named) && (stage.before(named).is_some() || stage.after(named).is_some())
    };
    is_of_clusters_elsewhere(stage, key, is_home)
        .then(|| format!("clusters may have the class {}, and none was read; {ADD}", key.name))
}

/// Whether a class may have clusters that an old render does not show: none is there of which `is_home` says that their class makes the
/// release the home of its clusters.
fn is_of_clusters_elsewhere(stage: &Stage<'_>, class: &Key, is_home: impl Fn(&Key, &Key) -> bool) -> bool {
    let is_at_home = |cluster: &Key| {
        let named = stage.before(cluster).or_else(|| stage.after(cluster)).and_then(|value| class_of(cluster, &value));
        named.is_some_and(|named| is_home(class, &named))
    };
    stage.is_of_renders() && !stage.keys(|key| kind(key).role == Role::Cluster).iter().any(is_at_home)
}

/// Whether two objects may be of one namespace.
fn is_beside(one: &Key, other: &Key) -> bool {
    may_be_equal(one.namespace.as_ref(), other.namespace.as_ref())
}

/// Why something that nothing refers to may belong to a class all the same: a Cluster has a class that was not read.
pub(crate) fn class(stage: &Stage<'_>, template: &Key) -> Option<String> {
    let (cluster, class) = stage.unread_classes().iter().find(|(_, class)| is_beside(class, template))?;
    Some(format!("the {class} of {cluster} was not read and may use it; {ADD}"))
}

/// Why what nothing refers to may be in use all the same: both renders hold no object of its namespace that decides about Machines.
pub(crate) fn owners(stage: &Stage<'_>, key: &Key) -> Option<String> {
    let is_alone = || stage.keys(|other| kind(other).role.decides_about_machines() && is_beside(other, key)).is_empty();
    (stage.is_of_renders() && is_alone()).then(|| format!("what makes Machines of it was not read; {ADD}"))
}

/// The answer about the content of a template that nothing refers to, where a class that was not read may.
pub(crate) fn template(stage: &Stage<'_>, key: &Typed<'_>) -> Option<Answer> {
    let because = class(stage, key).or_else(|| owners(stage, key)).or_else(|| {
        let is_of_classes_alone = kind(&made(key)).role == Role::ControlPlane;
        let has_classes = || !stage.keys(|other| kind(other).role == Role::Class && is_beside(other, key)).is_empty();
        let may_be_used = is_of_classes_alone && stage.is_of_renders() && !has_classes();
        may_be_used.then(|| format!("only a class makes something of it, and no class was read; {ADD}"))
    })?;
    Some(Answer::known(stage.rules, Effect::Unknown, RuleId::of("class/class-unread")).saying(because))
}

/// What a template makes, by the names of the contract.
fn made(template: &Key) -> Key {
    let kind = made_by(&template.kind).to_owned();
    Key::of(template.group.as_str(), kind, template.namespace.clone(), template.name.as_str())
}
