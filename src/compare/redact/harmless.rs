//! Forms that no secret has: addresses, numbers, versions, lengths of time, images, file paths, words that commands and
//! settings are made of. What has one of them is shown wherever it stands; all else of a guarded text is a mark.

use crate::hashed::{HashMap, HashSet};
use std::cell::RefCell;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Regex, RegexSet};

/// Words of commands, settings and enumerations that say nothing secret.
static WORDS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| include_str!("words.txt").split_ascii_whitespace().collect());

/// What a version may have behind its numbers.
const VERSION_TAIL: &str = r"(?:[-+~.](?:alpha|beta|rc|rke2r|rke2|k3s|k0s|build|dev|pre|ubuntu|debian|el|fc|amd|arm|hotfix|gke|eks|eksbuild|snapshot|hardened|alpine|bookworm|bullseye|slim|vmware)?\.?\d{0,8}){0,5}";
const VERSION: &str = r"v?\d{1,5}(?:\.\d{1,5}){1,3}";
/// Names of hosts end with one of these, so that no two words with a dot between them are taken for one.
const DOMAINS: &str = "(?:com|org|net|io|dev|cloud|local|internal|lan|corp|home|intern|intranet|cluster|svc|localdomain|example|invalid|test|arpa|eu|de|fr|uk|us|es|it|nl|ch|at|be|se|no|fi|dk|pl|cz|ca|jp|kr|cn|in|br|au)";
const LABEL: &str = "[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?";
/// Where files of a machine are; no secret begins like this by accident.
const ROOTS: &str = "(?:bin|boot|cdrom|config|data|dev|etc|home|host|lib|lib64|media|mnt|oem|opt|proc|root|run|sbin|snap|srv|sys|system|tmp|usr|var)";

/// Forms that are harmless as a whole, for words of ASCII alone: to them a digit is one of ten, and that is read in a tenth of the time.
static FORMS: LazyLock<RegexSet> = LazyLock::new(|| forms("[0-9]"));

/// Forms that are harmless as a whole, for every word that is not of ASCII alone: its digits are those of any script.
static FORMS_OF_ANY: LazyLock<RegexSet> = LazyLock::new(|| forms(r"\d"));

/// The forms with a digit as it is told.
fn forms(digit: &str) -> RegexSet {
    let forms = [
        // One letter is no secret.
        "[A-Za-z]".to_owned(),
        // Numbers, percentages, modes.
        r"[+-]?\d{1,10}(?:\.\d{1,6})?%?".to_owned(),
        r"0[xX][0-9a-fA-F]{1,6}|0o[0-7]{1,5}".to_owned(),
        // Quantities and lengths of time.
        r"\d{1,10}(?:\.\d{1,3})?(?:[mkKMGTPBb]|[KMGTP]i?B|[KMGTP]i)".to_owned(),
        r"(?:\d{1,9}(?:\.\d{1,9})?(?:ns|us|µs|ms|s|m|h|d|w|y|min|sec)){1,5}".to_owned(),
        // Points in time.
        r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?".to_owned(),
        r"\d{1,2}:\d{2}(?::\d{2})?".to_owned(),
        // Addresses: also with a port, as a range, of a network card.
        r"\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?(?::\d{1,5})?(?:-\d{1,3}(?:\.\d{1,3}){3})?".to_owned(),
        r"[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}".to_owned(),
        r":\d{1,5}".to_owned(),
        // Versions, of programs and of APIs.
        format!("{VERSION}{VERSION_TAIL}|v\\d{{1,3}}(?:(?:alpha|beta)\\d{{1,3}})?"),
        // Variables of shells and templates, without what may stand for them.
        r"\$\{?[A-Z_][A-Z0-9_]{0,40}\}?|\$[0-9@?#*!]".to_owned(),
        r"sha256:[0-9a-f]{64}|sha1:[0-9a-f]{40}|md5:[0-9a-f]{32}|sha512:[0-9a-f]{128}".to_owned(),
        // What clouds call images, networks and roles.
        r"(?:ami|eipalloc|eni|fs|igw|lt|nat|pl|rtb|sg|snap|subnet|vol|vpc)-[0-9a-f]{8}(?:[0-9a-f]{9})?".to_owned(),
        r"arn:aws[a-z-]{0,10}:[a-z0-9-]{2,30}:[a-z0-9-]{0,20}:\d{0,12}:[A-Za-z0-9_./:*-]{1,160}".to_owned(),
        r"/subscriptions/[0-9a-fA-F-]{36}(?:/[A-Za-z0-9._()-]{1,90}){0,12}".to_owned(),
        r"ocid1\.[a-z]{2,30}\.oc\d{1,2}\.[a-z0-9-]{0,30}\.[a-z0-9]{20,80}".to_owned(),
        r"(?:eth|ens|eno|enp\d{1,3}s|bond|br|vlan|lo|team|vd|sd|dummy|tun|tap|wlan|ib|nvme|veth|cali|cilium_)[a-z]?\d{0,4}".to_owned(),
        // Flags: what they are set to is looked at by itself.
        r"--[a-z][a-z0-9]{0,20}(?:-[a-z0-9]{1,20}){0,6}|-[a-zA-Z]|-[a-z]?(?:rf|xe|eu|euo|euxo|ef|la|lR|xzf|xvf|zxvf|sS|fsSL|sSL|sSf|SL)".to_owned(),
    ];
    RegexSet::new(forms.map(|form| format!("^(?:{form})$").replace(r"\d", digit)))
        .expect("the forms are regular expressions")
}

/// Whether a word has one of the forms.
fn has_form(word: &str) -> bool {
    if word.is_ascii() { FORMS.is_match(word) } else { FORMS_OF_ANY.is_match(word) }
}

/// `host`, `host:port`.
static HOST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(r"^(?:\*\.|\.)?(?:{LABEL}\.){{1,8}}{DOMAINS}\.?(?::\d{{1,5}})?$"))
        .expect("a regular expression")
});

/// An address with a scheme: scheme, host, path.
static URL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^[a-z][a-z0-9+.-]{1,15}://(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]*)(?::\d{1,5})?((?:/[^/?#@]*)*)(?:\?timeout=[0-9]{1,4}m?s)?$")
        .expect("a regular expression")
});

/// A file: absolute, below a folder that machines have.
static FILE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(&format!(r"^(?:/{ROOTS}(?:/.*)?|~/.*|\./.*|/)$")).expect("a regular expression"));

/// An image: registry, name, tag, digest.
static IMAGE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^((?:[a-z0-9][a-z0-9.-]*(?::\d{1,5})?/)?[a-z0-9][a-z0-9._/-]*?)(?::([A-Za-z0-9_][A-Za-z0-9._-]{0,80}))?(@sha256:[0-9a-f]{64})?$")
        .expect("a regular expression")
});

/// A name of several words as APIs write them, with a number of a version at most: `nodeAddressAutodetectionV4`.
static CAMEL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("^[A-Z]?[a-z]{2,}(?:[A-Z]{1,4}[a-z]+|[A-Z]{2,4})*(?:V?[0-9]{1,2})?(?:[A-Z][a-z]{2,}){0,3}$")
        .expect("a regular expression")
});

/// A version and nothing else, as a tag of an image writes it.
static WHOLE_VERSION: LazyLock<Regex> = LazyLock::new(|| {
    let version = format!("^{VERSION}{VERSION_TAIL}$").replace(r"\d", "[0-9]");
    Regex::new(&version).expect("a regular expression")
});

/// Fewest letters of what is taken for drawn by lot among typed fields.
const SHORTEST_LOT: usize = 20;
/// Longest word that is looked at; no address is longer.
const LONGEST: usize = 256;

thread_local! {
    /// What was said of words already: those of settings and commands stand in every object of a fleet.
    static SAID: RefCell<HashMap<Box<str>, bool>> = RefCell::default();
}

/// Most words of which is kept what was said.
const MOST_SAID: usize = 1 << 14;

/// Whether a word has a form that no secret has.
pub(super) fn is_harmless(word: &str) -> bool {
    if word.is_empty() || word.len() > LONGEST {
        return word.is_empty();
    }
    SAID.with_borrow_mut(|said| {
        if let Some(known) = said.get(word) {
            return *known;
        }
        if said.len() >= MOST_SAID {
            said.clear();
        }
        let is_harmless = looks_harmless(word);
        said.insert(word.into(), is_harmless);
        is_harmless
    })
}

fn looks_harmless(word: &str) -> bool {
    is_operator(word)
        || is_of_words(word)
        || has_form(word)
        || is_ip6(word)
        || is_host(word)
        || is_url(word)
        || is_file(word)
        || is_image(word)
}

/// Whether a text has a form that no secret has, or is one ordinary word.
pub(super) fn is_form(word: &str) -> bool {
    is_harmless(word) && (is_word(word) || !is_of_words(word))
}

/// Whether a typed name or choice is one: no address with credentials, nothing drawn by lot. Public keys look drawn, and say what
/// they are.
pub(super) fn is_typed(text: &str) -> bool {
    let public = ["ssh-", "ecdsa-", "sk-ssh-", "sk-ecdsa-"].iter().any(|prefix| text.starts_with(prefix));
    public || !text.contains('@') && !text.split(|c: char| !c.is_ascii_alphanumeric()).any(is_opaque)
}

/// Whether a word with commas is a list: most of its items are harmless by themselves, so that no password with a comma in it is
/// taken apart.
pub(super) fn is_of_list(word: &str) -> bool {
    let items = word.split(',').count();
    let harmless = word.split(',').filter(|item| !item.is_empty() && is_harmless(item)).count();
    harmless * 2 >= items
}

/// Signs of shells and texts.
fn is_operator(word: &str) -> bool {
    const SIGNS: [&str; 44] = [
        "&&", "||", "|", ">", ">>", "<", "<<", "<<-", ";", ";;", "{", "}", "[", "]", "[[", "]]", "(", ")", "()", "-",
        "--", "---", "...", ":", "#", "=", "==", "!=", ":=", "+=", "=>", "->", "\\", "*", "!", "2>&1", "&", "+", ",",
        ".", "\"\"", "''", "{}", "$@",
    ];
    SIGNS.contains(&word) || word.len() > 2 && word.bytes().all(|byte| matches!(byte, b'#' | b'=' | b'-' | b'*'))
}

/// Whether a word is one of the list, or is put together of such words and short numbers: `kube-apiserver`, `net.ipv4.ip_forward`.
fn is_of_words(word: &str) -> bool {
    let mut known = 0_usize;
    let all = word.split(['-', '.', '_', '/', ':', '@', '+']).all(|part| {
        let number = !part.is_empty() && part.len() <= 3 && part.bytes().all(|byte| byte.is_ascii_digit());
        let is_known = is_word(part);
        known += usize::from(is_known);
        part.is_empty() || number || is_known
    });
    all && known > 0
}

/// Whether a word is in the list, as it stands there, capitalised or in capitals.
pub(super) fn is_word(word: &str) -> bool {
    if WORDS.contains(word) {
        return true;
    }
    let mut letters = word.chars();
    let first = letters.next().is_some_and(char::is_uppercase);
    let rest: &str = letters.as_str();
    let one_case = rest.chars().all(|c| !c.is_uppercase()) || rest.chars().all(|c| !c.is_lowercase());
    first && one_case && WORDS.contains(word.to_lowercase().as_str())
}

fn is_ip6(word: &str) -> bool {
    if word.matches(':').count() < 2 {
        return false;
    }
    let bare = word.split_once('/').map_or(word, |(address, _)| address);
    let bare = bare.strip_prefix('[').map_or(bare, |inner| inner.split_once(']').map_or(inner, |(address, _)| address));
    let tail = word.rsplit([']', '/']).next().unwrap_or_default().trim_start_matches(':');
    bare.parse::<IpAddr>().is_ok() && (tail == bare || tail.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_host(word: &str) -> bool {
    word.contains('.') && HOST.is_match(word) && !word.split(['.', ':']).any(is_opaque)
}

fn is_url(word: &str) -> bool {
    word.contains("://")
        && URL.captures(word).is_some_and(|parts| {
            let part = |place| parts.get(place).map_or("", |part: regex::Match<'_>| part.as_str());
            !part(1).split('.').any(is_opaque) && part(2).split('/').all(is_plain_step)
        })
}

fn is_file(word: &str) -> bool {
    word.contains('/') && FILE.is_match(word) && word.split('/').all(is_plain_step)
}

fn is_image(word: &str) -> bool {
    // Without a registry it has a tag.
    word.contains(['/', ':'])
        && IMAGE.captures(word).is_some_and(|parts| {
            let part = |place| parts.get(place).map(|part: regex::Match<'_>| part.as_str());
            let (name, tag, digest) = (part(1).unwrap_or_default(), part(2), part(3));
            let host = name.split('/').next().unwrap_or_default();
            let registry = name.contains('/')
                && (HOST.is_match(host) || host.starts_with("localhost") || is_registry_of_addresses(host));
            let plain = name.split('/').all(is_plain_step);
            let versioned = tag.is_some_and(|tag| WHOLE_VERSION.is_match(tag));
            let tagged = tag.is_none_or(is_plain_step);
            plain && tagged && (registry || digest.is_some() && name.contains('/') || versioned && name.len() > 2)
        })
}

fn is_registry_of_addresses(host: &str) -> bool {
    host.split(':').next().is_some_and(|host| host.parse::<IpAddr>().is_ok())
}

/// Whether a step of a path is a plain name.
fn is_plain_step(step: &str) -> bool {
    let of_name =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '*' | ':' | '+' | '$' | '{' | '}' | '~');
    step.len() <= 80 && step.chars().all(of_name) && !step.split(['.', '-', '_', ':', '+']).any(is_opaque)
}

/// Whether a piece looks as if it was drawn by lot: letters of both cases with digits, a long run without a sign, many digits
/// among letters, long hexadecimal.
pub(super) fn is_opaque(piece: &str) -> bool {
    if piece.len() < 7 || CAMEL.is_match(piece) {
        return false;
    }
    let count = |of: fn(&u8) -> bool| piece.bytes().filter(of).count();
    let (upper, lower, digits) =
        (count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase), count(u8::is_ascii_digit));
    // `ipv4`, `x86`, `rke2`, `node01`: the digits stand at one end and are few.
    let mixed = upper > 0 && lower > 0 && digits > 0;
    let many_digits = upper + lower > 0 && digits >= 3 && piece.len() >= 12;
    let hexadecimal = piece.len() >= 24 && piece.bytes().all(|byte| byte.is_ascii_hexdigit());
    mixed || many_digits || hexadecimal || piece.len() > 32 && !piece.contains(['/', '.', '-', '_'])
}

/// The pieces of a text that were drawn by lot, where typed fields stand: long runs of letters of both cases and digits.
pub(super) fn drawn_by_lot(text: &str) -> Vec<Range<usize>> {
    // Public keys look so too, and say what they are.
    if text.len() < SHORTEST_LOT || text.contains("ssh-") || text.contains("ecdsa-") {
        return Vec::new();
    }
    let of_run = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    let (mut found, mut at) = (Vec::new(), 0);
    for run in text.split(|c| !of_run(c)) {
        let start = at;
        at += run.len() + text[at + run.len()..].chars().next().map_or(0, char::len_utf8);
        if run.len() < SHORTEST_LOT {
            continue;
        }
        let count = |of: fn(&u8) -> bool| run.bytes().filter(of).count();
        let (upper, lower, digits) =
            (count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase), count(u8::is_ascii_digit));
        let one = !run.contains('/') && upper >= 2 && lower >= 2 && digits >= 2;
        let many = run.len() >= 40 && !run.starts_with('/') && upper >= 8 && lower >= 8 && digits >= 1;
        if one || many {
            found.push(start..start + run.len());
        }
    }
    found
}

/// A public key as OpenSSH writes it, with the name of its owner.
static PUBLIC_KEY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("^(?:ssh-(?:ed25519|rsa|dss)|ecdsa-sha2-nistp[0-9]{3}) AAAA[A-Za-z0-9+/]{20,1000}={0,3}(?: [A-Za-z0-9@._-]{1,80})?$")
        .expect("a regular expression")
});

/// Whether a text is what people choose by name: one plain name, a list of them, a path of them (vSphere's inventory, a file of a
/// datastore), a public key.
pub(super) fn is_chosen(text: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && is_plain_name(name);
    let in_datastore = || {
        let (store, file) = text.strip_prefix('[')?.split_once("] ")?;
        Some(is_name(store) && is_name(file))
    };
    is_plain_name(text)
        || text.contains(',') && text.split(',').all(is_name)
        || text.strip_prefix('/').is_some_and(|rest| rest.contains('/') && is_name(rest))
        || in_datastore().unwrap_or_default()
        || text.starts_with(['s', 'e']) && PUBLIC_KEY.is_match(text)
}

/// Whether a text is one plain name, as people give to machines, images and zones: no white space, nothing drawn by lot.
pub(super) fn is_plain_name(text: &str) -> bool {
    if text.is_empty() || text.len() > 80 || !text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return text.is_empty();
    }
    let (name, tag) = text.split_once(':').map_or((text, None), |(name, tag)| (name, Some(tag)));
    let tag_is_version = tag.is_none_or(has_form);
    let of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
    tag_is_version && name.chars().all(of_name) && !name.split(['.', '-', '_', '/']).any(is_opaque)
}

#[cfg(test)]
#[path = "harmless_tests.rs"]
mod tests;
