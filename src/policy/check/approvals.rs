//! What a policy may not say of approvals and of wanted changes.

use super::super::read::PolicyFault;
use super::super::{ApprovalPlace, ApprovalTrailer, Approvals, Policy, Selector, duration};
use super::{fault, is_name};
use crate::object::Path;
use crate::rules::Pattern;

/// What could never be met is no expectation.
pub(super) fn expect_changes(at: &Path, policy: &Policy) -> Result<(), PolicyFault> {
    for (number, expectation) in policy.expect.iter().enumerate() {
        let at = at.index(number);
        if let Some(Err(why)) = expectation.clusters.as_deref().map(Selector::parse) {
            return fault(&at.key("clusters"), why);
        }
        if expectation.kind.is_empty() {
            return fault(&at.key("kind"), "the kind is empty");
        }
        match Path::parse(&expectation.path) {
            Ok(path) if path.is_root() => return fault(&at.key("path"), "the path is empty"),
            Ok(path) if path.to_string() != expectation.path || expectation.path.contains('*') => {
                return fault(&at.key("path"), format!("name one field, as a report does: {path}"));
            }
            Ok(_) => {}
            Err(error) => return fault(&at.key("path"), error.to_string()),
        }
        if expectation.to.is_object() || expectation.to.is_array() || expectation.to.is_null() {
            return fault(&at.key("to"), "an expected value is a text, a number, true or false");
        }
        for (place, text) in expectation.with.iter().enumerate() {
            let at = at.key("with").index(place);
            match Pattern::parse(text) {
                Err(error) => return fault(&at, error),
                Ok(_) if text.is_empty() || text.trim_end_matches(['.', '*']).is_empty() => {
                    return fault(&at, "name the places; that would be everything");
                }
                Ok(_) => {}
            }
        }
    }
    Ok(())
}

/// Places that can be read, each once, and none that keeps pins too.
pub(super) fn approvals(at: &Path, policy: &Policy) -> Result<(), PolicyFault> {
    let Approvals { from, by, longest, break_glass } = &policy.approvals;
    for (number, place) in from.iter().enumerate() {
        let at = at.key("from").index(number);
        let pins = match place {
            ApprovalPlace::Object(text) if !place.config_map().is_some_and(is_name) => {
                return fault(
                    &at,
                    format!(
                        "{text:?} is no place for approvals; write configmap/NAME, {{file: PATH}} or {{gitTrailer: NAME}}"
                    ),
                );
            }
            ApprovalPlace::Object(text) => policy.pins.store.as_ref() == Some(text),
            ApprovalPlace::File(file) if file.file.is_empty() => return fault(&at.key("file"), "the file has no name"),
            ApprovalPlace::File(file) => policy.pins.file.as_ref() == Some(&file.file),
            ApprovalPlace::Trailer(trailer) => {
                self::trailer(&at, trailer, by)?;
                false
            }
        };
        if pins {
            return fault(&at, "the pins are there; approvals have a place of their own, with rights of its own");
        }
        if from[..number].iter().any(|earlier| earlier.to_string() == place.to_string()) {
            return fault(&at, format!("{place} stands twice"));
        }
    }
    if let Some(number) = by.iter().position(|name| name.trim().is_empty()) {
        return fault(&at.key("by").index(number), "the name is empty");
    }
    let glass = at.key("breakGlass");
    if break_glass.allow && !from.iter().any(ApprovalPlace::keeps) {
        return fault(&glass.key("allow"), "it has to be written down; name a ConfigMap or a file in approvals.from");
    }
    if let Some(number) = break_glass.by.iter().position(|name| name.trim().is_empty()) {
        return fault(&glass.key("by").index(number), "the name is empty");
    }
    if let Some(Err(error)) = break_glass.longest.as_deref().map(duration) {
        return fault(&glass.key("longest"), error.to_string());
    }
    match longest.as_deref().map(duration) {
        Some(Err(error)) => fault(&at.key("longest"), error.to_string()),
        _ => Ok(()),
    }
}

/// A trailer that Git finds, and that not everybody who may push can write.
fn trailer(at: &Path, trailer: &ApprovalTrailer, by: &[String]) -> Result<(), PolicyFault> {
    let name = &trailer.git_trailer;
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(allowed) || name.len() > 100 {
        let message =
            format!("{name:?} is no name of a trailer; write letters, digits and -, such as Rollgate-Approve");
        return fault(&at.key("gitTrailer"), message);
    }
    let signers = trailer.allowed_signers.as_ref();
    if signers.is_some_and(String::is_empty) {
        return fault(&at.key("allowedSigners"), "the file has no name");
    }
    if !trailer.signed && signers.is_some() {
        return fault(&at.key("allowedSigners"), "nobody has to sign; say signed: true");
    }
    if !trailer.signed && by.is_empty() {
        return fault(
            &at.key("signed"),
            "without a signature everybody who may push would approve; say whose count in approvals.by",
        );
    }
    Ok(())
}
