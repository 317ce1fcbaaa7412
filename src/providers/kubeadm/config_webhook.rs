//! Mirror of what the bootstrap provider's webhook refuses in a kubeadm configuration.
//! Read beside `bootstrap/kubeadm/webhooks/admission/kubeadmconfig.go` (Validate) of Cluster API 1.14.

use crate::hashed::HashSet;
use crate::kinds::Versions;
use crate::kinds::fields::number;
use crate::kinds::fields::says_something as defined;
use crate::kinds::fields::text;
use crate::kinds::webhook::Refusal;
use crate::kinds::webhook::refuse;
use crate::model::RuleId;
use crate::object::Path;
use crate::providers::core::changes::V1BETA2;
use crate::tree::Value;

/// Id of everything that is refused here.
const RULE: RuleId = RuleId::of("kubeadm/rejected");

/// What is refused in the configuration that stands at `at`.
#[must_use]
pub(crate) fn refusals(spec: Option<&Value>, at: &Path, of_control_plane: bool, versions: &Versions) -> Vec<Refusal> {
    let mut out = Vec::new();
    let Some(spec) = spec else { return out };
    let empty_counts = !versions.has(&V1BETA2);
    sources(spec, at, ["files", "content", "contentFrom"], empty_counts, &mut out);
    sources(spec, at, ["users", "passwd", "passwdFrom"], empty_counts, &mut out);
    same_paths(spec, at, &mut out);
    ignition(spec, at, versions, &mut out);
    disks(spec, at, &mut out);
    let user = "joinConfiguration.discovery.file.kubeConfig.user";
    let pointer = format!("/{}", user.replace('.', "/"));
    // Up to 1.10 an empty block is a block.
    let both = ["authProvider", "exec"].iter().all(|key| {
        let block = spec.pointer(&format!("{pointer}/{key}"));
        if versions.has(&V1BETA2) { defined(block) } else { block.is_some_and(Value::is_object) }
    });
    if !versions.has(&V1BETA2)
        && spec.pointer(&pointer).is_some_and(|user| user.get("authProvider").is_none() && user.get("exec").is_none())
    {
        refuse(&mut out, RULE, at, user, "at least one of authProvider and exec must be set");
    }
    if both {
        refuse(&mut out, RULE, at, user, "only one of authProvider and exec can be set");
    }
    if of_control_plane && versions.has(&V1BETA2) {
        component_timeouts(spec, at, &mut out);
    }
    tokens(spec, at, &mut out);
    out
}

/// The component timeouts of init and join must be the same.
fn component_timeouts(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let key = "controlPlaneComponentHealthCheckSeconds";
    let timeout = |form: &str| spec.get(form)?.get("timeouts")?.get(key).filter(|value| !value.is_null());
    if timeout("initConfiguration") != timeout("joinConfiguration") {
        for form in ["initConfiguration", "joinConfiguration"] {
            let below = format!("{form}.timeouts.{key}");
            refuse(out, RULE, at, &below, format!("init and join must have the same {key}"));
        }
    }
}

/// Bootstrap tokens have one form, and Go reads no other.
fn tokens(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let plain = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    let init = spec.get("initConfiguration").unwrap_or(&Value::Null);
    for (place, token) in items(init, "bootstrapTokens") {
        let Some(token) = token.get("token").and_then(Value::as_str) else { continue };
        let fits = token.split_once('.').is_some_and(|(id, secret)| plain(id, 6) && plain(secret, 16));
        if !fits {
            let below = format!("initConfiguration.bootstrapTokens[{place}].token");
            refuse(out, RULE, at, &below, "a bootstrap token has the form abcdef.0123456789abcdef");
        }
    }
}

/// Items of a list.
fn items<'v>(spec: &'v Value, list: &str) -> impl Iterator<Item = (usize, &'v Value)> {
    spec.get(list).and_then(Value::as_array).into_iter().flatten().enumerate()
}

/// A value and a reference to it exclude each other, and a reference must be whole.
///
/// Up to 1.10 an empty reference is a reference.
fn sources(spec: &Value, at: &Path, [list, own, from]: [&str; 3], empty_counts: bool, out: &mut Vec<Refusal>) {
    for (place, item) in items(spec, list) {
        let is_there = defined(item.get(from)) || (empty_counts && item.get(from).is_some_and(Value::is_object));
        if !is_there {
            continue;
        }
        if text(item, &format!("/{own}")).is_some() {
            refuse(out, RULE, at, &format!("{list}[{place}]"), format!("only one of {own} and {from} can be set"));
        }
        for key in ["name", "key"] {
            if text(item, &format!("/{from}/secret/{key}")).is_none() {
                let below = format!("{list}[{place}].{from}.secret.{key}");
                refuse(out, RULE, at, &below, format!("{from} needs the {key} of a Secret"));
            }
        }
    }
}

/// No two files have the same path.
fn same_paths(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let mut seen: HashSet<&str> = HashSet::default();
    for (place, file) in items(spec, "files") {
        let path = text(file, "/path").unwrap_or_default();
        if !seen.insert(path) {
            refuse(out, RULE, at, &format!("files[{place}].path"), format!("two files have the path {path:?}"));
        }
    }
}

/// Some settings exclude the ignition format; the gate that it needs is looked at elsewhere.
fn ignition(spec: &Value, at: &Path, versions: &Versions, out: &mut Vec<Refusal>) {
    let is_ignition = text(spec, "/format") == Some("ignition");
    // Up to 1.10 an empty block is a block.
    let has_block = if versions.has(&V1BETA2) {
        defined(spec.get("ignition"))
    } else {
        spec.get("ignition").is_some_and(Value::is_object)
    };
    if !is_ignition {
        if has_block {
            refuse(out, RULE, at, "format", "must be ignition where spec.ignition is set");
        }
        return;
    }
    let excluded = "cannot be used with the ignition format";
    for (place, user) in items(spec, "users") {
        if user.get("inactive") == Some(&Value::Bool(true)) {
            refuse(out, RULE, at, &format!("users[{place}].inactive"), excluded);
        }
    }
    for (place, file) in items(spec, "files") {
        if text(file, "/encoding").is_some_and(|encoding| encoding.starts_with("gzip")) {
            refuse(out, RULE, at, &format!("files[{place}].encoding"), excluded);
        }
    }
    if defined(spec.get("bootCommands")) {
        refuse(out, RULE, at, "bootCommands", excluded);
    }
    let disks = spec.get("diskSetup").unwrap_or(&Value::Null);
    for (place, partition) in items(disks, "partitions") {
        if text(partition, "/tableType").is_some_and(|kind| kind != "gpt") {
            refuse(
                out,
                RULE,
                at,
                &format!("diskSetup.partitions[{place}].tableType"),
                "must be gpt with the ignition format",
            );
        }
    }
    for (place, system) in items(disks, "filesystems") {
        for key in ["replaceFS", "partition"] {
            if text(system, &format!("/{key}")).is_some() {
                refuse(out, RULE, at, &format!("diskSetup.filesystems[{place}].{key}"), excluded);
            }
        }
    }
}

/// Partitions cannot take more than the whole disk.
fn disks(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    for (place, partition) in items(spec.get("diskSetup").unwrap_or(&Value::Null), "partitions") {
        let sum: u64 = items(partition, "diskLayout").filter_map(|(_, part)| number(part, "/percentage")).sum();
        if sum > 100 {
            let below = format!("diskSetup.partitions[{place}].diskLayout");
            refuse(out, RULE, at, &below, format!("the partitions take {sum} percent of the disk"));
        }
    }
}
