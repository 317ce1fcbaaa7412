//! Seals: what stands in a pin in the place of a secret value. The value cannot be read from it, only recognised.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use sha2::{Digest as _, Sha256};

/// Rounds of hashing: a guess costs as much as a login, a check costs a few milliseconds.
const ROUNDS: u32 = 60_000;

/// Seals a value. `salt` need not be secret but should differ from pin to pin (name, source and time together do).
#[must_use]
pub(crate) fn seal(value: &str, salt: &str) -> String {
    let salt = Sha256::digest(salt.as_bytes());
    let salt = &salt[..16];
    format!("sealed:1:{}:{}", STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(stretch(value, salt)))
}

/// Whether a text is a seal.
#[must_use]
pub(crate) fn is_seal(text: &str) -> bool {
    text.starts_with("sealed:")
}

/// Whether `seal` was made of `value`. A seal of another form recognises nothing.
#[must_use]
pub(crate) fn recognises(seal: &str, value: &str) -> bool {
    let Some((salt, hash)) = seal.strip_prefix("sealed:1:").and_then(|rest| rest.split_once(':')) else { return false };
    let (Ok(salt), Ok(hash)) = (STANDARD_NO_PAD.decode(salt), STANDARD_NO_PAD.decode(hash)) else { return false };
    hash == stretch(value, &salt)
}

/// A hash that takes its time.
fn stretch(value: &str, salt: &[u8]) -> Vec<u8> {
    let mut state = Sha256::new().chain_update(salt).chain_update(value.as_bytes()).finalize();
    for _ in 0..ROUNDS {
        state = Sha256::new().chain_update(state).chain_update(salt).finalize();
    }
    state.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_recognises_its_value_and_shows_nothing_of_it() {
        let sealed = seal("hunter2", "vip|Secret a/b|2026-11-21T00:00:00Z");
        assert!(recognises(&sealed, "hunter2"));
        assert!(!recognises(&sealed, "hunter3"));
        assert!(!sealed.contains("hunter2"));
        assert_ne!(sealed, seal("hunter2", "another salt"));
    }

    #[test]
    fn a_value_that_looks_like_a_seal_is_not_one() {
        for text in ["", "hunter2", "sealed:1:", "sealed:1:::", "sealed:2:AA:AA"] {
            assert!(!recognises(text, "hunter2"), "{text}");
        }
    }
}
