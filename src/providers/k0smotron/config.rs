//! The configuration of a k0s Machine: what it was made of, beside what its control plane says now (`internal/controller/controlplane/
//! helper.go` isBootstrapConfigUpToDate and deprecatedIsK0sConfigChanged of k0smotron 2.1).

use super::changes::{CONFIG_COMPARED, TUNNEL_COMPARED};
use crate::kinds::contract::BOOTSTRAP;
use crate::kinds::diff::{self, Style};
use crate::kinds::fields::{annotation, list, map_at, text};
use crate::kinds::{Versions, superset};
use crate::model::{Cause, Member, RuleId};
use crate::object::Path;
use crate::providers::kind_of;
use crate::tree::{Map, Value, json};

/// Annotation of a Machine: the configuration that it was made of, from k0smotron 1.10 on.
pub(super) const MADE_OF: &str = "k0s.controlplane.cluster.x-k8s.io/k0s-config";
/// Where the configuration stands in the control plane.
pub(super) const PLACE: &str = "/spec/k0sConfigSpec";
/// The parts of the cluster's own configuration that are compared with a Machine that does not say what it was made of.
pub(super) const PARTS: [&str; 2] = ["api", "storage"];

/// Lists, maps and pointers of Go: an empty one is not none. Everything else that is empty is left out.
const STYLE: Style = Style {
    keep_empty: &[
        "args",
        "files",
        "preK0sCommands",
        "postK0sCommands",
        "ignition",
        "customUserDataRef",
        "contentFrom",
        "secretRef",
        "configMapRef",
        "secretMetadata",
        "labels",
        "annotations",
    ],
    drop_zero: &["useSystemHostname", "preInstalledK0s", "enabled", "serverNodePort", "tunnelingNodePort"],
    keep_blank: &[],
};
/// What the types keep apart where Go writes the configuration down: only pointers can be empty.
const WRITTEN: Style = Style {
    keep_empty: &["ignition", "customUserDataRef", "contentFrom", "secretRef", "configMapRef", "secretMetadata"],
    ..STYLE
};
/// Where k0s lies where nothing is said.
const INSTALL_DIR: &str = "/usr/local/bin";
/// What a provisioner is where it does not say so.
const PROVISIONER: [(&str, &str); 2] = [("type", "cloud-config"), ("platform", "linux")];
/// Id of a difference.
const CONFIG: RuleId = RuleId::of("k0s/config");
/// Maps, whose entries may be empty texts.
const MAPS: &[&str] = &["labels", "annotations"];

/// Where a Machine was made of another configuration than its owner's. One without a config that was looked for is up to date.
pub(super) fn outdated(member: &Member, owner: &Value, versions: &Versions) -> Vec<Cause> {
    let Some(config) = member.config.as_ref().filter(|_| versions.has(&CONFIG_COMPARED)) else { return Vec::new() };
    let at = place();
    let mut causes = compared(member, config, owner, versions, &at);
    if !versions.has(&TUNNEL_COMPARED) {
        causes.retain(|cause| !cause.path.starts_with(&["spec", "k0sConfigSpec", "tunneling"]));
    }
    causes
}

/// The places at which its configuration differs from what the Machine remembers, or from its config.
fn compared(member: &Member, config: &Value, owner: &Value, versions: &Versions, at: &Path) -> Vec<Cause> {
    let Some(made_of) = annotation(&member.machine, MADE_OF) else {
        return by_config(&member.name, config.get("spec"), owner, at);
    };
    match serde_json::from_str::<Value>(made_of) {
        Ok(made_of) => differing(&held(Some(&converted(made_of, versions))), &held(owner.pointer(PLACE)), at),
        Err(error) => {
            vec![Cause { rule: CONFIG, path: at.clone(), detail: format!("the annotation {MADE_OF}: {error}") }]
        }
    }
}

/// Where the configuration stands, as a path.
fn place() -> Path {
    Path::root().key("spec").key("k0sConfigSpec")
}

/// The places at which two configurations differ.
fn differing(have: &Value, want: &Value, at: &Path) -> Vec<Cause> {
    let cause = |path| Cause { rule: CONFIG, path, detail: String::new() };
    diff::places(Some(have), Some(want), at).into_iter().map(cause).collect()
}

/// A configuration as both sides are compared: the cluster's own is handed to the cluster that runs.
fn held(spec: Option<&Value>) -> Value {
    let mut out = said(spec);
    default(&mut out);
    out
}

/// A configuration as it is said, without the cluster's own and without what is filled in where nothing is.
fn said(spec: Option<&Value>) -> Value {
    let mut out = spec.filter(|spec| spec.is_object()).cloned().unwrap_or_else(|| json!({}));
    if let Some(map) = out.as_object_mut() {
        map.shift_remove("k0s");
    }
    diff::prune_beside(&mut out, STYLE, MAPS);
    out
}

/// What a Machine that the owner makes remembers of its configuration, as text.
pub(super) fn written(owner: &Value) -> String {
    let mut out = held(owner.pointer(PLACE));
    diff::prune_beside(&mut out, WRITTEN, MAPS);
    out.to_string()
}

/// What a Machine remembers, with the names of v1beta2: k0smotron before 2.0 wrote it down with those of v1beta1 (getMachineK0sConfig).
fn converted(made_of: Value, versions: &Versions) -> Value {
    if made_of.get("provisioner").is_some() {
        return made_of;
    }
    let known = kind_of(BOOTSTRAP, super::CONFIG);
    let mut out = superset::moved(known, "bootstrap.cluster.x-k8s.io/v1beta1", json!({"spec": made_of}), versions);
    out.get_mut("spec").map(Value::take).unwrap_or_default()
}

/// Fills in what the schema does (withV1Beta2Defaults).
pub(super) fn default(spec: &mut Value) {
    let Some(spec) = spec.as_object_mut() else { return };
    fill(spec, &[("k0sInstallDir", json!(INSTALL_DIR)), ("downloadURL", json!("https://get.k0s.sh"))]);
    if let Some(provisioner) = map_at(spec, "provisioner") {
        fill(provisioner, &PROVISIONER.map(|(key, value)| (key, json!(value))));
    }
    if let Some(tunneling) = map_at(spec, "tunneling") {
        let ports = [("serverNodePort", json!(31700)), ("tunnelingNodePort", json!(31443))];
        fill(tunneling, &ports);
        fill(tunneling, &[("mode", json!("tunnel"))]);
    }
}

/// Puts values where there are none, or only what Go holds where nothing was said.
fn fill(map: &mut Map, values: &[(&'static str, Value)]) {
    for (key, value) in values {
        if map.get(key).is_none_or(|old| old.is_null() || *old == "" || *old == json!(0)) {
            map.insert((*key).to_owned(), value.clone());
        }
    }
}

/// Where the K0sControllerConfig of a Machine that does not say what it was made of differs.
fn by_config(machine: &str, config: Option<&Value>, owner: &Value, at: &Path) -> Vec<Cause> {
    let config = config.unwrap_or(&Value::Null);
    let wanted = owner.pointer(PLACE).unwrap_or(&Value::Null);
    let mut out = differing(&plain(config, own_args(config)), &plain(wanted, once(wanted)), at);
    let part = |side: &Value, name: &str| side.pointer(&format!("/k0s/spec/{name}")).cloned();
    let [api, storage] = PARTS;
    let mut compare = |name: &str, have: Option<&Value>, want: Option<&Value>| {
        let at = at.key("k0s").key("spec").key(name);
        let cause = |path| Cause { rule: RuleId::of("k0s/api-config"), path, detail: String::new() };
        out.extend(diff::places(have, want, &at).into_iter().map(cause));
    };
    compare(api, part(config, api).as_ref(), part(wanted, api).as_ref());
    let [have, want] = [config, wanted].map(|side| part(side, storage).unwrap_or_else(|| json!({})));
    // The name of the etcd member is written into the config of each Machine.
    if have != named(want.clone(), machine) {
        compare(storage, Some(&have), Some(&want));
    }
    out
}

/// A configuration without what is compared apart or not at all; nothing but the schema fills something in
/// (deprecatedIsK0sConfigChanged), and that only where nothing stands.
fn plain(spec: &Value, args: Vec<Value>) -> Value {
    let mut filled = spec.clone();
    if let Some(map) = filled.as_object_mut() {
        map.entry("k0sInstallDir").or_insert_with(|| json!(INSTALL_DIR));
        if let Some(provisioner) = map_at(map, "provisioner") {
            for (key, value) in PROVISIONER {
                provisioner.entry(key).or_insert_with(|| json!(value));
            }
        }
    }
    let mut out = said(Some(&filled));
    if let Some(map) = out.as_object_mut() {
        map.shift_remove("tunneling");
        map.shift_remove("version");
        map.insert("args".to_owned(), Value::from(args));
    }
    out
}

/// The arguments of a config, without those that its controller adds (removeArgsGeneratedInControllerConfigReconcile).
fn own_args(config: &Value) -> Vec<Value> {
    let path = match text(config, "/workingDir") {
        Some(folder) => format!("{}/k0s.yaml", folder.trim_end_matches('/')),
        None => "/etc/k0s.yaml".to_owned(),
    };
    let args = list(config, "/args");
    args.filter(|argument| **argument != "--config" && **argument != *path).cloned().collect()
}

/// The arguments of the control plane, each once (uniqueArgs).
fn once(wanted: &Value) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    for argument in list(wanted, "/args") {
        if !out.contains(argument) {
            out.push(argument.clone());
        }
    }
    out
}

/// The storage with the name of the etcd member of a Machine.
fn named(mut storage: Value, machine: &str) -> Value {
    let mut at = storage.as_object_mut();
    for key in ["etcd", "extraArgs"] {
        at = at.and_then(|map| map_at(map, key));
    }
    if let Some(arguments) = at {
        arguments.insert("name".to_owned(), Value::from(machine));
    }
    storage
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(config: Value) -> Value {
        json!({"spec": {"k0sConfigSpec": config}})
    }

    fn found(machine: Value, config: Option<Value>, wanted: Value) -> Vec<String> {
        found_by("v2.1.0", machine, config, wanted)
    }

    fn found_by(version: &str, machine: Value, config: Option<Value>, wanted: Value) -> Vec<String> {
        let member = Member { name: "m".to_owned(), machine, config, infra: None };
        let causes = outdated(&member, &owner(wanted), &Versions::told("k0smotron", version));
        causes.into_iter().map(|cause| format!("{} {}", cause.rule, cause.path)).collect()
    }

    fn made_of(config: &Value) -> Value {
        json!({"metadata": {"annotations": {MADE_OF: config.to_string()}}})
    }

    #[test]
    fn a_machine_is_compared_with_what_it_remembers() {
        let told = |have: Value, want: Value| found(made_of(&have), Some(json!({})), want);
        let provisioner = || json!({"type": "cloud-config"});
        assert_eq!(told(json!({"args": ["a"], "provisioner": provisioner()}), json!({"args": ["a"]})), [""; 0]);
        assert_eq!(
            told(json!({"args": ["a"], "provisioner": provisioner()}), json!({"args": ["b"]})),
            ["k0s/config spec.k0sConfigSpec.args[0]"]
        );
        let k0s =
            json!({"provisioner": provisioner(), "k0s": {"spec": {"api": {"port": 1}}}, "useSystemHostname": false});
        assert_eq!(told(k0s, json!({"k0s": {"spec": {"api": {"port": 2}}}})), [""; 0]);
        assert_eq!(told(json!({"provisioner": {}}), json!({"args": []})), ["k0s/config spec.k0sConfigSpec.args"]);
        let old = json!({"preStartCommands": ["a"], "ignition": {"variant": "fcos"}});
        let new =
            json!({"preK0sCommands": ["a"], "provisioner": {"type": "ignition", "ignition": {"variant": "fcos"}}});
        assert_eq!(told(old, new), [""; 0]);
    }

    #[test]
    fn a_machine_that_remembers_nothing_is_compared_with_its_config() {
        let told = |have: Value, want: Value| found(json!({}), Some(json!({"spec": have})), want);
        let have = json!({"version": "v1.30.1", "args": ["a", "--config", "/etc/k0s.yaml"],
            "k0s": {"spec": {"api": {"port": 1}, "storage": {"etcd": {"extraArgs": {"name": "m"}}}, "network": {}}}});
        let want = |port: u64| json!({"args": ["a", "a"], "k0s": {"spec": {"api": {"port": port}}}});
        assert_eq!(told(have.clone(), want(1)), [""; 0]);
        assert_eq!(told(have.clone(), want(2)), ["k0s/api-config spec.k0sConfigSpec.k0s.spec.api.port"]);
        let want = json!({"args": ["a"], "k0s": {"spec": {"api": {"port": 1}, "storage": {"type": "kine"}}}});
        assert!(told(have, want)[0].starts_with("k0s/api-config spec.k0sConfigSpec.k0s.spec.storage"));
        assert_eq!(found(json!({}), None, json!({"args": ["b"]})), [""; 0], "no config, no difference");
    }

    #[test]
    fn older_versions_compare_less() {
        let have = || json!({"args": ["a"], "tunneling": {"enabled": true, "serverAddress": "a"}});
        let told = |version: &str, key: &str, value: Value| {
            let mut want = have();
            want[key] = value;
            found_by(version, made_of(&have()), Some(json!({})), want)
        };
        let tunnel = || json!({"enabled": true, "serverAddress": "b"});
        for (version, args, tunneling) in
            [("v1.5.2", 0, 0), ("v1.5.3", 1, 0), ("v1.9.0", 1, 0), ("v1.10.0", 1, 1), ("v2.1.0", 1, 1)]
        {
            let found = (told(version, "args", json!(["b"])).len(), told(version, "tunneling", tunnel()).len());
            assert_eq!(found, (args, tunneling), "{version}");
        }
    }

    #[test]
    fn what_a_machine_remembers_of_an_empty_list_is_nothing() {
        let owner = owner(json!({"args": [], "preK0sCommands": ["a"], "k0s": {"spec": {}}}));
        let back: Value = serde_json::from_str(&written(&owner)).expect("JSON");
        assert_eq!((back.get("args"), back.get("k0s")), (None, None));
        assert_eq!(back["preK0sCommands"], json!(["a"]));
    }
}
