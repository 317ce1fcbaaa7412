//! Places whose value is secret whatever it looks like: by kind, by the name of the field, by the name of the list item.

use super::shapes::is_secret_word;
use crate::kinds::contract::{BOOTSTRAP, CONTROL_PLANE, CONVERSION_DATA, SECRET};
use crate::object::{Key, Route, Segment};
use crate::tree::Value;

/// Ends of file names whose content is secret.
const SECRET_FILES: [&str; 15] = [
    ".key",
    "-key.pem",
    ".p12",
    ".pfx",
    ".jks",
    ".kubeconfig",
    "/admin.conf",
    "/cloud.conf",
    "/cloud-config",
    "/clouds.yaml",
    "/azure.json",
    "/credentials",
    "/shadow",
    ".dockerconfigjson",
    "/.netrc",
];

/// Whether what stands at a place of an object is secret. `item` is the identity of the list item that it is in.
pub(super) fn is_secret(key: &Key, place: &Route<'_>, item: Option<&str>) -> bool {
    if key.group.is_empty() && key.kind == SECRET {
        let path = place.to_path();
        let below_data =
            matches!(path.segments().first(), Some(Segment::Key(top)) if top == "data" || top == "stringData");
        return below_data && path.segments().len() > 1;
    }
    let Some(field) = place.last_key() else { return false };
    match (field, item) {
        ("value" | "content", Some(item))
            if item.split(" > ").any(|item| is_secret_word(item) || is_secret_file(item)) =>
        {
            true
        }
        // A reference to a Secret only names it.
        ("secret", _) => false,
        _ => is_secret_word(field),
    }
}

/// Whether a file of this name holds a secret.
fn is_secret_file(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    let ssh_key = name.starts_with("id_") && !has_end(name, ".pub");
    path.starts_with('/') && (ssh_key || SECRET_FILES.iter().any(|end| path.ends_with(end)))
}

/// Whether a name has this end.
fn has_end(name: &str, end: &str) -> bool {
    name.ends_with(end)
}

/// Whether an annotation holds the whole object: kubectl's, and that of conversions.
pub(super) fn holds_the_object(annotation: &str) -> bool {
    matches!(annotation, "kubectl.kubernetes.io/last-applied-configuration" | CONVERSION_DATA)
}

/// The name by which a list item is known, where it has one: of a variable, an argument, a file.
pub(super) fn name_of(item: &Value) -> Option<&str> {
    let valued = item.get("value").is_some() || item.get("content").is_some();
    valued.then(|| ["name", "path", "key"].iter().find_map(|key| item.get(key).and_then(Value::as_str))).flatten()
}

/// How much is shown at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Guard {
    /// Typed fields of an API: all but what looks like a secret.
    Open,
    /// Values that people choose: also plain names.
    Plain,
    /// Bootstrap data: its typed names and choices, else only what has a form that no secret has.
    Typed,
    /// Places where anything can stand under any name: only what has a form that no secret has.
    Free,
}

/// Fields of any kind below which anything can stand, with typed fields among it.
const TYPED: [&str; 23] = [
    "additionalMetadata",
    "args",
    "bootCommands",
    "bootcmd",
    "cloudInitConfigDrive",
    "cloudInitNoCloud",
    "command",
    "commands",
    "configPatches",
    "env",
    "extraArgs",
    "extraEnvs",
    "files",
    "jsonPatches",
    "kubeletExtraArgs",
    "manifests",
    "metaData",
    "patches",
    "runcmd",
    "scpCommand",
    "sshCommand",
    "strategicPatches",
    "vmExtensions",
];

/// Fields of any kind below which anything can stand under any name: what files hold, what machines are started with.
const FREE: [&str; 29] = [
    "additionalConfig",
    "binaryData",
    "cloudConfig",
    "cloudInit",
    "config",
    "content",
    "contents",
    "customData",
    "customVMXKeys",
    "data",
    "extendedMetadata",
    "extraConfig",
    "ignition",
    "machineConfig",
    "manifest",
    "notificationMetadata",
    "postStart",
    "preStart",
    "preStop",
    "protectedSettings",
    "script",
    "scripts",
    "serverMetadata",
    "stringData",
    "userData",
    "values",
    "valuesContent",
    "valuesObject",
    "valuesTemplate",
];

/// Fields whose values people choose.
const CHOSEN: [&str; 4] = ["annotations", "additionalTags", "tags", "variables"];

/// Fields of a control plane's spec that are no part of what its machines are started with.
const OF_OWNER: [&str; 13] = [
    "infrastructureRef",
    "machineNaming",
    "machineNamingStrategy",
    "machineTemplate",
    "metadata",
    "registrationAddress",
    "registrationMethod",
    "remediation",
    "remediationStrategy",
    "replicas",
    "rollout",
    "rolloutStrategy",
    "version",
];

/// Typed fields of bootstrap data that are names or choices of an API.
const HARMLESS_FIELDS: [&str; 56] = [
    "apiVersion",
    "clusterDomain",
    "clusterName",
    "cni",
    "controlPlaneEndpoint",
    "criSocket",
    "device",
    "dnsDomain",
    "effect",
    "encoding",
    "filesystem",
    "format",
    "fsType",
    "group",
    "groups",
    "hostPath",
    "imageRepository",
    "imageTag",
    "key",
    "kind",
    "kubernetesVersion",
    "label",
    "machine",
    "mountPath",
    "name",
    "namespace",
    "networkName",
    "nodeLabels",
    "nodeTaints",
    "object",
    "op",
    "owner",
    "partition",
    "path",
    "pathType",
    "permissions",
    "policy",
    "publisher",
    "registrationMethod",
    "replaceFS",
    "role",
    "roles",
    "serverRef",
    "serviceAccountName",
    "shell",
    "sshAuthorizedKeys",
    "subject",
    "sudo",
    "tableType",
    "target",
    "timezone",
    "tlsSan",
    "type",
    "uid",
    "version",
    "volumeName",
];

/// Arguments of Kubernetes' programs that are names, choices and amounts: nothing secret is told by them.
const HARMLESS_ARGUMENTS: [&str; 14] = [
    "authorization-mode",
    "cloud-provider",
    "disable-admission-plugins",
    "enable-admission-plugins",
    "eviction-hard",
    "eviction-soft",
    "feature-gates",
    "kube-reserved",
    "node-ip",
    "node-labels",
    "register-with-taints",
    "runtime-config",
    "system-reserved",
    "tls-cipher-suites",
];

/// Fields of documents and free maps that name kinds, and nothing else.
const HARMLESS_INSIDE: [&str; 2] = ["apiVersion", "kind"];

/// A place on the way down, as far as it says what is shown there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Level {
    /// What is shown here.
    pub(super) guard: Guard,
    /// Whether the object is what machines are started with.
    of_bootstrap: bool,
    stage: Descent,
}

/// How far the way has come to the spec that machines are started with.
#[derive(Debug, Clone, Copy)]
enum Descent {
    Root,
    Spec,
    Template,
    TemplateSpec,
    /// The variables that a class defines, each with its schema.
    Variables,
    Variable,
    Schema,
    Below,
}

impl Level {
    /// The root of an object.
    pub(super) fn root(key: &Key) -> Self {
        let of_bootstrap = key.group == BOOTSTRAP || key.group == CONTROL_PLANE;
        Self { guard: Guard::Open, of_bootstrap, stage: Descent::Root }
    }

    /// The end of a path from here.
    pub(super) fn along(self, path: &[Segment]) -> Self {
        path.iter().fold(self, |level, segment| match segment {
            Segment::Key(key) => level.below(key),
            Segment::Index(_) => level,
        })
    }

    /// One key further down.
    pub(super) fn below(self, key: &str) -> Self {
        let (stage, starts) = match (self.stage, key) {
            (Descent::Root, "spec") => (Descent::Spec, false),
            (Descent::Spec, "template") => (Descent::Template, false),
            (Descent::Template, "spec") => (Descent::TemplateSpec, false),
            (Descent::Spec, "variables") if !self.of_bootstrap => (Descent::Variables, false),
            (Descent::Variables, "schema") => (Descent::Variable, false),
            (Descent::Variable, "openAPIV3Schema") => (Descent::Schema, false),
            // What a class says to people of a variable, and not what anybody chose.
            (Descent::Schema, "description") => return Self { guard: Guard::Open, stage: Descent::Below, ..self },
            (Descent::Spec | Descent::TemplateSpec, key) => {
                (Descent::Below, self.of_bootstrap && !OF_OWNER.contains(&key))
            }
            _ => (Descent::Below, false),
        };
        // Of a machine, what its cloud hands to it (OCI `metadata`): that of objects stands beside a spec.
        let of_machine =
            key == "metadata" && !self.of_bootstrap && matches!(self.stage, Descent::Spec | Descent::TemplateSpec);
        let here = if of_machine || FREE.contains(&key) || key.ends_with("UserData") || key.ends_with("Script") {
            Guard::Free
        } else if starts || TYPED.contains(&key) || key.ends_with("Commands") {
            Guard::Typed
        } else if CHOSEN.contains(&key) {
            Guard::Plain
        } else {
            Guard::Open
        };
        Self { guard: self.guard.max(here), stage, ..self }
    }

    /// Inside a string that is a document.
    pub(super) const fn inside(self) -> Self {
        Self { guard: Guard::Free, ..self }
    }

    /// Inside a JSON document that stands in a field: controllers keep what they made machines of in annotations, with its typed fields.
    pub(super) fn of_json(self) -> Self {
        if self.guard == Guard::Plain { Self { guard: Guard::Typed, ..self } } else { self.inside() }
    }

    /// Whether a field holds a name or a choice of an API here. In a free place fewer do: anyone can call a field so.
    pub(super) fn is_harmless(self, field: Option<&str>) -> bool {
        let Some(field) = field else { return false };
        match self.guard {
            Guard::Open | Guard::Plain => false,
            Guard::Typed => HARMLESS_FIELDS.contains(&field),
            Guard::Free => HARMLESS_INSIDE.contains(&field),
        }
    }

    /// Whether an argument of a program stands here that tells nothing secret: a field of its name, or the value of the item that has it.
    pub(super) fn is_harmless_argument(self, field: Option<&str>, item: Option<&str>) -> bool {
        let name = match field {
            Some("value") => item.and_then(|item| item.rsplit(" > ").next()),
            field => field,
        };
        self.guard == Guard::Typed && name.is_some_and(|name| HARMLESS_ARGUMENTS.contains(&name))
    }
}
