//! Mirror of what the webhooks of the control planes refuse.
//! Read beside `api/controlplane/v1beta2/k0s_controlplane_webhook.go` and `k0smotron_controlplane_webhook.go` of k0smotron 2.1.

use super::changes::{HOSTED_WEBHOOK, PLANE_WEBHOOK};
use super::{version, worker};
use crate::kinds::Webhook;
use crate::kinds::fields::{list, number, text};
use crate::kinds::webhook::{Refusal, Write, Written, refuse};
use crate::model::RuleId;
use crate::object::Path;
use crate::tree::{Value, json};

/// Id of everything that is refused here.
const RULE: RuleId = RuleId::of("k0s/rejected");
/// Id of everything that is refused here of a control plane that runs as Pods.
const HOSTED: RuleId = RuleId::of("k0smotron/rejected");
/// A configuration of the cluster that says no kind.
const UNTYPED: RuleId = RuleId::of("k0s/untyped");
/// Lists of a configuration that a write as v1beta1 loses where they are empty.
const LISTS: [&str; 4] = ["args", "files", "preStartCommands", "postStartCommands"];
/// Blocks of a cluster of k0smotron alone that are structs in Go.
const BLOCKS: [&str; 9] =
    ["defragJob", "etcd", "kine", "monitoring", "nats", "persistence", "resources", "service", "storage"];
/// A version that control planes cannot run.
const BROKEN: [u64; 3] = [1, 31, 1];
/// Of its minor, the first version that works behind an ingress.
const INGRESS: [u64; 3] = [1, 34, 1];

/// The webhooks of the provider.
#[derive(Debug)]
pub(crate) struct K0s;

impl Webhook for K0s {
    /// The mutating webhook changes nothing, but Go writes what it cannot leave out (`K0sControlPlaneSpec` in `k0s_types.go`).
    fn fill_in(&self, written: &Written<'_>, object: &mut Value) {
        let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
        if !worker::writes_zeros(written) {
            if let Some(config) = spec.get_mut("k0sConfigSpec").and_then(Value::as_object_mut) {
                config.retain(|key, value| !(LISTS.contains(&key.as_str()) && *value == json!([])));
            }
            return;
        }
        let template = spec.get_mut("machineTemplate").and_then(Value::as_object_mut);
        if let Some(template) = template.filter(|map| !map.contains_key("infrastructureRef")) {
            template.insert("infrastructureRef", json!({}));
        }
        worker::zeros(spec.entry("k0sConfigSpec").or_insert_with(|| json!({})));
    }

    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let mut out = Vec::new();
        let spec = Path::root().key("spec");
        of_a_kind(write.new, "/spec/k0sConfigSpec/k0s", &mut out);
        if !write.versions.has(&PLANE_WEBHOOK) {
            return out;
        }
        cannot_run(write.new, &spec, &mut out);
        versions(write.past(), write.new, &spec, &mut out);
        out
    }
}

/// The webhooks of a control plane that runs as Pods.
#[derive(Debug)]
pub(crate) struct Hosted;

impl Webhook for Hosted {
    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let mut out = Vec::new();
        if let Err(why) = hosted(write.past(), write.new)
            && write.versions.has(&HOSTED_WEBHOOK)
        {
            refuse(&mut out, HOSTED, &Path::root().key("spec"), "version", why);
        }
        of_a_kind(write.new, "/spec/k0sConfig", &mut out);
        out
    }
}

/// What a conversion refuses of kinds that no webhook looks at: the template of control planes and the config of one Machine.
#[derive(Debug)]
pub(crate) struct Converted;

impl Webhook for Converted {
    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let mut out = Vec::new();
        if !write.api_version.ends_with("/v1beta2") {
            of_a_kind(write.new, "/spec/k0s", &mut out);
            of_a_kind(write.new, "/spec/template/spec/k0sConfigSpec/k0s", &mut out);
        }
        out
    }
}

/// A configuration of k0s without a kind, which nobody can read (apimachinery `unstructured.UnstructuredJSONScheme`).
fn of_a_kind(new: &Value, place: &str, out: &mut Vec<Refusal>) {
    let config = new.pointer(place).filter(|config| config.is_object());
    if config.is_some_and(|config| text(config, "/kind").unwrap_or_default().is_empty()) {
        let path = place.split('/').skip(1).fold(Path::root(), |path, key| path.key(key));
        let message = "a configuration of k0s must say its kind, which is ClusterConfig".to_owned();
        out.push(Refusal { rule: UNTYPED, path, message });
    }
}

/// The webhooks of a cluster of k0smotron alone (`api/k0smotron.io/v1beta2/k0smotroncluster_webhook.go`).
#[derive(Debug)]
pub(crate) struct Alone;

impl Webhook for Alone {
    /// The mutating webhook writes the object anew, with what Go cannot leave out (ClusterDefaulter Default).
    fn fill_in(&self, written: &Written<'_>, object: &mut Value) {
        if let Some(spec) = object.get_mut("spec").filter(|_| worker::writes_zeros(written)) {
            written.shape.write_zeros(spec, &BLOCKS);
        }
    }

    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let mut out = Vec::new();
        let spec = Path::root().key("spec");
        // The mutating webhook gives a version to one that says none, which works behind an ingress.
        of_a_kind(write.new, "/spec/k0sConfig", &mut out);
        let replicas = |side: &Value| number(side, "/spec/replicas").unwrap_or(1);
        let is_other = write.past().is_some_and(|old| replicas(old) != replicas(write.new));
        if is_other && text(write.new, "/spec/storage/type") == Some("nats") {
            refuse(&mut out, HOSTED, &spec, "replicas", "where NATS is the storage the number of Pods stays");
        }
        let version = text(write.new, "/spec/version").filter(|version| !version.is_empty());
        if let Some(Err(why)) = version.map(|version| behind_ingress(write.new, version)) {
            refuse(&mut out, HOSTED, &spec, "version", why);
        }
        out
    }
}

/// What no version of a control plane that runs as Pods can be. Where a version comes or goes, the webhook asks nothing at all
/// (`api/controlplane/v1beta2/k0smotron_controlplane_webhook.go` ValidateUpdate).
fn hosted(old: Option<&Value>, new: &Value) -> Result<(), String> {
    let said = |side| text(side, "/spec/version").unwrap_or_default();
    let version = said(new);
    if let Some(before) = old.map(said).filter(|before| *before != version) {
        if before.is_empty() || version.is_empty() {
            return Ok(());
        }
        step(before, version)?;
    }
    behind_ingress(new, version)
}

/// Whether a version works behind the ingress that is asked for (`api/k0smotron.io/v1beta2/k0smotroncluster_types.go`
/// IngressSpec Validate; the same since 1.10). Minors are compared without their major.
fn behind_ingress(new: &Value, version: &str) -> Result<(), String> {
    if !new.pointer("/spec/ingress").is_some_and(Value::is_object) {
        return Ok(());
    }
    let core = version::read(version).ok_or_else(|| no_version(version))?.core();
    if core[1] == INGRESS[1] && core < INGRESS {
        return Err(format!("with an ingress {version} is too old; of this minor 1.34.1 is the first that works"));
    }
    Ok(())
}

/// What no version of a control plane of Machines can be (ValidateUpdate, denyIncompatibleK0sVersions).
fn versions(old: Option<&Value>, new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let said = |side| text(side, "/spec/version").unwrap_or_default();
    let wanted = said(new);
    if let Some(before) = old.map(said)
        && let Err(why) = step(before, wanted)
    {
        refuse(out, RULE, spec, "version", why);
        return;
    }
    match version::read(wanted) {
        None => refuse(out, RULE, spec, "version", no_version(wanted)),
        Some(wanted) if wanted.core() == BROKEN => {
            refuse(out, RULE, spec, "version", "control planes cannot run 1.31.1; use 1.31.2");
        }
        Some(_) => {}
    }
}

/// Why one version cannot follow another one.
fn step(before: &str, version: &str) -> Result<(), String> {
    if before == version {
        return Ok(());
    }
    let old = version::read(before).ok_or_else(|| match before {
        "" => "it had no version before".to_owned(),
        _ => format!("{before}, the old one, is no version"),
    })?;
    let new = version::read(version).ok_or_else(|| no_version(version))?;
    match skips(old.core(), new.core()) {
        true => Err(format!("the version cannot go up by more than one minor, from {before} to {version}")),
        false => Ok(()),
    }
}

/// What is said of a text that is no version.
fn no_version(text: &str) -> String {
    if text.is_empty() { "a control plane must have a version".to_owned() } else { format!("{text} is no version") }
}

/// What a control plane cannot be: on Windows, and recreated where it is the only one (denyIncompatibleProvisioners,
/// denyRecreateOnSingleClusters).
fn cannot_run(new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let provisioner = |key: &str| text(new, &format!("/spec/k0sConfigSpec/provisioner/{key}"));
    if provisioner("platform") == Some("windows")
        || matches!(provisioner("type"), Some("powershell" | "powershell-xml"))
    {
        refuse(out, RULE, spec, "k0sConfigSpec.provisioner", "control planes do not run on Windows");
    }
    let is_single = list(new, "/spec/k0sConfigSpec/args").any(|argument| *argument == "--single");
    if is_single && text(new, "/spec/updateStrategy") == Some("Recreate") {
        for place in ["updateStrategy", "k0sConfigSpec.args"] {
            refuse(out, RULE, spec, place, "a control plane that runs alone (--single) cannot be recreated");
        }
    }
}

/// Whether a version leaves a minor out; the webhook takes one minor from the other and does not look at the majors.
const fn skips(old: [u64; 3], new: [u64; 3]) -> bool {
    new[1] > old[1].saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minor_cannot_be_left_out() {
        let refused = |old: &str, new: &str| step(old, new).is_err();
        assert!(!refused("v1.30.1+k0s.0", "v1.31.2+k0s.1"));
        assert!(refused("v1.30.1+k0s.0", "v1.32.0"));
        assert!(!refused("v1.32.0", "v1.30.0"), "down is not looked at");
        assert!(!refused("v1.34.0", "v2.0.0") && !refused("v1.34.0", "v2.35.0"), "majors are not looked at");
        assert!(refused("v1.34.0", "v2.36.0"));
        assert!(refused("", "v1.34.0") && refused("v1.34.0", ""));
    }

    #[test]
    fn an_ingress_needs_a_version_that_works_behind_it() {
        let with = |version: &str, ingress: Value| json!({"spec": {"version": version, "ingress": ingress}});
        let refused = |old: Option<&str>, new: &str| {
            let old = old.map(|old| with(old, json!({})));
            hosted(old.as_ref(), &with(new, json!({}))).is_err()
        };
        assert!(refused(None, "v1.34.0-k0s.0") && refused(Some("v1.33.5-k0s.0"), "v1.34.0+k0s.1"));
        assert!(refused(Some("v1.34.0-k0s.0"), "v1.34.0-k0s.0"), "each write is asked");
        assert!(!refused(None, "v1.34.1-k0s.0") && !refused(Some("v1.33.5-k0s.0"), "v1.34.1-k0s.0"));
        assert!(!refused(None, "v1.33.5-k0s.0"), "of an older minor nothing is asked");
        assert!(refused(None, "") && refused(None, "latest"));
        assert!(!refused(Some("v1.34.0-k0s.0"), ""), "a version that goes is not asked for");
        assert!(hosted(None, &json!({"spec": {"version": "v1.34.0-k0s.0"}})).is_ok(), "no ingress");
    }

    #[test]
    fn a_control_plane_of_machines_has_a_version() {
        let refused = |old: Option<Value>, version: &str| {
            let mut out = Vec::new();
            let new = json!({"spec": {"version": version}});
            versions(old.as_ref(), &new, &Path::root().key("spec"), &mut out);
            out.len()
        };
        let old = || Some(json!({"spec": {"version": "v1.30.1+k0s.0"}}));
        assert_eq!((refused(None, ""), refused(old(), "")), (1, 1));
        assert_eq!((refused(None, "v1.31.2_1"), refused(old(), "v1.31.1+k0s.0")), (1, 1));
        assert_eq!((refused(None, "v1.31.2"), refused(old(), "v1.31.2+k0s.0")), (0, 0));
        assert_eq!(refused(Some(json!({"spec": {}})), ""), 1, "a version that was never there is asked for, too");
    }

    #[test]
    fn a_control_plane_that_runs_alone_is_not_recreated() {
        let refused = |strategy: &str, argument: &str| {
            let mut out = Vec::new();
            let spec = json!({"updateStrategy": strategy, "k0sConfigSpec": {"args": [argument]}});
            cannot_run(&json!({ "spec": spec }), &Path::root().key("spec"), &mut out);
            out.len()
        };
        assert_eq!(refused("Recreate", "--single"), 2);
        assert_eq!((refused("Recreate", "--debug"), refused("InPlace", "--single")), (0, 0));
    }

    #[test]
    fn a_control_plane_is_not_on_windows() {
        let refused = |provisioner: Value| {
            let mut out = Vec::new();
            let spec = json!({"k0sConfigSpec": {"provisioner": provisioner}});
            cannot_run(&json!({ "spec": spec }), &Path::root().key("spec"), &mut out);
            out.len()
        };
        assert_eq!((refused(json!({"type": "powershell"})), refused(json!({"platform": "windows"}))), (1, 1));
        assert_eq!(refused(json!({"type": "ignition", "platform": "linux"})), 0);
    }
}
