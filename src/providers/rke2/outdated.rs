//! When a Machine of an RKE2 control plane is out of date: version, server configuration, RKE2Config, infrastructure template.
//! Read beside `pkg/rke2/machine_filters.go` (matchesRCPConfiguration) of cluster-api-provider-rke2 0.21 and, from 0.22
//! on, `pkg/rke2/control_plane.go`. Missing data never makes a Machine out of date there, nor here.

use std::collections::BTreeMap;
use std::ops::Range;

use super::changes::{EMPTY_LISTS_DROPPED, EXACT_VERSION, USER_DATA_READ};
use crate::kinds::Versions;
use crate::kinds::diff;
use crate::kinds::diff::Style;
use crate::kinds::fields::{annotation, text};
use crate::model::{Cause, Member, RuleId};
use crate::object::{Path, Segment};
use crate::providers::kubeadm::mirror::{Cloned, cloned_from};
use crate::tree::{Text, Value, json};
use crate::yaml;

/// Annotation of a Machine that keeps the server configuration it was made with.
pub(super) const SERVER_CONFIGURATION: &str = "controlplane.cluster.x-k8s.io/rke2-server-configuration";

static CLONED: Cloned =
    Cloned { name: RuleId::of("rke2cp/infrastructure-template"), kind: RuleId::of("rke2cp/infrastructure-kind") };

/// The parts of the owner's spec that are the spec of an RKE2Config.
pub(super) const CONFIG: &[&str] =
    &["files", "preRKE2Commands", "postRKE2Commands", "agentConfig", "privateRegistriesConfig", "gzipUserData"];

/// What Rancher Turtles puts into configs on its own.
const TURTLES_FILES: &[&str] =
    &["/etc/rancher/agent/connect-info-config.json", "/opt/system-agent-install.sh", "/etc/rancher/agent/config.yaml"];

/// What the Go types keep apart: pointers differ from absent even when empty, plain values do not.
const STYLE: Style = Style {
    keep_empty: &[
        "auditPolicySecret",
        "cloudControllerManager",
        "cloudProviderConfigMap",
        "configMap",
        "contentFrom",
        "customConfig",
        "encryptionKeySecret",
        "endpointCAsecret",
        "externalDatastoreSecret",
        "imageCredentialProviderConfigMap",
        "kubeAPIServer",
        "kubeControllerManager",
        "kubeProxy",
        "kubeScheduler",
        "kubelet",
        "ntp",
        "resolvConf",
        "s3",
        "s3CredentialSecret",
        "secret",
        "secretsEncryption",
    ],
    drop_zero: &[
        "airGapped",
        "cniMultusEnable",
        "embeddedRegistry",
        "enableContainerdSElinux",
        "enforceSslVerify",
        "exposeMetrics",
        "insecureSkipVerify",
        "loadBalancerPort",
        "protectKernelDefaults",
        "strict",
        "supervisorMetrics",
    ],
    keep_blank: &[],
};

/// Fields that are maps in the Go types: an entry is one even if it says nothing.
const MAPS: &[&str] = &["configs", "data", "extraEnv", "extraMounts", "mirrors", "nodeAnnotations", "rewrite"];

/// The reasons why a Machine is out of date, in the controller's order.
///
/// `owner` is the RKE2ControlPlane in the superset form, with the webhook's defaults.
#[must_use]
pub(super) fn outdated(member: &Member, owner: &Value, versions: &Versions) -> Vec<Cause> {
    let mut causes = Vec::new();
    causes.extend(version(member, owner, versions));
    causes.extend(server_config(member, owner, versions));
    causes.extend(config(member, owner, versions));
    causes.extend(cloned_from(member, owner, &["spec", "machineTemplate", "spec", "infrastructureRef"], &CLONED));
    causes
}

/// Whether the versions differ. Up to 0.24 a Machine without `+rke2rN` is compared by its Kubernetes version only.
fn version(member: &Member, owner: &Value, versions: &Versions) -> Option<Cause> {
    let want = text(owner, "/spec/version").unwrap_or_default();
    let Some(have) = text(&member.machine, "/spec/version") else {
        return Some(Cause::at(RuleId::of("rke2cp/version"), &["spec", "version"], format!("nothing to {want}")));
    };
    let bare = |version: &str| version.trim_start_matches('v').to_owned();
    let matches = if versions.has(&EXACT_VERSION) {
        have == want
    } else if release(have).is_some() {
        bare(have) == bare(want)
    } else {
        // The controller knows a release by patterns with one digit for the patch and one for the revision, and takes
        // the one place out: what it does not know stays as it is, and what follows the place does too.
        let kubernetes = release(want).map(|place| {
            let shorter = want[place.clone()].split('+').next().unwrap_or_default().trim_start_matches('v');
            format!("{}{shorter}{}", &want[..place.start], &want[place.end..])
        });
        bare(have) == bare(kubernetes.as_deref().unwrap_or(want))
    };
    (!matches).then(|| Cause::at(RuleId::of("rke2cp/version"), &["spec", "version"], format!("{have} to {want}")))
}

/// Where a text names a release as `v1.31.4+rke2r1` does (`pkg/util/util.go` IsRKE2Version and Rke2ToKubeVersion).
fn release(version: &str) -> Option<Range<usize>> {
    let shape = b"v0.00.0+rke2r0";
    let fits = |window: &[u8]| {
        window.iter().zip(shape).all(|(have, want)| if *want == b'0' { have.is_ascii_digit() } else { have == want })
    };
    let start = version.as_bytes().windows(shape.len()).position(fits)?;
    Some(start..start + shape.len())
}

/// Whether the server configuration differs from the one that the Machine carries in its annotation.
fn server_config(member: &Member, owner: &Value, versions: &Versions) -> Vec<Cause> {
    let Some(stored) = annotation(&member.machine, SERVER_CONFIGURATION) else { return Vec::new() };
    let at = Path::root().key("spec").key("serverConfig");
    let cause =
        |path, detail: &str| Cause { rule: RuleId::of("rke2cp/server-config"), path, detail: detail.to_owned() };
    let Ok(mut have) = serde_json::from_str::<Value>(stored) else {
        return vec![cause(at, "the annotation of the Machine cannot be read")];
    };
    let mut want = owner.pointer("/spec/serverConfig").cloned().unwrap_or_default();
    if have.is_null() {
        have = json!({});
    }
    if want.is_null() {
        want = json!({});
    }
    differing(have, want, &at, versions).into_iter().map(|path| cause(path, "")).collect()
}

/// The places at which what a Machine has differs from what is wanted, empty values dropped. Version 0.20.0 keeps the empty lists
/// of the owner, which no Machine can have: such a spec never matches.
fn differing(mut have: Value, mut want: Value, at: &Path, versions: &Versions) -> Vec<Path> {
    let mut kept = Vec::new();
    if versions.has(&USER_DATA_READ) && !versions.has(&EMPTY_LISTS_DROPPED) {
        kept = diff::leaves(&want, &Path::root());
        kept.retain(|path| path.get(&want).and_then(Value::as_array).is_some_and(Vec::is_empty));
    }
    diff::prune_beside(&mut have, STYLE, MAPS);
    diff::prune_beside(&mut want, STYLE, MAPS);
    let mut out = diff::places(Some(&have), Some(&want), at);
    for path in kept {
        let mut place = at.clone();
        path.segments().iter().for_each(|segment| place.push(segment.clone()));
        if !out.iter().any(|known| known.covers(&place)) {
            out.push(place);
        }
    }
    out
}

/// Whether the Machine's RKE2Config differs from the one in the owner.
fn config(member: &Member, owner: &Value, versions: &Versions) -> Vec<Cause> {
    let has_reference = member.machine.pointer("/spec/bootstrap/configRef").is_some_and(Value::is_object);
    let (true, Some(config)) = (has_reference, &member.config) else { return Vec::new() };
    let mut have = config.get("spec").cloned().unwrap_or_else(|| json!({}));
    if annotation(config, "cluster-api.cattle.io/turtles-system-agent").is_some() {
        without_turtles(&mut have);
    }
    let mut want = config_of(owner);
    if versions.has(&USER_DATA_READ) {
        user_data(&mut have);
        user_data(&mut want);
    }
    differing(have, want, &Path::root(), versions)
        .into_iter()
        .map(|below| {
            let rule = match below.segments().first() {
                Some(Segment::Key(key)) if key == "agentConfig" => RuleId::of("rke2cp/agent-config"),
                Some(Segment::Key(key)) if key == "files" => RuleId::of("rke2cp/files"),
                Some(Segment::Key(key)) if key.ends_with("Commands") => RuleId::of("rke2cp/commands"),
                Some(Segment::Key(key)) if key == "privateRegistriesConfig" => RuleId::of("rke2cp/registries"),
                _ => RuleId::of("rke2cp/user-data"),
            };
            let mut path = Path::root().key("spec");
            below.segments().iter().for_each(|segment| path.push(segment.clone()));
            Cause { rule, path, detail: String::new() }
        })
        .collect()
}

/// The RKE2Config's spec that stands inline in the owner.
pub(super) fn config_of(owner: &Value) -> Value {
    let spec = owner.get("spec");
    let part = |key: &&str| Some(((*key).to_owned(), spec?.get(*key)?.clone()));
    Value::Object(CONFIG.iter().filter_map(part).collect())
}

/// User data as the webhook leaves it: parts that the provider writes itself go, the rest is read as YAML
/// (`rke2config_webhook.go` CorrectArbitraryData).
fn user_data(spec: &mut Value) {
    let Some(data) = spec.pointer_mut("/agentConfig/additionalUserData/data").and_then(Value::as_object_mut) else {
        return;
    };
    for own in ["write_files", "ntp", "runcmd"] {
        data.remove(own);
    }
    for (_, part) in data.iter_mut() {
        let text = part.as_str().unwrap_or_default();
        let span = yaml::Span { start: 0, end: text.len() };
        // Kept as a text, because nothing in it goes: what is empty there is written too.
        match yaml::read_json(text.as_bytes(), span) {
            Ok(tree @ (Value::Object(_) | Value::Array(_))) => *part = json!(sorted(tree).to_string()),
            Ok(Value::Null) => *part = json!("{}"),
            _ => {}
        }
    }
}

/// A tree with the keys of its maps in order, as Go writes them.
fn sorted(tree: Value) -> Value {
    match tree {
        Value::Object(map) => {
            let entries: BTreeMap<Text, Value> = map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(list) => Value::Array(list.into_iter().map(sorted).collect()),
        other => other,
    }
}

/// Takes out what Rancher Turtles put in.
fn without_turtles(spec: &mut Value) {
    if let Some(files) = spec.get_mut("files").and_then(Value::as_array_mut) {
        files.retain(|file| text(file, "/path").is_none_or(|path| !TURTLES_FILES.contains(&path)));
    }
    if let Some(commands) = spec.get_mut("postRKE2Commands").and_then(Value::as_array_mut) {
        commands.retain(|command| command.as_str() != Some("sh /opt/system-agent-install.sh"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rules and places for which a Machine with `have` is out of date where `want` is asked for.
    fn found(have: (&str, Value), want: (&str, Value)) -> Vec<String> {
        let owner = json!({"spec": {"version": want.0, "privateRegistriesConfig": want.1["registries"],
            "agentConfig": want.1["agent"]}});
        let member = Member {
            name: String::new(),
            machine: json!({"spec": {"version": have.0, "bootstrap": {"configRef": {"kind": "RKE2Config"}}}}),
            config: Some(
                json!({"spec": {"privateRegistriesConfig": have.1["registries"], "agentConfig": have.1["agent"]}}),
            ),
            infra: None,
        };
        let versions = Versions::told("rke2", "v0.21.0");
        outdated(&member, &owner, &versions).into_iter().map(|cause| format!("{} {}", cause.rule, cause.path)).collect()
    }

    #[test]
    fn entries_of_maps_count_even_if_they_say_nothing() {
        const VERSION: &str = "v1.31.4+rke2r1";
        let with = |value: Value| (VERSION, value);
        let mirrors = json!({"registries": {"mirrors": {"a": {}}}});
        assert_eq!(
            found(with(json!({"registries": {}})), with(mirrors.clone())),
            ["rke2cp/registries spec.privateRegistriesConfig"]
        );
        assert_eq!(found(with(mirrors), with(json!({"registries": {"mirrors": {"a": {"endpoint": []}}}}))), [""; 0]);
        let env = |value: Value| with(json!({"agent": {"kubelet": {"extraEnv": value}}}));
        assert_eq!(
            found(env(json!({"A": "a"})), env(json!({"A": "a", "B": ""}))),
            ["rke2cp/agent-config spec.agentConfig.kubelet.extraEnv.B"]
        );
        assert_eq!(found(env(json!({})), env(Value::Null)), [""; 0]);
    }

    #[test]
    fn a_switch_of_the_server_that_is_off_is_none() {
        let differs = |field: &str, value: bool| {
            let want = Value::Object([(field.to_owned(), json!(value))].into_iter().collect());
            let versions = Versions::told("rke2", "v0.25.0");
            !differing(json!({}), want, &Path::root(), &versions).is_empty()
        };
        for field in ["supervisorMetrics", "embeddedRegistry", "cniMultusEnable"] {
            assert!(!differs(field, false) && differs(field, true), "{field}");
        }
        assert!(differs("disableAutomaticSnapshots", false), "a pointer keeps what is off");
    }

    #[test]
    fn an_empty_list_counts_in_one_patch() {
        let differs = |version: &str| {
            let want = json!({"nodeTaints": []});
            !differing(json!({}), want, &Path::root(), &Versions::told("rke2", version)).is_empty()
        };
        assert!(differs("v0.20.0"));
        assert!(!["v0.19.0", "v0.20.1", "v0.21.0"].into_iter().any(differs));
    }

    #[test]
    fn user_data_is_compared_as_yaml_with_all_that_it_says() {
        let data = |text: &str| ("v1.31.4+rke2r1", json!({"agent": {"additionalUserData": {"data": {"users": text}}}}));
        let place = ["rke2cp/agent-config spec.agentConfig.additionalUserData.data.users"];
        assert_eq!(found(data("a: x\nb: y\n"), data("{b: y, a: x}")), [""; 0]);
        assert_eq!(found(data("a: x\n"), data("a: x\nb: \"\"\n")), place);
        assert_eq!(found(data("a: x\n"), data("a: x\nb: []\n")), place);
    }

    #[test]
    fn a_machine_without_a_revision_matches_releases_with_one_digit() {
        let out_of_date = |have: &str, want: &str| !found((have, json!({})), (want, json!({}))).is_empty();
        assert!(!out_of_date("v1.31.4", "v1.31.4+rke2r1"));
        assert!(!out_of_date("1.31.4", "v1.31.4+rke2r2"));
        assert!(out_of_date("v1.31.14", "v1.31.14+rke2r1"));
        assert!(out_of_date("v1.31.4", "v1.31.4+rke2r10"));
        assert!(!out_of_date("v1.31.14+rke2r1", "v1.31.14+rke2r1"));
        assert!(out_of_date("v1.31.14+rke2r1", "v1.31.14+rke2r2"));
    }
}
