//! What secrets look like: the words that name them, and the forms of tokens.

/// Ends of names, without dashes and in small letters, whose value is secret, by their last letter: nearly all names end otherwise, and
/// each text of each object has some.
fn secret_words(last: u8) -> &'static [&'static str] {
    match last {
        b'a' => &["keydata"],
        b'd' => &["password", "passwd", "accesskeyid"],
        b'e' => &["passphrase"],
        b'g' => &["kubeconfig"],
        b'l' => &["credential"],
        b'n' => &["token", "authorization", "dockerconfigjson"],
        b't' => &["secret"],
        b'y' => &[
            "privatekey",
            "secretkey",
            "accesskey",
            "apikey",
            "authkey",
            "certificatekey",
            "encryptionkey",
            "signingkey",
            "sharedkey",
            "tlskey",
        ],
        _ => &[],
    }
}

/// Whole names whose value is secret, by their last letter.
fn secret_names(last: u8) -> &'static [&'static str] {
    if last == b'h' { &["auth"] } else { &[] }
}

/// Last words of names whose value is secret, by their last letter: `rootPass`, `db_pwd`, and no `compass`.
fn secret_last_words(last: u8) -> &'static [&'static str] {
    match last {
        b'd' => &["pwd"],
        b'k' => &["psk"],
        b's' => &["pass"],
        b'w' => &["pw"],
        _ => &[],
    }
}

/// Ends of names that are no plural of a secret: lists of this name hold names of Secrets.
const OF_REFERENCES: [&str; 2] = ["secrets", "credentials"];
/// The end of names of settings of tokens (`httpTokens: required` of AWS, `bootstrapTokens` with their own `token`); alone it is a plural.
const OF_SETTINGS: &str = "tokens";

/// Names that end like a secret and are none.
const HARMLESS: [&str; 6] = [
    "existingsecret",
    "imagepullsecret",
    "usesecret",
    "automountserviceaccounttoken",
    "serviceaccounttoken",
    "nosecret",
];

/// Whether a value with this name is secret.
pub(super) fn is_secret_word(name: &str) -> bool {
    let name = name.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    // Nearly all names end otherwise than a secret, and most plurals are of something else.
    is_secret_one(name) || name.strip_suffix(['s', 'S']).is_some_and(|one| is_secret_one(one) && !of_references(name))
}

/// Whether several of this name are names of Secrets, or settings.
fn of_references(name: &str) -> bool {
    rest_before(name, OF_SETTINGS) == Some(false) || OF_REFERENCES.iter().any(|word| rest_before(name, word).is_some())
}

/// Whether a value with this name, which ends with a letter or a digit, is secret.
fn is_secret_one(name: &str) -> bool {
    let Some(last) = name.bytes().next_back().filter(u8::is_ascii_alphanumeric) else { return false };
    let last = last.to_ascii_lowercase();
    let ends_with = |word: &&str| rest_before(name, word).is_some();
    let is_whole = |word: &&str| rest_before(name, word) == Some(true);
    let is_last = |word: &&str| is_last_word(name, word);
    (secret_names(last).iter().any(is_whole)
        || secret_last_words(last).iter().any(is_last)
        || secret_words(last).iter().any(ends_with))
        && !HARMLESS.iter().any(ends_with)
}

/// Whether a name ends with a word as the last of its words: behind a mark or a digit, or where it alone begins with a capital.
fn is_last_word(name: &str, word: &str) -> bool {
    let Some((before, end)) = name.len().checked_sub(word.len()).and_then(|at| name.split_at_checked(at)) else {
        return false;
    };
    let camel =
        || end.starts_with(|c: char| c.is_ascii_uppercase()) && before.ends_with(|c: char| c.is_ascii_lowercase());
    end.eq_ignore_ascii_case(word) && (!before.ends_with(|c: char| c.is_ascii_alphabetic()) || camel())
}

/// Whether a name, without marks and in small letters, ends with a word; and then, whether it is nothing else.
fn rest_before(name: &str, word: &str) -> Option<bool> {
    let mut letters = name.bytes().rev().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase());
    word.bytes().rev().all(|byte| letters.next() == Some(byte)).then(|| letters.next().is_none())
}

/// Fewest letters of a token of any form but that of an RKE2 node.
const SHORTEST_TOKEN: usize = 16;

/// Whether a word is a token by its form, whatever stands before it.
pub(super) fn is_token(word: &str) -> bool {
    may_be_token(word)
        && (is_bootstrap_token(word) || is_web_token(word) || has_known_prefix(word) || is_crypt_hash(word))
}

/// Whether a word is long enough for a token.
pub(super) fn may_be_token(word: &str) -> bool {
    word.len() >= SHORTEST_TOKEN || word.starts_with("K10")
}

/// `abcdef.0123456789abcdef` (kubeadm).
fn is_bootstrap_token(word: &str) -> bool {
    let small = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let digits = || word.bytes().any(|byte| byte.is_ascii_digit());
    let is_one = |(id, secret): (&str, &str)| id.len() == 6 && small(id) && small(secret) && digits();
    word.len() == 6 + 1 + 16 && word.split_once('.').is_some_and(is_one)
}

/// A JSON Web Token.
fn is_web_token(word: &str) -> bool {
    word.starts_with("eyJ") && word.len() > 40 && word.matches('.').count() == 2
}

/// Tokens whose first letters say what they are.
fn has_known_prefix(word: &str) -> bool {
    // Nearly all words begin otherwise.
    if !word.starts_with(['g', 'x', 'h', 'A', 'K']) {
        return false;
    }
    let rest_of = |prefix: &str| word.strip_prefix(prefix).map_or(0, str::len);
    let long = [
        ("AGE-SECRET-KEY-1", 30),
        ("ghp_", 30),
        ("gho_", 30),
        ("ghs_", 30),
        ("github_pat_", 30),
        ("glpat-", 16),
        ("xoxb-", 20),
        ("hvs.", 20),
    ];
    let amazon = (word.starts_with("AKIA") || word.starts_with("ASIA"))
        && word.len() == 20
        && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    let node = word.starts_with("K10") && word.contains("::");
    amazon || node || long.iter().any(|(prefix, least)| rest_of(prefix) >= *least)
}

/// A hashed password as in `/etc/shadow`.
fn is_crypt_hash(word: &str) -> bool {
    let Some(rest) = word.strip_prefix('$') else { return false };
    let mut parts = rest.split('$');
    parts.next().is_some_and(|id| matches!(id, "1" | "2a" | "2b" | "2y" | "5" | "6" | "7" | "y" | "gy"))
        && parts.map(str::len).sum::<usize>() >= 20
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_that_its_value_is_secret_and_one_that_only_looks_so_does_not() {
        for name in [
            "rootPass",
            "adminPw",
            "db_pwd",
            "wifi-psk",
            "PASS",
            "pw",
            "DB_PASS",
            "sshPasswords",
            "tokens",
            "apiKeys",
            "passwords:",
            "access-keys",
            "psks",
        ] {
            assert!(is_secret_word(name), "{name}");
        }
        for name in [
            "bypass",
            "compass",
            "existingPassRef",
            "passthrough",
            "sshKeyName",
            "tokenTTL",
            "secretName",
            "secrets",
            "usernamePrefix",
            "imagePullSecrets",
            "credentials",
            "ssh_pwauth",
            "keys",
            "class",
            "address",
            "tasks",
            "sshAuthorizedKeys",
            "httpTokens",
            "bootstrapTokens",
        ] {
            assert!(!is_secret_word(name), "{name}");
        }
    }
}
