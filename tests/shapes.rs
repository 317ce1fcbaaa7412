//! Makes `src/kinds/shapes/shapes.json` from the CRDs of each provider version: which fields there are, of which type,
//! within which limits. Run with `ROLLGATE_CRDS="cluster-api@1.14.2=DIR rke2@0.21.0=DIR ..." cargo test --test shapes -- --ignored`;
//! versions that are not named stay in the file as they are. Groups with kinds of the same names as others stand under a word of
//! their own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rollgate::yaml;
use serde_json::{Map, Value, json};

/// Groups with kinds of the same names as others, by how they begin, and the word under which they stand.
const SECOND: [(&str, &str); 2] = [("vmware.", "vmware."), ("k0smotron.io", "k0smotron.")];

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
            put("w", &rules.iter().flat_map(|rule| rule_words(&rule["rule"])).collect());
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

/// A length of time as Go writes one, that is not below zero.
const DURATION: &str = r"^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$";

/// Rules that are told by their whole text.
const AS_THEY_STAND: [(&str, &str); 24] = [
    ("self.apiGroup == 'ipam.cluster.x-k8s.io'", r#"{"one": ["apiGroup", ["ipam.cluster.x-k8s.io"]]}"#),
    (
        "self.kind == 'InClusterIPPool' || self.kind == 'GlobalInClusterIPPool'",
        r#"{"one": ["kind", ["InClusterIPPool", "GlobalInClusterIPPool"]]}"#,
    ),
    ("self.name != ''", r#"{"anyOf": ["name"]}"#),
    (r#"self.name != """#, r#"{"anyOf": ["name"]}"#),
    ("has(self.name) && self.name != ''", r#"{"anyOf": ["name"]}"#),
    ("self.id != '' || has(self.selector)", r#"{"anyOf": ["id", "selector"]}"#),
    ("self.addresses.size() > 0", r#"{"anyOf": ["addresses"]}"#),
    ("self.ipv4Config != null || self.ipv6Config != null", r#"{"anyOf": ["ipv4Config", "ipv6Config"]}"#),
    ("self.ipv4PoolRef != null || self.ipv6PoolRef != null", r#"{"anyOf": ["ipv4PoolRef", "ipv6PoolRef"]}"#),
    ("self.port > 0 && self.port < 65536", r#"{"port": []}"#),
    ("size(self.host) == 0 && self.port == 0 || self.port > 0 && self.port < 65536", r#"{"port": ["host"]}"#),
    (
        "!has(self.loadBalancerProviderRef) || has(self.location)",
        r#"{"needs": ["loadBalancerProviderRef", "location"]}"#,
    ),
    ("!has(oldSelf.networkID) || has(self.networkID)", r#"{"stays": "networkID"}"#),
    ("self.type != 'VCPU' || !has(self.cpuFamily)", r#"{"clash": ["cpuFamily", "type", "VCPU"]}"#),
    (
        r#"self == "AUTO" || self.matches("((25[0-5]|(2[0-4]|1\\d|[1-9]|)\\d)\\.?\\b){4}$")"#,
        r#"{"matches": "^AUTO$|((25[0-5]|(2[0-4]|1\\d|[1-9]|)\\d)\\.?\\b){4}$"}"#,
    ),
    ("self.end >= self.start", r#"{"rising": ["start", "end"]}"#),
    ("self == 1 || ( self >= 576 && self <= 65520)", r#"{"ranges": [[1, 1], [576, 65520]]}"#),
    ("self == 1 || (self >= 576 && self <= 65520)", r#"{"ranges": [[1, 1], [576, 65520]]}"#),
    ("(self > 0 && self < 32765) || (self > 32766)", r#"{"ranges": [[1, 32764], [32767, 4294967295]]}"#),
    ("(self > 0 && self < 254) || (self > 255)", r#"{"ranges": [[1, 253], [256, 4294967295]]}"#),
    (
        "[has(self.sourceNode), has(self.templateSelector)].exists_one(c, c)",
        r#"{"oneOf": ["sourceNode", "templateSelector"]}"#,
    ),
    (
        "[has(self.templateID), has(self.templateSelector)].exists_one(c, c)",
        r#"{"oneOf": ["templateID", "templateSelector"]}"#,
    ),
    (
        "has(self.templateSelector) || (has(self.templateID) && has(self.sourceNode))",
        r#"[{"anyOf": ["templateSelector", "templateID"]}, {"anyOf": ["templateSelector", "sourceNode"]}]"#,
    ),
    ("self != 'net0'", r#"{"not": ["net0"]}"#),
];

/// A validation rule in words of our own.
fn rule_words(rule: &Value) -> Vec<Value> {
    let text: String = rule.as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(words) = beside(&text) {
        return words;
    }
    if let Some((_, word)) = AS_THEY_STAND.iter().find(|(rule, _)| *rule == text) {
        return match serde_json::from_str(word).expect("a word is JSON") {
            Value::Array(words) => words,
            word => vec![word],
        };
    }
    // A field that comes or goes with nothing, and whose value stays, is two rules in one.
    match text.split_once(" && ") {
        Some((first, second)) if first.contains(") == has(oldSelf.") => vec![rule_word(first), rule_word(second)],
        _ => vec![rule_word(&text)],
    }
}

/// The rule of a field that is there exactly where another one has some value, and may have to hold some text.
fn beside(text: &str) -> Option<Vec<Value>> {
    let (asked, answers) = text.split_once(" ? has(self.")?;
    let (other, value) = asked.strip_prefix("self.")?.split_once(" == '")?;
    let (there, gone) = answers.split_once(" : !has(self.")?;
    let (field, more) = there.split_once(')')?;
    (gone.strip_suffix(')')? == field).then_some(())?;
    let mut words = vec![json!({"beside": [field, other, value.strip_suffix('\'')?]})];
    if !more.is_empty() {
        let held = more.strip_prefix(" && self.")?.strip_prefix(field)?.strip_prefix(".contains('")?;
        words.push(json!({"holds": [field, held.strip_suffix("')")?]}));
    }
    Some(words)
}

/// The list of a map whose items are all different.
fn apart(text: &str) -> Option<&str> {
    let (asked, rest) = text.split_once(") > 1 ? self.")?;
    let field = asked.rsplit_once("size(self.")?.1;
    (rest == format!("{field}.all(x, self.{field}.exists_one(y, x == y)) : true")).then_some(field)
}

/// One validation rule; an unknown one is named as such and never holds anything.
fn rule_word(text: &str) -> Value {
    if text == "self.all(x, self.exists_one(y, x.name == y.name))" {
        json!({"unique": "name"})
    } else if text == "self.all(x, self.exists_one(y, x == y))" {
        json!({"unique": ""})
    } else if let Some(list) = text.strip_prefix("!(self in [").and_then(|text| text.strip_suffix("])")) {
        json!({"not": list.split(',').map(|word| word.trim().trim_matches('\'')).collect::<Vec<_>>()})
    } else if let Some(pattern) = text.strip_prefix("self.matches('").and_then(|text| text.strip_suffix("')")) {
        json!({"matches": pattern})
    } else if let Some(list) = text.strip_prefix("self in [").and_then(|text| text.strip_suffix("]")) {
        let words: Vec<&str> = list.split(',').map(|word| word.trim().trim_matches('\'')).collect();
        json!({"matches": format!("^({})$", words.join("|"))})
    } else if let Some(start) = text.strip_prefix("self.startsWith('").and_then(|text| text.strip_suffix("')")) {
        json!({"matches": format!("^{start}")})
    } else if let Some((field, _)) =
        text.strip_prefix("has(self.").and_then(|text| text.split_once(") == has(oldSelf."))
    {
        json!({"kept": field})
    } else if let Some(fields) = text.strip_prefix("!has(self.")
        && let Some((one, rest)) = fields.split_once(") || !has(self.")
        && rest.split(')').next().is_some_and(|other| !other.contains('.'))
    {
        match rest.split_once(") || self.") {
            None => json!({"notBoth": [one, rest.trim_end_matches(')')]}),
            Some((other, rest)) => match rest.split_once(" != ") {
                Some((named, value)) if named == other => json!({"clash": [one, other, value.trim_matches('\'')]}),
                _ => json!({"unread": text}),
            },
        }
    } else if text == "!has(self.data) || !has(self.config)" {
        json!({"notBoth": ["data", "config"]})
    } else if text == "[has(self.layout),has(self.diskLayout)].filter(x,x==true).size() == 1" {
        json!({"oneOf": ["layout", "diskLayout"]})
    } else if let Some((field, _)) = text.strip_prefix("self.").and_then(|text| text.split_once(" == oldSelf.")) {
        json!({"fixed": field})
    } else if let Some(field) = apart(text) {
        json!({"apart": field})
    } else if let Some((one, other)) = text
        .strip_prefix("has(self.")
        .and_then(|text| text.strip_suffix(')'))
        .and_then(|text| text.split_once(") != has(self."))
    {
        json!({"oneOf": [one, other]})
    } else if let Some((one, other)) = text
        .strip_prefix("!(has(self.")
        .and_then(|text| text.strip_suffix("))"))
        .and_then(|text| text.split_once(") && has(self."))
    {
        json!({"notBoth": [one, other]})
    } else if text == "duration(self) >= duration('0s')" {
        json!({"matches": DURATION})
    } else if text == "self == oldSelf" {
        json!({"fixed": ""})
    } else {
        json!({"unread": text})
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
            if !matches!(name.as_str(), "test" | "docs" | "hack" | "clusterctl") {
                crds(&path, out);
            }
        } else if ["crd/bases/", "crds/bases/"].iter().any(|part| path.to_string_lossy().contains(part))
            && name.ends_with(".yaml")
        {
            out.push(path);
        }
    }
}

#[test]
#[ignore = "needs the CRDs of the providers"]
fn remake() {
    let told = std::env::var("ROLLGATE_CRDS").expect("ROLLGATE_CRDS names the folders");
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/kinds/shapes/shapes.json");
    let have: Value =
        std::fs::read(&place).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_else(|| json!({}));
    let mut pool = Pool::default();
    for node in have["nodes"].as_array().into_iter().flatten() {
        pool.add(node);
    }
    let mut roots: BTreeMap<String, BTreeMap<String, usize>> =
        serde_json::from_value(have["roots"].clone()).unwrap_or_default();
    for (name, folder) in told.split_whitespace().map(|word| word.split_once('=').expect("NAME@VERSION=DIR")) {
        let mut files = Vec::new();
        crds(Path::new(folder), &mut files);
        for file in files {
            let bytes = std::fs::read(&file).expect("a readable CRD");
            let tree = yaml::read_json(&bytes, yaml::Span { start: 0, end: bytes.len() }).expect("a CRD");
            let kind = tree["spec"]["names"]["kind"].as_str().expect("a kind");
            // Some groups have kinds of the same names as others.
            let group = tree["spec"]["group"].as_str().unwrap_or_default();
            let kind = match SECOND.iter().find(|(start, _)| group.starts_with(start)) {
                Some((_, word)) => format!("{word}{kind}"),
                None => kind.to_owned(),
            };
            for version in tree["spec"]["versions"].as_array().expect("versions") {
                let word = version["name"].as_str().expect("a name");
                if !matches!(word, "v1alpha1" | "v1alpha2" | "v1alpha3" | "v1beta1" | "v1beta2" | "v1beta3") {
                    continue;
                }
                let spec = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
                let root = pool.schema(&serde_json::Value::from(spec));
                roots.entry(name.to_owned()).or_default().insert(format!("{kind}/{word}"), root);
            }
        }
    }
    let mut text = String::from("{\"nodes\": [\n");
    text.push_str(&pool.nodes.join(",\n"));
    text.push_str("\n],\n\"roots\": {\n");
    let lines: Vec<String> = roots.iter().map(|(name, kinds)| format!("{}: {}", json!(name), json!(kinds))).collect();
    text.push_str(&lines.join(",\n"));
    text.push_str("\n}}\n");
    std::fs::write(place, text).expect("the file can be written");
}
