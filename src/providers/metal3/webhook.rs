//! Mirror of what the webhooks of the bare metal provider fill in and refuse.
//! Read beside `internal/webhooks/v1beta1/metal3{cluster,clustertemplate,machine,machinetemplate}_webhook.go` and
//! `api/v1beta1/{common,metal3cluster}_types.go` of cluster-api-provider-metal3 1.10, and the `v1beta2` ones of 1.13 and 1.14.

use super::changes::{CUSTOM_DEPLOY, OCI_IMAGES, SECRETS_HERE, TWO_WORDS, V1BETA2, WORDS_TURN};
use super::{DATA_TEMPLATE, others};
use crate::kinds::Shape;
use crate::kinds::Versions;
use crate::kinds::Webhook;
use crate::kinds::diff;
use crate::kinds::diff::Style;
use crate::kinds::fields::text;
use crate::kinds::url::parse_request;
use crate::kinds::webhook::{Refusal, refuse};
use crate::kinds::webhook::{Write, Written};
use crate::model::RuleId;
use crate::object::Path;

use crate::tree::{Value, json};

/// Id of everything that is refused here.
pub(super) const RULE: RuleId = RuleId::of("capm3/rejected");

/// What the types of a Metal3DataTemplate write: what is empty is left out but for pointers, and numbers that are zero are.
const DATA: Style = Style {
    keep_empty: &[
        "bondLinks",
        "fromAnnotation",
        "fromPoolAnnotation",
        "fromPoolRef",
        "macAddress",
        "metaData",
        "networkData",
    ],
    drop_zero: &["mtu", "offset", "prefix", "step"],
    keep_blank: &["dnsFromIPPool", "end", "fromHostInterface", "fromIPPool", "start", "string", "subnet"],
};

/// Blocks of a Metal3DataTemplate that Go cannot leave out.
const BLOCKS: &[&str] = &["links", "networks", "services"];

/// How a bond spreads what it sends.
const POLICY: &str = "bondXmitHashPolicy";

/// The webhooks of the provider.
#[derive(Debug)]
pub(crate) struct Metal3;

impl Webhook for Metal3 {
    fn fill_in(&self, written: &Written<'_>, object: &mut Value) {
        let Written { key, api_version, shape, versions, .. } = *written;
        let is_cluster = key.kind == CLUSTER;
        if is_cluster {
            default_cluster(object, versions);
        }
        others::fill_in(&key.kind, api_version, object);
        // Up to 1.12 each kind has a mutating webhook (`config/webhook/manifests.yaml`), which writes the object anew. Where
        // nobody told the version, v1beta1 may be written to one of those.
        let is_older =
            !versions.has(&V1BETA2) || (api_version.ends_with("v1beta1") && !versions.is_known(V1BETA2.provider));
        if let Some(spec) = object.get_mut("spec").filter(|_| is_older || is_cluster) {
            write_anew(&key.kind, shape, spec);
        }
    }

    fn is_normalised(&self, name: &str) -> bool {
        name == DATA_TEMPLATE
    }

    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        refusals((write.kind_name(), write.api_version), write.past(), write.new, write.versions)
    }
}

/// The infrastructure of a cluster.
const CLUSTER: &str = "Metal3Cluster";

/// Writes a spec anew from Go's types, as a mutating webhook does (`metal3datatemplate_types.go`); the schema's defaults come
/// back where Go leaves out a zero.
fn write_anew(kind: &str, shape: Shape, spec: &mut Value) {
    let is_data = kind == DATA_TEMPLATE;
    if is_data {
        diff::prune(spec, DATA);
    }
    shape.write_zeros(spec, if is_data { BLOCKS } else { &[] });
    let bonds = spec.pointer_mut("/networkData/links/bonds").and_then(Value::as_array_mut).filter(|_| is_data);
    for bond in bonds.into_iter().flatten().filter_map(Value::as_object_mut) {
        // It is not required and written all the same; the schema takes no empty one.
        bond.entry(POLICY).or_insert_with(|| json!(""));
    }
}

/// Fills in what the webhook of a Metal3Cluster fills in.
fn default_cluster(object: &mut Value, versions: &Versions) {
    let spec = object.as_object_mut().map(|map| map.entry("spec").or_insert_with(|| json!({})));
    let Some(spec) = spec.and_then(Value::as_object_mut) else { return };
    if let Some(endpoint) = spec.get_mut("controlPlaneEndpoint").and_then(Value::as_object_mut)
        && endpoint.get("port").is_none_or(|port| port == 0)
    {
        endpoint.insert("port".to_owned(), json!(6443));
    }
    if !has_two_words(versions) {
        return;
    }
    let told = |spec: &crate::tree::Map, key: &str| spec.get(key).and_then(Value::as_bool);
    let (with, without) = (told(spec, WITH), told(spec, WITHOUT));
    spec.insert(WITH.to_owned(), json!(with.unwrap_or(!without.unwrap_or(false))));
    spec.insert(WITHOUT.to_owned(), json!(without.unwrap_or(!with.unwrap_or(true))));
}

/// The two fields that say the same in opposite words.
const WITH: &str = "cloudProviderEnabled";
const WITHOUT: &str = "noCloudProvider";

/// Whether both are looked at: 1.10 brought the second, 1.13 with its v1beta2 lets the first go.
fn has_two_words(versions: &Versions) -> bool {
    versions.has(&TWO_WORDS) && !versions.has(&V1BETA2)
}

/// What is refused about an object of a kind under an `apiVersion`; the old side is `None` where it is new.
#[must_use]
fn refusals(word: (&str, &str), old: Option<&Value>, new: &Value, versions: &Versions) -> Vec<Refusal> {
    let mut out = Vec::new();
    let spec = Path::root().key("spec");
    match word.0 {
        "Metal3Machine" => {
            image(new.get("spec"), &spec, versions, &mut out);
            secrets(new, &spec, versions, &mut out);
        }
        "Metal3MachineTemplate" => {
            let at = spec.key("template").key("spec");
            image(new.pointer("/spec/template/spec"), &at, versions, &mut out);
        }
        CLUSTER => cluster(old, new, &spec, versions, &mut out),
        "Metal3ClusterTemplate" => {
            // Since 1.13 an update asks the template as it was, too, so that nobody can mend one that lacks something.
            let was = old.filter(|_| versions.has(&V1BETA2));
            [Some(new), was].into_iter().flatten().for_each(|side| template_endpoint(side, &spec, &mut out));
        }
        _ => others::refusals(word, old, new, versions, &mut out),
    }
    out
}

/// The endpoint of a template of clusters has a host and a port.
fn template_endpoint(template: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let at = spec.key("template").key("spec");
    let endpoint = template.pointer("/spec/template/spec/controlPlaneEndpoint").unwrap_or(&Value::Null);
    if text(endpoint, "/host").is_none() {
        refuse(out, RULE, &at, "controlPlaneEndpoint.host", "the endpoint needs a host");
    }
    if endpoint.get("port").and_then(Value::as_i64).unwrap_or(0) == 0 {
        refuse(out, RULE, &at, "controlPlaneEndpoint.port", "the endpoint needs a port");
    }
}

/// What a Machine is told lies in its own namespace (validateSecretNamespace, 1.13). Its template is not asked.
fn secrets(new: &Value, spec: &Path, versions: &Versions, out: &mut Vec<Refusal>) {
    if !versions.has(&SECRETS_HERE) {
        return;
    }
    for key in ["userData", "metaData", "networkData"] {
        let namespace = text(new, &format!("/spec/{key}/namespace")).filter(|namespace| !namespace.is_empty());
        if namespace.is_some() && namespace != text(new, "/metadata/namespace") {
            refuse(out, RULE, spec, &format!("{key}.namespace"), "the Secret must be in the namespace of the Machine");
        }
    }
}

/// An image needs an address, and a checksum unless it is a live ISO or comes from a registry.
fn image(machine: Option<&Value>, at: &Path, versions: &Versions, out: &mut Vec<Refusal>) {
    let machine = machine.unwrap_or(&Value::Null);
    // Since 1.9 a procedure of one's own takes the place of the image.
    if versions.has(&CUSTOM_DEPLOY) && text(machine, "/customDeploy/method").is_some() {
        return;
    }
    let image = machine.get("image").unwrap_or(&Value::Null);
    let address = text(image, "/url").unwrap_or_default();
    if address.is_empty() {
        refuse(out, RULE, at, "image.url", "the image needs an address");
    } else if parse_request(address).is_none() {
        refuse(out, RULE, at, "image.url", format!("{address:?} is not an address"));
    }
    let checksum = text(image, "/checksum").unwrap_or_default();
    if versions.has(&OCI_IMAGES) && address.to_ascii_lowercase().starts_with("oci://") {
        for key in ["checksum", "checksumType"] {
            if text(image, &format!("/{key}")).is_some() {
                refuse(out, RULE, at, &format!("image.{key}"), "an image from a registry has no checksum");
            }
        }
        return;
    }
    // v1beta2 calls it `diskFormat`.
    if ["/format", "/diskFormat"].iter().any(|at| text(image, at) == Some("live-iso")) {
        return;
    }
    if checksum.is_empty() {
        refuse(out, RULE, at, "image.checksum", "the image needs a checksum");
    } else if (checksum.starts_with("http://") || checksum.starts_with("https://")) && parse_request(checksum).is_none()
    {
        refuse(out, RULE, at, "image.checksum", format!("{checksum:?} is not an address"));
    }
}

/// The endpoint needs a host, and the two words about the cloud provider must not contradict each other or turn round.
fn cluster(old: Option<&Value>, new: &Value, spec: &Path, versions: &Versions, out: &mut Vec<Refusal>) {
    if text(new, "/spec/controlPlaneEndpoint/host").is_none() {
        refuse(out, RULE, spec, "controlPlaneEndpoint", "the endpoint needs a host");
    }
    if !has_two_words(versions) {
        return;
    }
    let told = |side: &Value, key: &str| side.pointer(&format!("/spec/{key}")).and_then(Value::as_bool);
    let clash = |left: Option<bool>, right: Option<bool>| left.is_some() && left == right;
    if clash(told(new, WITH), told(new, WITHOUT)) {
        refuse(out, RULE, spec, WITH, "cloudProviderEnabled and noCloudProvider contradict each other");
    }
    let Some(old) = old.filter(|_| !versions.has(&WORDS_TURN)) else { return };
    for (key, other) in [(WITH, WITHOUT), (WITHOUT, WITH)] {
        if clash(told(new, key), told(old, other)) {
            refuse(out, RULE, spec, key, format!("{key} contradicts {other} as it was"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(kind: &str, version: &str, old: Option<Value>, new: Value) -> Vec<String> {
        let found = refusals((kind, "v1beta1"), old.as_ref(), &new, &Versions::told("metal3", version));
        found.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    #[test]
    fn an_image_needs_an_address_and_a_checksum() {
        let machine = |image: Value| json!({"spec": {"image": image}});
        let told = |image: Value| refused("Metal3Machine", "v1.10.1", None, machine(image));
        assert_eq!(told(json!({"url": "http://a/b.qcow2", "checksum": "http://a/b.sha256"})), [""; 0]);
        assert_eq!(told(json!({"url": "http://a/b.iso", "format": "live-iso"})), [""; 0]);
        assert_eq!(told(json!({"url": "not a url", "checksum": "abc"})), ["spec.image.url"]);
        assert_eq!(told(json!({"url": "http://a/b.qcow2"})), ["spec.image.checksum"]);
        let registry = machine(json!({"url": "oci://a/b"}));
        assert_eq!(refused("Metal3Machine", "v1.14.0", None, registry.clone()), [""; 0]);
        assert_eq!(refused("Metal3Machine", "v1.13.0", None, registry), ["spec.image.checksum"]);
        let own = json!({"spec": {"customDeploy": {"method": "install_coreos"}}});
        assert_eq!(refused("Metal3Machine", "v1.9.0", None, own.clone()), [""; 0]);
        assert_eq!(refused("Metal3Machine", "v1.8.0", None, own).len(), 2);
    }

    #[test]
    fn a_cluster_keeps_its_cloud_provider_and_has_a_host() {
        let cluster = |with: bool, without: bool| {
            json!({"spec": {"controlPlaneEndpoint": {"host": "10.0.0.1"}, "cloudProviderEnabled": with,
                "noCloudProvider": without}})
        };
        let told = |version: &str, new: Value| refused("Metal3Cluster", version, Some(cluster(false, true)), new);
        assert_eq!(told("v1.10.1", cluster(false, true)), [""; 0]);
        assert_eq!(told("v1.10.1", cluster(true, false)), ["spec.cloudProviderEnabled", "spec.noCloudProvider"]);
        for version in ["v1.11.4", "v1.12.1", "v1.13.0"] {
            assert_eq!(told(version, cluster(true, false)), [""; 0], "{version}");
        }
        assert_eq!((told("v1.11.3", cluster(true, false)).len(), told("v1.12.0", cluster(true, false)).len()), (2, 2));
        assert_eq!(told("v1.12.1", cluster(true, true)), ["spec.cloudProviderEnabled"]);
        assert_eq!(told("v1.13.0", json!({"spec": {}})), ["spec.controlPlaneEndpoint"]);
    }

    #[test]
    fn a_data_template_is_written_anew() {
        let shape = data_shape();
        let written = |mut spec: Value| {
            write_anew("Metal3DataTemplate", shape, &mut spec);
            spec
        };
        let bare = json!({"clusterName": "a", "metaData": {}, "networkData": {"networks": {}}});
        let zeros = json!({"clusterName": "a", "templateReference": "", "metaData": {"strings": []},
            "networkData": {"links": {"vlans": []}, "services": {"dns": []}}});
        assert_eq!(written(bare.clone()), written(zeros));
        assert_ne!(written(bare.clone()), written(json!({"clusterName": "a", "networkData": {}})), "a pointer");
        let address = json!({"clusterName": "a", "metaData": {}, "networkData": {"services": {"dnsFromIPPool": ""}}});
        assert_ne!(written(bare), written(address), "an empty text behind a pointer");
        let indexes = json!({"clusterName": "a", "metaData": {"indexes": [{"key": "i", "step": 0, "offset": 0}]}});
        assert_eq!(written(indexes).pointer("/metaData/indexes/0"), Some(&json!({"key": "i", "step": 1})));
    }

    #[test]
    fn a_bond_needs_its_policy_where_the_webhook_writes_it_anew() {
        let shape = data_shape();
        let faults = |policy: Value| {
            let bond = json!({"id": "b", "bondMode": "802.3ad", "macAddress": {"string": "x"}, POLICY: policy});
            let mut spec = json!({"clusterName": "a", "networkData": {"links": {"bonds": [bond]}}});
            shape.fill(&mut spec);
            write_anew("Metal3DataTemplate", shape, &mut spec);
            shape.faults(&spec, None, &Path::root().key("spec")).len()
        };
        assert_eq!((faults(json!(null)), faults(json!("layer3+4"))), (1, 0));
    }

    fn data_shape() -> Shape {
        let versions = Versions::told("metal3", "v1.10.1");
        Shape::of("Metal3DataTemplate", "infrastructure.cluster.x-k8s.io/v1beta1", &versions).expect("a shape")
    }

    /// What the webhooks of v1beta2 in 1.14 said. That a Metal3DataTemplate stays as it is, the pack says.
    #[test]
    fn recorded_answers_are_those_of_the_webhooks() {
        let versions = Versions::told("metal3", "v1.14.0");
        let (asked, others) = crate::providers::recorded::others("metal3.jsonl", &["1.14"], |_, kind, old, new| {
            if kind == DATA_TEMPLATE && old.is_some() {
                return None;
            }
            let mut new = new.clone();
            let key = crate::object::Key::new("infrastructure.cluster.x-k8s.io/v1beta2", kind, Some("fleet"), "one");
            let written =
                Written { key: &key, api_version: "v1beta2", shape: data_shape(), versions: &versions, is_past: false };
            Metal3.fill_in(&written, &mut new);
            let found = crate::providers::on_write(&key, "v1beta2", (old, &new), |write| Metal3.refusals(write));
            Some(found.into_iter().map(|refusal| refusal.path.to_string()).collect())
        });
        assert!(asked > 700, "{asked}");
        assert!(others.is_empty(), "{} of {asked} are answered otherwise:\n{}", others.len(), others.join("\n"));
    }
}
