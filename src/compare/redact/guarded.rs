//! Texts from places where anything can stand: files, commands, bootstrap data. A word is shown where its form cannot be
//! secret, with the name that it is given to; all others are hidden, so that what changed is seen by its line.

use std::ops::Range;

use super::harmless::{is_harmless, is_of_list, is_opaque};

/// Fewest letters of a word that goes on in the next line: certificates, keys, whole files are wrapped at 64 or 76.
const WRAPPED: usize = 40;
/// How many names may stand before a value: `IP_AUTODETECTION_METHOD=can-reach=10.0.0.1`.
const DEEPEST: usize = 3;

/// Names that are known to be harmless in one run: of objects, of late values that are shown.
pub(super) trait Names {
    /// Whether a word is one of them.
    fn has(&self, word: &str) -> bool;

    /// What is hidden of a line: the files of a fleet mostly have the same ones.
    fn of_line(&self, line: &str, look: &dyn Fn() -> Vec<Range<usize>>) -> Vec<Range<usize>>;
}

/// The ranges of a text that are hidden, neighbours as one.
pub(super) fn hidden(text: &str, names: &dyn Names) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let before = found.len();
        let ranges = names.of_line(line, &|| of_line(line, names));
        found.extend(ranges.into_iter().map(|range| at + range.start..at + range.end));
        join(text, &mut found, before);
        at += line.len();
    }
    found
}

/// The ranges of one line.
fn of_line(line: &str, names: &dyn Names) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut first = true;
    for (at, word) in words(line) {
        let before = found.len();
        of_word(word, at, first, names, 0, &mut found);
        // Only what lists have before a key leaves the next word the first one.
        first &= word == "-" || word == "export" || word == "#";
        join(line, &mut found, before);
    }
    found
}

/// The words of a text with their places.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive(char::is_whitespace).filter_map(move |piece| {
        let start = at;
        at += piece.len();
        let word = piece.trim_end();
        (!word.is_empty()).then_some((start, word))
    })
}

/// Makes one range of the newest one and the one before it, where only blanks stand between them, or where both are lines of
/// something that was wrapped.
fn join(text: &str, found: &mut Vec<Range<usize>>, before: usize) {
    if before == 0 || found.len() == before {
        return;
    }
    let (last, next) = (found[before - 1].clone(), found[before].clone());
    let gap = &text[last.end..next.start];
    let wrapped = last.len() >= WRAPPED && next.len() >= WRAPPED / 4;
    if gap.trim().is_empty() && (!gap.contains('\n') || wrapped) {
        found[before - 1].end = next.end;
        found.remove(before);
    }
}

/// Adds what is hidden of one word that stands at a place.
fn of_word(word: &str, at: usize, first: bool, names: &dyn Names, depth: usize, found: &mut Vec<Range<usize>>) {
    let bare = core(word);
    let (start, core) = (at + bare.start, &word[bare]);
    let shown = |word: &str| is_harmless(word) || names.has(word);
    if shown(word) || shown(core) {
        return;
    }
    if let Some((name, value)) = given(core, first).filter(|_| depth < DEEPEST) {
        if value.is_empty() {
            return;
        }
        return of_word(value, start + name, false, names, depth + 1, found);
    }
    if core.contains(',') && is_of_list(core) {
        let mut offset = start;
        for item in core.split(',') {
            of_word(item, offset, false, names, DEEPEST, found);
            offset += item.len() + 1;
        }
        return;
    }
    found.push(start..start + core.len());
}

/// A word without the quotes, brackets and stops around it.
fn core(word: &str) -> Range<usize> {
    let start = word.len() - word.trim_start_matches(['"', '\'', '`', '(', '[', '{', '<']).len();
    let end = word.trim_end_matches(['"', '\'', '`', ')', ']', '}', ',', ';', '>']).len();
    // A sentence ends with a stop, and so does no harmless form.
    let end = word[..end].strip_suffix('.').map_or(end, str::len);
    if start < end { start..end } else { 0..word.len() }
}

/// A name that is given a value: the length up to the value, and the value. `--flag=x`, `NAME=x`, `name: x` with the value in
/// the same word or behind it.
fn given(word: &str, first: bool) -> Option<(usize, &str)> {
    let place = word.find(['=', ':'])?;
    let (name, value) = (&word[..place], &word[place + 1..]);
    let name = name.trim_end_matches(['"', '\'']);
    let flag = name.starts_with('-');
    let bare = name.trim_start_matches('-');
    let of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_name = bare.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && bare.len() <= 63
        && bare.chars().all(of_name)
        && !bare.split(['.', '-', '_']).any(is_opaque);
    let has_digit = bare.bytes().any(|byte| byte.is_ascii_digit());
    let sure = flag || !has_digit || is_harmless(bare) || bare.contains('_') && bare == bare.to_ascii_uppercase();
    if !is_name || !sure {
        return None;
    }
    let assigned = word.as_bytes().get(place) == Some(&b'=');
    // Padding of an encoding is no assignment, and a name with nothing behind it is one at the start of a line only.
    let empty = value.trim_matches(['=', '"', '\'']).is_empty();
    match (assigned, empty) {
        (true, true) | (false, true) => (first && !value.starts_with('=')).then_some((place + 1, "")),
        (true, false) => Some((place + 1, value)),
        (false, false) => Some((place + 1, value)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct None_;

    impl Names for None_ {
        fn has(&self, word: &str) -> bool {
            word == "demo"
        }

        fn of_line(&self, _: &str, look: &dyn Fn() -> Vec<Range<usize>>) -> Vec<Range<usize>> {
            look()
        }
    }

    /// A text with dots for what is hidden.
    fn shown(text: &str) -> String {
        let mut out = String::new();
        let mut at = 0;
        for range in hidden(text, &None_) {
            out.push_str(&text[at..range.start]);
            out.push('…');
            at = range.end;
        }
        out + &text[at..]
    }

    #[test]
    fn what_changed_is_seen_and_what_could_be_secret_is_not() {
        for (text, expected) in [
            ("canReach: 55.55.55.55", "canReach: 55.55.55.55"),
            ("systemctl restart containerd", "systemctl restart containerd"),
            ("curl -u robot:hunter2 https://10.0.0.1:9345/cacerts", "curl -u robot:… https://10.0.0.1:9345/cacerts"),
            ("export HTTP_PROXY=http://proxy.example.org:3128", "export HTTP_PROXY=http://proxy.example.org:3128"),
            ("export NO_PROXY=localhost,10.0.0.0/8,my secret", "export NO_PROXY=localhost,10.0.0.0/8,…"),
            ("echo hunter2 | tee /etc/motd", "echo … | tee /etc/motd"),
            ("correct horse battery staple", "…"),
            (
                "kubelet --node-ip=10.0.3.7 --config=/etc/kubernetes/kubelet.yaml",
                "kubelet --node-ip=10.0.3.7 --config=/etc/kubernetes/kubelet.yaml",
            ),
            ("IP_AUTODETECTION_METHOD=can-reach=10.0.3.7", "IP_AUTODETECTION_METHOD=can-reach=10.0.3.7"),
            ("cluster: demo", "cluster: demo"),
            ("server = \"https://10.0.3.7:9345\"\nline: Zx9", "server = \"https://10.0.3.7:9345\"\nline: …"),
            ("c2VjcmV0LXRleHQ=", "…"),
            ("QUJDREVGRw==", "…"),
            ("mysql -psecret", "…"),
            ("mount -o rw,noexec /dev/vda1", "mount -o …,noexec /dev/vda1"),
            ("image: registry.k8s.io/pause:3.9", "image: registry.k8s.io/pause:3.9"),
            ("{\"a\":{\"b\":\"hunter2\"}}", "{\"a\":{\"b\":\"…\"}}"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn wrapped_lines_are_one_mark_and_ordinary_lines_are_their_own() {
        let line = "QUJDRUZHSElKS0xNTk9QUVJTVFVWV1hZWmFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3";
        assert_eq!(
            shown(&format!("{line}\n  {line}\n  QUJDREVGRkZGRg==\nhunter2\n")),
            "…\nhunter2\n".replace("hunter2", "…")
        );
        assert_eq!(shown("hunter2\nhunter3\n"), "…\n…\n");
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_fault(text in "(?s).{0,80}") {
            let mut end = 0;
            for range in hidden(&text, &None_) {
                prop_assert!(range.start >= end && text.get(range.clone()).is_some());
                end = range.end;
            }
        }
    }
}
