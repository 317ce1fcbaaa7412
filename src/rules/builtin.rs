//! The packs that are built into the program, in the order of their providers.

use super::pack::Pack;
use crate::kinds::versions::canonical;
use crate::providers::{PROVIDERS, RELEASES};
use crate::yaml;

/// Reads them.
///
/// # Panics
/// Never in a program that was tested: a test reads each pack.
pub(super) fn packs() -> Vec<Pack> {
    let texts = PROVIDERS.iter().flat_map(|provider| provider.packs);
    texts
        .map(|(name, text)| {
            let span = yaml::Span { start: 0, end: text.len() };
            let value = yaml::read_json(text.as_bytes(), span).expect("a test reads each pack that is built in");
            Pack::from_value(name, value).expect("a test reads each pack that is built in")
        })
        .collect()
}

/// Whether anything is known here about a provider of this name.
#[must_use]
pub fn is_known(name: &str) -> bool {
    let name = canonical(&RELEASES, name);
    RELEASES.iter().any(|release| release.name == name)
        || super::Rules::built_in().packs().iter().any(|pack| pack.provider == name)
}

/// The names of the providers whose versions are told apart.
pub fn known() -> impl Iterator<Item = &'static str> {
    RELEASES.iter().map(|release| release.name)
}
