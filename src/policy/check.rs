//! What a policy may not say although it is well formed: what could never work is refused before anything is read.

mod approvals;
mod clusters;
mod releases;

use super::read::Fault;
use super::{
    Gates, LateValue, PinMode, Pins, Places, Policy, Resolve, Selector, Source, ValueType, Window, duration, origins,
};
use crate::object::Path;
use crate::rules::{Pattern, Rules, UserFault};

/// Looks through the whole policy, and says of each part what is wrong with it first.
pub(super) fn check(policy: &Policy) -> Vec<Fault> {
    let root = Path::root();
    let mut found = vec![
        expect(&root.key("apiVersion"), &policy.api_version, "rollgate.dev/v1alpha1"),
        expect(&root.key("kind"), &policy.kind, "Policy"),
    ];
    let list = root.key("lateValues");
    for (place, value) in policy.late_values.iter().enumerate() {
        let at = list.index(place);
        found.extend(late_value(&at, value));
        found.extend(policy.late_values[..place].iter().map(|earlier| apart(&at, value, earlier)));
    }
    found.push(templates(&list, policy));
    found.push(resolve(&root.key("resolve"), &policy.resolve));
    found.push(pins(&root.key("pins"), &policy.pins));
    found.push(gates(&root.key("gates"), &policy.gates));
    found.extend(clusters::per_cluster(&root.key("perCluster"), policy));
    found.push(clusters::budget(&root.key("gates").key("budget"), policy));
    found.push(clusters::workload(&root, policy));
    found.push(approvals::approvals(&root.key("approvals"), policy));
    found.push(approvals::expect_changes(&root.key("expect"), policy));
    found.extend(releases::releases(&root.key("releases"), &policy.releases));
    found.extend(rules(&root.key("rules"), policy));
    found.push(display(&root, policy));
    found.into_iter().filter_map(Result::err).collect()
}

/// Paths can be read, and whoever leaves something out says why.
fn display(root: &Path, policy: &Policy) -> Result<(), Fault> {
    for (place, ignore) in policy.ignore.iter().enumerate() {
        let at = root.key("ignore").index(place);
        match Pattern::parse(&ignore.path) {
            Err(error) => return fault(&at.key("path"), error),
            Ok(_) if ignore.path.is_empty() => return fault(&at.key("path"), "the path is empty"),
            Ok(_) => {}
        }
        if ignore.reason.trim().is_empty() {
            return fault(&at.key("reason"), "say why nobody needs to see these changes");
        }
    }
    for (field, paths) in [("redact", &policy.redact), ("show", &policy.show)] {
        for (place, path) in paths.iter().enumerate() {
            if path.split('.').any(str::is_empty) || path.contains('[') {
                let message =
                    format!("{path:?} is not a path; write it as spec.files.*.content, with * for a list place");
                return fault(&root.key(field).index(place), message);
            }
        }
    }
    Ok(())
}

/// A fault at `path`.
fn fault<T>(path: &Path, message: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { path: path.clone(), message: message.into() })
}

/// The field says exactly this word.
fn expect(path: &Path, found: &str, wanted: &str) -> Result<(), Fault> {
    if found == wanted { Ok(()) } else { fault(path, format!("found {found:?}; this version reads {wanted}")) }
}

/// Each part of a late value by itself.
fn late_value(at: &Path, value: &LateValue) -> Vec<Result<(), Fault>> {
    let mut found = vec![name(&at.key("name"), &value.name)];
    for (place, text) in value.placeholders.iter().enumerate() {
        found.push(placeholder(&at.key("placeholders").index(place), text, &value.placeholders[..place]));
    }
    if value.from.is_empty() {
        let message = format!("{} has no source; name an object, a file or an env variable", value.name);
        found.push(fault(&at.key("from"), message));
    }
    let sources = value.from.iter().enumerate();
    found.extend(sources.map(|(place, from)| source(&at.key("from").index(place), from)));
    if let Some(pattern) = &value.pattern
        && let Err(error) = regex::Regex::new(pattern)
    {
        let message = format!("not a regular expression: {}", last_line(&error.to_string()));
        found.push(fault(&at.key("pattern"), message));
    }
    found.push(within(&at.key("within"), value));
    found.push(match (value.kind, value.values.is_empty()) {
        (ValueType::Enum, true) => fault(&at.key("values"), "a value of type enum has the values that it may have"),
        (ValueType::Enum, false) | (_, true) => Ok(()),
        (_, false) => fault(&at.key("values"), "only a value of type enum has values; set type: enum"),
    });
    if let Some(Err(error)) = value.wait.as_deref().map(duration) {
        found.push(fault(&at.key("wait"), error.to_string()));
    }
    found
}

fn name(at: &Path, name: &str) -> Result<(), Fault> {
    let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let start = name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    if !start || name.len() > 253 || !name.chars().all(named) {
        return fault(at, "a name is made of letters, digits, _ - and . (it becomes a key of the pin store)");
    }
    Ok(())
}

fn within(at: &Path, value: &LateValue) -> Result<(), Fault> {
    for within in value.within.iter() {
        if !matches!(value.kind, ValueType::Ip | ValueType::Cidr) {
            return fault(at, "only a value of type ip or cidr lies within a network; set type: ip");
        }
        if within.parse::<ipnet::IpNet>().is_err() {
            return fault(at, format!("{within:?} is not a network; write it as 10.0.0.0/16"));
        }
    }
    Ok(())
}

fn placeholder(at: &Path, text: &str, earlier: &[String]) -> Result<(), Fault> {
    if text.trim() != text || text.chars().any(char::is_control) {
        return fault(
            at,
            format!("{text:?} has white space around it or a line break in it; a placeholder is one token"),
        );
    }
    if !text.chars().any(char::is_alphanumeric) {
        return fault(
            at,
            format!(
                "{text:?} has no letter and no digit and would match too much; spellings like \"\" belong under equivalent"
            ),
        );
    }
    match earlier.iter().find(|other| overlaps(text, other)) {
        Some(other) => {
            fault(at, format!("{text:?} and {other:?} contain each other, so it is not clear which one is meant"))
        }
        None => Ok(()),
    }
}

/// Whether a text could be found inside the other.
fn overlaps(left: &str, right: &str) -> bool {
    left.contains(right) || right.contains(left)
}

/// Two late values do not share a name or a placeholder.
fn apart(at: &Path, value: &LateValue, earlier: &LateValue) -> Result<(), Fault> {
    if value.name == earlier.name {
        return fault(&at.key("name"), format!("{:?} stands twice", value.name));
    }
    for (place, text) in value.placeholders.iter().enumerate() {
        // Two names for one value of one source are clear enough.
        let one = |other: &str| other == text && value.from == earlier.from && value.kind == earlier.kind;
        if let Some(other) = earlier.placeholders.iter().find(|other| overlaps(text, other) && !one(other)) {
            let message = format!(
                "{text:?} and {other:?} of {} contain each other, so it is not clear which value is meant",
                earlier.name
            );
            return fault(&at.key("placeholders").index(place), message);
        }
    }
    Ok(())
}

fn source(at: &Path, source: &Source) -> Result<(), Fault> {
    let set = [
        source.object.is_some(),
        source.file.is_some(),
        source.env.is_some(),
        source.http.is_some(),
        !source.exec.is_empty(),
        source.template.is_some(),
        source.heat.is_some(),
        source.release.is_some(),
        source.endpoint.is_some(),
        source.service.is_some(),
        source.image.is_some(),
    ];
    if set.iter().filter(|set| **set).count() != 1 {
        let kinds = "object, file, env, http, exec, template, release, heat, endpoint, service and image";
        return fault(at, format!("a source is exactly one of {kinds}"));
    }
    outside(at, source)?;
    if source.file.as_deref() == Some("") {
        return fault(&at.key("file"), "the file has no name");
    }
    if let Some(name) = &source.env
        && (name.is_empty() || name.contains(['=', '\0']))
    {
        return fault(&at.key("env"), format!("{name:?} cannot be the name of an environment variable"));
    }
    let Some(object) = &source.object else { return Ok(()) };
    let at = at.key("object");
    for (field, text) in [("apiVersion", &object.api_version), ("kind", &object.kind)] {
        if text.is_empty() {
            return fault(&at.key(field), format!("{field} is empty"));
        }
    }
    match &object.selector {
        None if object.name.is_empty() => {
            return fault(&at.key("name"), "name is empty; name the object, or give a selector");
        }
        Some(_) if !object.name.is_empty() => {
            return fault(&at.key("selector"), "an object has a name or a selector, not both");
        }
        Some(selector) => {
            if let Err(why) = Selector::parse(selector) {
                return fault(&at.key("selector"), why);
            }
        }
        None => {}
    }
    json_path(&at.key("path"), &object.path)
}

/// What is read in other places than objects.
fn outside(at: &Path, source: &Source) -> Result<(), Fault> {
    if let Some(http) = &source.http {
        let at = at.key("http");
        let uri: Option<http::Uri> = http.url.parse().ok();
        let scheme = uri.as_ref().and_then(http::Uri::scheme_str);
        if !matches!(scheme, Some("http" | "https")) || uri.as_ref().and_then(http::Uri::host).is_none() {
            return fault(&at.key("url"), format!("{:?} is not an address; write it as https://host/path", http.url));
        }
        if let Some(Err(error)) = http.timeout.as_deref().map(duration) {
            return fault(&at.key("timeout"), error.to_string());
        }
    }
    if source.exec.first().is_some_and(String::is_empty) {
        return fault(&at.key("exec"), "the program has no name");
    }
    for (field, name) in [
        ("heat", source.heat.as_ref().map(|heat| &heat.output)),
        ("release", source.release.as_ref().map(|release| &release.name)),
        ("endpoint", source.endpoint.as_ref().map(|endpoint| &endpoint.name)),
        ("service", source.service.as_ref().map(|service| &service.name)),
        ("image", source.image.as_ref().map(|image| &image.name)),
    ] {
        if name.is_some_and(|name| name.is_empty() || name.contains(['\'', '\\'])) {
            return fault(&at.key(field), "the name is empty or holds a quote");
        }
    }
    if let Some(release) = &source.release {
        json_path(&at.key("release").key("path"), &release.path)?;
    }
    match &source.path {
        Some(_) if source.file.is_none() && source.http.is_none() && source.exec.is_empty() => {
            fault(&at.key("path"), "only a file, an answer over http and an output of exec have a path of their own")
        }
        Some(path) if path.starts_with(['$', '{']) => json_path(&at.key("path"), path),
        Some(path) if path.is_empty() || path.contains('=') => {
            fault(&at.key("path"), format!("{path:?} is neither a JSONPath such as $.vip nor the name of a variable"))
        }
        _ => Ok(()),
    }
}

fn json_path(at: &Path, path: &str) -> Result<(), Fault> {
    let Err(error) = jsonpath_rust::parser::parse_json_path(path) else { return Ok(()) };
    let hint = match path.trim_matches(['{', '}']) {
        kubectl if kubectl.len() < path.len() => {
            format!("write $.{}", kubectl.trim_start_matches(['$', '.']))
        }
        _ => "write it as $.data.key or $.status['a.b/c']".to_owned(),
    };
    let why = last_line(&error.to_string()).trim_start_matches("= ").to_owned();
    fault(at, format!("{path:?} is not a JSONPath ({why}); {hint}"))
}

/// Templates name late values that there are, and none needs itself.
fn templates(at: &Path, policy: &Policy) -> Result<(), Fault> {
    for (place, value) in policy.late_values.iter().enumerate() {
        for (source, template) in
            value.from.iter().enumerate().filter_map(|(at, from)| Some((at, from.template.as_ref()?)))
        {
            let at = at.index(place).key("from").index(source).key("template");
            let names = match origins(template) {
                Err(why) => return fault(&at, why),
                Ok(names) if names.is_empty() => {
                    return fault(&at, "the template names no late value, such as {{ late(\"vip\") }}");
                }
                Ok(names) => names,
            };
            if let Some(name) = names.iter().find(|name| policy.late_value(name).is_none()) {
                let near = super::nearest(name, policy.late_values.iter().map(|value| value.name.as_str()));
                let hint = near.map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
                return fault(&at, format!("the policy has no late value {name:?}{hint}"));
            }
            if let Some(cycle) = policy.cycle(&value.name) {
                return fault(&at, format!("{} needs itself: {}", value.name, cycle.join(" -> ")));
            }
        }
    }
    Ok(())
}

/// The sentence at the end of a message that draws the text first.
fn last_line(message: &str) -> &str {
    message.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or(message).trim_start_matches("error: ")
}

/// Each rule by itself: a field that cannot be read, or all that is wrong with a rule that can.
fn rules(at: &Path, policy: &Policy) -> Vec<Result<(), Fault>> {
    let values: Vec<crate::tree::Value> = policy.rules.iter().map(|rule| rule.0.clone()).collect();
    let faults = Rules::with_user(&values).err().unwrap_or_default();
    let place = |fault: &UserFault| {
        let field = Path::parse(&fault.field).unwrap_or_else(|_| Path::root());
        field.segments().iter().fold(at.index(fault.place), |mut at, segment| {
            at.push(segment.clone());
            at
        })
    };
    faults.into_iter().map(|found| fault(&place(&found), found.message)).collect()
}

/// Places say something, and their paths can be read.
fn resolve(at: &Path, resolve: &Resolve) -> Result<(), Fault> {
    for (field, list) in [("only", &resolve.only), ("skip", &resolve.skip)] {
        for (place, places) in list.iter().enumerate() {
            let at = at.key(field).index(place);
            if *places == Places::default() {
                return fault(&at, "say which places: kind, name or path");
            }
            match places.pattern() {
                Some(Err(error)) => return fault(&at.key("path"), error),
                Some(Ok(_)) if places.path.as_deref() == Some("") => {
                    return fault(&at.key("path"), "the path is empty");
                }
                _ => {}
            }
        }
    }
    Ok(())
}

fn pins(at: &Path, pins: &Pins) -> Result<(), Fault> {
    if pins.store.is_some() && pins.file.is_some() {
        return fault(&at.key("file"), "pins live in one place: a store or a file, not both");
    }
    if pins.file.as_deref() == Some("") {
        return fault(&at.key("file"), "the file has no name");
    }
    for (place, text) in pins.encrypt_to.iter().enumerate() {
        if text.parse::<age::x25519::Recipient>().is_err() {
            let why = format!("{text:?} is no recipient of age: those begin with age1, as age-keygen prints them");
            return fault(&at.key("encryptTo").index(place), why);
        }
    }
    for (place, field) in pins.fields.iter().enumerate() {
        let at = at.key("fields").index(place);
        match Pattern::parse(&field.path) {
            Err(error) => return fault(&at.key("path"), error),
            Ok(_) if field.path.is_empty() || field.path.ends_with("**") => {
                return fault(&at.key("path"), "name the field; a whole object cannot be kept");
            }
            Ok(_) => {}
        }
        if field.kind.is_empty() {
            return fault(&at.key("kind"), "the kind is empty");
        }
        match (field.pin, &field.value) {
            (PinMode::Manual, None) => {
                return fault(&at.key("value"), "a field with pin: manual has the value that it is");
            }
            (PinMode::Manual, Some(_)) if field.path == "metadata.name" => {
                return fault(&at.key("pin"), "the name of a template is kept or not; write pin: once");
            }
            (PinMode::Once | PinMode::Follow, Some(_)) => {
                return fault(&at.key("value"), "only a field with pin: manual has a value");
            }
            _ => {}
        }
        if field.path == "metadata.name" && !field.kind.ends_with("Template") {
            return fault(
                &at.key("path"),
                "only a template can keep its name; another object with its old name is another object",
            );
        }
    }
    let Some(store) = &pins.store else { return Ok(()) };
    if !pins.in_cluster().is_some_and(|(_, name)| is_name(name)) {
        return fault(&at.key("store"), format!("{store:?} is not a store; write configmap/NAME or secret/NAME"));
    }
    Ok(())
}

/// Whether an object of the cluster may be called so.
fn is_name(name: &str) -> bool {
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let allowed = |c: char| edge(c) || matches!(c, '-' | '.');
    name.len() <= 253 && name.chars().all(allowed) && name.starts_with(edge) && name.ends_with(edge)
}

fn gates(at: &Path, gates: &Gates) -> Result<(), Fault> {
    for (place, window) in gates.windows.iter().enumerate() {
        window_faults(&at.key("windows").index(place), window)?;
    }
    for (place, freeze) in gates.freezes.iter().enumerate() {
        if let Err(found) = super::freeze::ends(freeze) {
            return fault(&at.key("freezes").index(place).key(found.field), found.why);
        }
    }
    Ok(())
}

fn window_faults(at: &Path, window: &Window) -> Result<(), Fault> {
    if let Err(why) = super::cron::check(&window.cron) {
        return fault(
            &at.key("cron"),
            format!("{:?} is not a cron line: {why}; five fields, such as 0 2 * * 6", window.cron),
        );
    }
    match duration(&window.length) {
        Err(error) => return fault(&at.key("for"), error.to_string()),
        Ok(length) if length.is_zero() => return fault(&at.key("for"), "a window of no length never opens"),
        Ok(_) => {}
    }
    match &window.time_zone {
        Some(zone) if jiff::tz::TimeZone::get(zone).is_err() => {
            fault(&at.key("timeZone"), format!("{zone:?} is not a time zone; write it as Europe/Paris"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
