//! The line of a role that grants what was refused.

/// One rule of a read-only role, as it stands in `docs/rbac.yaml`.
#[must_use]
pub fn rule(group: &str, plural: &str, verbs: &[&str]) -> String {
    let verbs: Vec<String> = verbs.iter().map(|verb| format!("\"{verb}\"")).collect();
    format!("- {{apiGroups: [\"{group}\"], resources: [\"{plural}\"], verbs: [{}]}}", verbs.join(", "))
}

/// What to do about a refused read.
#[must_use]
pub fn remedy(group: &str, plural: &str, verbs: &[&str]) -> String {
    format!("add to the role: {}", rule(group, plural, verbs))
}
