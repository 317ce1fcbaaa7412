//! Secret values of pins, encrypted with age (age-encryption.org/v1): who has a key gets the value back when its source is gone.
//! The seal beside it says whether what is opened is what was pinned.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};

use age::x25519::{Identity, Recipient};
use age::{Decryptor, Encryptor};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// Variables that name a file of keys, in the order in which they are looked at; the second one is that of SOPS.
const FILES: [&str; 2] = ["ROLLGATE_AGE_KEY_FILE", "SOPS_AGE_KEY_FILE"];
/// Variables that hold keys.
const TEXTS: [&str; 2] = ["ROLLGATE_AGE_KEY", "SOPS_AGE_KEY"];

/// Encrypts a value to recipients, as one line of base64.
///
/// # Errors
/// When one of the recipients is none, or there is no randomness to be had.
pub(super) fn encrypt(value: &str, recipients: &[String]) -> Result<String, String> {
    // It may be a private key by mistake.
    let recipient = |(place, text): (usize, &String)| {
        text.parse().map_err(|_| format!("entry {place} of encryptTo is no recipient of age"))
    };
    let recipients: Vec<Recipient> = recipients.iter().enumerate().map(recipient).collect::<Result<_, String>>()?;
    let failed = |error: &dyn std::fmt::Display| format!("cannot encrypt: {error}");
    let all = recipients.iter().map(|one| one as &dyn age::Recipient);
    let encryptor = Encryptor::with_recipients(all).map_err(|error| failed(&error))?;
    let mut bytes = Vec::new();
    let mut writer = encryptor.wrap_output(&mut bytes).map_err(|error| failed(&error))?;
    writer.write_all(value.as_bytes()).map_err(|error| failed(&error))?;
    writer.finish().map_err(|error| failed(&error))?;
    Ok(BASE64_STANDARD.encode(bytes))
}

/// The keys that this machine has.
#[derive(Default)]
pub struct Keys(Vec<Identity>);

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Keys({})", self.0.len())
    }
}

impl Keys {
    /// The keys that the environment holds or names. Keys of plugins are passed over.
    ///
    /// # Errors
    /// When a file of keys cannot be read, or a line of it is no key; the line is not shown.
    pub fn of(env: &BTreeMap<String, String>) -> Result<Self, String> {
        let set = |name: &&'static str| env.get(*name).filter(|text| !text.is_empty()).map(move |text| (*name, text));
        let mut keys = Vec::new();
        for (name, file) in FILES.iter().filter_map(set) {
            let text =
                std::fs::read_to_string(file).map_err(|error| format!("cannot read {file} of {name}: {error}"))?;
            keys.extend(identities(&text).map_err(|line| format!("line {line} of {file} is no key of age"))?);
        }
        for (name, text) in TEXTS.iter().filter_map(set) {
            keys.extend(identities(text).map_err(|line| format!("line {line} of {name} is no key of age"))?);
        }
        Ok(Self(keys))
    }

    /// The value, where one of the keys opens it.
    pub(super) fn open(&self, encrypted: &str) -> Option<String> {
        let bytes = BASE64_STANDARD.decode(encrypted).ok()?;
        let decryptor = Decryptor::new_buffered(bytes.as_slice()).ok()?;
        let keys = self.0.iter().map(|key| key as &dyn age::Identity);
        let mut value = String::new();
        decryptor.decrypt(keys).ok()?.take(LARGEST).read_to_string(&mut value).ok()?;
        Some(value)
    }
}

/// A late value is a line, or a few of them.
const LARGEST: u64 = 1024 * 1024;

/// The keys of a text, or the number of the first line that is none.
fn identities(text: &str) -> Result<Vec<Identity>, usize> {
    let lines = text.lines().enumerate().map(|(place, line)| (place + 1, line.trim()));
    let keys = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#') && !line.starts_with("AGE-PLUGIN-"));
    keys.map(|(number, line)| line.parse().map_err(|_| number)).collect()
}

#[cfg(test)]
mod tests {
    use age::secrecy::ExposeSecret as _;

    use super::*;

    fn env(name: &str, text: &str) -> BTreeMap<String, String> {
        BTreeMap::from([(name.to_owned(), text.to_owned())])
    }

    #[test]
    fn who_has_a_key_gets_the_value_back_and_nobody_else() {
        let (ours, second, theirs) = (Identity::generate(), Identity::generate(), Identity::generate());
        let to = [ours.to_public().to_string(), second.to_public().to_string()];
        let closed = encrypt("hunter2", &to).expect("encrypted");
        assert!(!closed.contains("hunter2") && closed != encrypt("hunter2", &to).expect("encrypted"));
        let text =
            |key: &Identity| format!("# a comment\n\nAGE-PLUGIN-YUBIKEY-1\n{}\n", key.to_string().expose_secret());
        for key in [&ours, &second] {
            let keys = Keys::of(&env("SOPS_AGE_KEY", &text(key))).expect("keys");
            assert_eq!(keys.open(&closed).as_deref(), Some("hunter2"));
        }
        for keys in [Keys::of(&env("ROLLGATE_AGE_KEY", &text(&theirs))).expect("keys"), Keys::default()] {
            assert_eq!(keys.open(&closed), None);
        }
        let keys = Keys::of(&env("ROLLGATE_AGE_KEY", &text(&ours))).expect("keys");
        for broken in ["", "no base64", &closed[..closed.len() / 2], &BASE64_STANDARD.encode("age-encryption.org/v1\n")]
        {
            assert_eq!(keys.open(broken), None, "{broken}");
        }
    }

    #[test]
    fn what_is_no_key_is_said_without_showing_it() {
        let told = Keys::of(&env("SOPS_AGE_KEY", "\nhunter2\n")).expect_err("no key");
        assert_eq!(told, "line 2 of SOPS_AGE_KEY is no key of age");
        let told = Keys::of(&env("ROLLGATE_AGE_KEY_FILE", "/no/such/file")).expect_err("no file");
        assert!(told.contains("/no/such/file of ROLLGATE_AGE_KEY_FILE"), "{told}");
        assert!(
            encrypt("hunter2", &["age1nonsense".to_owned()]).expect_err("no recipient").contains("no recipient of age")
        );
    }
}
