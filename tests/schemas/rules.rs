//! Validation rules of CRDs in words of our own; one that has no word stands as it is and refuses nothing.

use serde_json::{Value, json};

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
pub(super) fn words(rule: &Value) -> Vec<Value> {
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
        Some((first, second)) if first.contains(") == has(oldSelf.") => vec![word(first), word(second)],
        _ => vec![word(&text)],
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
fn word(text: &str) -> Value {
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
