//! Objects of which controllers of others make Secrets, or by whose labels they choose: nobody renders what comes of them, and Machines may
//! hang on it. Where one changes beside that, what becomes of it is doubt.

use super::carried::before;
use super::predict::Run;
use super::referred::{cluster_of, named, of_cluster};
use super::stream;
use crate::hashed::HashSet;
use crate::kinds::contract::{SECRET, is_infrastructure};
use crate::kinds::fields::{label, text};
use crate::kinds::labels::selects;
use crate::object::{Key, LoadError, Object};
use crate::tree::{Map, Value};
use crate::world::Unread;

/// Fields that say when a Secret is made anew, and not what is in it.
const WHEN: [&str; 4] = ["refreshInterval", "renewBefore", "renewBeforePercentage", "revisionHistoryLimit"];
/// The label by which Argo CD knows a Secret of a cluster (argo-cd `common/common.go`, v3.1).
const ARGO_SECRET: &str = "argocd.argoproj.io/secret-type";

/// Adds the doubts.
pub(super) fn add(run: &mut Run<'_>) -> Result<(), LoadError> {
    made_secrets(run)?;
    chosen(run)
}

/// The Secret that is made of an object (cert-manager `pkg/apis/certmanager/v1/types_certificate.go`, v1.18; sealed-secrets
/// `pkg/apis/sealedsecrets/v1alpha1/sealedsecret_expansion.go`, v0.32; external-secrets `apis/externalsecrets/v1/externalsecret_types.go`, v1.0).
fn secret_of(object: &Object) -> Option<Key> {
    let own = || object.key.name.to_string();
    let said = |pointer: &str| text(&*object.value().ok()?, pointer).map(str::to_owned);
    let name = match (object.key.group.as_str(), object.key.kind.as_str()) {
        ("cert-manager.io", "Certificate") => said("/spec/secretName")?,
        ("bitnami.com", "SealedSecret") => said("/spec/template/metadata/name").unwrap_or_else(own),
        ("external-secrets.io", "ExternalSecret") => said("/spec/target/name").unwrap_or_else(own),
        _ => return None,
    };
    Some(Key::of("", SECRET, object.key.namespace.clone(), name))
}

/// What an object says of the Secret that is made of it.
fn content(object: &Object) -> Option<Map> {
    let mut spec = object.value().ok()?.get("spec")?.as_object()?.clone();
    spec.retain(|field, _| !WHEN.contains(&field.as_str()));
    Some(spec)
}

/// Doubts the Secrets that are made of what changes, comes or goes, where a compared object names one or a cluster keeps its keys in it.
fn made_secrets(run: &mut Run<'_>) -> Result<(), LoadError> {
    let mut changed: Vec<(&Object, Key, &str)> = Vec::new();
    for object in run.rendered.objects() {
        let Some(secret) = secret_of(object) else { continue };
        match before(run, object) {
            Some(was) if stream::same_text(object, was) || content(was) == content(object) => {}
            Some(was) => {
                let left = secret_of(was).filter(|left| *left != secret);
                changed.extend(left.map(|left| (object, left, "does not make it any more")));
                changed.push((object, secret, "changes, and it is made of that"));
            }
            // Where the cluster is new its keys are, too.
            None if runs(run, &secret) => changed.push((object, secret, "is new, and makes it anew")),
            None => {}
        }
    }
    for object in run.last_written().objects() {
        if let Some(secret) = secret_of(object).filter(|_| goes(run, object)) {
            changed.push((object, secret, "goes, and it goes with it"));
        }
    }
    let names: HashSet<&str> = changed.iter().map(|(_, secret, _)| secret.name.as_str()).collect();
    let mut referred = named(run.rendered, &names)?;
    referred.extend(named(&run.world.live, &names)?);
    let wanted = |secret: &Key| referred.contains(secret.name.as_str()) || of_cluster(run, secret);
    let doubts: Vec<Unread> = changed
        .iter()
        .filter(|(_, secret, _)| wanted(secret))
        .map(|(object, secret, why)| Unread {
            what: format!("what {secret} holds"),
            why: format!("{} {why}; Machines of a cluster may depend on it", object.key),
            remedy: "see what comes of it, and set `unseen: {inside: warn}` in the policy for this write".to_owned(),
            keys: vec![object.key.clone()],
        })
        .collect();
    run.out.carried.extend(doubts);
    Ok(())
}

/// Whether a Secret is one in which a cluster that is there keeps its keys.
fn runs(run: &Run<'_>, secret: &Key) -> bool {
    cluster_of(secret).is_some_and(|cluster| run.locator.anywhere(&run.world.live, &cluster).is_some())
}

/// Whether an object leaves the stream and is deleted.
fn goes(run: &Run<'_>, object: &Object) -> bool {
    !run.is_written(&object.key)
        && run.was_written(object)
        && !run.world.host.leaves_removed()
        && !stream::is_kept(object, run.world.host.kind).unwrap_or(false)
}

/// Doubts what is chosen by what changes: Applications that Argo CD makes for a Secret of a cluster (argo-cd
/// `applicationset/generators/cluster.go`, v3.1), and who may use an identity by the labels of a Namespace
/// (cluster-api-provider-azure `azure/scope/identity.go` IsClusterNamespaceAllowed, v1.26; AWS and vSphere have the same).
fn chosen(run: &mut Run<'_>) -> Result<(), LoadError> {
    let sides = [run.rendered, run.last_written(), &run.world.live];
    let all = || sides.iter().flat_map(|side| side.objects());
    let makes_for_clusters = |object: &Object| {
        object.key.group == "argoproj.io" && object.key.kind == "ApplicationSet" && object.may_say("clusters")
    };
    let is_of_argo = |object: &Object| object.key.is_secret() && object.may_say(ARGO_SECRET);
    let mut found: Vec<(Key, String)> = Vec::new();
    if all().any(is_of_argo) && all().any(makes_for_clusters) {
        let changes = |object: &&Object| before(run, object).is_some_and(|was| !stream::same_content(was, object));
        let changed = run.rendered.objects().iter().filter(|object| is_of_argo(object)).filter(changes);
        let gone = run.last_written().objects().iter().filter(|object| is_of_argo(object) && goes(run, object));
        let why = "an ApplicationSet makes Applications for it, and deletes those that it does not choose any more";
        found.extend(changed.chain(gone).map(|object| (object.key.clone(), why.to_owned())));
    }
    let identities: Vec<(&Key, Value)> = all().filter_map(|object| Some((&object.key, selector_of(object)?))).collect();
    for object in
        run.rendered.objects().iter().filter(|object| object.key.kind == "Namespace" && !identities.is_empty())
    {
        let Some(was) = before(run, object) else { continue };
        let (was, is) = (was.value()?, object.value()?);
        let leaves = |selector: &Value| {
            selects(selector, |name| label(&was, name)) == Some(true)
                && selects(selector, |name| label(&is, name)) == Some(false)
        };
        let left = identities.iter().find(|(_, selector)| leaves(selector));
        found.extend(left.map(|(identity, _)| {
            let why = format!(
                "{identity} chooses by its labels who may use it, and clusters in it are not reconciled any more"
            );
            (object.key.clone(), why)
        }));
    }
    run.out.carried.extend(found.into_iter().map(|(key, why)| Unread {
        what: format!("what another {key} leads to"),
        why,
        remedy: "see what it is chosen for, and set `unseen: {inside: warn}` in the policy for this write".to_owned(),
        keys: vec![key],
    }));
    Ok(())
}

/// By which labels of Namespaces an identity of a provider chooses who may use it.
fn selector_of(object: &Object) -> Option<Value> {
    let is_identity = is_infrastructure(&object.key.group) && object.key.kind.ends_with("Identity");
    let value = is_identity.then(|| object.value().ok()).flatten()?;
    value.pointer("/spec/allowedNamespaces/selector").cloned()
}
