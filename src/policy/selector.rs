//! Label selectors as kubectl reads them, for objects among files; a cluster evaluates them itself.
//! Mirrors `labels.Parse` of apimachinery `pkg/labels/selector.go`, as far as sets and equality go.

use std::collections::BTreeSet;

use crate::tree::Value;

/// One condition on one label.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wish {
    In(String, BTreeSet<String>),
    NotIn(String, BTreeSet<String>),
    Exists(String),
    Lacks(String),
}

/// Conditions that all hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selector(Vec<Wish>);

impl Selector {
    /// Reads a selector such as `app=vip,tier in (a, b),!test`.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a selector; write it as app=vip,tier in (a, b)");
        let wishes: Option<Vec<Wish>> = pieces(text).into_iter().map(wish).collect();
        wishes.filter(|wishes| !wishes.is_empty()).map(Self).ok_or_else(wrong)
    }

    /// Whether the labels of an object fulfil it.
    #[must_use]
    pub(crate) fn fits(&self, object: &Value) -> bool {
        let label = |name: &str| {
            let labels = object.pointer("/metadata/labels")?;
            labels.get(name)?.as_str()
        };
        self.0.iter().all(|wish| match wish {
            Wish::In(name, values) => label(name).is_some_and(|value| values.contains(value)),
            Wish::NotIn(name, values) => label(name).is_none_or(|value| !values.contains(value)),
            Wish::Exists(name) => label(name).is_some(),
            Wish::Lacks(name) => label(name).is_none(),
        })
    }
}

/// The conditions, split at commas outside of parentheses.
fn pieces(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut found) = (0_usize, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                found.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(text[from..].trim());
    found
}

fn wish(text: &str) -> Option<Wish> {
    let name = |text: &str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
        let text = text.trim();
        (!text.is_empty() && text.chars().all(allowed)).then(|| text.to_owned())
    };
    let one = |value: &str| match value.trim() {
        "" => Some(BTreeSet::from([String::new()])),
        value => Some(BTreeSet::from([name(value)?])),
    };
    let set = |list: &str| {
        let inner = list.trim().strip_prefix('(')?.strip_suffix(')')?;
        inner.split(',').map(name).collect::<Option<BTreeSet<String>>>()
    };
    if let Some((key, list)) = text.split_once(" notin ") {
        return Some(Wish::NotIn(name(key)?, set(list)?));
    }
    if let Some((key, list)) = text.split_once(" in ") {
        return Some(Wish::In(name(key)?, set(list)?));
    }
    if let Some((key, value)) = text.split_once("!=") {
        return Some(Wish::NotIn(name(key)?, one(value)?));
    }
    if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        return Some(Wish::In(name(key)?, one(value)?));
    }
    match text.strip_prefix('!') {
        Some(key) => Some(Wish::Lacks(name(key)?)),
        None => Some(Wish::Exists(name(text)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn a_selector_fits_what_kubectl_would_find() {
        let object = json!({"metadata": {"labels": {"app": "vip", "tier": "edge", "a.b/c": "x"}}});
        for (text, fits) in [
            ("app=vip", true),
            ("app==vip, tier=edge", true),
            ("app=other", false),
            ("app!=other,gone!=x", true),
            ("tier in (core, edge)", true),
            ("tier notin (core, edge)", false),
            ("a.b/c,!gone", true),
            ("!app", false),
        ] {
            assert_eq!(Selector::parse(text).expect(text).fits(&object), fits, "{text}");
        }
        assert!(!Selector::parse("app").expect("one").fits(&json!({})));
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for text in ["", "app=vip,", "a b", "tier in core", "app=a b", "=x"] {
            assert!(Selector::parse(text).is_err(), "{text}");
        }
    }
}
