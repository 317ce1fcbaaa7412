//! Mirror of what the webhook of the kubeadm control plane refuses on an update.
//! Read beside `controlplane/kubeadm/webhooks/admission/kubeadmcontrolplane.go` (ValidateUpdate) of Cluster API 1.14;
//! up to 1.13 it is `controlplane/kubeadm/internal/webhooks/kubeadm_control_plane.go`.

mod fields;

use self::fields::{certificates, etcd, naming, replicas, surge, version};
use super::{
    CONFIG, CONFIG_TEMPLATE, CONTROL_PLANE_KIND, CONTROL_PLANE_TEMPLATE, IGNITION, config_webhook, coredns, mirror,
    template,
};
use crate::kinds::Versions;
use crate::kinds::Webhook;
use crate::kinds::fields::annotation;
use crate::kinds::fields::number;
use crate::kinds::fields::{says_something, text};
use crate::kinds::fixed::CONTENT;
use crate::kinds::webhook::Refusal;
use crate::kinds::webhook::{Need, Write, Written};
use crate::kinds::{diff, labels};
use crate::model::RuleId;
use crate::object::Key;
use crate::object::Path;
use crate::providers::core::changes::{CONTROL_PLANE_TAINTS, SKIP_COREDNS, V1BETA2};
use crate::providers::core::{self, TOPOLOGY, defaults};
use crate::providers::kind;

use crate::tree::{Map, Value, json};

/// Places that may change, each with the first and the last minor version of Cluster API in which it may.
/// A `*` at the end means everything below and not the place itself.
const ALLOWED: &[(&str, u64, u64)] = &[
    ("clusterConfiguration.etcd", 11, 99),
    ("clusterConfiguration.etcd.*", 11, 99),
    ("clusterConfiguration.etcd.local", 11, 99),
    ("clusterConfiguration.etcd.local.imageRepository", 0, 10),
    ("clusterConfiguration.etcd.local.imageTag", 0, 10),
    ("clusterConfiguration.etcd.local.extraArgs", 0, 10),
    ("clusterConfiguration.etcd.local.extraArgs.*", 0, 10),
    ("clusterConfiguration.etcd.local.dataDir", 0, 10),
    ("clusterConfiguration.etcd.local.peerCertSANs", 0, 10),
    ("clusterConfiguration.etcd.local.serverCertSANs", 0, 10),
    ("clusterConfiguration.etcd.external.endpoints", 0, 10),
    ("clusterConfiguration.etcd.external.caFile", 0, 10),
    ("clusterConfiguration.etcd.external.certFile", 0, 10),
    ("clusterConfiguration.etcd.external.keyFile", 0, 10),
    ("clusterConfiguration.dns", 11, 99),
    ("clusterConfiguration.dns.*", 11, 99),
    ("clusterConfiguration.dns.imageRepository", 0, 10),
    ("clusterConfiguration.dns.imageTag", 0, 10),
    ("clusterConfiguration.imageRepository", 0, 99),
    ("clusterConfiguration.featureGates", 7, 99),
    ("clusterConfiguration.featureGates.*", 7, 99),
    ("clusterConfiguration.apiServer", 0, 99),
    ("clusterConfiguration.apiServer.*", 0, 99),
    ("clusterConfiguration.controllerManager", 0, 99),
    ("clusterConfiguration.controllerManager.*", 0, 99),
    ("clusterConfiguration.scheduler", 0, 99),
    ("clusterConfiguration.scheduler.*", 0, 99),
    ("clusterConfiguration.certificateValidityPeriodDays", 11, 99),
    ("clusterConfiguration.encryptionAlgorithm", 12, 99),
    ("initConfiguration.nodeRegistration", 0, 99),
    ("initConfiguration.nodeRegistration.*", 0, 99),
    ("initConfiguration.patches.directory", 0, 99),
    ("initConfiguration.patches", 0, 99),
    ("initConfiguration.skipPhases", 0, 99),
    ("initConfiguration.bootstrapTokens", 0, 99),
    ("initConfiguration.localAPIEndpoint", 0, 99),
    ("initConfiguration.localAPIEndpoint.*", 0, 99),
    ("initConfiguration.timeouts", 11, 99),
    ("initConfiguration.timeouts.*", 11, 99),
    ("joinConfiguration.nodeRegistration", 0, 99),
    ("joinConfiguration.nodeRegistration.*", 0, 99),
    ("joinConfiguration.patches.directory", 0, 99),
    ("joinConfiguration.patches", 0, 99),
    ("joinConfiguration.skipPhases", 0, 99),
    ("joinConfiguration.caCertPath", 0, 99),
    ("joinConfiguration.controlPlane", 0, 99),
    ("joinConfiguration.controlPlane.*", 0, 99),
    ("joinConfiguration.discovery", 0, 99),
    ("joinConfiguration.discovery.*", 0, 99),
    ("joinConfiguration.timeouts", 11, 99),
    ("joinConfiguration.timeouts.*", 11, 99),
    ("bootCommands", 10, 99),
    ("preKubeadmCommands", 0, 99),
    ("postKubeadmCommands", 0, 99),
    ("files", 0, 99),
    ("verbosity", 0, 99),
    ("users", 0, 99),
    ("ntp", 0, 99),
    ("ntp.*", 0, 99),
    ("ignition", 0, 99),
    ("ignition.*", 0, 99),
    ("diskSetup", 0, 99),
    ("diskSetup.*", 0, 99),
    ("format", 0, 99),
    ("mounts", 0, 99),
    ("useExperimentalRetryJoin", 0, 10),
];

/// The webhooks of the two providers.
#[derive(Debug)]
pub(crate) struct KubeadmWebhooks;

impl Webhook for KubeadmWebhooks {
    fn fill_in(&self, written: &Written<'_>, object: &mut Value) {
        defaults::fill_in(written, object);
    }

    fn normalise(&self, key: &Key, old: &mut Value, new: &mut Value, _versions: &Versions) {
        if key.kind == CONTROL_PLANE_KIND {
            mirror::default(old);
            mirror::default(new);
        }
    }

    fn asks_for_spec(&self, name: &str) -> bool {
        !matches!(name, CONFIG | CONFIG_TEMPLATE | CONTROL_PLANE_TEMPLATE)
    }

    fn needs(&self, key: &Key, object: &Value, is_new: bool, versions: &Versions, need: &mut Need<'_>) {
        // The webhook of an update of a template does not ask for it.
        if key.kind == CONTROL_PLANE_TEMPLATE && is_new {
            need(TOPOLOGY, "spec");
        }
        if let Some(place) = kind(key).config_place() {
            ignition(object, place, versions, need);
        }
        if key.kind == CONTROL_PLANE_KIND {
            let can_have = || versions.has(&CONTROL_PLANE_TAINTS);
            core::taints::needs(object, "spec.machineTemplate.spec.taints", can_have, need);
        }
    }

    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let Some(place) = kind(write.key).config_place() else { return Vec::new() };
        let of_control_plane = matches!(write.kind_name(), CONTROL_PLANE_KIND | CONTROL_PLANE_TEMPLATE);
        let at = place.split('/').filter(|key| !key.is_empty()).fold(Path::root(), |at, key| at.key(key));
        let mut out = Vec::new();
        if write.kind_name() == CONTROL_PLANE_KIND {
            out = refusals(write.old, write.new, write.versions);
        }
        out.extend(config_webhook::refusals(write.new.pointer(place), &at, of_control_plane, write.versions));
        let metadata = Path::root().key("spec").key("template").key("metadata");
        match write.kind_name() {
            CONFIG_TEMPLATE => labels::refusals(metadata.get(write.new), &metadata, &mut out),
            CONTROL_PLANE_TEMPLATE => {
                out.extend(strategy_filled_in(write));
                if write.is_new {
                    labels::refusals(metadata.get(write.new), &metadata, &mut out);
                    out.extend(of_new_template(write.new, write.versions));
                }
            }
            _ => {}
        }
        out
    }

    fn differences(&self, write: &Write<'_>) -> Option<Vec<Path>> {
        write.kind.fixed?;
        Some(template::differences(write.api_version, write.old, write.new, write.versions))
    }
}

/// What is refused of a new template of control planes, whose content nobody looks at again: what is refused of a control plane, but for
/// what a template does not say (`kubeadmcontrolplanetemplate.go` validateKubeadmControlPlaneTemplateResourceSpec).
fn of_new_template(object: &Value, versions: &Versions) -> Vec<Refusal> {
    let Some(content) = object.pointer("/spec/template/spec") else { return Vec::new() };
    let plane = json!({ "spec": content });
    let mut out = Vec::new();
    // Nothing is asked of the days where no strategy is written (`validateRolloutAndCertValidityFields`).
    if !versions.has(&V1BETA2) || says_something(plane.pointer("/spec/rollout/strategy")) {
        surge(&plane, &mut out);
        certificates(&plane, versions, &mut out);
    }
    expiry(&plane, versions, &mut out);
    etcd(&plane, &plane, versions, &mut out);
    naming(&plane, versions, &mut out);
    metadata_and_taints(&plane, versions, &mut out);
    dns(&Value::Null, &plane, versions, &mut out);
    let below = |path: &Path| {
        let start = Path::root().key("spec").key("template");
        path.segments().iter().fold(start, |mut path, segment| {
            path.push(segment.clone());
            path
        })
    };
    out.into_iter().map(|refusal| Refusal { path: below(&refusal.path), ..refusal }).collect()
}

/// A template of control planes that is stored without a strategy and written as v1beta1: that version's schema fills one in
/// (`controlplane.cluster.x-k8s.io_kubeadmcontrolplanetemplates.yaml` of Cluster API 1.11 and later), and the template cannot
/// change. What the server holds shows that; a render does not.
fn strategy_filled_in(write: &Write<'_>) -> Option<Refusal> {
    let live = write.live.filter(|live| live.pointer("/metadata/uid").is_some())?;
    let lacks = live.pointer("/spec/template/spec/rolloutStrategy").is_none_or(Value::is_null);
    (write.api_version.ends_with("v1beta1") && write.versions.has(&V1BETA2) && lacks).then(|| Refusal {
        rule: CONTENT,
        path: ["spec", "template", "spec", "rollout", "strategy"].into_iter().fold(Path::root(), |at, key| at.key(key)),
        message:
            "it is stored without a rollout strategy, written as v1beta1 it gets one, and a template cannot change; \
                  write it as v1beta2"
                .to_owned(),
    })
}

/// The ignition format, and settings of it.
fn ignition(object: &Value, pointer: &str, versions: &Versions, need: &mut Need<'_>) {
    let Some(spec) = object.pointer(pointer) else { return };
    let place = pointer.trim_start_matches('/').replace('/', ".");
    if text(spec, "/format") == Some("ignition") {
        need(IGNITION, &format!("{place}.format"));
    }
    let block = spec.get("ignition");
    // Up to 1.10 an empty block is a block.
    let is_there = if versions.has(&V1BETA2) { says_something(block) } else { block.is_some_and(Value::is_object) };
    if is_there {
        need(IGNITION, &format!("{place}.ignition"));
    }
}

/// What the webhook refuses about this update; both sides in the superset form, with defaults.
#[must_use]
fn refusals(old: &Value, new: &Value, versions: &Versions) -> Vec<Refusal> {
    let mut out = Vec::new();
    fixed_fields(old, new, versions, &mut out);
    replicas(new, &mut out);
    version(old, new, &mut out);
    surge(new, &mut out);
    etcd(old, new, versions, &mut out);
    certificates(new, versions, &mut out);
    naming(new, versions, &mut out);
    expiry(new, versions, &mut out);
    template(old, new, versions, &mut out);
    dns(old, new, versions, &mut out);
    out
}

/// Up to 1.10 a Machine is not replaced for its certificates before the last week.
fn expiry(new: &Value, versions: &Versions, out: &mut Vec<Refusal>) {
    let days = number(new, "/spec/rollout/before/certificatesExpiryDays");
    if let Some(days) = days.filter(|days| *days < 7 && !versions.has(&V1BETA2)) {
        let place = "spec.rollout.before.certificatesExpiryDays";
        refuse(out, place, format!("the webhook refuses it: {days} days are less than 7"));
    }
}

/// CoreDNS moves up only, and only along versions that the provider knows.
fn dns(old: &Value, new: &Value, versions: &Versions, out: &mut Vec<Refusal>) {
    let tag =
        |side: &'_ Value| text(side, "/spec/kubeadmConfigSpec/clusterConfiguration/dns/imageTag").map(str::to_owned);
    // Up to 1.7 the webhook does not ask for the annotation.
    let skip = annotation(new, "controlplane.cluster.x-k8s.io/skip-coredns").is_some() && versions.has(&SKIP_COREDNS);
    if let Some(why) = coredns::refused(tag(old).as_deref(), tag(new).as_deref(), skip, versions) {
        let place = "spec.kubeadmConfigSpec.clusterConfiguration.dns.imageTag";
        refuse(out, place, format!("the webhook refuses it: {why}"));
    }
}

/// The template must name an infrastructure template, with valid labels and allowed taints.
fn template(old: &Value, new: &Value, versions: &Versions, out: &mut Vec<Refusal>) {
    for key in ["apiGroup", "kind", "name"] {
        if text(new, &format!("/spec/machineTemplate/spec/infrastructureRef/{key}")).is_none() {
            let place = format!("spec.machineTemplate.spec.infrastructureRef.{key}");
            refuse(out, &place, format!("the webhook refuses it: the infrastructure template has no {key}"));
        }
    }
    if !versions.has(&V1BETA2) {
        // Up to 1.10 only single fields of the template may change.
        for field in [
            "readinessGates",
            "infrastructureRef/namespace",
            "infrastructureRef/uid",
            "infrastructureRef/resourceVersion",
            "infrastructureRef/fieldPath",
        ] {
            let pointer = format!("/spec/machineTemplate/spec/{field}");
            let own = text(new, "/metadata/namespace").map(Value::from).filter(|_| field.ends_with("namespace"));
            let told = |side: &Value| {
                let value = side
                    .pointer(&pointer)
                    .filter(|value| !value.is_null() && *value != "" && !value.as_array().is_some_and(Vec::is_empty));
                value.cloned().or_else(|| own.clone())
            };
            if told(old) != told(new) {
                let place = format!("spec.machineTemplate.spec.{}", field.replace('/', "."));
                refuse(out, &place, format!("the webhook refuses it: {place} cannot be modified"));
            }
        }
    }
    metadata_and_taints(new, versions, out);
}

/// Labels, annotations and taints of the Machines are ones that may be set.
fn metadata_and_taints(new: &Value, versions: &Versions, out: &mut Vec<Refusal>) {
    let at = Path::root().key("spec").key("machineTemplate");
    labels::refusals(new.pointer("/spec/machineTemplate/metadata"), &at.key("metadata"), out);
    let taints = new.pointer("/spec/machineTemplate/spec/taints");
    if taints.and_then(Value::as_array).is_some_and(|list| !list.is_empty()) && versions.has(&CONTROL_PLANE_TAINTS) {
        core::taints::refusals(taints, "spec.taints", &at, false, out);
    }
}

/// A refusal at a place.
fn refuse(out: &mut Vec<Refusal>, path: &str, message: impl Into<String>) {
    let Ok(path) = Path::parse(path) else { return };
    out.push(Refusal { rule: RuleId::of("kcp/rejected"), path, message: message.into() });
}

/// Fields of the kubeadm configuration that cannot change.
fn fixed_fields(old: &Value, new: &Value, versions: &Versions, out: &mut Vec<Refusal>) {
    let config = |side: &Value| side.pointer("/spec/kubeadmConfigSpec").cloned().unwrap_or_default();
    let (old, new) = (without_gone(config(old), versions), without_gone(config(new), versions));
    for place in merge_patch_places(&old, &new) {
        let keys: Vec<&str> = place.iter().map(String::as_str).collect();
        let since = |(_, from, to): &(_, u64, u64)| {
            versions.ask(V1BETA2.provider, |version| (*from..=*to).contains(&version.minor))
        };
        let allowed = ALLOWED.iter().any(|allowed| may_change(allowed.0, &keys) && since(allowed));
        if !allowed {
            let path = keys.iter().fold(Path::root().key("spec").key("kubeadmConfigSpec"), |path, key| path.key(*key));
            out.push(Refusal {
                rule: RuleId::of("kcp/rejected"),
                message: format!("the webhook refuses it: {path} cannot be modified"),
                path,
            });
        }
    }
}

/// The config as the webhook sees it: without what conversion drops and what Go leaves out.
fn without_gone(mut config: Value, versions: &Versions) -> Value {
    if versions.has(&V1BETA2) {
        if let Some(map) = config.as_object_mut() {
            map.remove("useExperimentalRetryJoin");
        }
        for form in ["clusterConfiguration", "initConfiguration", "joinConfiguration"] {
            if let Some(map) = config.get_mut(form).and_then(Value::as_object_mut) {
                for key in ["apiVersion", "kind", "clusterName", "kubernetesVersion", "networking"] {
                    map.remove(key);
                }
            }
        }
        if let Some(api_server) = config.pointer_mut("/clusterConfiguration/apiServer").and_then(Value::as_object_mut) {
            api_server.remove("timeoutForControlPlane");
        }
    }
    let forms: Vec<&str> = ["clusterConfiguration", "initConfiguration", "joinConfiguration"]
        .into_iter()
        .filter(|form| config.get(*form).is_some_and(Value::is_object))
        .collect();
    // Up to 1.10 an empty etcd is one, and only what stood in it is gone.
    let keep_empty: &[&str] = if !versions.has(&V1BETA2) {
        &["taints", "controlPlane", "valueFrom", "local", "external"]
    } else {
        &["taints", "controlPlane", "valueFrom"]
    };
    diff::prune(&mut config, diff::Style { keep_empty, drop_zero: &[], keep_blank: &["value"] });
    if let Some(map) = config.as_object_mut().filter(|_| !versions.has(&V1BETA2)) {
        // Up to 1.10 these blocks are no pointers in Go, so that they are always written.
        for form in forms {
            let blocks: &[&str] = match form {
                "clusterConfiguration" => &["etcd", "dns", "apiServer", "controllerManager", "scheduler", "networking"],
                "initConfiguration" => &["nodeRegistration", "localAPIEndpoint"],
                _ => &["nodeRegistration", "discovery"],
            };
            if let Some(form) = map.entry(form).or_insert_with(empty).as_object_mut() {
                for block in blocks {
                    form.entry(*block).or_insert_with(empty);
                }
            }
        }
    }
    config
}

/// The places that a JSON merge patch from one config to the other would name; lists are whole values.
fn merge_patch_places(old: &Value, new: &Value) -> Vec<Vec<String>> {
    if old.as_object().is_some_and(|map| !map.is_empty()) && new.as_object().is_none_or(Map::is_empty) {
        // The whole block goes: the patch stops at its own name.
        return vec![Vec::new()];
    }
    fn walk(old: &Value, new: &Value, at: &mut Vec<String>, out: &mut Vec<Vec<String>>) {
        let (Some(left), Some(right)) = (old.as_object(), new.as_object()) else { return };
        for key in left.keys().filter(|key| !right.contains_key(key)) {
            out.push(at.iter().cloned().chain([key.to_string()]).collect());
        }
        for (key, value) in right {
            at.push(key.to_string());
            match left.get(key) {
                Some(before) if before.is_same(value) => {}
                Some(before) if before.is_object() && value.is_object() => walk(before, value, at, out),
                Some(before) if before == value => {}
                // An empty map names no place.
                None if value.is_object() => walk(&empty(), value, at, out),
                _ => out.push(at.clone()),
            }
            at.pop();
        }
    }
    let mut out = Vec::new();
    walk(old, new, &mut Vec::new(), &mut out);
    out
}

/// An empty map.
fn empty() -> Value {
    Value::Object(crate::tree::Map::new())
}

/// Whether an allowed pattern lets a place change (pathsMatch).
fn may_change(pattern: &str, place: &[&str]) -> bool {
    let allowed: Vec<&str> = pattern.split('.').collect();
    for (index, step) in place.iter().enumerate() {
        match allowed.get(index) {
            None => return false,
            Some(&"*") => return true,
            Some(want) if want != step => return false,
            Some(_) => {}
        }
    }
    // A place that ends above the pattern's end is not meant by it: `a.*` is everything below `a`, not `a`.
    place.len() >= allowed.len()
}
