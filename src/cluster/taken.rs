//! Whether there is anything here that something new could take over: releases of Flux and Argo CD write over what they find, and a
//! controller acts on it. What they do is not in the stream, so that there are clusters at all is what can be known.

use super::call::Caller;
use super::discover::Catalogue;
use super::read::{lists, wanted};
use super::{Online, Progress, WorldRead};
use crate::cluster::plan::{GroupKind, ReadPlan};
use crate::host::{controllers, inside, kinds};
use crate::kinds::contract::{CLUSTER, CORE};
use crate::object::Object;
use crate::policy::Doubt;

/// Lists the clusters of all namespaces where the stream brings something new that carries others, and nothing else shows whether there
/// are any.
pub(super) async fn over(
    caller: &Caller,
    online: &Online<'_>,
    catalogue: &mut Catalogue,
    outcome: &mut WorldRead,
    progress: &mut Progress<'_>,
) {
    let unseen = &online.policy.unseen;
    let home = outcome.world.host.namespace.as_deref();
    let is_asked = |object: &Object| match controllers::is_one(object) {
        true => unseen.controllers == Doubt::Undecided,
        false => {
            unseen.inside == Doubt::Undecided
                && inside::is_carrier(object)
                && object.value().is_ok_and(|value| inside::remote_of(&object.key, &value, home).is_none())
        }
    };
    let is_known = outcome.world.live.objects().iter().any(|object| kinds::is_compared(&object.key));
    let mut stream = online.rendered.objects().iter();
    if is_known || !stream.any(|object| is_asked(object) && is_new(object, outcome)) {
        return;
    }
    let mut more = ReadPlan::default();
    more.list(GroupKind::new(CORE, CLUSTER), "what something new could take over").everywhere = true;
    catalogue.more(caller, &wanted(&more)).await;
    lists(caller, online, catalogue, &more.kinds, outcome, progress).await;
    outcome.plan.kinds.extend(more.kinds);
}

/// Whether an object was not written by the last release and is not there.
fn is_new(object: &Object, outcome: &WorldRead) -> bool {
    let home = outcome.world.host.namespace.as_deref();
    let namespace = |of: &Object| of.key.namespace.clone().or_else(|| home.map(str::to_owned));
    let is_it = |other: &Object| {
        let (one, two) = (&object.key, &other.key);
        (&one.group, &one.kind, &one.name) == (&two.group, &two.kind, &two.name)
            && namespace(object) == namespace(other)
    };
    !outcome.world.base.objects.objects().iter().chain(outcome.world.live.objects()).any(is_it)
}
