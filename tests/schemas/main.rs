//! Makes `src/schema/crds.json` from the CRDs of each provider version: which fields there are, of which type, within which limits,
//! with which defaults, and how their lists and maps are merged. `record.sh` beside this brings the CRDs; versions that it does not name stay
//! in the file as they are.

mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rollgate::facade::yaml;
use serde_json::{Map, Value, json};

/// Nodes, each once, and the roots that use them.
#[derive(Default)]
struct Pool {
    nodes: Vec<String>,
    places: BTreeMap<String, usize>,
}

impl Pool {
    fn add(&mut self, node: &Value) -> usize {
        let text = node.to_string();
        if let Some(place) = self.places.get(&text) {
            return *place;
        }
        self.nodes.push(text.clone());
        self.places.insert(text, self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    /// Adds a schema and everything below it.
    fn schema(&mut self, schema: &Value) -> usize {
        let mut node = Map::new();
        let kind = match schema["type"].as_str() {
            _ if schema["x-kubernetes-int-or-string"] == json!(true) => "x",
            Some("object") => "o",
            Some("array") => "a",
            Some("string") => "s",
            Some("integer") => "i",
            Some("number") => "n",
            Some("boolean") => "b",
            _ => "*",
        };
        node.insert("t".into(), json!(kind));
        let mut put = |short: &str, value: &Value| {
            if !value.is_null() {
                node.insert(short.to_owned(), value.clone());
            }
        };
        for (short, long) in [
            ("q", "required"),
            ("e", "enum"),
            ("r", "pattern"),
            ("f", "format"),
            ("d", "default"),
            ("z", "nullable"),
            ("u", "x-kubernetes-preserve-unknown-fields"),
            ("k", "x-kubernetes-list-map-keys"),
            ("y", "x-kubernetes-list-type"),
            ("j", "multipleOf"),
        ] {
            put(short, &schema[long]);
        }
        if let Some(words) =
            schema["allOf"].as_array().and_then(|all| all.iter().find_map(|one| one["enum"].as_array()))
        {
            put("e", &json!(words));
        }
        for (short, least, most) in [
            ("v", "minimum", "maximum"),
            ("l", "minLength", "maxLength"),
            ("c", "minItems", "maxItems"),
            ("m", "minProperties", "maxProperties"),
        ] {
            if !(schema[least].is_null() && schema[most].is_null()) {
                put(short, &json!([schema[least], schema[most]]));
            }
        }
        if let Some(rules) = schema["x-kubernetes-validations"].as_array() {
            put("w", &rules.iter().flat_map(|rule| rules::words(&rule["rule"])).collect());
        }
        if schema["x-kubernetes-map-type"] == "atomic" {
            put("a", &json!(true));
        }
        if schema["additionalProperties"] == json!(true) {
            put("u", &json!(true));
        }
        if schema["additionalProperties"].is_object() {
            let below = self.schema(&schema["additionalProperties"]);
            node.insert("g".into(), json!(below));
        }
        if schema["items"].is_object() {
            let below = self.schema(&schema["items"]);
            node.insert("h".into(), json!(below));
        }
        if let Some(properties) = schema["properties"].as_object() {
            let below: Map<String, Value> =
                properties.iter().map(|(name, schema)| (name.clone(), json!(self.schema(schema)))).collect();
            node.insert("p".into(), Value::Object(below));
        }
        self.add(&Value::Object(node))
    }
}

/// Nodes of the file as it is that stay, with their new places.
struct Kept<'a> {
    nodes: &'a [Value],
    pool: &'a mut Pool,
    moved: BTreeMap<usize, usize>,
}

impl Kept<'_> {
    /// Keeps a node and everything below it.
    fn keep(&mut self, place: usize) -> usize {
        if let Some(place) = self.moved.get(&place) {
            return *place;
        }
        let mut node = self.nodes[place].clone();
        let below = |value: &Value| usize::try_from(value.as_u64().expect("a place")).expect("a place");
        for short in ["g", "h"] {
            if let Some(value) = node.get_mut(short) {
                *value = json!(self.keep(below(value)));
            }
        }
        for value in node.get_mut("p").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
            *value = json!(self.keep(below(value)));
        }
        let now = self.pool.add(&node);
        self.moved.insert(place, now);
        now
    }
}

/// The CRD files below a folder, those of tests left out unless the folder is one of them.
fn crds(folder: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a readable folder").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            if !matches!(name.as_str(), "test" | "docs" | "hack" | "clusterctl" | "fakes") {
                crds(&path, out);
            }
        } else if ["crd/bases/", "crds/bases/"].iter().any(|part| path.to_string_lossy().contains(part))
            && name.ends_with(".yaml")
        {
            out.push(path);
        }
    }
}

/// What is read of one version of a kind.
struct Version {
    /// `group/version/Kind`.
    id: String,
    /// `group/Kind`, where it lives outside namespaces.
    wide: Option<String>,
    /// The schema of its `spec`.
    spec: Value,
}

/// The versions of a CRD that have a `spec`. Those that are not served any more are among them: what somebody wrote in one is remembered.
fn versions(file: &Path) -> Vec<Version> {
    let bytes = std::fs::read(file).expect("a readable CRD");
    let tree = yaml::read_json(&bytes, yaml::Span { start: 0, end: bytes.len() }).expect("a CRD");
    let crd = Value::from(&tree);
    if crd["kind"] != "CustomResourceDefinition" {
        return Vec::new();
    }
    let word = |value: &Value| value.as_str().expect("a name").to_owned();
    let (group, kind) = (word(&crd["spec"]["group"]), word(&crd["spec"]["names"]["kind"]));
    let wide = (crd["spec"]["scope"] == "Cluster").then(|| format!("{group}/{kind}"));
    let versions = crd["spec"]["versions"].as_array().expect("versions");
    let spec = |version: &Value| version["schema"]["openAPIV3Schema"]["properties"]["spec"].clone();
    // CloudStack's tests bring a kind of a version `fakes`.
    let there = versions.iter().filter(|version| version["name"] != "fakes" && !spec(version).is_null());
    there
        .map(|version| Version {
            id: format!("{group}/{}/{kind}", word(&version["name"])),
            wide: wide.clone(),
            spec: spec(version),
        })
        .collect()
}

#[test]
#[ignore = "needs the CRDs of the providers: tests/schemas/record.sh"]
fn remake() {
    let told = std::env::var("ROLLGATE_CRDS").expect("ROLLGATE_CRDS names the folders");
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/schema/crds.json");
    let have: Value = serde_json::from_slice(&std::fs::read(&place).expect("the file as it is")).expect("JSON");
    let mut roots: BTreeMap<String, BTreeMap<String, usize>> =
        serde_json::from_value(have["roots"].clone()).expect("roots");
    let mut wide: BTreeSet<String> = serde_json::from_value(have["wide"].clone()).expect("kinds outside namespaces");
    let mut pool = Pool::default();
    let told: Vec<_> = told.split_whitespace().map(|word| word.split_once('=').expect("NAME@VERSION=DIR")).collect();
    roots.retain(|name, _| told.iter().all(|(other, _)| name != other));
    // Nodes that nobody uses any more go.
    let mut kept = Kept { nodes: have["nodes"].as_array().expect("nodes"), pool: &mut pool, moved: BTreeMap::new() };
    roots.values_mut().flat_map(BTreeMap::values_mut).for_each(|root| *root = kept.keep(*root));
    for (name, folder) in told {
        let mut files = Vec::new();
        crds(Path::new(folder), &mut files);
        let of_version = roots.entry(name.to_owned()).or_default();
        for one in files.iter().flat_map(|file| versions(file)) {
            of_version.insert(one.id, pool.schema(&one.spec));
            wide.extend(one.wide);
        }
        assert!(!of_version.is_empty(), "no CRD in {folder}");
    }
    let mut text = String::from("{\"nodes\": [\n");
    text.push_str(&pool.nodes.join(",\n"));
    text.push_str("\n],\n\"roots\": {\n");
    let lines: Vec<String> = roots.iter().map(|(name, kinds)| format!("{}: {}", json!(name), json!(kinds))).collect();
    text.push_str(&lines.join(",\n"));
    writeln!(text, "\n}},\n\"wide\": {}}}", json!(wide)).expect("a text takes all");
    std::fs::write(place, text).expect("the file can be written");
}
