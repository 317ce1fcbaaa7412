//! A change that rewrites the policy it will be judged by once it is merged: the base's judges it, and what it gives away is said.

use super::policy::is_object;
use super::revisions::Trees;
use crate::model::some_of;
use crate::policy::{self, Moved, Policy};

/// Most places that are named.
const SHOWN: usize = 5;

impl Trees {
    /// What the change does to its own policy, as a sentence; `None` where it leaves the file alone. Judged is by the base's.
    #[must_use]
    pub(crate) fn own_policy(&self, told: Option<&str>, judges: &Policy) -> Option<String> {
        let before = self.policy_before(told).ok()?;
        let Ok(after) = self.policy_of_change(told) else {
            return Some("this change moves its policy to a file that rollgate does not look for".to_owned());
        };
        let bytes = |file: &str| std::fs::read(file).ok();
        if is_object(&after) || bytes(&before) == bytes(&after) {
            return None;
        }
        let new = match bytes(&after) {
            None => Ok(Policy::default()),
            Some(bytes) => policy::parse(&after, &bytes),
        };
        let what = if after == "none" { "removes its own policy" } else { "changes its own policy" };
        let judged = "and is judged by that of the base";
        let Ok(new) = new else { return Some(format!("this change {what} to one that cannot be read, {judged}")) };
        let Moved { looser, other } = policy::moved(judges, &new);
        let list = |of: &[String]| some_of(of, SHOWN);
        let looser = (!looser.is_empty()).then(|| format!("once merged, more passes: {}", list(&looser)));
        let other = (!other.is_empty()).then(|| format!("other changes: {}", list(&other)));
        let parts: Vec<String> = looser.into_iter().chain(other).collect();
        if parts.is_empty() {
            return None;
        }
        Some(format!("this change {what}, {judged}; {}", parts.join("; ")))
    }
}
