//! Values templates: minijinja with one function of ours, `late("name")`. Nothing undefined renders, nothing is loaded from
//! elsewhere, and a template that does not come to an end is stopped.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Kwargs;
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior, Value};
use serde::{Deserialize, Serialize};

use crate::policy::{Policy, ValueType};
use crate::yaml;

/// Steps that a template may take: far more than any values file needs.
const FUEL: u64 = 5_000_000;

/// Why a template did not render.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub(crate) struct TemplateError {
    /// File, as it was given.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// A rendered template, or what has to be known first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Rendered {
    /// The text.
    Text(String),
    /// Late values that it asked for and that were not given.
    Needs(BTreeSet<String>),
}

/// What a template may see.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Scope {
    /// The late values of the policy, by name.
    late: BTreeMap<String, Slot>,
    /// Plain variables: `namespace`, `release` and `context`, where they are known.
    variables: BTreeMap<String, String>,
}

/// One late value as a template sees it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Slot {
    /// Its text, where it is known.
    text: Option<String>,
    /// Whether a template may calculate with it.
    is_number: bool,
}

impl Scope {
    /// The late values of a policy, as far as they are known, and the plain variables.
    #[must_use]
    pub(crate) fn new(policy: &Policy, mut known: BTreeMap<String, String>, variables: BTreeMap<&str, String>) -> Self {
        let slot = |text, kind| Slot { text, is_number: kind == ValueType::Integer };
        let late =
            policy.late_values.iter().map(|value| (value.name.clone(), slot(known.remove(&value.name), value.kind)));
        Self {
            late: late.collect(),
            variables: variables.into_iter().map(|(name, text)| (name.to_owned(), text)).collect(),
        }
    }
}

/// Whether a values file is a template: its name ends in `.j2`, or it calls `late(` inside of `{{ }}` or `{% %}`.
#[must_use]
pub(crate) fn is_template(file: &str, text: &str) -> bool {
    let mut rest = text;
    let calls = std::iter::from_fn(|| {
        let start = [rest.find("{{"), rest.find("{%")].into_iter().flatten().min()?;
        let inner = &rest[start + 2..];
        let end = [inner.find("}}"), inner.find("%}")].into_iter().flatten().min()?;
        rest = &inner[end + 2..];
        Some(&inner[..end])
    });
    file.ends_with(".j2") || calls.into_iter().any(|inner| inner.contains("late("))
}

/// Renders one template. Asked-for values that are not in `context` are collected and answered with an empty text, so that
/// one look finds as many of them as it can; the text is only given when none was missing.
///
/// # Errors
/// A template that is wrong, names what is not defined, or does not come to an end; a late value that the policy does not know;
/// a text that is not YAML in the end.
pub(crate) fn render(file: &str, text: &str, context: &Scope) -> Result<Rendered, TemplateError> {
    let fail = |error: minijinja::Error| TemplateError {
        file: file.to_owned(),
        line: error.line().unwrap_or(1),
        message: message(&error),
    };
    let needs = Arc::new(Mutex::new(BTreeSet::new()));
    let mut environment = environment().map_err(fail)?;
    environment.add_function("late", late(context, Arc::clone(&needs)));
    environment.add_template(file, text).map_err(fail)?;
    let template = environment.get_template(file).map_err(fail)?;
    let rendered = template.render(minijinja::value::Serde(&context.variables));
    let needs = std::mem::take(&mut *needs.lock().unwrap_or_else(PoisonError::into_inner));
    if !needs.is_empty() {
        return Ok(Rendered::Needs(needs));
    }
    let rendered = rendered.map_err(fail)?;
    match yaml::read(rendered.as_bytes()) {
        Ok(_) => Ok(Rendered::Text(rendered)),
        Err(error) => Err(TemplateError {
            file: file.to_owned(),
            line: error.line,
            message: format!("what it renders is not YAML (line of the rendered text): {}", error.message),
        }),
    }
}

/// The text that a template of the policy makes of late values that are all known.
///
/// # Errors
/// A template that is wrong, in words without a value.
pub(super) fn combine(text: &str, policy: &Policy, values: BTreeMap<String, String>) -> Result<String, String> {
    let fail = |error: minijinja::Error| message(&error);
    let context = Scope::new(policy, values, BTreeMap::new());
    let needs = Arc::new(Mutex::new(BTreeSet::new()));
    let mut environment = environment().map_err(fail)?;
    environment.add_function("late", late(&context, needs));
    environment.render_str(text, ()).map_err(fail)
}

/// Strict, without a loader, without escaping, and with an end.
fn environment<'s>() -> Result<Environment<'s>, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(FUEL));
    environment.set_syntax(SyntaxConfig::builder().keep_trailing_newline(true).build()?);
    // One number in their arguments would take all memory at once, before anything could stop it.
    environment.remove_filter("format");
    environment.add_filter("indent", indent);
    environment.add_filter("quote", |text: String| yaml::double_quoted(&text));
    Ok(environment)
}

/// Widest indentation of a text.
const WIDEST: usize = 1000;

/// minijinja's own `indent`, with an end to its width.
fn indent(
    text: String,
    width: Option<usize>,
    first: Option<bool>,
    blank: Option<bool>,
    named: Kwargs,
) -> Result<String, minijinja::Error> {
    let width = width.or(named.get("width")?).unwrap_or(4);
    let first = first.or(named.get("first")?).unwrap_or(false);
    let blank = blank.or(named.get("blank")?).unwrap_or(false);
    named.assert_all_used()?;
    if width > WIDEST {
        let detail = format!("a text is indented by {WIDEST} at most");
        return Err(minijinja::Error::new(ErrorKind::InvalidOperation, detail));
    }
    let pad = " ".repeat(width);
    let lines = text.lines().enumerate().map(|(at, line)| {
        let indented = if at == 0 { first } else { blank || !line.is_empty() };
        if indented { format!("{pad}{line}") } else { line.to_owned() }
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

/// The function `late("name")`.
fn late(
    context: &Scope,
    needs: Arc<Mutex<BTreeSet<String>>>,
) -> impl Fn(String) -> Result<Value, minijinja::Error> + use<> {
    let value = |slot: &Slot| {
        let text = slot.text.as_ref()?;
        let number = if slot.is_number { text.parse::<i64>().ok() } else { None };
        Some(number.map_or_else(|| Value::from(text), Value::from))
    };
    let known: BTreeMap<String, Option<Value>> =
        context.late.iter().map(|(name, slot)| (name.clone(), value(slot))).collect();
    move |name| match known.get(&name) {
        Some(Some(value)) => Ok(value.clone()),
        Some(None) => {
            needs.lock().unwrap_or_else(PoisonError::into_inner).insert(name);
            Ok(Value::from(""))
        }
        None => {
            let near = crate::policy::nearest(&name, known.keys().map(String::as_str));
            let hint = near.map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
            let detail = format!("the policy has no late value {name:?}{hint}");
            Err(minijinja::Error::new(ErrorKind::InvalidOperation, detail))
        }
    }
}

/// A sentence about what went wrong. It holds names of the template, never values.
fn message(error: &minijinja::Error) -> String {
    let detail = error.detail().unwrap_or_default();
    match error.kind() {
        ErrorKind::UndefinedError if detail.is_empty() => "something here is not defined".to_owned(),
        ErrorKind::OutOfFuel => "the template does not come to an end".to_owned(),
        ErrorKind::TemplateNotFound | ErrorKind::BadInclude => {
            "a values template stands alone: nothing is included".to_owned()
        }
        ErrorKind::InvalidOperation | ErrorKind::UndefinedError if !detail.is_empty() => detail.to_owned(),
        kind if detail.is_empty() => kind.to_string(),
        kind => format!("{kind}: {detail}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn policy() -> Policy {
        let policy = json!({"apiVersion": "rollgate.dev/v1alpha1", "kind": "Policy", "lateValues": [
            {"name": "cluster_virtual_ip", "type": "ip", "from": [{"env": "VIP"}]},
            {"name": "port", "type": "integer", "from": [{"env": "PORT"}]}]});
        crate::policy::parse("p", policy.to_string().as_bytes()).expect("a policy")
    }

    fn with(values: &[(&str, &str)], text: &str) -> Result<Rendered, TemplateError> {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let variables = BTreeMap::from([("namespace", "capo".to_owned())]);
        render("values.yaml.j2", text, &Scope::new(&policy(), values, variables))
    }

    fn known(text: &str) -> String {
        match with(&[("cluster_virtual_ip", "10.0.3.7"), ("port", "6443")], text) {
            Ok(Rendered::Text(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_late_value_stands_where_it_is_asked_for() {
        assert_eq!(
            known(
                "# head\nvip: {{ late(\"cluster_virtual_ip\") }}\nurl: 'https://{{ late('cluster_virtual_ip') }}:{{ late('port') + 1 }}'\nns: {{ namespace }}\n"
            ),
            "# head\nvip: 10.0.3.7\nurl: 'https://10.0.3.7:6444'\nns: capo\n"
        );
        assert_eq!(known("a: |\n  {{ 'b\\n\\nc\\n' | indent(2) }}\n"), "a: |\n  b\n\n  c\n");
        assert!(with(&[], "{{ 'a' | indent(width=99999999999) }}").is_err());
        assert_eq!(known("a: {{ late('cluster_virtual_ip') | quote }}"), "a: \"10.0.3.7\"");
    }

    #[test]
    fn what_is_not_known_yet_is_asked_for_all_at_once() {
        let text = "a: {{ late('port') }}\nb: {{ late('cluster_virtual_ip') }}\n";
        let needs = ["cluster_virtual_ip", "port"].map(str::to_owned).into();
        assert_eq!(with(&[], text), Ok(Rendered::Needs(needs)));
    }

    #[test]
    fn a_template_that_is_wrong_names_file_and_line() {
        for (text, message) in [
            (
                "a: 1\nb: {{ late('cluster_virtal_ip') }}",
                "values.yaml.j2:2: the policy has no late value \"cluster_virtal_ip\"; did you mean \"cluster_virtual_ip\"?",
            ),
            ("a: 1\n\nb: {{ nothing }}", "values.yaml.j2:3: `nothing` is undefined"),
            ("{% include 'other' %}", "values.yaml.j2:1: a values template stands alone: nothing is included"),
            ("a: {{ late( }}", "values.yaml.j2:1: syntax error"),
            (
                "{% for a in range(9999) %}{% for b in range(9999) %}{{ b }}{% endfor %}{% endfor %}",
                "values.yaml.j2:1: the template does not come to an end",
            ),
            ("a: 1\nb: [{{ late('port') }}", "values.yaml.j2:"),
            ("{{ 1 }}: {{ '{' }}", "what it renders is not YAML"),
        ] {
            let error = with(&[("port", "6443")], text).expect_err(text).to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn a_template_is_known_by_its_name_or_its_calls() {
        for (file, text, is) in [
            ("a.yaml.j2", "a: 1", true),
            ("a.yaml", "a: {{ late(\"x\") }}", true),
            ("a.yaml", "a: {%- set v = late('x') %}{{ v }}", true),
            ("a.yaml", "a: \"{{ .Values.x }}\"\nb: late(x)\n", false),
            ("a.yaml", "a: 1", false),
        ] {
            assert_eq!(is_template(file, text), is, "{text}");
        }
    }
}
