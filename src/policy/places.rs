//! Where late values are filled in: everywhere, or where the policy says.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::object::Path;
use crate::rules::Pattern;

/// Where late values are filled in. A placeholder that is left elsewhere holds the install.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Resolve {
    /// Only here; everywhere where nothing is said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<Places>,
    /// Not here, also where `only` says so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skip: Vec<Places>,
}

/// Places in a stream; what is not said is of no interest.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Places {
    /// Kind of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Name of the object; `*` stands for any text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The field and all below it, as a path of the packs: `*` is one key, `[*]` a list place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl Resolve {
    /// Whether every place is meant.
    #[must_use]
    pub const fn is_everywhere(&self) -> bool {
        self.only.is_empty() && self.skip.is_empty()
    }

    /// Which entry of the policy leaves a place out.
    #[must_use]
    pub fn leaves_out(&self, kind: &str, name: &str, path: &Path) -> Option<String> {
        if let Some(place) = self.skip.iter().position(|places| places.hold(kind, name, path)) {
            return Some(format!("resolve.skip[{place}]"));
        }
        let meant = self.only.is_empty() || self.only.iter().any(|places| places.hold(kind, name, path));
        (!meant).then(|| "resolve.only".to_owned())
    }
}

impl Places {
    /// The pattern of the path and all below it.
    pub(super) fn pattern(&self) -> Option<Result<Pattern, String>> {
        let path = self.path.as_deref()?;
        Some(if path.ends_with("**") { Pattern::parse(path) } else { Pattern::parse(&format!("{path}.**")) })
    }

    fn hold(&self, kind: &str, name: &str, path: &Path) -> bool {
        self.kind.as_deref().is_none_or(|wanted| wanted == kind)
            && self.name.as_deref().is_none_or(|wanted| fits(wanted, name))
            && self.pattern().is_none_or(|pattern| pattern.is_ok_and(|pattern| pattern.matches(path)))
    }
}

/// Whether a text is what a pattern says, in which `*` stands for any text.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut left) = text.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some(at) = left.find(piece) else { return false };
        left = &left[at + piece.len()..];
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn a_name_with_stars_fits_what_it_says() {
        for (pattern, text, is) in [
            ("docs", "docs", true),
            ("docs", "docs-1", false),
            ("docs-*", "docs-1", true),
            ("*", "", true),
            ("*-a-*-b", "x-a-y-b", true),
            ("a*a", "a", false),
            ("a*b*c", "a-c-b", false),
        ] {
            assert_eq!(fits(pattern, text), is, "{pattern} {text}");
        }
    }

    #[test]
    fn what_is_skipped_or_not_among_the_only_places_is_left_out() {
        let resolve: Resolve = crate::tree::from_value(json!({
            "only": [{"kind": "RKE2ControlPlane"}, {"path": "data"}],
            "skip": [{"name": "docs-*", "path": "data[\"README.md\"]"}, {"path": "spec.files[*].path"}]
        }))
        .expect("places");
        for (kind, name, path, out) in [
            ("RKE2ControlPlane", "cp", "spec.files[0].content", None),
            ("RKE2ControlPlane", "cp", "spec.files[0].path", Some("resolve.skip[1]")),
            ("ConfigMap", "docs-1", "data[\"README.md\"]", Some("resolve.skip[0]")),
            ("ConfigMap", "docs-1", "data.x", None),
            ("ConfigMap", "docs-1", "metadata.name", Some("resolve.only")),
        ] {
            let path = Path::parse(path).expect("a path");
            assert_eq!(resolve.leaves_out(kind, name, &path).as_deref(), out, "{kind} {name} {path}");
        }
    }
}
