//! What a rule says, and what is said about a field, a kind or a word of a report, as text for a person.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::builtin::BuiltIn;
use super::matching::Rules;
use super::pack::{CauseText, KindName, Pack, Rule, word};
use super::term::Term;
use super::terms::TERMS;
use crate::kinds::Kind;
use crate::kinds::versions::Since;
use crate::object::{Path, Segment};
use crate::providers::{PROVIDERS, Provider, kind_of, knowledge};
use crate::yaml;

/// Explains a rule (`kcp/version`), a field (`KubeadmControlPlane.spec.version`), a kind (`MachineDeployment`), or a word of a report:
/// a gate, a finding, a decision, an exit code, a state of a late value, a behaviour that came with a version (`desired-objects`). `None` where nothing is called so.
#[must_use]
pub fn explain(rules: &Rules, what: &str) -> Option<String> {
    let words: Vec<&Term> = Term::all_named(what).collect();
    if !words.is_empty() {
        return Some(words.into_iter().map(of_term).collect());
    }
    let behaviours: String = behaviours().filter(|since| since.name == what).map(of_behaviour).collect();
    if !behaviours.is_empty() {
        return Some(behaviours);
    }
    if what.contains('/') && !what.contains('[') {
        return by_id(rules, what);
    }
    let (kind, path) = what.split_once('.').unwrap_or((what, ""));
    let path = if path.is_empty() { Path::root() } else { Path::parse(path).ok()? };
    if path.is_root() { by_kind(rules, kind) } else { by_field(rules, kind, &path) }
}

/// Everything that is called by one name: rules, causes, kinds, and the words of a report.
fn names(rules: &Rules) -> BTreeSet<&str> {
    rules
        .ids()
        .chain(kinds_of(rules))
        .chain(TERMS.iter().map(|term| term.name))
        .chain(behaviours().map(|since| since.name))
        .collect()
}

/// The kinds that packs name, and those that a provider claims.
fn kinds_of(rules: &Rules) -> impl Iterator<Item = &str> {
    let of_user = rules.user.iter().flat_map(|pack| &pack.kinds).map(|name| name.kind.as_str());
    let claimed = PROVIDERS.iter().flat_map(|provider| provider.kinds).map(|kind| kind.name);
    rules.packs.iter().flat_map(BuiltIn::kinds).chain(of_user).filter(|kind| *kind != "*").chain(claimed)
}

/// The kinds of one name that providers claim, each with the provider.
fn claimed(name: &str) -> Vec<(&'static Provider, &'static Kind)> {
    let all = PROVIDERS.iter().flat_map(|provider| provider.kinds.iter().map(|kind| (*provider, kind)));
    all.filter(|(_, kind)| kind.name.eq_ignore_ascii_case(name)).collect()
}

/// What can be asked about: every name, and behind a kind and a dot the fields that rules of it name.
#[must_use]
pub(crate) fn completions(rules: &Rules, typed: &str) -> Vec<String> {
    let Some((kind, _)) = typed.split_once('.') else {
        return names(rules).into_iter().map(str::to_owned).chain(["last".to_owned()]).collect();
    };
    let (packs, names) = about(rules, kind);
    let Some(kind) = names.first().map(|name| &name.kind) else { return Vec::new() };
    fields(&packs).into_iter().map(|path| format!("{kind}.{path}")).collect()
}

/// The fields that packs name.
fn fields<'r>(packs: &[&'r Pack]) -> BTreeSet<&'r str> {
    let causes = packs.iter().flat_map(|pack| &pack.causes).flat_map(|cause| &cause.paths).map(String::as_str);
    let rules = packs.iter().flat_map(|pack| &pack.rules).flat_map(|rule| &rule.paths).map(super::Pattern::text);
    causes.chain(rules).collect()
}

/// What somebody may have meant who asked for something that is not there, the nearest first.
#[must_use]
pub(crate) fn near(rules: &Rules, what: &str) -> Vec<String> {
    const MOST: usize = 5;
    if let Some((kind, path)) = what.split_once('.') {
        return yaml::nearest(kind, kinds_of(rules)).map(|kind| format!("{kind}.{path}")).into_iter().collect();
    }
    let known = names(rules);
    let mut found: Vec<String> = yaml::nearest(what, known.iter().copied()).map(str::to_owned).into_iter().collect();
    let word = what.to_ascii_lowercase();
    let holds = |name: &&&str| word.len() > 2 && name.to_ascii_lowercase().contains(&word);
    let more = known.iter().filter(holds).filter(|name| !found.iter().any(|one| one == *name));
    let more: Vec<String> = more.take(MOST).map(|name| (*name).to_owned()).collect();
    found.extend(more);
    found.truncate(MOST);
    found
}

fn of_term(term: &Term) -> String {
    let page = term.sort.page();
    format!("{}: {}\n  {}\n  {}\n  {page}\n\n", term.sort.word(), term.name, term.says, term.remedy)
}

/// Every behaviour that came with a version of a provider.
fn behaviours() -> impl Iterator<Item = &'static Since> {
    PROVIDERS.iter().flat_map(|provider| provider.changes).copied()
}

fn of_behaviour(since: &Since) -> String {
    let (name, provider, what) = (since.name, since.provider, since.what);
    let mut text = format!("behaviour: {name}\n  {provider} since {}: {what}\n", since.word("v"));
    for later in since.later {
        let _: std::fmt::Result =
            writeln!(text, "  from then on a change of {} {} {}", later.kind, later.path, later.says);
    }
    text + "  docs/upgrade-of-providers.md\n\n"
}

fn by_id(rules: &Rules, id: &str) -> Option<String> {
    let mut text = String::new();
    let built_in = rules.packs.iter().filter(|pack| pack.ids().any(|own| own == id)).map(BuiltIn::pack);
    for pack in built_in.chain(&rules.user) {
        pack.causes
            .iter()
            .filter(|cause| cause.id == id)
            .for_each(|cause| page(&mut text, &of_cause(rules, pack, cause)));
        pack.rules.iter().filter(|rule| rule.id == id).for_each(|rule| page(&mut text, &of_rule(rules, pack, rule)));
    }
    (!text.is_empty()).then_some(text)
}

/// The packs about a kind, and its names as they write them.
fn about<'r>(rules: &'r Rules, kind: &str) -> (Vec<&'r Pack>, Vec<&'r KindName>) {
    let is_it = |name: &&KindName| name.kind.eq_ignore_ascii_case(kind);
    let is_about = |pack: &&BuiltIn| pack.kinds().any(|name| name.eq_ignore_ascii_case(kind));
    let mut packs: Vec<&Pack> = rules.packs.iter().filter(is_about).map(BuiltIn::pack).collect();
    let names = packs.iter().flat_map(|pack| &pack.kinds).filter(is_it).collect();
    if !packs.is_empty() {
        let any = |pack: &&Pack| pack.kinds.iter().any(|name| is_it(&name) || name.kind == "*");
        packs.extend(rules.user.iter().filter(any));
    }
    (packs, names)
}

/// What is said of the fields of spec that no rule names.
const UNNAMED: &str = "A field of spec that nothing names is unknown: a change of it meets the strictest of the rollout and delete gates.\n";

/// A kind: what it is, and every rule about it, a line each.
fn by_kind(rules: &Rules, kind: &str) -> Option<String> {
    let (packs, names) = about(rules, kind);
    let Some(first) = names.first() else { return without_rules(kind) };
    let mut groups: Vec<&str> = names.iter().map(|name| name.group.as_str()).collect();
    groups.dedup();
    let role = kind_of(&first.group, &first.kind).role.word();
    let mut text = format!("{} ({}): {role}\n\n{UNNAMED}\n", first.kind, groups.join(", "));
    let mut line = |effect: String, id: &str, paths: String| {
        let _: std::fmt::Result = writeln!(text, "  {effect:<9}  {id:<34}  {paths}");
    };
    for pack in &packs {
        for cause in &pack.causes {
            line(cause.effect.to_string(), &cause.id, cause.paths.join(", "));
        }
        for rule in &pack.rules {
            let paths: Vec<&str> = rule.paths.iter().map(super::Pattern::text).collect();
            line(rule.effect.to_string(), &rule.id, paths.join(", "));
        }
    }
    let example = packs
        .iter()
        .flat_map(|pack| pack.causes.iter().map(|cause| &cause.id).chain(pack.rules.iter().map(|rule| &rule.id)));
    if let Some(id) = example.into_iter().next() {
        let _: std::fmt::Result = write!(text, "\n  more: rollgate explain {id}\n");
    }
    let built_in = packs.iter().filter(|pack| rules.packs.iter().any(|own| own.name() == pack.pack));
    let pages: Vec<String> = built_in.map(|pack| format!("docs/rules/{}.md", pack.pack)).collect();
    let _: std::fmt::Result = writeln!(text, "  page: {}", pages.join(", "));
    Some(text)
}

/// A kind that no pack names.
fn without_rules(kind: &str) -> Option<String> {
    let all = claimed(kind);
    let (_, first) = all.first()?;
    let groups: Vec<&str> = all.iter().map(|(_, kind)| kind.group).collect();
    let known = match knowledge(first) {
        known if known.is_empty() => String::new(),
        known => format!("  known: {known}\n"),
    };
    let pages: Vec<String> = all.iter().map(|(provider, _)| format!("docs/providers/{}.md", provider.name)).collect();
    Some(format!(
        "{} ({}): {}\n\nNo pack names it. {UNNAMED}\n{known}  page: {}\n",
        first.name,
        groups.join(", "),
        first.role.word(),
        pages.join(", ")
    ))
}

fn by_field(rules: &Rules, kind: &str, path: &Path) -> Option<String> {
    let (packs, names) = about(rules, kind);
    let kind = match names.first() {
        Some(name) => name.kind.as_str(),
        None => claimed(kind).first()?.1.name,
    };
    let mut text = format!("{kind}.{path}\n\n");
    let before = text.len();
    let of_spec = about_spec(&packs, path);
    for pack in &packs {
        let causes = pack.causes.iter().filter(|cause| of_spec.is_empty() && is_near(cause, path));
        causes.for_each(|cause| page(&mut text, &of_cause(rules, pack, cause)));
        let named = pack.rules.iter().filter(|rule| rule.paths.iter().any(|pattern| pattern.matches(path)));
        named.for_each(|rule| page(&mut text, &of_rule(rules, pack, rule)));
    }
    if text.len() == before {
        text.push_str(if path.segments().first().is_some_and(|first| *first == Segment::Key("spec".into())) {
            "No rule names this field. A change of it is unknown: it meets the strictest of the rollout and delete gates.\n"
        } else {
            "No rule names this field, and it lies outside of spec: a change of it reaches no Machine.\n"
        });
        if !of_spec.is_empty() {
            let _: std::fmt::Result = writeln!(text, "Rules for all of spec: {}", of_spec.join(", "));
        }
    }
    let asked = path.to_string();
    let slip = |name: &&str| (1..=2).contains(&strsim::damerau_levenshtein(name, &asked));
    let named = fields(&packs);
    if let Some(near) = named.iter().find(|name| slip(name) && !named.contains(asked.as_str())) {
        let _: std::fmt::Result = writeln!(text, "A rule names {kind}.{near}; did you mean that?");
    }
    Some(text)
}

/// The causes that are about all of spec, where nothing else names a field in it.
fn about_spec<'r>(packs: &[&'r Pack], path: &Path) -> Vec<&'r str> {
    let spec = |cause: &&&CauseText| cause.paths.iter().all(|text| text == "spec");
    let near: Vec<&CauseText> =
        packs.iter().flat_map(|pack| &pack.causes).filter(|cause| is_near(cause, path)).collect();
    let mut rules = packs.iter().flat_map(|pack| &pack.rules).flat_map(|rule| &rule.paths);
    let is_named =
        path.segments().len() < 2 || near.iter().any(|cause| !spec(&cause)) || rules.any(|one| one.matches(path));
    near.into_iter().filter(|_| !is_named).map(|cause| cause.id.as_str()).collect()
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
    page: String,
}

/// The page of a pack; that of the format where it is a user's.
fn page_of(rules: &Rules, pack: &Pack) -> String {
    let is_users = rules.user.iter().any(|own| std::ptr::eq(own, pack));
    if is_users { "docs/own-rules.md".to_owned() } else { format!("docs/rules/{}.md", pack.pack) }
}

fn of_cause<'a>(rules: &Rules, pack: &'a Pack, cause: &'a CauseText) -> Page<'a> {
    Page {
        id: &cause.id,
        effect: cause.effect.to_string(),
        kinds: kinds(pack),
        paths: cause.paths.join(", "),
        versions: String::new(),
        because: &cause.because,
        source: &cause.source,
        page: page_of(rules, pack),
    }
}

fn of_rule<'a>(rules: &Rules, pack: &'a Pack, rule: &'a Rule) -> Page<'a> {
    let since = rule.since.as_ref().map(|version| format!("since {}", word(version, false)));
    let until = rule.until.as_ref().map(|version| format!("until {}", word(version, true)));
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
        page: page_of(rules, pack),
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
        ("page", &page.page),
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
        assert!(by_id.contains("docs/rules/kubeadm-control-plane.md"), "{by_id}");
        assert!(by_id.contains("filters.go") && by_field.contains(by_id.trim()), "{by_field}");
    }

    #[test]
    fn a_field_that_nothing_names_is_said_to_be_unknown() {
        let text = explain("MachineDeployment.spec.fromTheFuture").expect("a kind");
        assert!(text.contains("A change of it is unknown"), "{text}");
    }

    #[test]
    fn a_gate_is_explained_by_the_name_that_the_policy_has_for_it() {
        let of = |what: &str| explain(what).unwrap_or_else(|| panic!("{what} is a gate"));
        assert_eq!((of("inPlace"), of("gates.inPlace")), (of("in-place"), of("in-place")));
        assert_eq!((of("etcd"), of("gates.health.etcd")), (of("health.etcd"), of("health.etcd")));
        for what in ["place", "health", "healthetcd", "inPlaces"] {
            assert_eq!(explain(what), None, "{what}");
        }
    }

    #[test]
    fn a_field_that_only_rules_for_all_of_spec_cover_is_unknown() {
        let text = explain("KubeadmControlPlane.spec.foo").expect("a kind");
        assert!(text.contains("A change of it is unknown"), "{text}");
        assert!(text.contains("Rules for all of spec: kcp/rejected") && !text.contains("refuses this write"), "{text}");
        let text = explain("KubeadmControlPlane.spec.version").expect("a field");
        assert!(!text.contains("Rules for all of spec") && !text.contains("is unknown"), "{text}");
    }

    #[test]
    fn a_kind_without_rules_is_explained_by_its_role() {
        for kind in super::PROVIDERS.iter().flat_map(|provider| provider.kinds) {
            let text = explain(kind.name).unwrap_or_else(|| panic!("{} is a kind", kind.name));
            assert!(text.contains(&format!(": {}\n", kind.role.word())) || text.contains("docs/rules/"), "{text}");
        }
        let text = explain("gcpmachinepool").expect("a kind");
        for words in ["GCPMachinePool (infrastructure.cluster.x-k8s.io)", "is unknown", "docs/providers/gcp.md"] {
            assert!(text.contains(words), "{words} is not in {text}");
        }
        assert!(explain("GCPMachinePool.spec.zones").is_some_and(|text| text.contains("A change of it is unknown")));
    }

    #[test]
    fn what_nothing_is_called_is_not_explained() {
        for what in ["kcp/nonsense", "Nonsense.spec", "Nonsense", "", ".spec", "5"] {
            assert_eq!(explain(what), None, "{what}");
        }
    }

    #[test]
    fn a_kind_is_explained_by_everything_that_is_known_of_it() {
        let text = explain("machinedeployment").expect("a kind");
        for word in [
            "MachineDeployment (cluster.x-k8s.io): workers",
            "rollout    md/version ",
            "is unknown",
            "docs/rules/workers.md",
        ] {
            assert!(text.contains(word), "{word} is not in {text}");
        }
        assert!(!text.contains("reaches no Machine"), "{text}");
    }

    #[test]
    fn words_of_a_report_are_explained() {
        for (word, sort) in [
            ("rollout", "gate: rollout"),
            ("gates.maxMachines", "gate: maxMachines"),
            ("gate/health.etcd", "gate: health.etcd"),
            ("pending-rollout", "finding: pending-rollout"),
            ("exit 3", "exit code: 3"),
            ("4", "exit code: 4"),
            ("Hold", "decision: hold"),
            ("symbolic", "state of a late value: symbolic"),
            ("kind-unknown", "state of a source of a late value: kind-unknown"),
        ] {
            let text = explain(word).unwrap_or_default();
            assert!(text.contains(sort), "{word}: {text}");
        }
        // One word may mean two things.
        assert_eq!(explain("resolved").expect("a state").matches("resolved\n").count(), 2);
    }

    #[test]
    fn what_can_be_asked_about_is_completed() {
        let all = |typed: &str| super::completions(Rules::built_in(), typed);
        for word in ["kcp/version", "MachineDeployment", "maxMachines", "pending-rollout", "last"] {
            assert!(all("").iter().any(|one| one == word), "{word}");
        }
        assert!(all("KubeadmControlPlane.spec.v").iter().any(|one| one == "KubeadmControlPlane.spec.version"));
        assert_eq!(all("Nonsense.spec"), [""; 0]);
    }

    #[test]
    fn near_misses_find_what_was_meant() {
        let near = |what: &str| super::near(Rules::built_in(), what);
        assert_eq!(near("kcp/versio")[0], "kcp/version");
        assert_eq!(near("MachineDeploymet")[0], "MachineDeployment");
        assert_eq!(near("KubeadmControlPlan.spec.version"), ["KubeadmControlPlane.spec.version"]);
        assert_eq!(near("pending-rolout")[0], "pending-rollout");
        assert!(near("perpetual").contains(&"perpetual-rollout".to_owned()), "{:?}", near("perpetual"));
        assert_eq!(near("zzzzzzzzzz"), [""; 0]);
        let text = explain("KubeadmControlPlane.spec.versoin").expect("a kind");
        assert!(text.contains("A rule names KubeadmControlPlane.spec.version; did you mean that?"), "{text}");
    }
}
