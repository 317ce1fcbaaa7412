//! What the text of an object rules out without its tree: a word that stands nowhere in it, a key that it cannot have.

use aho_corasick::AhoCorasick;
use memchr::{memchr, memchr_iter, memchr2, memmem};

use super::Object;

impl Object {
    /// Whether its content may hold a word; false only where that is sure, without the tree being made. `word` is plain:
    /// letters, digits, dashes, dots and slashes.
    #[must_use]
    pub fn may_say(&self, word: &str) -> bool {
        self.text().is_none_or(|text| says(text, word) || self.escapes(text).in_words)
    }

    /// Whether its content may name a Secret or a ConfigMap, by one of `words`, which are the same each time, or by a mark; looked for once. As
    /// [`Self::may_say`].
    #[must_use]
    pub(crate) fn may_name_data(&self, words: &AhoCorasick, mark: &str) -> bool {
        let Some(text) = self.text() else { return true };
        *self.names_data.get_or_init(|| says(text, mark) || words.is_match(text) || self.escapes(text).in_words)
    }

    /// Whether its content may hold a word at another place than as a key of its root, where it stands; false only where that is
    /// sure. As [`Self::may_say`].
    #[must_use]
    pub(crate) fn may_say_again(&self, word: &str) -> bool {
        let Some(text) = self.everyday() else { return true };
        memmem::find_iter(text, word.as_bytes()).take(2).count() != 1 || self.escapes(text).in_words
    }

    /// Whether its content may have a key; false only where that is sure. As [`Self::may_say`], but a key goes over a line break only
    /// where a question mark marks it, so that texts with continued lines need no tree.
    #[must_use]
    pub fn may_have_key(&self, word: &str) -> bool {
        let Some(text) = self.text() else { return true };
        says(text, word) || self.escapes(text).in_keys
    }

    /// Whether its `metadata` may have a key, in one of its maps; false only where that is sure. As [`Self::may_have_key`], but of an
    /// everyday document nothing else is looked at, and that once.
    #[must_use]
    pub(crate) fn may_have_in_metadata(&self, key: MetadataKey) -> bool {
        self.metadata_keys().map_or_else(|| self.may_have_key(key.word()), |keys| keys.may_have(key))
    }

    fn escapes(&self, text: &[u8]) -> Escapes {
        *self.escapes.get_or_init(|| Escapes::of(text))
    }
}

/// A key that many ask for in the `metadata` of every object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetadataKey {
    /// What makes a document a hook of Helm (helm `pkg/release/v1/hook.go`).
    HelmHook,
    /// What makes an object a hook of Argo CD, beside Helm's own (gitops-engine `pkg/sync/hook/hook.go`).
    ArgoHook,
    /// What makes Helm leave an object in place that goes from its chart (helm `pkg/kube/resource_policy.go`).
    ResourcePolicy,
    /// What the API server gives each object.
    Uid,
    /// What the API server notes of those who write an object.
    ManagedFields,
}

impl MetadataKey {
    const ALL: [Self; 5] = [Self::HelmHook, Self::ArgoHook, Self::ResourcePolicy, Self::Uid, Self::ManagedFields];

    /// How it is written.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::HelmHook => "helm.sh/hook",
            Self::ArgoHook => "argocd.argoproj.io/hook",
            Self::ResourcePolicy => "helm.sh/resource-policy",
            Self::Uid => "uid",
            Self::ManagedFields => "managedFields",
        }
    }
}

/// Those of them that the `metadata` of an everyday document may have.
#[derive(Debug, Clone, Copy)]
pub(super) struct MetadataKeys(u8);

impl MetadataKeys {
    /// Looks for them in the text of a `metadata`.
    pub(super) fn of(text: &[u8]) -> Self {
        if Escapes::of(text).in_keys {
            return Self(u8::MAX);
        }
        let bits = MetadataKey::ALL.into_iter().filter(|key| says(text, key.word())).map(|key| 1 << key as u8);
        Self(bits.fold(0, |all, bit| all | bit))
    }

    const fn may_have(self, key: MetadataKey) -> bool {
        self.0 & 1 << key as u8 != 0
    }
}

/// Whether a word stands in a text. A searcher takes longer to make than a short text to look through.
fn says(text: &[u8], word: &str) -> bool {
    const SHORT: usize = 512;
    let word = word.as_bytes();
    if text.len() > SHORT {
        return memmem::find(text, word).is_some();
    }
    // A slash is rarer than letters.
    let offset = memchr(b'/', word).unwrap_or(0);
    let Some(sign) = word.get(offset) else { return true };
    memchr_iter(*sign, text).any(|at| at.checked_sub(offset).is_some_and(|start| text[start..].starts_with(word)))
}

/// What a text may hold that does not stand in it as it is read: behind a backslash a letter may be written as a number, and a line may
/// end within a word.
#[derive(Debug, Clone, Copy)]
pub(super) struct Escapes {
    /// Whether a word may stand in it.
    in_words: bool,
    /// Whether a key may.
    in_keys: bool,
}

impl Escapes {
    fn of(text: &[u8]) -> Self {
        if memchr2(b'\\', b'!', text).is_none() {
            return Self { in_words: false, in_keys: false };
        }
        let is_encoded = may_be_encoded(text);
        let marked =
            || memchr_iter(b'?', text).any(|at| matches!(text.get(at + 1), None | Some(b' ' | b'\t' | b'\n' | b'\r')));
        let hides = text.last() == Some(&b'\\') || is_behind(text, |next| matches!(next, b'x' | b'u' | b'U' | b'/'));
        let goes_on = !is_encoded && !hides && is_behind(text, |next| matches!(next, b'\n' | b'\r'));
        Self { in_words: is_encoded || hides || goes_on, in_keys: is_encoded || hides || goes_on && marked() }
    }
}

/// Whether one of some signs stands behind a backslash anywhere in a text: JSON in quotes has one before each of its own quotes.
fn is_behind(text: &[u8], is: impl Fn(u8) -> bool) -> bool {
    const BLOCK: usize = 256;
    let pairs = text.chunks(BLOCK).zip(text.get(1..).unwrap_or_default().chunks(BLOCK));
    let mut blocks = pairs.map(|(here, next)| {
        // No branch inside and no type but bytes, so that this is vectorised.
        let both = here.iter().zip(next);
        both.fold(0, |found, (byte, next)| found | (u8::from(*byte == b'\\') & u8::from(is(*next))))
    });
    blocks.any(|found| found != 0)
}

/// Whether a text may hold a scalar in base64, which a tag says (`!!binary`); letters of a tag may be written as numbers.
fn may_be_encoded(text: &[u8]) -> bool {
    memchr(b'!', text).is_some()
        && (memmem::find(text, b"binary").is_some() || memmem::find(text, b"!%").is_some() || tag_with_numbers(text))
}

/// Whether a tag has a letter that is written as a number, or a document has handles for tags of its own.
fn tag_with_numbers(text: &[u8]) -> bool {
    let tags = memchr_iter(b'!', text).map(|at| {
        let rest = &text[at..];
        &rest[..rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len())]
    });
    memmem::find(text, b"%TAG").is_some() || { tags }.any(|tag| tag.contains(&b'%'))
}

#[cfg(test)]
mod tests {
    use super::MetadataKey;

    #[test]
    fn a_word_is_only_ruled_out_where_it_cannot_stand() {
        let object = |line: &str| {
            let text = format!("apiVersion: v1\nkind: A\nmetadata: {{name: a}}\nformat: {line}\n");
            crate::object::Stream::load(&bytes::Bytes::from(text)).expect("a stream").objects.objects()[0].clone()
        };
        assert!(object("ignition").may_say("ignition"));
        assert!(object(r#""ig\x6eition""#).may_say("ignition"));
        assert!(object("\"igni\\\n  tion\"").may_say("ignition"));
        assert!(!object(r#""a\n\"b""#).may_say("ignition"));
        assert!(!object("cloud-config").may_say("ignition"));
        assert!(object("!!binary aWduaXRpb24=").may_say("ignition"));
        assert!(object("!!bin%61ry aWduaXRpb24=").may_say("ignition"));
        assert!(!object("'echo hi!'").may_say("ignition"));
        let continued = object("|\n  a \\\n  b");
        assert!(continued.may_say("ignition") && !continued.may_have_key("ignition"));
        assert!(object("a\n? \"igni\\\n  tion\"\n: a").may_have_key("ignition"));
        assert!(object("a\n\"igni\\x74ion\": a").may_have_key("ignition"));
    }

    #[test]
    fn a_key_of_metadata_is_only_ruled_out_where_no_decoder_finds_it() {
        let may = |text: &str| {
            let stream =
                crate::object::Stream::load(&bytes::Bytes::copy_from_slice(text.as_bytes())).expect("a stream");
            stream.objects.objects()[0].may_have_in_metadata(MetadataKey::HelmHook)
        };
        let head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";
        assert!(may(&format!("{head}  annotations:\n    helm.sh/hook: test\n")));
        assert!(may(&format!("{head}  annotations:\n    \"helm.sh/hoo\\x6b\": test\n")));
        assert!(may(&format!("{head}Metadata:\n  annotations:\n    helm.sh/hook: test\n")));
        assert!(may(&format!("Metadata:\n  annotations:\n    helm.sh/hook: test\n{head}")));
        assert!(!may(&format!("{head}data:\n  text: helm.sh/hook\n")));
    }
}
