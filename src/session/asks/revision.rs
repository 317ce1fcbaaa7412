//! The revision of a release in a chart, which is 1 where nobody is asked: whether a template may ask for it, and the same chart told of
//! another one.

use memchr::memmem;

use super::template::{Sort, Word, each_word};

/// What a template is told of how often the release was written: 1, where nobody is asked (helm `pkg/action/install.go`, `RunWithContext`).
const REVISION: &[u8] = b"Revision";
/// What has it.
const RELEASE: &[u8] = b"Release";
/// What shows a whole map, or hands on all of it.
const SHOWS: [&[u8]; 24] = [
    b"toYaml",
    b"toYamlPretty",
    b"toJson",
    b"toPrettyJson",
    b"toRawJson",
    b"mustToJson",
    b"mustToPrettyJson",
    b"mustToRawJson",
    b"mustToYaml",
    b"toToml",
    b"mustToToml",
    b"toString",
    b"toStrings",
    b"print",
    b"printf",
    b"println",
    b"quote",
    b"squote",
    b"cat",
    b"values",
    b"omit",
    b"pick",
    b"deepCopy",
    b"mustDeepCopy",
];

/// A file of a chart whose templates are told of another revision: all of a run share what is known of the release
/// (helm `pkg/engine/engine.go`, `recAllTpls`), so that it is another one by whatever name it is asked for.
pub(super) fn another_revision(name: &str, file: &[u8], revision: u64) -> Vec<u8> {
    if !is_template(name) {
        return file.to_vec();
    }
    [format!("{{{{ $_ := set .Release \"Revision\" {revision} }}}}").as_bytes(), file].concat()
}

/// Whether Helm runs a file of a chart.
pub(super) fn is_template(name: &str) -> bool {
    name.starts_with("templates/") || name.contains("/templates/")
}

/// Whether a template may ask for the revision: it names it, or shows or hands on all that is known of the release, or of everything.
pub(super) fn names_revision(template: &[u8]) -> bool {
    // Which blocks are open, and whether a dot means something else in each.
    let (mut blocks, mut names, mut follows_else): (Vec<bool>, bool, bool) = (Vec::new(), false, false);
    each_word(template, &mut |word| {
        names |= word.text == REVISION || is_release(&word) && word.rest.first() != Some(&b'.');
        if word.sort != Sort::Call {
            return;
        }
        let is_moved = blocks.contains(&true);
        let shows = SHOWS.contains(&word.text) || word.text == b"range";
        names |= shows && (is_root(word.rest, is_moved) || comes_from_root(word.before, is_moved));
        match word.text {
            b"with" | b"range" if follows_else => {
                if let Some(last) = blocks.last_mut() {
                    *last = true;
                }
            }
            b"with" | b"range" => blocks.push(true),
            b"if" if follows_else => {}
            b"if" | b"block" | b"define" => blocks.push(false),
            b"else" => {
                if let Some(last) = blocks.last_mut() {
                    *last = false;
                }
            }
            b"end" => drop(blocks.pop()),
            _ => {}
        }
        follows_else = word.text == b"else"
            && !word.rest.trim_ascii_start().starts_with(b"}")
            && !word.rest.trim_ascii_start().starts_with(b"-}");
    });
    names
}

/// Whether what follows a function is everything that a template is given: `$`, or a dot where nothing moved that.
fn is_root(rest: &[u8], is_moved: bool) -> bool {
    let rest = rest.trim_ascii_start();
    // `range $key, $value := .`
    let rest = memmem::find(rest, b":=").map_or(rest, |at| {
        let before = &rest[..at];
        let is_names = before.iter().all(|byte| byte.is_ascii_alphanumeric() || b"$_, ".contains(byte));
        if is_names { rest[at + 2..].trim_ascii_start() } else { rest }
    });
    let mut rest = rest.iter().copied().skip_while(|byte| matches!(byte, b'(' | b' '));
    let root = rest.next();
    let is_whole = !rest.next().is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'));
    is_whole && (root == Some(b'$') || root == Some(b'.') && !is_moved)
}

/// Whether everything that a template is given is handed on to a function: `. | toYaml`.
fn comes_from_root(before: &[u8], is_moved: bool) -> bool {
    let Some(before) = before.trim_ascii_end().strip_suffix(b"|") else { return false };
    let (before, root) = match before.trim_ascii_end() {
        [before @ .., root] => (before, *root),
        [] => return false,
    };
    let is_whole =
        !before.last().is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b')'));
    is_whole && (root == b'$' || root == b'.' && !is_moved)
}

/// Whether a word is all that is known of the release.
fn is_release(word: &Word<'_>) -> bool {
    word.text == RELEASE && matches!(word.sort, Sort::Field(b"." | b"$."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_told_of_another_revision_before_they_ask() {
        let other = |name: &str| String::from_utf8(another_revision(name, b"a: b", 2)).expect("a template");
        let told = "{{ $_ := set .Release \"Revision\" 2 }}a: b";
        for name in ["templates/a.yaml", "charts/b/templates/c/_d.tpl"] {
            assert_eq!(other(name), told);
        }
        for name in ["values.yaml", "files/templates.yaml", "crds/a.yaml"] {
            assert_eq!(other(name), "a: b");
        }
    }

    #[test]
    fn the_revision_is_asked_for_by_its_name_or_with_all_of_the_release() {
        for names in [
            "{{ $r.Revision }}",
            "{{ get $r `Revision` }}",
            "{{ toYaml .Release }}",
            "{{ with $.Release }}",
            "{{ toYaml . }}",
            "{{- toJson $ | sha256sum }}",
            "{{ $ | toYaml }}",
            "{{ . | toJson | b64enc }}",
            "{{ omit . \"Values\" | toYaml }}",
            "{{ range $key, $value := . }}",
            "{{ with .Values.a }}{{ toYaml $ }}{{ end }}",
            "{{ with .Values.a }}{{ .b }}{{ else }}{{ toYaml . }}{{ end }}",
            "{{ with .Values.a }}{{ end }}{{ toYaml . }}",
            "{{ if .Values.a }}{{ else if .Values.b }}{{ end }}{{ toYaml . }}",
            "{{ define \"all\" }}{{ toYaml . }}{{ end }}",
            "{{ printf \"%v\" (pick . \"Release\") }}",
        ] {
            assert!(names_revision(names.as_bytes()), "{names}");
        }
        for other in [
            "{{ .Release.Name }}",
            "{{ .RevisionHistory }}{{ \"a Revision\" }}",
            ".Release.Revision",
            "{{ toYaml .Values }}{{ toYaml $.Values | nindent 2 }}",
            "{{ with .Values.a }}{{ toYaml . }}{{ end }}",
            "{{ range .Values.a }}{{ quote . }}{{ . | quote }}{{ end }}",
            "{{ with .Values.a }}{{ else with .Values.b }}{{ toYaml . }}{{ end }}",
            "{{ include \"a\" . }}{{ tpl .Values.a $ }}{{ template \"a\" . }}",
            "{{ range $key, $value := .Values.a }}{{ $value | quote }}{{ end }}",
        ] {
            assert!(!names_revision(other.as_bytes()), "{other}");
        }
    }
}
