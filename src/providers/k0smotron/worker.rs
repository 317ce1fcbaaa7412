//! Mirror of what the webhook of the config of a k0s worker refuses, and of what the mutating webhooks beside it write.
//! Read beside `api/bootstrap/v1beta2/k0s_types.go` (K0sWorkerConfigSpec Validate) and `worker_bootstrap_webhook.go` of k0smotron 2.1.

use super::version;
use crate::hashed::HashSet;
use crate::kinds::Webhook;
use crate::kinds::fields::{list, text};
use crate::kinds::webhook::{Refusal, Write, Written, refuse};
use crate::model::RuleId;
use crate::object::Path;
use crate::tree::Value;

/// Id of everything that is refused here.
const RULE: RuleId = RuleId::of("k0s/worker-rejected");
/// The first version that runs on Windows (minWindowsVersion).
const WINDOWS: ([u64; 3], &str) = ([1, 34, 2], "k0s.0");
/// The two places where a content may come from.
const SOURCES: [&str; 2] = ["secretRef", "configMapRef"];

/// The webhooks of the config of a worker.
#[derive(Debug)]
pub(super) struct Worker;

impl Webhook for Worker {
    fn fill_in(&self, written: &Written<'_>, object: &mut Value) {
        if let Some(spec) = object.get_mut("spec").filter(|_| writes_zeros(written)) {
            zeros(spec);
        }
    }

    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let mut out = Vec::new();
        let at = Path::root().key("spec");
        let Some(spec) = write.new.get("spec") else { return out };
        version(spec, &at, &mut out);
        files(spec, &at, &mut out);
        out
    }
}

/// Whether the mutating webhook writes the object anew: it is asked for the newest version alone, and what was converted for it has its
/// zeros already, so nothing is sent back.
pub(super) fn writes_zeros(written: &Written<'_>) -> bool {
    written.api_version.ends_with("/v1beta2")
}

/// Writes the names and keys that Go cannot leave out, which the schema asks for, into the sources of a config.
pub(super) fn zeros(config: &mut Value) {
    let files = config.get_mut("files").and_then(Value::as_array_mut);
    for file in files.into_iter().flatten() {
        source(file.get_mut("contentFrom"));
    }
    source(config.pointer_mut("/provisioner/customUserDataRef"));
}

/// Writes the names and keys that Go cannot leave out into the sources of one content.
fn source(content: Option<&mut Value>) {
    let Some(content) = content else { return };
    for name in SOURCES {
        let Some(reference) = content.get_mut(name).and_then(Value::as_object_mut) else { continue };
        for key in ["name", "key"] {
            if !reference.contains_key(key) {
                reference.insert(key, Value::from(""));
            }
        }
    }
}

/// A version that cannot be (validateVersion, validateWindows).
fn version(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let told = text(spec, "/version").unwrap_or_default();
    if told.contains("-k0s.") {
        refuse(out, RULE, at, "version", "the build of k0s stands behind a +, as in v1.34.2+k0s.0");
    }
    if text(spec, "/provisioner/platform") != Some("windows") {
        return;
    }
    let (core, meta) = WINDOWS;
    match version::read(told) {
        None => refuse(out, RULE, at, "version", "a worker on Windows must say its version"),
        Some(version) if version.is_below(core, meta) => {
            refuse(out, RULE, at, "version", "Windows needs v1.34.2+k0s.0 or later");
        }
        Some(_) => {}
    }
}

/// Files without one content, or with a path that another one has (validateFiles).
fn files(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let mut paths = HashSet::default();
    for (place, file) in list(spec, "/files").enumerate() {
        let below = format!("files[{place}]");
        let has_content = text(file, "/content").is_some_and(|content| !content.is_empty());
        let source = file.get("contentFrom").filter(|source| source.is_object());
        match (has_content, source) {
            (true, Some(_)) => refuse(out, RULE, at, &below, "a file has content or contentFrom, not both"),
            (false, None) => refuse(out, RULE, at, &below, "a file has content or contentFrom"),
            _ => {}
        }
        let references: Vec<_> = SOURCES
            .iter()
            .filter_map(|name| Some((name, source?.get(*name).filter(|reference| reference.is_object())?)))
            .collect();
        if references.len() > 1 {
            refuse(out, RULE, at, &format!("{below}.contentFrom"), "it has one of secretRef and configMapRef");
        }
        for (name, _) in references.iter().filter(|(_, to)| text(to, "/name").unwrap_or_default().is_empty()) {
            refuse(out, RULE, at, &format!("{below}.contentFrom.{name}.name"), "it must have a name");
        }
        if !paths.insert(text(file, "/path").unwrap_or_default()) {
            refuse(out, RULE, at, &format!("{below}.path"), "two files have the same path");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn told(spec: &Value) -> Vec<String> {
        let mut out = Vec::new();
        version(spec, &Path::root(), &mut out);
        files(spec, &Path::root(), &mut out);
        out.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    #[test]
    fn the_build_of_a_version_stands_behind_a_plus() {
        assert_eq!(told(&json!({"version": "v1.34.2-k0s.0"})), ["version"]);
        for good in ["v1.34.2+k0s.0", "v1.34.2", "", "latest"] {
            assert_eq!(told(&json!({ "version": good })), [""; 0], "{good}");
        }
    }

    #[test]
    fn windows_needs_a_version_that_runs_there() {
        let on = |version: &str, platform: &str| {
            told(&json!({"version": version, "provisioner": {"platform": platform}})).len()
        };
        for bad in ["", "latest", "v1.34.1+k0s.3", "v1.34.2", "v1.33.9+k0s.0", "v1.34.2-rc.1+k0s.0"] {
            assert_eq!((on(bad, "windows"), on(bad, "linux")), (1, 0), "{bad}");
        }
        for good in ["v1.34.2+k0s.0", "1.34.2+k0s.1", "v1.34.3", "v1.35.0+k0s.0", "v2.0.0"] {
            assert_eq!(on(good, "windows"), 0, "{good}");
        }
    }

    #[test]
    fn a_file_has_one_content_and_a_path_of_its_own() {
        let file = |path: &str, more: Value| {
            let mut file = json!({ "path": path });
            let (to, from) = (file.as_object_mut().expect("a map"), more.as_object().expect("a map"));
            from.iter().for_each(|(key, value)| drop(to.insert(key.clone(), value.clone())));
            file
        };
        let secret = |name: &str| json!({"contentFrom": {"secretRef": {"name": name, "key": "k"}}});
        let of = |files: Vec<Value>| told(&json!({ "files": files }));
        assert_eq!(of(vec![file("/a", json!({"content": "x"})), file("/b", secret("s"))]), [""; 0]);
        assert_eq!(of(vec![file("/a", json!({"content": "x"})), file("/a", secret("s"))]), ["files[1].path"]);
        assert_eq!(of(vec![file("/a", json!({"content": ""}))]), ["files[0]"]);
        let mut both = secret("s");
        both["content"] = json!("x");
        assert_eq!(of(vec![file("/a", both)]), ["files[0]"]);
        assert_eq!(of(vec![file("/a", secret(""))]), ["files[0].contentFrom.secretRef.name"]);
        let two = json!({"contentFrom": {"secretRef": {"name": "s"}, "configMapRef": {"name": "c"}}});
        assert_eq!(of(vec![file("/a", two)]), ["files[0].contentFrom"]);
    }

    #[test]
    fn go_writes_the_names_and_keys_that_are_missing() {
        let mut config = json!({"files": [{"contentFrom": {"secretRef": {"name": "a"}}}, {"content": "x"}],
            "provisioner": {"customUserDataRef": {"configMapRef": {}}, "ignition": {}}});
        zeros(&mut config);
        assert_eq!(config["files"][0]["contentFrom"]["secretRef"], json!({"name": "a", "key": ""}));
        assert_eq!(config["provisioner"]["customUserDataRef"]["configMapRef"], json!({"name": "", "key": ""}));
        assert_eq!(config["provisioner"]["ignition"], json!({}), "those that may be left out stay away");
    }
}
