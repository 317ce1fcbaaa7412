//! The line of a role that grants what was refused.

use crate::kinds::contract::{BOOTSTRAP, CONTROL_PLANE, CORE, INFRASTRUCTURE};

/// One rule of a read-only role, as it stands in `docs/rbac.yaml`.
#[must_use]
pub(crate) fn rule(group: &str, plural: &str, verbs: &[&str]) -> String {
    let verbs: Vec<String> = verbs.iter().map(|verb| format!("\"{verb}\"")).collect();
    format!("- {{apiGroups: [\"{group}\"], resources: [\"{plural}\"], verbs: [{}]}}", verbs.join(", "))
}

/// What to do about a refused read.
#[must_use]
pub(crate) fn remedy(group: &str, plural: &str, verbs: &[&str]) -> String {
    format!("add to the role: {}", rule(group, plural, verbs))
}

/// Whether something is unread because the right to read it is missing.
#[must_use]
#[cfg(feature = "serve")]
pub(crate) fn is_missing(unread: &super::Unread) -> bool {
    unread.why.starts_with("forbidden: ")
}

/// The role of `docs/rbac.yaml` that holds what a plan reads.
pub(crate) const READ_ROLE: &str = "rollgate-read";
/// Its rules: group, resource (`*` for all), verbs.
const READ_RULES: [(&str, &str, &[&str]); 12] = [
    (CORE, "clusters", &["get", "list"]),
    (CORE, "clusterclasses", &["get", "list"]),
    (CORE, "machines", &["get", "list"]),
    (CORE, "machinesets", &["get", "list"]),
    (CORE, "machinedeployments", &["get", "list"]),
    (CORE, "machinepools", &["get", "list"]),
    (CORE, "machinehealthchecks", &["list"]),
    (CONTROL_PLANE, "*", &["get", "list"]),
    (BOOTSTRAP, "*", &["get", "list"]),
    (INFRASTRUCTURE, "*", &["get", "list"]),
    ("", "secrets", &["get", "list"]),
    ("", "namespaces", &["get"]),
];

/// Whether binding the role of `docs/rbac.yaml` grants what a remedy asks for.
#[must_use]
pub(crate) fn is_in_read_role(remedy: &str) -> bool {
    let Some((group, resource, verbs)) = parsed(remedy) else { return false };
    READ_RULES.iter().any(|(of, what, may)| {
        *of == group && (*what == "*" || *what == resource) && verbs.iter().all(|verb| may.contains(verb))
    })
}

/// The command that binds that role, for the user that an API server names in its refusal.
#[must_use]
pub(crate) fn binding(refusal: &str) -> String {
    let user = refusal.split_once("User \"").and_then(|(_, rest)| rest.split_once('"')).map(|(user, _)| user);
    let is_plain =
        |text: &&str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:@".contains(c));
    let subject = match user.filter(is_plain) {
        Some(user) => match user.strip_prefix("system:serviceaccount:").filter(|account| account.contains(':')) {
            Some(account) => format!("--serviceaccount={account}"),
            None => format!("--user={user}"),
        },
        None => "--user=NAME".to_owned(),
    };
    format!("kubectl create clusterrolebinding {READ_ROLE} --clusterrole={READ_ROLE} {subject}")
}

/// The group, the resource and the verbs of a remedy.
fn parsed(remedy: &str) -> Option<(&str, &str, Vec<&str>)> {
    let rest = remedy.strip_prefix("add to the role: - {apiGroups: [\"")?;
    let (group, rest) = rest.split_once("\"], resources: [\"")?;
    let (resource, rest) = rest.split_once("\"], verbs: [\"")?;
    let verbs = rest.strip_suffix("\"]}")?;
    Some((group, resource, verbs.split("\", \"").collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_read_role_is_that_of_the_documentation() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/rbac.yaml");
        let bytes: bytes::Bytes = std::fs::read(path).expect("the roles").into();
        let stream = crate::object::Stream::load(&bytes).expect("a stream");
        let role = stream.objects.objects().iter().find(|object| object.key.name == READ_ROLE).expect("the role");
        let rules = role.value().expect("a tree")["rules"].clone();
        let list = |rule: &crate::tree::Value, field: &str| -> Vec<String> {
            let texts = rule[field].as_array().expect("a list").iter().filter_map(crate::tree::Value::as_str);
            texts.map(str::to_owned).collect()
        };
        for (group, resource, verbs) in READ_RULES {
            let grants = |rule: &crate::tree::Value| {
                list(rule, "apiGroups").iter().any(|one| one == group)
                    && list(rule, "resources").iter().any(|one| one == resource)
                    && verbs.iter().all(|verb| list(rule, "verbs").iter().any(|one| one == verb))
            };
            assert!(rules.as_array().expect("rules").iter().any(grants), "{group} {resource}");
        }
    }

    #[test]
    fn a_binding_names_the_user_and_nothing_that_a_shell_reads() {
        let of =
            |user: &str| binding(&format!("forbidden: machines is forbidden: User \"{user}\" cannot list resource"));
        assert!(of("ci").ends_with(" --clusterrole=rollgate-read --user=ci"), "{}", of("ci"));
        assert!(of("system:serviceaccount:flux:bot").ends_with("--serviceaccount=flux:bot"));
        assert!(of("a; rm -rf /").ends_with("--user=NAME"));
        assert!(binding("the server gives no reason").ends_with("--user=NAME"));
    }

    #[test]
    fn what_another_role_holds_is_not_in_the_read_role() {
        for (group, plural, verbs, is_in) in [
            ("cluster.x-k8s.io", "machines", &["list"][..], true),
            ("infrastructure.cluster.x-k8s.io", "dockermachines", &["get", "list"], true),
            ("clusterctl.cluster.x-k8s.io", "providers", &["list"], false),
            ("cluster.x-k8s.io", "machinehealthchecks", &["get"], false),
            ("", "secrets", &["create"], false),
        ] {
            assert_eq!(is_in_read_role(&remedy(group, plural, verbs)), is_in, "{group} {plural}");
        }
        assert!(!is_in_read_role("try again"));
    }
}
