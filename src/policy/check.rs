//! What a policy may not say although it is well formed: what could never work is refused before anything is read.

mod approvals;
mod clusters;
mod flux;
mod images;
mod late;
mod releases;

use super::read::PolicyFault;
use super::{Gates, LateValue, PinMode, Pins, Places, Policy, Resolve, Window, duration};
use crate::object::Path;
use crate::rules::{Pattern, Rules, UserFault};

/// Looks through the whole policy, and says of each part what is wrong with it first.
pub(super) fn check(policy: &Policy) -> Vec<PolicyFault> {
    let root = Path::root();
    let mut found = vec![
        expect(&root.key("apiVersion"), &policy.api_version, "rollgate.dev/v1alpha1"),
        expect(&root.key("kind"), &policy.kind, "Policy"),
    ];
    let list = root.key("lateValues");
    let mut earlier: Vec<&LateValue> = Vec::new();
    for ((place, value), is_close) in policy.late_values.iter().enumerate().zip(late::close(&policy.late_values)) {
        let at = list.index(place);
        found.extend(late::late_value(&at, value));
        if is_close {
            found.extend(earlier.iter().map(|earlier| late::apart(&at, value, earlier)));
            earlier.push(value);
        }
    }
    found.push(late::templates(&list, policy));
    found.push(resolve(&root.key("resolve"), &policy.resolve));
    found.push(pins(&root.key("pins"), &policy.pins));
    found.push(gates(&root.key("gates"), &policy.gates));
    found.extend(clusters::per_cluster(&root.key("perCluster"), policy));
    found.push(clusters::budget(&root.key("gates").key("budget"), policy));
    found.push(clusters::forecasts(&root.key("forecasts"), policy));
    found.push(clusters::workload(&root, policy));
    found.extend(images::images(&root, policy));
    found.extend(flux::flux(&root.key("flux"), &policy.flux));
    found.push(approvals::approvals(&root.key("approvals"), policy));
    found.push(approvals::expect_changes(&root.key("expect"), policy));
    found.extend(releases::releases(&root.key("releases"), &policy.releases));
    found.extend(rules(&root.key("rules"), policy));
    found.push(display(&root, policy));
    found.into_iter().filter_map(Result::err).collect()
}

/// Paths can be read, and whoever leaves something out says why.
fn display(root: &Path, policy: &Policy) -> Result<(), PolicyFault> {
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
fn fault<T>(path: &Path, message: impl Into<String>) -> Result<T, PolicyFault> {
    Err(PolicyFault { path: path.clone(), message: message.into() })
}

/// The field says exactly this word.
fn expect(path: &Path, found: &str, wanted: &str) -> Result<(), PolicyFault> {
    if found == wanted { Ok(()) } else { fault(path, format!("found {found:?}; this version reads {wanted}")) }
}

/// The sentence at the end of a message that draws the text first.
fn last_line(message: &str) -> &str {
    message.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or(message).trim_start_matches("error: ")
}

/// Each rule by itself: a field that cannot be read, or all that is wrong with a rule that can.
fn rules(at: &Path, policy: &Policy) -> Vec<Result<(), PolicyFault>> {
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
fn resolve(at: &Path, resolve: &Resolve) -> Result<(), PolicyFault> {
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

fn pins(at: &Path, pins: &Pins) -> Result<(), PolicyFault> {
    if pins.store.is_some() && pins.file.is_some() {
        return fault(&at.key("file"), "pins live in one place: a store or a file, not both");
    }
    if pins.file.as_deref() == Some("") {
        return fault(&at.key("file"), "the file has no name");
    }
    for (place, text) in pins.encrypt_to.iter().enumerate() {
        if text.parse::<age::x25519::Recipient>().is_err() {
            // Beside the recipient age-keygen prints the private key, and one was mistaken for the other before.
            let is_public = ["age1", "ssh-"].iter().any(|begin| text.starts_with(begin));
            let what = if is_public { format!("{text:?}") } else { "what stands here".to_owned() };
            let why = format!("{what} is no recipient of age: those begin with age1, as age-keygen prints them");
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

fn gates(at: &Path, gates: &Gates) -> Result<(), PolicyFault> {
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

fn window_faults(at: &Path, window: &Window) -> Result<(), PolicyFault> {
    if let Err(why) = super::cron::read(&window.cron) {
        return fault(
            &at.key("cron"),
            format!("{:?} is not a cron line: {why}; it needs five fields, such as 0 2 * * 6", window.cron),
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
