//! Fields of a spec that a webhook lets nobody change, as tables: most providers compare some fields one by one.

use crate::kinds::webhook::{Refusal, refuse};
use crate::model::RuleId;
use crate::object::Path;
use crate::tree::Value;

/// The fields of one kind that cannot change, as people write them below `spec`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Immutable {
    /// Fields of which every other value is refused, and so is none.
    pub always: &'static [&'static str],
    /// Fields of which another value is refused; the webhook fills in the same one where none is written.
    pub given: &'static [&'static str],
    /// Fields that an object without them takes, and keeps from then on.
    pub once: &'static [&'static str],
}

impl Immutable {
    /// Nothing that cannot change.
    pub(crate) const NONE: Self = Self { always: &[], given: &[], once: &[] };

    /// What is refused of a write to `spec`, or to the spec of a template.
    pub(crate) fn refusals(&self, rule: RuleId, (old, new): (&Value, &Value), at: &Path, out: &mut Vec<Refusal>) {
        let held = |side: &Value, field: &str| {
            let pointer = format!("/{}", field.replace('.', "/"));
            at.get(side).and_then(|spec| spec.pointer(&pointer)).filter(|value| !is_none(value)).cloned()
        };
        let mut differs = |fields: &[&str], counts: &dyn Fn(&Option<Value>, &Option<Value>) -> bool| {
            for field in fields {
                let (before, after) = (held(old, field), held(new, field));
                if before != after && counts(&before, &after) {
                    refuse(out, rule, at, field, format!("{field} cannot change"));
                }
            }
        };
        differs(self.always, &|_, _| true);
        differs(self.given, &|before, after| before.is_some() && after.is_some());
        differs(self.once, &|before, _| before.as_ref().is_some_and(|before| *before != 0));
    }
}

/// Whether Go takes a value for none.
fn is_none(value: &Value) -> bool {
    value.is_null() || *value == ""
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    static FIELDS: Immutable = Immutable { always: &["location"], given: &["network.name"], once: &["zone"] };

    fn refused(old: Value, new: Value) -> Vec<String> {
        let mut out = Vec::new();
        let (old, new) = (json!({"spec": old}), json!({"spec": new}));
        FIELDS.refusals(RuleId::of("core/rejected"), (&old, &new), &Path::root().key("spec"), &mut out);
        out.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    #[test]
    fn each_field_is_kept_in_its_own_way() {
        assert_eq!(refused(json!({"location": "a"}), json!({})), ["spec.location"]);
        assert_eq!(refused(json!({}), json!({"location": "a"})), ["spec.location"]);
        assert_eq!(refused(json!({"location": ""}), json!({})), [""; 0]);
        let network = |name: &str| json!({"network": {"name": name}});
        assert_eq!(refused(network("a"), json!({})), [""; 0]);
        assert_eq!(refused(network("a"), network("b")), ["spec.network.name"]);
        assert_eq!(refused(json!({}), json!({"zone": "a"})), [""; 0]);
        assert_eq!(refused(json!({"zone": "a"}), json!({})), ["spec.zone"]);
    }
}
