//! The revision of a release in a chart, which is 1 where nobody is asked: whether a template may ask for it, and the same chart told of
//! another one.

use super::template::{Sort, Word, each_word};

/// What a template is told of how often the release was written: 1, where nobody is asked (helm `pkg/action/install.go`, `RunWithContext`).
const REVISION: &[u8] = b"Revision";
/// What has it.
const RELEASE: &[u8] = b"Release";
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

/// Whether a template asks for the revision by its name, or for all that is known of the release: then it may do so for one revision alone.
/// Without the name it may only show it, whichever it is.
pub(super) fn names_revision(template: &[u8]) -> bool {
    let mut names = false;
    each_word(template, &mut |word| {
        names |= word.text == REVISION || is_release(&word) && word.rest.first() != Some(&b'.');
    });
    names
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
        for names in ["{{ $r.Revision }}", "{{ get $r `Revision` }}", "{{ toYaml .Release }}", "{{ with $.Release }}"] {
            assert!(names_revision(names.as_bytes()), "{names}");
        }
        for other in ["{{ .Release.Name }}", "{{ .RevisionHistory }}{{ \"a Revision\" }}", ".Release.Revision"] {
            assert!(!names_revision(other.as_bytes()), "{other}");
        }
    }
}
