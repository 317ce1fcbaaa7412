//! Mirror of what the webhook of the k0s control plane refuses.
//! Read beside `api/controlplane/v1beta2/k0s_controlplane_webhook.go` of k0smotron 2.1; by reading.

use crate::kinds::Webhook;
use crate::kinds::fields::{list, text};
use crate::kinds::webhook::{Refusal, Write, refuse};
use crate::model::RuleId;
use crate::object::Path;

use crate::tree::Value;

/// Id of everything that is refused here.
const RULE: RuleId = RuleId::of("k0s/rejected");
/// A version that control planes cannot run.
const BROKEN: [u64; 3] = [1, 31, 1];

/// The webhooks of the provider.
#[derive(Debug)]
pub struct K0s;

impl Webhook for K0s {
    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let mut out = Vec::new();
        let spec = Path::root().key("spec");
        cannot_run(write.new, &spec, &mut out);
        let said = |side: &Value| text(side, "/spec/version").map(str::to_owned);
        let Some(version) = said(write.new) else { return out };
        let Some(wanted) = core(&version) else {
            refuse(&mut out, RULE, &spec, "version", format!("{version} is no version"));
            return out;
        };
        let before = write.past().and_then(said).filter(|before| *before != version);
        if let Some(before) = before {
            match core(&before) {
                None => refuse(&mut out, RULE, &spec, "version", format!("{before}, the old one, is no version")),
                Some(old) if skips(old, wanted) => {
                    refuse(
                        &mut out,
                        RULE,
                        &spec,
                        "version",
                        format!("the version cannot go up by more than one minor, from {before} to {version}"),
                    );
                }
                Some(_) => {}
            }
        }
        if wanted == BROKEN {
            refuse(&mut out, RULE, &spec, "version", "control planes cannot run 1.31.1; use 1.31.2");
        }
        out
    }
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

/// Whether a version leaves a minor out.
const fn skips(old: [u64; 3], new: [u64; 3]) -> bool {
    new[0] > old[0] || (new[0] == old[0] && new[1] > old[1] + 1)
}

/// The three numbers of a version; those that are not said are zero.
fn core(version: &str) -> Option<[u64; 3]> {
    let text = version.strip_prefix('v').unwrap_or(version);
    let numbers = text.split(['-', '+']).next()?;
    let mut out = [0; 3];
    for (place, number) in numbers.split('.').enumerate() {
        let number = number.parse().ok()?;
        *out.get_mut(place)? = number;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn a_minor_cannot_be_left_out() {
        let skips = |old: &str, new: &str| skips(core(old).expect("a version"), core(new).expect("a version"));
        assert!(!skips("v1.30.1+k0s.0", "v1.31.2+k0s.1"));
        assert!(skips("v1.30.1+k0s.0", "v1.32.0"));
        assert!(!skips("v1.32.0", "v1.30.0"), "down is not looked at");
        assert!(skips("v1.34.0", "v2.0.0"));
        assert_eq!((core("1.31"), core("latest")), (Some([1, 31, 0]), None));
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
