//! What Butane finds wrong in the additional user data of a node that is set up by Ignition, as far as it is cheap to see
//! (`ToIgn3_3Bytes` of Butane 0.25, `config/fcos/v1_4`, with the checks of Ignition's `config/v3_3/types`).

use std::collections::BTreeSet;

use crate::kinds::fields::{list, text};
use crate::tree::Value;
use crate::yaml;

/// What the outermost fields of a config can be (`config/fcos/v1_4/schema.go`, `base/v0_4/schema.go`).
const FIELDS: &[&str] =
    &["boot_device", "ignition", "kernel_arguments", "passwd", "storage", "systemd", "variant", "version"];
/// How the names of systemd's units end (Ignition `unit.go` validateName).
const UNITS: &[&str] = &[
    "service",
    "socket",
    "device",
    "mount",
    "automount",
    "swap",
    "target",
    "path",
    "timer",
    "snapshot",
    "slice",
    "scope",
];

/// The config as a tree; nothing where it is no YAML, which nobody refuses.
pub(super) fn read(config: &str) -> Value {
    let span = yaml::Span { start: 0, end: config.len() };
    yaml::read_json(config.as_bytes(), span).unwrap_or_default()
}

/// The outermost fields of a config that Butane does not know.
pub(super) fn unknown(config: &Value) -> Vec<String> {
    let names = config.as_object().into_iter().flat_map(|map| map.iter().map(|(name, _)| name.to_string()));
    names.filter(|name| !FIELDS.contains(&name.as_str())).collect()
}

/// The first thing in a config for which Butane gives up. What a config says is not shown: it may be secret.
pub(super) fn fatal(config: &Value) -> Option<String> {
    if list(config, "/storage/trees").next().is_some() {
        return Some("storage.trees reads a local folder, and there is none".to_owned());
    }
    nodes(config).or_else(|| resources(config)).or_else(|| units(config))
}

/// What is wrong with the files, directories and links (Ignition `node.go`, `file.go`, `storage.go`).
fn nodes(config: &Value) -> Option<String> {
    let mut seen = BTreeSet::new();
    for kind in ["directories", "files", "links"] {
        for (place, node) in list(config, &format!("/storage/{kind}")).enumerate().filter(|(_, node)| node.is_object())
        {
            let path = text(node, "/path").unwrap_or_default();
            let what = node_is(kind, node, path).or_else(|| {
                let is_twice = !path.is_empty() && !seen.insert(path);
                is_twice.then_some("has a path that another one has")
            });
            if let Some(what) = what {
                return Some(format!("storage.{kind}[{place}] {what}"));
            }
        }
    }
    None
}

/// What is wrong with one of them.
fn node_is(kind: &str, node: &Value, path: &str) -> Option<&'static str> {
    // A number is a text to Go.
    let is_number = node.get("path").is_some_and(Value::is_number);
    let lacks = |key: &str| node.get(key).is_none_or(|value| value.is_null() || *value == "");
    let has_both = |who: &str| {
        !node.pointer(&format!("/{who}/id")).is_none_or(Value::is_null) && text(node, &format!("/{who}/name")).is_some()
    };
    match kind {
        _ if is_number || !is_clean(path) => Some("has a path that is not absolute and clean"),
        "links" if lacks("target") => Some("has no target"),
        "files" if node.get("overwrite") == Some(&Value::Bool(true)) && sources(node.get("contents")).is_empty() => {
            Some("is to be overwritten and has no contents")
        }
        _ => (has_both("user") || has_both("group")).then_some("has an owner with an id and a name"),
    }
}

/// Whether a path is absolute and as Go's path.Clean leaves it.
fn is_clean(path: &str) -> bool {
    path == "/"
        || path.strip_prefix('/').is_some_and(|rest| rest.split('/').all(|part| !matches!(part, "" | "." | "..")))
}

/// Where the contents of a resource come from.
fn sources(resource: Option<&Value>) -> Vec<&'static str> {
    let is_said = |key: &&str| resource.and_then(|resource| resource.get(key)).is_some_and(|value| !value.is_null());
    ["inline", "local", "source"].into_iter().filter(is_said).collect()
}

/// What is wrong with where contents come from (Butane `base/v0_4/validate.go` and `translate.go` translateResource).
fn resources(config: &Value) -> Option<String> {
    let files = || list(config, "/storage/files");
    let contents = files().filter_map(|file| file.get("contents"));
    let appended = files().flat_map(|file| list(file, "/append"));
    let keys = list(config, "/storage/luks").filter_map(|luks| luks.get("key_file"));
    let merged = list(config, "/ignition/config/merge").chain(config.pointer("/ignition/config/replace"));
    let authorities = list(config, "/ignition/security/tls/certificate_authorities");
    for resource in contents.chain(appended).chain(keys).chain(merged).chain(authorities) {
        let sources = sources(Some(resource));
        if sources.len() > 1 {
            return Some(format!("contents come from one place, not from {}", sources.join(" and ")));
        }
        if sources == ["local"] {
            return Some("local reads a file of a folder, and there is none".to_owned());
        }
    }
    None
}

/// What is wrong with the names of units (Ignition `unit.go`).
fn units(config: &Value) -> Option<String> {
    let ends = |name: &str, ends: &[&str]| name.rsplit_once('.').is_some_and(|(_, end)| ends.contains(&end));
    for (place, unit) in list(config, "/systemd/units").enumerate().filter(|(_, unit)| unit.is_object()) {
        if !ends(text(unit, "/name").unwrap_or_default(), UNITS) {
            return Some(format!("systemd.units[{place}] has a name that no unit can have"));
        }
        let mut names = list(unit, "/dropins").map(|dropin| text(dropin, "/name").unwrap_or_default());
        if names.any(|name| !ends(name, &["conf"])) {
            return Some(format!("systemd.units[{place}] has a drop-in whose name does not end in .conf"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(config: &str) -> Option<String> {
        fatal(&read(config))
    }

    #[test]
    fn paths_are_absolute_and_clean() {
        let file = |path: &str| told(&format!("storage: {{files: [{{path: {path}, contents: {{inline: a}}}}]}}\n"));
        assert_eq!(file("/etc/hello"), None);
        for odd in ["etc/hello", "/etc//hello", "/etc/../hello", "/etc/hello/", "''"] {
            assert!(file(odd).is_some(), "{odd}");
        }
        assert!(told("storage: {directories: [{mode: 0755}]}\n").is_some());
        assert!(told("storage: {files: [{path: /a}], directories: [{path: /a}]}\n").is_some());
    }

    #[test]
    fn contents_come_from_one_place() {
        let contents =
            |contents: &str| told(&format!("storage: {{files: [{{path: /a, contents: {{{contents}}}}}]}}\n"));
        assert_eq!((contents("inline: a"), contents("source: 'https://x'")), (None, None));
        assert!(contents("inline: a, source: 'https://x'").is_some());
        assert!(contents("local: a").is_some());
        assert!(told("storage: {files: [{path: /a, overwrite: true}]}\n").is_some());
        assert!(told("storage: {trees: [{local: a}]}\n").is_some());
    }

    #[test]
    fn links_have_a_target_and_units_a_name() {
        assert!(told("storage: {links: [{path: /a}]}\n").is_some());
        assert_eq!(told("storage: {links: [{path: /a, target: /b}]}\n"), None);
        assert!(told("systemd: {units: [{name: kubelet}]}\n").is_some());
        assert_eq!(told("systemd: {units: [{name: a.service, dropins: [{name: b.conf}]}]}\n"), None);
        assert!(told("systemd: {units: [{name: a.service, dropins: [{name: b}]}]}\n").is_some());
        assert_eq!(told("no YAML: ["), None);
    }
}
