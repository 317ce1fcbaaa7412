//! References from one object to another, in every spelling that Cluster API uses:
//! `infrastructureRef`, `bootstrap.configRef`, `templateRef`, `ref`, with `apiVersion` (v1beta1) or `apiGroup` (v1beta2).

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::contract::{CONFIG_MAP, INFRASTRUCTURE, SECRET};
use crate::object::{ApiVersion, Object, Path};
use crate::tree::{Map, Value};

/// What a field called `dataTemplate` means, which one provider names by name alone (CAPM3 `api/v1beta1/metal3machine_types.go`).
const DATA_TEMPLATE: &str = "Metal3DataTemplate";

/// A reference that stands in an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    /// Where it stands; list places are those of the object that holds it.
    pub path: Path,
    /// Where it stands by words: list items by `class` or `name` instead of by place, the v1beta2 detour left out.
    pub role: String,
    /// Group of what it refers to; `None` where the reference does not say.
    pub group: Option<String>,
    /// Kind of what it refers to.
    pub kind: String,
    /// Namespace of what it refers to; `None` where it is that of the object that refers.
    pub namespace: Option<String>,
    /// Name of what it refers to.
    pub name: String,
}

/// All references in the `spec` of an object, in the order in which they stand.
#[must_use]
pub(crate) fn references(object: &Value) -> Vec<Reference> {
    let mut found = Vec::new();
    if let Some(spec) = object.get("spec") {
        collect(spec, &Way::Spec, &mut found);
    }
    found
}

/// The way to a value; path and role are only made for what turns out to be a reference.
#[derive(Clone, Copy)]
enum Way<'a> {
    /// The spec itself.
    Spec,
    /// A field.
    Field(&'a Self, &'a str),
    /// An item of a list.
    Item(&'a Self, usize, &'a Value),
}

impl Way<'_> {
    /// The place and the role.
    fn told(self) -> (Path, String) {
        match self {
            Self::Spec => (Path::root().key("spec"), "spec".to_owned()),
            Self::Field(above, key) => {
                let (path, role) = above.told();
                let role = if is_detour(&role, key) { role } else { format!("{role}.{}", word(key)) };
                (path.key(key), role)
            }
            Self::Item(above, place, item) => {
                let (path, role) = above.told();
                let name = ["class", "name"].iter().find_map(|key| item.get(key).and_then(Value::as_str));
                let role = name.map_or_else(|| format!("{role}[{place}]"), |name| format!("{role}[{name}]"));
                (path.index(place), role)
            }
        }
    }
}

/// Adds the references below one value.
fn collect(value: &Value, way: &Way<'_>, found: &mut Vec<Reference>) {
    match value {
        Value::Object(map) => {
            if let Some(reference) = read(value, way) {
                found.push(reference);
                return;
            }
            for (key, value) in map.iter().filter(|(_, value)| value.is_object() || value.is_array()) {
                collect(value, &Way::Field(way, key), found);
            }
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate().filter(|(_, item)| item.is_object() || item.is_array()) {
                collect(item, &Way::Item(way, place, item), found);
            }
        }
        _ => {}
    }
}

/// v1beta2 puts `machineTemplate.infrastructureRef` one level deeper, and ClusterClass workers one level higher.
fn is_detour(role: &str, key: &str) -> bool {
    (key == "spec" && role.ends_with(".machineTemplate")) || (key == "template" && role.contains("spec.workers."))
}

/// One word for the spellings of one thing in v1beta1 and v1beta2.
fn word(key: &str) -> &str {
    match key {
        "ref" => "templateRef",
        "infrastructureTemplate" => "infrastructureRef",
        other => other,
    }
}

/// Reads a map as a reference.
fn read(value: &Value, way: &Way<'_>) -> Option<Reference> {
    let Way::Field(_, field) = *way else { return None };
    if !is_reference_field(field) && field != "dataTemplate" {
        return None;
    }
    let text = |key: &str| value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let name = text("name")?;
    let (kind, group) = match (text("kind"), field) {
        (Some(kind), _) if is_reference_field(field) => {
            let group = text("apiGroup").or_else(|| text("apiVersion").map(|version| ApiVersion::parse(version).group));
            (kind, group)
        }
        (None, "dataTemplate") => (DATA_TEMPLATE, Some(INFRASTRUCTURE)),
        _ => return None,
    };
    let (path, role) = way.told();
    Some(Reference {
        path,
        role,
        group: group.map(str::to_owned),
        kind: kind.to_owned(),
        namespace: text("namespace").map(str::to_owned),
        name: name.to_owned(),
    })
}

/// Whether a field holds a reference to an object of its own.
fn is_reference_field(field: &str) -> bool {
    field.ends_with("Ref") || matches!(field, "ref" | "remediationTemplate" | "infrastructureTemplate")
}

/// Something that a tree refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Named<'a> {
    /// Its kind.
    pub kind: &'a str,
    /// Its namespace, where that stands beside its name; without it, it is that of what refers.
    pub namespace: Option<&'a str>,
    /// Its name.
    pub name: &'a str,
}

/// Hands on everything that a tree refers to.
pub(crate) fn named(value: &Value, add: &mut dyn FnMut(Named<'_>)) {
    named_here(value, add);
    match value {
        Value::Object(map) => map.values().for_each(|child| named(child, add)),
        Value::Array(list) => list.iter().for_each(|child| named(child, add)),
        _ => {}
    }
}

/// Hands on what a tree refers to, but for what only its parts say of themselves.
pub(crate) fn named_here(value: &Value, add: &mut dyn FnMut(Named<'_>)) {
    let Value::Object(map) = value else { return };
    if let (Some(kind), Some(name)) = (said(map, "kind"), said(map, "name"))
        && (matches!(kind, SECRET | CONFIG_MAP) || says_group(map) && !map.contains_key("metadata"))
    {
        add(Named { kind, namespace: said(map, "namespace"), name });
    }
    map.iter().for_each(|(key, child)| named_in_field(key, child, add));
}

/// Hands on what the value of one field refers to, where the field says what the value itself does not.
fn named_in_field(field: &str, value: &Value, add: &mut dyn FnMut(Named<'_>)) {
    match value {
        Value::Object(map) => match (said(map, "kind"), said(map, "name")) {
            // A reference of an old provider says no group.
            (Some(kind), Some(name))
                if field.ends_with("Ref") && !says_group(map) && !matches!(kind, SECRET | CONFIG_MAP) =>
            {
                add(Named { kind, namespace: said(map, "namespace"), name });
            }
            (None, Some(name)) => {
                let namespace = said(map, "namespace");
                kinds_by_field(field, false).iter().for_each(|kind| add(Named { kind, namespace, name }));
            }
            _ => {}
        },
        Value::String(name) => {
            kinds_by_field(field, true).iter().for_each(|kind| add(Named { kind, namespace: None, name }));
        }
        Value::Array(items) if is_telling(field) => items.iter().for_each(|item| named_in_field(field, item, add)),
        _ => {}
    }
}

/// A text of a map that says something.
fn said<'m>(map: &'m Map, key: &str) -> Option<&'m str> {
    map.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// Whether a reference says the group of what it refers to.
fn says_group(map: &Map) -> bool {
    said(map, "apiGroup").or_else(|| said(map, "apiVersion")).is_some()
}

/// Hands on every text of a spec that may be the name of an object whose kind is not said beside it, with the namespace that is.
pub(crate) fn mentioned(spec: &Value, add: &mut dyn FnMut(Option<&str>, &str)) {
    mentioned_in(spec, None, add);
}

/// Hands on every text of a value that may be the name of an object; the map around it says this namespace, or none.
fn mentioned_in(value: &Value, namespace: Option<&str>, add: &mut dyn FnMut(Option<&str>, &str)) {
    const OTHERS: [&str; 7] = ["clusterName", "kind", "apiVersion", "apiGroup", "namespace", "labels", "annotations"];
    let is_name = |text: &str| {
        !text.is_empty()
            && text.len() <= 253
            && text
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.'))
    };
    match value {
        Value::String(text) if is_name(text) => add(namespace, text),
        Value::Array(list) => list.iter().for_each(|child| mentioned_in(child, None, add)),
        Value::Object(map) => {
            let is_typed = map.contains_key("kind");
            let told = map.iter().filter(|(key, _)| {
                !OTHERS.contains(&key.as_str()) && *key != "matchLabels" && !(is_typed && *key == "name")
            });
            let within = said(map, "namespace");
            for (key, child) in told {
                mentioned_in(child, within, add);
                // Beside another word than `name` it may be the namespace of something else.
                if within.is_some() && key != "name" && child.is_string() {
                    mentioned_in(child, None, add);
                }
            }
        }
        _ => {}
    }
}

/// Whether a tree takes one key of a Secret or ConfigMap of this name, as `contentFrom` and `passwdFrom` of bootstrap configs do.
pub(crate) fn takes_key(value: &Value, name: &str, key: &str) -> bool {
    match value {
        Value::Object(map) => {
            said(map, "name") == Some(name) && said(map, "key") == Some(key)
                || map.values().any(|child| takes_key(child, name, key))
        }
        Value::Array(list) => list.iter().any(|child| takes_key(child, name, key)),
        _ => false,
    }
}

/// Whether an object may name a Secret or a ConfigMap as [`named`] finds them; false only where its text rules that out.
#[must_use]
pub(crate) fn may_name_data(object: &Object) -> bool {
    /// Words of kinds and fields that mean one of the two, in small letters.
    const WORDS: [&str; 8] =
        ["secret", "configmap", "identityref", "credential", "acsendpoint", "userdata", "networkdata", "resolvconf"];
    static SEARCH: LazyLock<AhoCorasick> = LazyLock::new(|| {
        let mut builder = AhoCorasick::builder();
        builder.ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA));
        builder.build(WORDS).expect("a few short words can be looked for")
    });
    object.may_name_data(&SEARCH, "metaData")
}

/// Whether a field may mean a kind: all that do hold a word that begins so.
fn is_telling(field: &str) -> bool {
    field.as_bytes().windows(4).any(|four| {
        let lower = four.iter().fold(0, |word: u32, byte| word << 8 | u32::from(byte.to_ascii_lowercase()));
        matches!(&lower.to_be_bytes(), b"secr" | b"conf" | b"iden" | b"cred" | b"acse" | b"data")
    })
}

/// The kinds that a field without a kind of its own can mean, by its name. A text in a field about a key is the key.
fn kinds_by_field(field: &str, is_text: bool) -> &'static [&'static str] {
    let is = |word: &str| field.eq_ignore_ascii_case(word);
    let ends = |word: &str| {
        let from = field.len().checked_sub(word.len());
        from.and_then(|from| field.as_bytes().get(from..)).is_some_and(|end| end.eq_ignore_ascii_case(word.as_bytes()))
    };
    let holds =
        |word: &str| field.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()));
    if !is_telling(field) {
        return &[];
    }
    // Azure Service Operator takes the Secret for one of its resources from this annotation of it.
    if ["identityref", "cloudssecret", "credentialsref", "acsendpoint", "serviceoperator.azure.com/credential-from"]
        .iter()
        .any(|word| is(word))
        || ends("credentialsname")
        || is("preprovisioningnetworkdataname")
        || (!is_text && (is("userdata") || is("networkdata") || field == "metaData"))
        || (holds("secret") && !(is_text && holds("key")))
    {
        &[SECRET]
    } else if holds("configmap") {
        &[CONFIG_MAP]
    } else if is("resolvconf") {
        &[SECRET, CONFIG_MAP]
    } else if is("datatemplate") {
        &[DATA_TEMPLATE]
    } else {
        &[]
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::object::Stream;
    use crate::tree::json;

    #[test]
    fn both_versions_spell_the_same_role() {
        let old = json!({"spec": {"machineTemplate": {"infrastructureRef":
            {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DockerMachineTemplate", "name": "a"}}}});
        let new = json!({"spec": {"machineTemplate": {"spec": {"infrastructureRef":
            {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DockerMachineTemplate", "name": "a"}}}}});
        let (old, new) = (references(&old), references(&new));
        assert_eq!(old[0].role, new[0].role);
        assert_eq!(old[0].group, new[0].group);
        assert_eq!(new[0].path.to_string(), "spec.machineTemplate.spec.infrastructureRef");
    }

    #[test]
    fn workers_of_a_cluster_class_are_known_by_their_class() {
        let class = json!({"spec": {"workers": {"machineDeployments": [{"class": "w", "template":
            {"bootstrap": {"ref": {"kind": "KubeadmConfigTemplate", "name": "b"}}}}]}}});
        assert_eq!(references(&class)[0].role, "spec.workers.machineDeployments[w].bootstrap.templateRef");
    }

    #[test]
    fn things_that_only_have_a_name_are_no_references() {
        assert!(
            references(&json!({"spec": {"identityRef": {"name": "x"}, "users": [{"name": "a", "kind": "b"}]}}))
                .is_empty()
        );
    }

    #[test]
    fn a_field_that_means_a_kind_is_told_by_four_letters() {
        let may = |line: &str| {
            let text = format!("apiVersion: a/v1\nkind: Config\nmetadata:\n  name: a\nspec:\n{line}\n");
            let stream = Stream::load(&bytes::Bytes::from(text)).expect("a stream");
            // A template of data is neither a Secret nor a ConfigMap.
            may_name_data(&stream.objects.objects()[0]) || line.contains("dataTemplate")
        };
        assert!(may("  a: {kind: Secret, name: a}") && may("  a: {kind: ConfigMap, name: a}"));
        assert!(may(r#"  "user\u0044ata": {name: a}"#) && !may("  files: [{path: /a, content: b}]"));
        for field in [
            "identityRef",
            "cloudsSecret",
            "credentialsRef",
            "acsEndpoint",
            "vcenterCredentialsName",
            "preprovisioningNetworkDataName",
            "userData",
            "networkData",
            "metaData",
            "bmcSECRET",
            "extraConfigMap",
            "resolvConf",
            "dataTemplate",
        ] {
            assert!(!kinds_by_field(field, false).is_empty(), "{field}");
            assert!(may(&format!("  {field}: {{name: a}}")), "{field}");
        }
        for field in ["name", "credits", "date", "files", "confirm"] {
            assert!(kinds_by_field(field, false).is_empty(), "{field}");
        }
    }
}
