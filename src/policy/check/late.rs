//! What a policy may not say of late values: names, placeholders and sources that could never work.

use std::collections::BTreeMap;

use aho_corasick::AhoCorasick;

use super::{fault, last_line};
use crate::object::Path;
use crate::policy::read::PolicyFault;
use crate::policy::{LateValue, Policy, Selector, Source, ValueType, duration, nearest, origins};

/// Each part of a late value by itself.
pub(super) fn late_value(at: &Path, value: &LateValue) -> Vec<Result<(), PolicyFault>> {
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

fn name(at: &Path, name: &str) -> Result<(), PolicyFault> {
    let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let start = name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    if !start || name.len() > 253 || !name.chars().all(named) {
        return fault(at, "a name is made of letters, digits, _ - and . (it becomes a key of the pin store)");
    }
    Ok(())
}

fn within(at: &Path, value: &LateValue) -> Result<(), PolicyFault> {
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

fn placeholder(at: &Path, text: &str, earlier: &[String]) -> Result<(), PolicyFault> {
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

/// Which late values may share a name or a placeholder with another one: with thousands, not each is compared with each.
pub(super) fn close(all: &[LateValue]) -> Vec<bool> {
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    all.iter().for_each(|value| *names.entry(&value.name).or_default() += 1);
    let mut close: Vec<bool> = all.iter().map(|value| names[value.name.as_str()] > 1).collect();
    let mut texts: Vec<(usize, &str)> = Vec::new();
    for (place, value) in all.iter().enumerate() {
        texts.extend(value.placeholders.iter().map(|text| (place, text.as_str())));
    }
    let Ok(finder) = AhoCorasick::new(texts.iter().map(|(_, text)| text)) else { return vec![true; all.len()] };
    for (place, text) in &texts {
        for found in finder.find_overlapping_iter(text) {
            let other = texts[found.pattern().as_usize()].0;
            if other != *place {
                (close[*place], close[other]) = (true, true);
            }
        }
    }
    close
}

/// Two late values do not share a name or a placeholder.
pub(super) fn apart(at: &Path, value: &LateValue, earlier: &LateValue) -> Result<(), PolicyFault> {
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

fn source(at: &Path, source: &Source) -> Result<(), PolicyFault> {
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
fn outside(at: &Path, source: &Source) -> Result<(), PolicyFault> {
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

fn json_path(at: &Path, path: &str) -> Result<(), PolicyFault> {
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
pub(super) fn templates(at: &Path, policy: &Policy) -> Result<(), PolicyFault> {
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
                let near = nearest(name, policy.late_values.iter().map(|value| value.name.as_str()));
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
