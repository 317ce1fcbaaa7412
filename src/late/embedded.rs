//! A text that is a document of YAML or JSON itself, as the values of charts, files of cloud-init and annotations are. Where a value
//! means something to such a document, it is filled in by the reader of YAML, which quotes it as it must be.

use super::layers::{Spot, Unpacking, replacements, within};
use super::packing::Layer;
use super::{document, layers};
use crate::yaml::{self, Edit, New, NodeKind, Patch, Section, Tree};

/// Whether a value may mean something to a document that its text is: marks of YAML and JSON, or a place that was refused. Other
/// values are written as they are, so that no document has to be read and nothing is quoted that was not.
pub(super) fn needs_care(spot: &Spot) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | ':' | '@' | '+' | '=');
    let begins = |new: &str| new.starts_with(['@', '=']) || new == "-";
    let marked = |new: &String| !new.chars().all(plain) || new.ends_with(':') || begins(new);
    spot.refused.is_some() || spot.new.as_ref().is_some_and(marked)
}

/// The text as one spot, filled in as the document that it is; `None` where it is none. `look` is that of what is inside.
pub(super) fn spot(text: &str, look: Unpacking<'_>) -> Option<Spot> {
    if !text.starts_with(['{', '[']) && !text.contains('\n') {
        return None;
    }
    let sections = yaml::split(text.as_bytes()).ok()?;
    let mut spots = Vec::new();
    let mut patches = Vec::new();
    let mut refused = None;
    for section in sections.iter().filter(|section| !section.is_blank(text.as_bytes())) {
        let tree = read(text, section)?;
        let hits = document::hits(&tree, |text| layers::at_depth(text, look));
        patches.extend(edited(&tree, &hits)?);
        if hits.iter().any(|hit| hit.key) {
            refused = Some("the key of a field inside of the text".to_owned());
        }
        spots.extend(hits.into_iter().flat_map(|hit| hit.spots));
    }
    if spots.is_empty() {
        return None;
    }
    let refused = refused.or_else(|| spots.iter().find_map(|spot| spot.refused.clone()));
    let new = yaml::apply(text.as_bytes(), &patches);
    let new = (!patches.is_empty()).then(|| String::from_utf8(new).ok()).flatten();
    // YAML has ways to write a text that JSON has not.
    let is_json = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    let (new, refused) = match new {
        Some(new) if is_json(text) && !is_json(&new) => (None, Some("JSON that cannot hold the value".to_owned())),
        new => (new, refused),
    };
    let closed = spots.iter().any(|spot| spot.closed);
    Some(Spot { range: 0..text.len(), places: within(&[Layer::Document], spots), new, refused, closed })
}

/// A document of a map or a list; a plain text that YAML can read is none.
fn read<'t>(text: &'t str, section: &Section) -> Option<Tree<'t>> {
    let tree = yaml::read_section(text.as_bytes(), section).ok()?;
    let kind = tree.node(tree.root()?).kind;
    matches!(kind, NodeKind::Map { .. } | NodeKind::Seq { .. }).then_some(tree)
}

/// The patches that fill in one document.
fn edited(tree: &Tree<'_>, hits: &[document::Hit]) -> Option<Vec<Patch>> {
    let edits = hits.iter().filter(|hit| !hit.key).filter_map(|hit| {
        let spots = replacements(&hit.spots);
        // What needs no care stays what it would be in a text that is no document: `port: 6443` stays a number.
        let number = !hit.spots.iter().any(needs_care);
        (!spots.is_empty()).then_some(Edit { node: hit.node, new: New::Text { spots, number } })
    });
    tree.edit(&edits.collect::<Vec<_>>()).ok()
}
