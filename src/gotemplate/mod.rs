//! Go templates in the patches of a class, as far as their outcome is certain: fields, conditions, loops and the usual
//! functions. Whatever else stands in a template makes it one that is not computed; nothing is guessed.
//! Read beside `text/template` of Go 1.24, sprig 3.3 (HermeticTxtFuncMap) and `renderValueTemplate` in
//! `core/reconcilers/topology/cluster/patches/inline/json_patch_generator.go` of Cluster API 1.14.

mod eval;
mod functions;
mod lexer;
mod parser;
mod value;

use std::collections::BTreeMap;

use crate::tree::Value;
use crate::yaml;

/// What a template reads, by name; `builtin` is one of them.
pub(crate) type Values = BTreeMap<String, Value>;

/// Why a template has no outcome here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// It uses something that is not computed here.
    NotComputed(String),
    /// Go would refuse it, and the patch with it.
    Fails(String),
}

impl Trouble {
    /// Something that is not computed here.
    fn not_computed(what: impl Into<String>) -> Self {
        Self::NotComputed(what.into())
    }

    /// Something that Go refuses.
    fn fails(why: impl Into<String>) -> Self {
        Self::Fails(why.into())
    }
}

/// The value that a template comes out as, read as YAML.
///
/// # Errors
/// When Go would refuse it, or its outcome is not computed here.
pub fn render(template: &str, values: &Values) -> Result<Value, Trouble> {
    let text = text(template, values)?;
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    yaml::read_json(text.as_bytes(), yaml::Span { start: 0, end: text.len() })
        .map_err(|error| Trouble::not_computed(format!("what is no YAML: {error}")))
}

/// The text that a template comes out as.
fn text(template: &str, values: &Values) -> Result<String, Trouble> {
    // Go tells a null of a user's own from a variable that is not there, but not everywhere.
    if values.iter().any(|(name, value)| name != "builtin" && has_null(value)) {
        return Err(Trouble::not_computed("variables of which one is null"));
    }
    let nodes = parser::parse(template)?;
    let data = value::Val::of_values(values);
    eval::run(&nodes, &data)
}

/// The text that a template for names comes out as: without the functions of sprig but `more`, and an entry that is not there is
/// a fault (`internal/topology/names/names.go` of Cluster API 1.14).
///
/// # Errors
/// When Go would refuse it, or its outcome is not computed here.
pub(crate) fn name(template: &str, values: &Values, more: &[&str]) -> Result<String, Trouble> {
    let nodes = parser::parse(template)?;
    let is_known = |name: &str| functions::is_of_go(name) || more.contains(&name);
    if let Some(foreign) = parser::functions(&nodes).into_iter().find(|name| !is_known(name)) {
        return Err(Trouble::fails(format!("the function {foreign} is not defined")));
    }
    eval::run_strict(&nodes, &value::Val::of_values(values))
}

/// Reads a template without running it.
///
/// # Errors
/// When Go cannot read it, or nobody here can say whether it could.
pub(crate) fn check(template: &str) -> Result<(), Trouble> {
    parser::parse(template).map(drop)
}

/// Whether a null stands in a value.
fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(map) => map.values().any(has_null),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn values() -> Values {
        let tree = json!({"image": "a/b:v1", "count": 3, "big": 1_234_567, "on": true, "empty": "", "list": ["x", "y"],
            "map": {"k": "v", "deep": {"n": 1}}, "ver": "v1.31.4",
            "builtin": {"controlPlane": {"version": "v1.31.4", "replicas": 3}}});
        tree.as_object().expect("a map").iter().map(|(name, value)| (name.to_string(), value.clone())).collect()
    }

    fn shows(template: &str) -> String {
        match text(template, &values()) {
            Ok(text) => text,
            Err(Trouble::Fails(why)) => format!("fails: {why}"),
            Err(Trouble::NotComputed(what)) => format!("unknown: {what}"),
        }
    }

    #[test]
    fn fields_are_put_in_as_go_prints_them() {
        assert_eq!(shows("{{ .image }}-{{ .count }} {{.big}} {{ .on }}"), "a/b:v1-3 1.234567e+06 true");
        assert_eq!(shows("{{ .none }} {{ .none.deeper }}"), "<no value> <no value>");
        assert_eq!(shows("{{ .map.deep.n }}{{ $.map.k }} {{ .list }} {{ .map.deep }}"), "1v [x y] map[n:1]");
        assert!(shows("{{ .image.deeper }}").starts_with("fails"));
    }

    #[test]
    fn white_space_is_trimmed_where_a_dash_says_so() {
        assert_eq!(shows("a\n  {{- if .on }}\n b {{- end }}\n{{- /* c */ -}}\n d"), "a\n bd");
    }

    #[test]
    fn conditions_and_loops_go_their_way() {
        let condition = "{{ if and .on (eq .image \"a/b:v1\") (not .empty) }}yes{{ else }}no{{ end }}";
        assert_eq!(shows(condition), "yes");
        assert_eq!(shows("{{ if .none }}1{{ else if .count }}2{{ else }}3{{ end }}"), "2");
        assert_eq!(shows("{{ range $i, $v := .list }}{{ $i }}={{ $v }};{{ end }}"), "0=x;1=y;");
        assert_eq!(
            shows("{{ range .map.deep }}{{ . }}{{ end }}{{ range .empty }}{{ else }}none{{ end }}"),
            "fails: range cannot go over a text"
        );
        assert_eq!(
            shows("{{ with .map.k }}{{ . }}{{ end }}{{ $a := 1 }}{{ if true }}{{ $a = 2 }}{{ end }}{{ $a }}"),
            "v2"
        );
        assert_eq!(shows("{{ if eq .none \"x\" }}1{{ else }}2{{ end }}"), "2");
        assert!(shows("{{ if eq .count 3 }}{{ end }}").starts_with("unknown"), "JSON numbers are floats in Go");
    }

    #[test]
    fn functions_do_what_sprig_does() {
        assert_eq!(shows("{{ .none | default \"d\" | quote }} {{ default \"d\" .image }}"), "\"d\" a/b:v1");
        assert_eq!(shows("{{ .image | replace \"/\" \"_\" | upper | trimSuffix \":V1\" }}"), "A_B");
        assert_eq!(
            shows("{{ printf \"%s:%s\" .map.k (index .list 1) }} {{ len .list }} {{ index .map \"k\" }}"),
            "v:y 2 v"
        );
        assert_eq!(shows("{{ semverCompare \">= v1.31.0\" .ver }} {{ semverCompare \"<1.31.0\" .ver }}"), "true false");
        assert_eq!(
            shows("{{ .map | toJson }}{{ \"a\\nb\" | nindent 2 }}"),
            "{\"deep\":{\"n\":1},\"k\":\"v\"}\n  a\n  b"
        );
        assert_eq!(shows("{{ add (int .count) 1 }} {{ ternary \"a\" \"b\" .on }} {{ hasKey .map \"k\" }}"), "4 a true");
        assert_eq!(shows("{{ join \",\" .list }} {{ \"aGk=\" | b64dec }} {{ b64enc \"hi\" }}"), "x,y hi aGk=");
    }

    #[test]
    fn what_is_not_known_for_sure_is_not_guessed() {
        for template in
            ["{{ regexMatch \"a\" .image }}", "{{ template \"x\" }}", "{{ define \"x\" }}{{ end }}", "{{ keys .map }}"]
        {
            assert!(shows(template).starts_with("unknown"), "{template}: {}", shows(template));
        }
    }

    /// Every template that Go was asked about (tests/oracle/templates): the same text and value, refused where Go refuses, or
    /// not computed. Nothing else.
    #[test]
    fn what_is_computed_is_what_go_makes_of_it() {
        use std::io::{BufRead as _, BufReader};
        let place = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/topology/templates.jsonl.gz");
        let file = flate2::read::GzDecoder::new(std::fs::File::open(place).expect("the recording"));
        let mut lines = BufReader::new(file).lines().map(|line| line.expect("a line"));
        let read = |line: &str| serde_json::from_str::<Value>(line).expect("JSON");
        let tree = read(&lines.next().expect("the variables"));
        let values: Values = tree
            .as_object()
            .expect("a map")
            .clone()
            .into_iter()
            .map(|(name, value)| (name.to_string(), value))
            .collect();
        let (mut same, mut open, mut wrong) = (0, 0, Vec::new());
        for case in lines.map(|line| read(&line)) {
            let template = case["t"].as_str().expect("a template");
            let refused = case["error"] == true;
            let right = match text(template, &values) {
                Err(Trouble::NotComputed(_)) => {
                    open += 1;
                    continue;
                }
                Err(Trouble::Fails(_)) => refused,
                Ok(text) => {
                    let fits = match render(template, &values) {
                        Ok(ours) => case.get("value") == Some(&ours),
                        Err(trouble) => matches!(trouble, Trouble::NotComputed(_)),
                    };
                    !refused && case["text"] == text && fits
                }
            };
            if right { same += 1 } else { wrong.push((case.to_string(), text(template, &values))) }
        }
        assert!(wrong.is_empty(), "{} of {same} others are wrong: {:#?}", wrong.len(), &wrong[..wrong.len().min(40)]);
        assert!(same > 25_000, "{same} are as in Go, {open} are not computed; the first may only grow");
    }

    #[test]
    fn what_comes_out_is_read_as_yaml() {
        assert_eq!(
            render("- path: /etc/motd\n  content: {{ .map.k }}\n", &values()),
            Ok(json!([{"path": "/etc/motd", "content": "v"}]))
        );
        assert_eq!(render("{{ if .on }}true{{ end }}", &values()), Ok(json!(true)));
        assert_eq!(render("{{ if .empty }}true{{ end }}", &values()), Ok(json!(null)));
    }

    #[test]
    fn a_template_that_would_make_very_much_is_not_computed() {
        let doubling = "{{ $x := \"abcdefgh\" }}".to_owned() + &"{{ $x = print $x $x }}".repeat(60);
        let lists = "{{ $x := list 1 }}".to_owned() + &"{{ $x = list $x $x }}".repeat(60);
        let deep = "{{ $x := list 1 }}".to_owned() + &"{{ $x = list $x }}".repeat(5000);
        let parentheses = format!("{{{{ {}1{} }}}}", "(".repeat(20_000), ")".repeat(20_000));
        let blocks = "{{ if true }}".repeat(20_000) + &"{{ end }}".repeat(20_000);
        for template in [
            "{{ indent 999999999999 \"a\" }}",
            "{{ nindent 9223372036854775807 \"a\\nb\" }}",
            "{{ $a := printf \"%s\" .image }}{{ range .list }}{{ $a = replace \"b\" (indent 3000000 \"b\") (indent 10 \"bbbbbbbb\") }}{{ end }}",
            &doubling,
            &lists,
            &deep,
            &parentheses,
            &blocks,
        ] {
            assert!(shows(template).starts_with("unknown"), "{}", &template[..60]);
        }
        let ordinary = "{{ range .list }}{{ if true }}{{ . | upper | indent 4 }}{{ end }}{{ end }}";
        assert_eq!(shows(ordinary), "    X    Y");
    }
}
