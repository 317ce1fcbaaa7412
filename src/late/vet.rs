//! What must be known of secret late values before a snapshot hides them: which those are, and whether they can be used.

use super::token::Placeholders;
use super::{kind, resolve, stream};
use crate::object::StreamText;
use crate::policy::Policy;
use crate::world::SourceReading;

/// Says of each reading whether it is secret, also because the `stream` has its place in a Secret, and whether it has the form of
/// its type; secrets are then in that form.
pub(crate) fn vet(stream: &StreamText, policy: &Policy, readings: &mut [SourceReading]) {
    let hidden = resolve::into_secrets(policy, &stream::search(stream, &stream::targets(policy, &[])));
    let hidden = policy.with_origins(&hidden);
    let placeholders = Placeholders::of(policy);
    for reading in readings {
        let Some(value) = policy.late_value(&reading.value) else { continue };
        reading.secret |= hidden.contains(&reading.value);
        let Some(text) = reading.found.as_mut().filter(|_| reading.secret) else { continue };
        let standing_in =
            policy.late_values.iter().flat_map(|value| value.placeholders.iter().chain(&value.equivalent));
        if text.is_empty() || standing_in.into_iter().any(|other| other == text) {
            // It says that nothing is known yet, which everyone may know.
            reading.secret = false;
            continue;
        }
        reading.fits = !super::settle::unknown(&placeholders, value, text) && kind::check(value, text).is_ok();
        if reading.fits {
            *text = kind::normal(value.kind, text);
        }
    }
}
