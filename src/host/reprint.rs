//! What Helm 4 makes of the text that a post-renderer gives back: kyaml prints it again before it is written, and that does
//! not keep every value. Folded texts with deeper lines or several line breaks gain line breaks
//! (go.yaml.in/yaml v3 `emitterc.go`, `yaml_emitter_write_folded_scalar`); all else keeps its value.

use std::borrow::Cow;

use crate::object::{Body, LoadError, Object};
use crate::tree::Value;
use crate::yaml::{self, NodeId, NodeKind, Scalar, Style, Tree};

/// Annotation that Helm 4 puts on each object before it calls a post-renderer: what has it is printed again.
const FILENAME: &[u8] = b"postrenderer.helm.sh/postrender-filename";

/// The tree of a rendered object as it is written, sharing with what is live whatever is equal.
///
/// # Errors
/// When the text is not what Kubernetes reads.
pub(super) fn value<'o>(object: &'o Object, live: Option<&Object>) -> Result<Cow<'o, Value>, LoadError> {
    let mut value = match live {
        Some(live) => object.value_beside(live)?,
        None => object.value()?,
    };
    let Body::Text(bytes, span) = &object.body else { return Ok(value) };
    let text = span.of(bytes);
    if memchr::memchr(b'>', text).is_none() || memchr::memmem::find(text, FILENAME).is_none() {
        return Ok(value);
    }
    let tree = yaml::read_at(text, span.start, object.line)?;
    if let Some(root) = tree.root() {
        printed(&tree, root, value.to_mut());
    }
    Ok(value)
}

/// Changes every folded text below a node to what it is after it was printed again.
fn printed(tree: &Tree<'_>, node: NodeId, value: &mut Value) {
    let node = tree.follow(node);
    match (tree.node(node).kind, value) {
        (NodeKind::Map { .. }, Value::Object(map)) => {
            for (key, below) in tree.entries(node) {
                if let Some(value) = tree.key_text(key).and_then(|key| map.get_mut(&key)) {
                    printed(tree, below, value);
                }
            }
        }
        (NodeKind::Seq { .. }, Value::Array(items)) => {
            tree.items(node).zip(items).for_each(|(below, value)| printed(tree, below, value));
        }
        (NodeKind::Scalar(Style::Folded), Value::String(text)) => {
            if let Some(after) = folded(text) {
                *text = after.into();
            }
        }
        _ => {}
    }
}

/// A folded text after it was printed and read again; `None` where it is printed in quotes, which keep it.
fn folded(text: &str) -> Option<String> {
    let special = |c: char| {
        c.is_control() && !matches!(c, '\n' | '\t') || matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}')
    };
    if text.is_empty() || text.ends_with(' ') || text.contains(" \n") || text.contains(special) {
        return None;
    }
    let document = format!("v: {}", print(text));
    let tree = yaml::read(document.as_bytes()).ok()?;
    let node = tree.get(tree.root()?, "v")?;
    match tree.scalar(node)? {
        Scalar::Text(text) => Some(text.into_owned()),
        _ => None,
    }
}

/// A text as a folded block below an indentation of two.
fn print(text: &str) -> String {
    let mut out = String::from(">");
    if text.starts_with([' ', '\n']) {
        out.push('2');
    }
    match (text.ends_with('\n'), text == "\n" || text.ends_with("\n\n")) {
        (false, _) => out.push('-'),
        (true, true) => out.push('+'),
        (true, false) => {}
    }
    out.push('\n');
    // The printer looks at the start of the whole text where it means the break that it is at.
    let deep_start = text.trim_start_matches('\n').starts_with([' ', '\t']) || text.trim_start_matches('\n').is_empty();
    let (mut breaks, mut leading) = (true, true);
    for c in text.chars() {
        if c == '\n' {
            if !breaks && !leading && !deep_start {
                out.push('\n');
            }
            out.push('\n');
            breaks = true;
        } else {
            if breaks {
                out.push_str("  ");
                leading = matches!(c, ' ' | '\t');
            }
            out.push(c);
            breaks = false;
        }
    }
    if !breaks {
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;
    use crate::object::Stream;

    const CASES: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/hosts/reprint.jsonl.gz"));

    #[test]
    fn every_recorded_text_is_predicted() {
        let mut text = String::new();
        flate2::read::GzDecoder::new(CASES).read_to_string(&mut text).expect("recorded cases");
        let (mut total, mut moved) = (0, 0);
        for line in text.lines() {
            let case: Value = serde_json::from_str(line).expect("a case");
            let (before, after) = (case["before"].as_str().expect("text"), case["after"].as_str().expect("text"));
            assert_eq!(folded(before).as_deref().unwrap_or(before), after, "{before:?}");
            total += 1;
            moved += usize::from(before != after);
        }
        assert!(total > 1000 && moved > 300, "{moved} of {total}");
    }

    #[test]
    fn only_what_helm_prints_again_changes() {
        let rendered = |annotations: &str| {
            let text = format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, annotations: {{{annotations}}}}}\ndata:\n  a: >\n    b\n      deep\n  list: |\n    b\n      deep\n"
            );
            let stream = Stream::load(&bytes::Bytes::copy_from_slice(text.as_bytes())).expect("a stream");
            value(&stream.objects.objects()[0], None).expect("a tree").into_owned()
        };
        assert_eq!(rendered("")["data"]["a"], "b\n  deep\n");
        let again = rendered("postrenderer.helm.sh/postrender-filename: a.yaml");
        assert_eq!((&again["data"]["a"], &again["data"]["list"]), (&"b\n\n  deep\n".into(), &"b\n  deep\n".into()));
    }
}
