//! Mirror of how a Machine's KubeadmConfig is compared with its control plane.
//! Read beside `controlplane/kubeadm/pkg/filters.go` (matchesKubeadmConfig, PrepareKubeadmConfigsForDiff) and
//! `controlplane/kubeadm/pkg/desiredstate/desired_state.go` (ComputeDesiredKubeadmConfig) of Cluster API 1.12 to 1.14.

use crate::kinds::Versions;
use crate::kinds::diff;
use crate::kinds::diff::Style;
use crate::kinds::fields::annotation;
use crate::kinds::fields::child;
use crate::kinds::fields::text;
use crate::kinds::mirror::Compared;
use crate::kinds::versions::parse as parse_version;
use crate::model::Cause;
use crate::model::Member;
use crate::model::RuleId;
use crate::object::{Path, Segment};
use crate::providers::core::changes::{DESIRED_OBJECTS, LOCAL_MODE};
use crate::providers::kubeadm::config_old as kcp_config_old;
use crate::tree::{Map, Value, json};

/// What the Go types of a KubeadmConfigSpec keep apart.
pub(crate) const STYLE: Style = diff::CLUSTER_API;

/// The reasons why the Machine's config is out of date.
#[must_use]
pub(crate) fn outdated(member: &Member, owner: &Value, versions: &Versions) -> Vec<Cause> {
    if !versions.has(&DESIRED_OBJECTS) {
        return kcp_config_old::outdated(member, owner, versions);
    }
    let (true, Some(config)) = (has_reference(member), &member.config) else { return Vec::new() };
    let nothing = json!({});
    let current = config.get("spec").unwrap_or(&nothing);
    let kubernetes = kubernetes(member, owner);
    let joined = differences(current, desired(owner, true, kubernetes, versions), true, versions);
    if joined.is_empty() {
        return Vec::new();
    }
    if is_join(current, versions) {
        return joined.into_iter().map(cause).collect();
    }
    // A Machine made by `kubeadm init` also counts as up to date when it matches the init form.
    let init = differences(current, desired(owner, false, kubernetes, versions), false, versions);
    if init.is_empty() { Vec::new() } else { init.into_iter().chain(joined).map(cause).collect() }
}

/// Why the config of a Machine is out of date, found once a run for each config and each content of an owner. What older versions compare
/// stands in more places.
#[must_use]
pub(crate) fn outdated_once(member: &Member, owner: &Value, versions: &Versions, compared: &Compared) -> Vec<Cause> {
    let find = || outdated(member, owner, versions);
    let config = member.config.as_ref().and_then(|config| config.get("spec"));
    match config.zip(owner.pointer("/spec/kubeadmConfigSpec")) {
        Some((config, wanted)) if has_reference(member) && versions.has(&DESIRED_OBJECTS) => {
            compared.get(versions, (config, wanted, kubernetes(member, owner)), find)
        }
        _ => find(),
    }
}

/// Whether two Machines say the same of all that [`outdated`] looks at, in any version.
#[must_use]
pub(crate) fn is_alike(one: &Member, other: &Member) -> bool {
    fn said(member: &Member) -> (bool, Option<&str>, Option<&str>, Option<Option<&Value>>) {
        let config = member.config.as_ref().map(|config| config.get("spec"));
        let version = text(&member.machine, "/spec/version");
        (has_reference(member), version, annotation(&member.machine, kcp_config_old::CLUSTER_CONFIGURATION), config)
    }
    said(one) == said(other)
}

/// Whether a Machine names a config.
pub(super) fn has_reference(member: &Member) -> bool {
    member.machine.pointer("/spec/bootstrap/configRef").is_some_and(Value::is_object)
}

/// The cause that stands for a differing place of the config.
pub(crate) fn cause(path: Path) -> Cause {
    let keys: Vec<&str> = path
        .segments()
        .iter()
        .filter_map(|segment| if let Segment::Key(key) = segment { Some(key.as_str()) } else { None })
        .collect();
    let rule = match keys.as_slice() {
        ["clusterConfiguration", ..] => RuleId::of("kcp/cluster-configuration"),
        ["initConfiguration", ..] => RuleId::of("kcp/init-configuration"),
        ["joinConfiguration", ..] => RuleId::of("kcp/join-configuration"),
        ["files", ..] => RuleId::of("kcp/files"),
        ["users", ..] => RuleId::of("kcp/users"),
        ["preKubeadmCommands" | "postKubeadmCommands" | "bootCommands", ..] => RuleId::of("kcp/commands"),
        ["format" | "ignition", ..] => RuleId::of("kcp/format"),
        _ => RuleId::of("kcp/machine-setup"),
    };
    let mut owner = Path::root().key("spec").key("kubeadmConfigSpec");
    path.segments().iter().for_each(|segment| owner.push(segment.clone()));
    Cause { rule, path: owner, detail: String::new() }
}

/// The version by which the gates of a Machine's config are filled in. A Machine of another version than the control plane's is out of date
/// by that alone, and a gate that comes or goes with the version is no cause of its own.
fn kubernetes<'v>(member: &'v Member, owner: &'v Value) -> &'v str {
    let own = text(&member.machine, "/spec/version");
    own.or_else(|| text(owner, "/spec/version")).unwrap_or_default()
}

/// The config that the control plane would make now (ComputeDesiredKubeadmConfig).
fn desired(owner: &Value, join: bool, kubernetes: &str, versions: &Versions) -> Value {
    let mut spec = owner.pointer("/spec/kubeadmConfigSpec").cloned().unwrap_or_else(|| json!({}));
    let Some(map) = spec.as_object_mut() else { return json!({}) };
    if join {
        map.remove("initConfiguration");
        let control_plane = child(map, "joinConfiguration").entry("controlPlane").or_insert(Value::Null);
        if control_plane.is_null() {
            *control_plane = json!({});
        }
    } else {
        map.remove("joinConfiguration");
    }
    if versions.has(&LOCAL_MODE) {
        default_gates(map, kubernetes, versions);
    }
    spec
}

/// The feature gate that the provider adds since Kubernetes 1.31 (DefaultFeatureGates), since 1.12.2 up to 1.35 alone.
fn default_gates(spec: &mut Map, kubernetes: &str, versions: &Versions) {
    let Some(version) = parse_version(kubernetes) else { return };
    let is_left_out = |capi: &semver::Version| *capi >= semver::Version::new(1, 12, 2);
    let is_over = version.minor >= 36 && versions.ask("cluster-api", is_left_out);
    if version.minor < 31 || is_over || version.major != 1 {
        return;
    }
    let gates = child(child(spec, "clusterConfiguration"), "featureGates");
    gates.entry("ControlPlaneKubeletLocalMode").or_insert(json!(true));
}

/// Whether a config is for a Machine that joined.
fn is_join(spec: &Value, versions: &Versions) -> bool {
    let join = spec.get("joinConfiguration");
    let control_plane = join.and_then(|join| join.get("controlPlane")).is_some_and(|value| !value.is_null());
    // 1.14.1 also takes a config with kubelet arguments for a joined one: 1.11 did not always write controlPlane.
    let has_arguments = || {
        join.and_then(|join| join.pointer("/nodeRegistration/kubeletExtraArgs"))
            .and_then(Value::as_array)
            .is_some_and(|list| !list.is_empty())
    };
    let by_arguments = |version: &semver::Version| *version >= semver::Version::new(1, 14, 1);
    control_plane || has_arguments() && versions.ask("cluster-api", by_arguments)
}

/// The places at which the Machine's config differs from the wanted one (PrepareKubeadmConfigsForDiff, then a diff).
fn differences(current: &Value, mut desired: Value, convert: bool, versions: &Versions) -> Vec<Path> {
    let joined = is_join(current, versions);
    let mut current = current.clone();
    let (Some(have), Some(want)) = (current.as_object_mut(), desired.as_object_mut()) else { return Vec::new() };
    if convert && !joined {
        init_to_join(have, want);
    }
    if joined && have.get("joinConfiguration").is_some_and(|join| join.get("controlPlane").is_none_or(Value::is_null)) {
        child(have, "joinConfiguration").insert("controlPlane".to_owned(), json!({}));
    }
    for key in ["controlPlaneEndpoint", "dns"] {
        let wanted = want.get("clusterConfiguration").and_then(|config| config.get(key)).cloned();
        child(have, "clusterConfiguration").insert(key.to_owned(), wanted.unwrap_or_default());
    }
    for side in [&mut *have, &mut *want] {
        old_defaults(side);
        child(side, "joinConfiguration").remove("discovery");
        for form in ["initConfiguration", "joinConfiguration"] {
            child(child(side, form), "timeouts").remove("controlPlaneComponentHealthCheckSeconds");
        }
    }
    diff::places_pruned(have, want, STYLE)
}

/// Puts the settings of an init config where a joined Machine has them.
fn init_to_join(have: &mut Map, want: &Map) {
    let init = have.remove("initConfiguration").unwrap_or_default();
    let join = child(have, "joinConfiguration");
    for key in ["timeouts", "patches", "skipPhases", "nodeRegistration"] {
        join.insert(key.to_owned(), init.get(key).cloned().unwrap_or_default());
    }
    let endpoint = init.get("localAPIEndpoint").cloned().unwrap_or_default();
    join.insert("controlPlane".to_owned(), json!({"localAPIEndpoint": endpoint}));
    let path = want.get("joinConfiguration").and_then(|join| join.get("caCertPath")).cloned();
    join.insert("caCertPath".to_owned(), path.unwrap_or_default());
}

/// The values that older versions wrote by default (ApplyPreviousKubeadmConfigDefaults).
pub(crate) fn old_defaults(spec: &mut Map) {
    fill(spec, "format", "cloud-config");
    for form in ["initConfiguration", "joinConfiguration"] {
        fill(child(child(spec, form), "nodeRegistration"), "imagePullPolicy", "IfNotPresent");
    }
}

/// Sets a text where there is none.
fn fill(map: &mut Map, key: &str, text: &str) {
    if map.get(key).and_then(Value::as_str).is_none_or(str::is_empty) {
        map.insert(key.to_owned(), json!(text));
    }
}

/// The KubeadmConfig of a Machine that this owner made.
pub(crate) fn made_from(owner: &Value, join: bool, versions: &Versions, machine: &mut Value) -> Value {
    if !versions.has(&DESIRED_OBJECTS) {
        return kcp_config_old::made_from(owner, join, machine);
    }
    json!({"spec": desired(owner, join, text(owner, "/spec/version").unwrap_or_default(), versions)})
}
