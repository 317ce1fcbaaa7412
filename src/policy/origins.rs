//! Late values that are made of other late values: which they name, in which order that ends, and where it does not.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::{LateValue, Policy};

/// A call of `late` with a name in quotes, or any other call of it.
static CALL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"\blate\s*\(\s*(?:"([^"]*)"|'([^']*)'|)\s*(\))?"#).expect("a regular expression of ours")
});

/// The late values that a template names, in its order.
///
/// # Errors
/// A call whose name is not written in quotes: nobody could tell what is needed before it is known.
pub(crate) fn origins(template: &str) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for call in CALL.captures_iter(template) {
        match (call.get(1).or_else(|| call.get(2)), call.get(3)) {
            (Some(name), Some(_)) => names.push(name.as_str().to_owned()),
            _ => return Err("late(...) wants the name of a late value in quotes, such as late(\"vip\")".to_owned()),
        }
    }
    Ok(names)
}

impl Policy {
    /// The late value of this name.
    #[must_use]
    pub fn late_value(&self, name: &str) -> Option<&LateValue> {
        self.late_values.iter().find(|value| value.name == name)
    }

    /// These late values with all that their templates are made of.
    #[must_use]
    pub fn with_origins(&self, names: &BTreeSet<String>) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        let mut next: Vec<String> = names.iter().cloned().collect();
        while let Some(name) = next.pop() {
            if all.insert(name.clone()) {
                next.extend(self.late_value(&name).into_iter().flat_map(named));
            }
        }
        all
    }

    /// The way from a late value back to itself, where its templates lead there.
    #[must_use]
    pub fn cycle(&self, name: &str) -> Option<Vec<String>> {
        let mut seen = BTreeSet::new();
        let mut ways = vec![vec![name.to_owned()]];
        while let Some(way) = ways.pop() {
            let value = way.last().and_then(|last| self.late_value(last))?;
            for next in named(value) {
                let mut longer = way.clone();
                longer.push(next.clone());
                if next == name {
                    return Some(longer);
                }
                if seen.insert(next) {
                    ways.push(longer);
                }
            }
        }
        None
    }
}

/// The late values that the templates of a late value name.
fn named(value: &LateValue) -> Vec<String> {
    let templates = value.from.iter().filter_map(|from| from.template.as_deref());
    templates.flat_map(|template| origins(template).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_template_names_is_known_before_it_is_rendered() {
        let text = "{{ late(\"vip\") }}:{{ late( 'port' ) + 1 }}";
        assert_eq!(origins(text), Ok(vec!["vip".to_owned(), "port".to_owned()]));
        assert_eq!(origins("plain"), Ok(Vec::new()));
        for text in ["{{ late(name) }}", "{{ late() }}", "{{ late(\"a\" ~ x) }}"] {
            assert!(origins(text).is_err(), "{text}");
        }
    }
}
