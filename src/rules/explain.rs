//! What a rule says, and what is said about a field, as text for a person.

use std::fmt::Write as _;

use super::matching::Rules;
use super::pack::{CauseText, Pack, Rule};
use crate::object::Path;

/// Explains a rule (`kcp/version`) or a field (`KubeadmControlPlane.spec.version`); `None` where nothing is called so.
#[must_use]
pub fn explain(rules: &Rules, what: &str) -> Option<String> {
    if what.contains('/') && !what.contains('[') {
        return by_id(rules, what);
    }
    let (kind, path) = what.split_once('.').unwrap_or((what, ""));
    let path = if path.is_empty() { Path::root() } else { Path::parse(path).ok()? };
    by_field(rules, kind, &path)
}

fn by_id(rules: &Rules, id: &str) -> Option<String> {
    let mut text = String::new();
    for pack in rules.packs().iter().chain(&rules.user) {
        pack.causes.iter().filter(|cause| cause.id == id).for_each(|cause| page(&mut text, &of_cause(pack, cause)));
        pack.rules.iter().filter(|rule| rule.id == id).for_each(|rule| page(&mut text, &of_rule(pack, rule)));
    }
    (!text.is_empty()).then_some(text)
}

fn by_field(rules: &Rules, kind: &str, path: &Path) -> Option<String> {
    let about = |pack: &&Pack| pack.kinds.iter().any(|name| name.kind.eq_ignore_ascii_case(kind));
    let mut packs: Vec<&Pack> = rules.packs().iter().filter(about).collect();
    if packs.is_empty() {
        return None;
    }
    let any = |pack: &&Pack| about(pack) || pack.kinds.iter().any(|name| name.kind == "*");
    packs.extend(rules.user.iter().filter(any));
    let mut text = format!("{kind}.{path}\n\n");
    let before = text.len();
    for pack in &packs {
        let causes = pack.causes.iter().filter(|cause| is_near(cause, path));
        causes.for_each(|cause| page(&mut text, &of_cause(pack, cause)));
        let rules = pack.rules.iter().filter(|rule| rule.paths.iter().any(|pattern| pattern.matches(path)));
        rules.for_each(|rule| page(&mut text, &of_rule(pack, rule)));
    }
    if text.len() == before {
        text.push_str(if path.segments().first().is_some_and(|first| *first == crate::object::Segment::Key("spec".into())) {
            "No rule names this field. A change of it is unknown: it meets the strictest of the rollout and delete gates.\n"
        } else {
            "No rule names this field, and it lies outside of spec: a change of it reaches no Machine.\n"
        });
    }
    Some(text)
}

/// Whether a cause is about a field, or about something inside it or around it.
fn is_near(cause: &CauseText, path: &Path) -> bool {
    let paths = cause.paths.iter().filter_map(|text| Path::parse(text).ok());
    paths.into_iter().any(|other| other.covers(path) || (!path.is_root() && path.covers(&other)))
}

/// What is said about one rule or cause.
struct Page<'a> {
    id: &'a str,
    effect: String,
    kinds: String,
    paths: String,
    versions: String,
    because: &'a str,
    source: &'a str,
}

fn of_cause<'a>(pack: &'a Pack, cause: &'a CauseText) -> Page<'a> {
    Page {
        id: &cause.id,
        effect: cause.effect.to_string(),
        kinds: kinds(pack),
        paths: cause.paths.join(", "),
        versions: String::new(),
        because: &cause.because,
        source: &cause.source,
    }
}

fn of_rule<'a>(pack: &'a Pack, rule: &'a Rule) -> Page<'a> {
    let since = rule.since.as_ref().map(|version| format!("since {}.{}", version.major, version.minor));
    let until = rule.until.as_ref().map(|version| format!("until {}.{}", version.major, version.minor));
    let versions: Vec<String> = since.into_iter().chain(until).collect();
    let touches = if rule.touches.is_some() { ", touches infrastructure" } else { "" };
    Page {
        id: &rule.id,
        effect: format!("{}{touches}", rule.effect),
        kinds: kinds(pack),
        paths: rule.paths.iter().map(super::Pattern::text).collect::<Vec<_>>().join(", "),
        versions: if versions.is_empty() {
            String::new()
        } else {
            format!("{} {}", pack.provider, versions.join(", "))
        },
        because: &rule.because,
        source: if rule.source.is_empty() { &pack.source } else { &rule.source },
    }
}

fn kinds(pack: &Pack) -> String {
    pack.kinds.iter().map(|name| name.kind.as_str()).collect::<Vec<_>>().join(", ")
}

fn page(text: &mut String, page: &Page<'_>) {
    let lines = [
        ("effect", page.effect.as_str()),
        ("kind", &page.kinds),
        ("field", &page.paths),
        ("versions", &page.versions),
        ("source", page.source),
    ];
    // Writing to a string cannot fail.
    let _: std::fmt::Result = write!(text, "{}\n  {}\n\n", page.id, page.because);
    for (name, value) in lines.into_iter().filter(|(_, value)| !value.is_empty()) {
        let _: std::fmt::Result = writeln!(text, "  {name:<9} {value}");
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::Rules;

    fn explain(what: &str) -> Option<String> {
        super::explain(Rules::built_in(), what)
    }

    #[test]
    fn a_cause_and_its_field_are_explained_alike() {
        let by_id = explain("kcp/version").expect("a cause");
        let by_field = explain("KubeadmControlPlane.spec.version").expect("a field");
        assert!(by_id.contains("filters.go") && by_field.contains(by_id.trim()), "{by_field}");
    }

    #[test]
    fn a_field_that_nothing_names_is_said_to_be_unknown() {
        let text = explain("MachineDeployment.spec.fromTheFuture").expect("a kind");
        assert!(text.contains("A change of it is unknown"), "{text}");
    }

    #[test]
    fn what_nothing_is_called_is_not_explained() {
        assert_eq!(explain("kcp/nonsense"), None);
        assert_eq!(explain("Nonsense.spec"), None);
    }
}
