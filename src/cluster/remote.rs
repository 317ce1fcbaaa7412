//! Where the clusters are that the stream names for others to write into. Their kubeconfigs are read, compared with what this
//! cluster is known by, and dropped; nobody is asked there.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::call::{CallFault, Caller};
use super::discover::Catalogue;
use super::read::{key, objects_of, refused};
use super::{Lookup, Online, WorldRead, list};
use crate::cluster::plan::{GroupKind, Keep, ObjectRead, Use};
use crate::host::inside;
use crate::kinds::contract::{CLUSTER, CONFIG_MAP, CORE, SECRET};
use crate::kinds::fields::text;
use crate::object::Key;
use crate::tree::Value;
use crate::world::remote::{By, Leads, Own, Remote, RemoteReading};

/// Where every namespace is told the authority of its cluster (kube-controller-manager `root-ca-certificate-publisher`).
const AUTHORITY: &str = "kube-root-ca.crt";
/// What Argo CD knows its clusters by.
const ARGO_CLUSTER: &str = "argocd.argoproj.io/secret-type=cluster";
/// What the contract of Cluster API adds to the name of a Cluster for the Secret with its kubeconfig.
pub(super) const KUBECONFIG: &str = "-kubeconfig";

/// Tells of each cluster that is named, in the stream or in what was written last, where it is.
pub(super) async fn read(
    caller: &Caller,
    online: &Online<'_>,
    catalogue: &Catalogue,
    mut own: Own,
    outcome: &mut WorldRead,
) {
    let home = outcome.world.host.namespace.clone();
    let sides = [online.rendered, &outcome.world.base.objects, &outcome.world.live];
    let all: BTreeSet<Remote> = sides
        .into_iter()
        .flat_map(|side| side.objects())
        // What cannot be read is told where it is compared.
        .filter_map(|object| inside::remote_of(&object.key, object.value().ok()?.as_ref(), home.as_deref()))
        .collect();
    let Some(namespace) = all.iter().find_map(|remote| remote.namespace.clone()) else { return };
    let authority = single(CONFIG_MAP, Some(namespace), AUTHORITY);
    if let [Lookup::Found(value)] = objects_of(caller, catalogue, std::slice::from_ref(&authority)).await.as_slice() {
        own.learn(text(value, "/data/ca.crt").unwrap_or_default());
    }
    outcome.plan.objects.push(authority);
    for remote in all {
        let leads = match &remote.by {
            By::Secret { name, key } => {
                secret(caller, online, catalogue, &own, outcome, (&remote, name, key.as_deref())).await
            }
            By::ConfigMap(name) => config_map(caller, catalogue, &own, &remote, name).await,
            By::Server(_) | By::Cluster(_) => argo(caller, &own, &remote).await,
        };
        outcome.world.remotes.push(RemoteReading { remote, leads });
    }
}

/// One object of the core group.
fn single(kind: &str, namespace: Option<String>, name: &str) -> ObjectRead {
    ObjectRead {
        kind: GroupKind::new("", kind),
        version: Some("v1".to_owned()),
        namespace,
        name: name.to_owned(),
        used: Use::Remote,
    }
}

/// Where the kubeconfig of a Secret leads: the one that is there, and the one that the stream brings.
async fn secret(
    caller: &Caller,
    online: &Online<'_>,
    catalogue: &Catalogue,
    own: &Own,
    outcome: &mut WorldRead,
    (remote, name, field): (&Remote, &str, Option<&str>),
) -> Leads {
    let read = single(SECRET, remote.namespace.clone(), name);
    let answers = objects_of(caller, catalogue, std::slice::from_ref(&read)).await;
    let objects = online.rendered.objects().iter();
    let rendered = objects.filter(|object| object.key.is_secret() && object.key.name == name).find(|object| {
        let own = object.key.namespace.as_deref().or(outcome.world.host.namespace.as_deref());
        own == remote.namespace.as_deref()
    });
    let brought = rendered.map(|object| {
        object
            .value()
            .map_or_else(|_| Leads::Unknown(format!("{remote} cannot be read")), |value| of(own, remote, &value, field))
    });
    let found = match answers.first() {
        Some(Lookup::Found(value)) => of(own, remote, value, field),
        Some(Lookup::Unread(unread)) => Leads::Unknown(format!(
            "{remote} does not show which cluster it leads to: {}; {}",
            unread.why, unread.remedy
        )),
        _ if brought.is_some() => Leads::Elsewhere,
        // A Cluster that is not there yet is not this one.
        _ if is_new(outcome, &read, name) => Leads::Elsewhere,
        _ => Leads::Unknown(format!("{remote} is not there")),
    };
    outcome.plan.objects.push(read);
    brought.map_or(found.clone(), |brought| brought.worse(found))
}

/// Whether a Secret is that of a Cluster which is known not to be there.
fn is_new(outcome: &WorldRead, read: &ObjectRead, name: &str) -> bool {
    name.strip_suffix(KUBECONFIG).is_some_and(|cluster| {
        let cluster = Key::of(CORE, CLUSTER, key(read).namespace.clone(), cluster);
        outcome.world.live.get(&cluster).is_none() && outcome.world.coverage.shows(&cluster)
    })
}

/// Where the kubeconfig of a Secret leads.
fn of(own: &Own, remote: &Remote, secret: &Value, field: Option<&str>) -> Leads {
    let fields = field.map_or_else(|| vec!["value", "value.yaml"], |field| vec![field]);
    let said = |field: &str| -> Option<Vec<u8>> {
        let plain = secret.get("stringData").and_then(|data| Some(data.get(field)?.as_str()?.as_bytes().to_vec()));
        plain.or_else(|| BASE64_STANDARD.decode(secret.get("data")?.get(field)?.as_str()?).ok())
    };
    match fields.into_iter().find_map(said) {
        Some(bytes) => match own.kubeconfig(&bytes) {
            Leads::Unknown(why) => Leads::Unknown(format!("{remote} does not tell: {why}")),
            leads => leads,
        },
        None => Leads::Unknown(format!("{remote} holds no kubeconfig where the release looks for one")),
    }
}

/// Where a ConfigMap with an address and an authority leads; those of cloud providers name a cluster of theirs.
async fn config_map(caller: &Caller, catalogue: &Catalogue, own: &Own, remote: &Remote, name: &str) -> Leads {
    let read = single(CONFIG_MAP, remote.namespace.clone(), name);
    match objects_of(caller, catalogue, &[read]).await.first() {
        Some(Lookup::Found(value)) => {
            let data = |field: &str| value.get("data").and_then(|data| data.get(field)).and_then(Value::as_str);
            match own.leads(data("address").unwrap_or_default(), data("ca.crt")) {
                Leads::Unknown(why) => Leads::Unknown(format!("{remote} does not tell: {why}")),
                leads => leads,
            }
        }
        Some(Lookup::Unread(unread)) => Leads::Unknown(format!(
            "{remote} does not show which cluster it leads to: {}; {}",
            unread.why, unread.remedy
        )),
        _ => Leads::Unknown(format!("{remote} is not there")),
    }
}

/// Where a cluster of Argo CD is, by the Secrets beside the Application.
async fn argo(caller: &Caller, own: &Own, remote: &Remote) -> Leads {
    let Some(namespace) = &remote.namespace else { return Leads::Unknown(format!("{remote} has no namespace")) };
    let path = format!("/api/v1/namespaces/{namespace}/secrets");
    let listed = match list::list(caller, &path, Some(ARGO_CLUSTER), list::JSON, Keep::default()).await {
        Ok(listed) => listed,
        Err(fault @ CallFault::Forbidden(_)) => {
            return Leads::Unknown(format!(
                "{remote} is not known: {}; {}",
                fault.why(),
                refused(&fault, "", "secrets", &["list"])
            ));
        }
        Err(fault) => return Leads::Unknown(format!("{remote} is not known: {}", fault.why())),
    };
    let said = |secret: &Value, field: &str| -> Option<String> {
        let bytes = BASE64_STANDARD.decode(text(secret, &format!("/data/{field}"))?).ok()?;
        Some(String::from_utf8(bytes).ok()?.trim_end_matches('/').to_owned())
    };
    let is_it = |secret: &Value| match &remote.by {
        By::Server(server) => said(secret, "server").as_deref() == Some(server.trim_end_matches('/')),
        By::Cluster(name) => said(secret, "name").as_ref() == Some(name),
        By::Secret { .. } | By::ConfigMap(_) => false,
    };
    let secrets = listed.objects.iter().filter_map(|object| object.value().ok());
    let found = secrets.filter(|secret| is_it(secret)).map(|secret| own.argo(&secret)).reduce(Leads::worse);
    found.unwrap_or_else(|| Leads::Unknown(format!("{remote} is not known in namespace {namespace}")))
}
