//! What every rule must have: a case that it is about, a near miss, and a source that names a version that exists.
//! The cases stand in `testdata/rules/`, one file a pack; they ask the packs alone, as a change is asked that no mirror decides.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path as File;

use rollgate::facade::kinds::Versions;
use rollgate::facade::object::{Key, Path};
use rollgate::facade::rules::{ChangedLeaf, Rules};
use rollgate::facade::tree::Value;
use rollgate::facade::yaml;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Case {
    rule: String,
    is: String,
    asks: Ask,
    near: Ask,
    near_rule: Option<String>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Ask {
    kind: String,
    group: Option<String>,
    path: String,
    before: Option<Value>,
    after: Option<Value>,
    #[serde(default)]
    object: Option<Value>,
    /// The object before the write, where it differs in more than the field.
    #[serde(default)]
    old: Option<Value>,
    #[serde(default)]
    used_by: Vec<String>,
    /// Whether the old side is an old render.
    #[serde(default)]
    render: bool,
    #[serde(default)]
    gates: BTreeMap<String, bool>,
    #[serde(default)]
    versions: BTreeMap<String, String>,
}

/// The rule that the packs find, and its effect.
fn found(ask: &Ask) -> Option<(String, String)> {
    let rules = Rules::built_in();
    let groups: Vec<&str> = rules
        .packs()
        .flat_map(|pack| &pack.kinds)
        .filter(|name| name.kind == ask.kind)
        .map(|name| name.group.as_str())
        .collect();
    let usual = groups.iter().find(|group| !group.starts_with("vmware.")).or_else(|| groups.first());
    let group = ask.group.clone().or_else(|| usual.map(|group| (*group).to_owned())).expect("a kind of a pack");
    let key = Key::of(group, &ask.kind, None, "x");
    let path = Path::parse(&ask.path).unwrap_or_else(|error| panic!("{}: {error}", ask.path));
    let versions = match ask.versions.iter().next() {
        Some((provider, version)) => Versions::told(provider, version),
        None => Versions::told("cluster-api", "v1.14.2"),
    };
    let object = ask.object.clone().unwrap_or_else(|| json!({}).into());
    let hit = rules.find(&ChangedLeaf {
        key: &key,
        path: &path,
        before: ask.before.as_ref(),
        after: ask.after.as_ref(),
        old: ask.old.as_ref().unwrap_or(&object),
        new: &object,
        used_by: &ask.used_by,
        versions: &versions,
        live: !ask.render,
        gates: &ask.gates,
    })?;
    Some((hit.rule, hit.effect.word().to_owned()))
}

fn cases() -> Vec<Case> {
    let folder = File::new(env!("CARGO_MANIFEST_DIR")).join("testdata/rules");
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the cases are in the repository") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("a readable file");
        let tree = yaml::read_json(&bytes, yaml::Span { start: 0, end: bytes.len() }).expect("YAML");
        let cases: Vec<Case> =
            rollgate::facade::tree::from_value(tree).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        out.extend(cases);
    }
    out
}

#[test]
fn every_rule_takes_its_case_and_leaves_the_near_one() {
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    for case in cases() {
        let have = found(&case.asks);
        if have != Some((case.rule.clone(), case.is.clone())) {
            faults.push(format!("{}: {:?} gives {have:?}", case.rule, case.asks));
        }
        let near = found(&case.near).map(|(rule, _)| rule);
        if near != case.near_rule || near.as_ref() == Some(&case.rule) {
            faults.push(format!("{}: the near case {:?} gives {near:?}", case.rule, case.near));
        }
        seen.insert(case.rule);
    }
    for rule in Rules::built_in().packs().flat_map(|pack| &pack.rules) {
        if !seen.contains(&rule.id) {
            faults.push(format!("{}: no case", rule.id));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Major and minor.
type Minor = (u64, u64);

/// Projects that sources name, with the first and the last minor version that is known of each.
const KNOWN: &[(&str, Minor, Minor)] = &[
    ("cluster-api-ipam-provider-in-cluster", (1, 0), (1, 1)),
    ("cluster-api", (1, 5), (1, 14)),
    ("cluster-api-addon-provider-helm", (0, 6), (0, 6)),
    ("cluster-api-operator", (0, 28), (0, 28)),
    ("cluster-api-provider-oci", (0, 24), (0, 24)),
    ("cluster-api-provider-rke2", (0, 2), (0, 25)),
    ("cluster-api-provider-openstack", (0, 8), (0, 15)),
    ("cluster-api-provider-metal3", (1, 4), (1, 14)),
    ("baremetal-operator", (0, 10), (0, 14)),
    ("ip-address-manager", (1, 12), (1, 14)),
    ("cluster-api-provider-vsphere", (1, 5), (1, 17)),
    ("cluster-api-provider-aws", (2, 7), (2, 13)),
    ("cluster-api-provider-azure", (1, 12), (1, 26)),
    ("cluster-api-provider-gcp", (1, 12), (1, 13)),
    ("cluster-api-provider-cloudstack", (0, 6), (0, 6)),
    ("cluster-api-provider-nutanix", (1, 10), (1, 10)),
    ("cluster-api-provider-proxmox", (0, 7), (0, 9)),
    ("cluster-api-provider-tinkerbell", (0, 7), (0, 7)),
    ("cluster-api-provider-ionoscloud", (0, 6), (0, 6)),
    ("cluster-api-provider-outscale", (1, 5), (1, 5)),
    ("cluster-api-provider-openshift-assisted", (0, 4), (0, 4)),
    ("cluster-api-control-plane-provider-kamaji", (0, 20), (0, 20)),
    ("cluster-api-bootstrap-provider-microk8s", (0, 6), (0, 6)),
    ("cluster-api-control-plane-provider-microk8s", (0, 6), (0, 6)),
    ("cluster-api-bootstrap-provider-talos", (0, 5), (0, 7)),
    ("cluster-api-control-plane-provider-talos", (0, 4), (0, 5)),
    ("k0smotron", (1, 0), (2, 1)),
    ("cluster-api-k8s", (0, 1), (0, 6)),
    ("cluster-api-provider-hetzner", (1, 0), (1, 1)),
    ("Kubernetes", (1, 33), (1, 33)),
    ("structured-merge-diff", (6, 3), (6, 3)),
    ("apiextensions-apiserver", (0, 36), (0, 36)),
    ("helm", (3, 18), (4, 0)),
    ("kubectl", (1, 33), (1, 33)),
];

/// The minor versions in a text, such as `v1.14`.
fn minors(text: &str) -> Vec<(u64, u64)> {
    let number = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>().parse::<u64>().ok();
    text.match_indices('v')
        .filter_map(|(place, _)| {
            let tail = &text[place + 1..];
            Some((number(tail)?, number(tail.split_once('.')?.1)?))
        })
        .collect()
}

#[test]
fn every_source_names_a_version_that_exists() {
    let mut faults = Vec::new();
    let mut check = |id: &str, source: &str| {
        // A schema has the version of whatever is installed.
        if source.is_empty() || source.starts_with("the CustomResourceDefinition") {
            return;
        }
        let mut any = false;
        for part in source.split("; ").filter(|part| *part != "by reading") {
            let project = part.split(',').next().unwrap_or_default();
            let Some((_, first, last)) = KNOWN.iter().find(|(name, ..)| *name == project) else {
                faults.push(format!("{id}: nothing is known of {project:?}"));
                continue;
            };
            let named = minors(part);
            any |= !named.is_empty();
            for version in named.iter().filter(|version| !(first..=last).contains(version)) {
                faults.push(format!("{id}: {project} has no version {version:?}"));
            }
        }
        if !any {
            faults.push(format!("{id}: {source:?} names no version"));
        }
    };
    for pack in Rules::built_in().packs() {
        check(&pack.pack, &pack.source);
        pack.rules.iter().for_each(|rule| check(&rule.id, &rule.source));
        pack.causes.iter().for_each(|cause| check(&cause.id, &cause.source));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
