//! What kustomize-controller leaves alone by its own words on an object (fluxcd/pkg `ssa/manager_apply.go`, `shouldSkipApply`;
//! kustomize-controller `internal/controller/kustomization_controller.go`, `apply`, v1.9.4).

use crate::kinds::fields::{annotation, label};
use crate::tree::Value;

/// The group of Kustomizations, and of what objects tell their controller.
pub(super) const GROUP: &str = "kustomize.toolkit.fluxcd.io";

/// Whether an object says a word of kustomize-controller, as annotation or as label.
fn says(object: &Value, name: &str, words: &[&str]) -> bool {
    let name = format!("kustomize.toolkit.fluxcd.io/{name}");
    [annotation(object, &name), label(object, &name)].into_iter().flatten().any(|word| words.contains(&word))
}

/// Whether it is never written; what is live may say so too.
pub(crate) fn rests(object: &Value) -> bool {
    says(object, "reconcile", &["disabled"]) || says(object, "ssa", &["Ignore"])
}

/// Whether it is written only where it is not there.
pub(crate) fn is_made_once(object: &Value) -> bool {
    says(object, "ssa", &["IfNotPresent"])
}

/// Whether it stays where its manifest goes.
pub(crate) fn keeps(object: &Value) -> bool {
    says(object, "prune", &["disabled"])
}

/// Whether an object says that what the API server refuses of it is deleted and made anew.
pub(super) fn is_forced(object: &Value) -> bool {
    let name = "kustomize.toolkit.fluxcd.io/force";
    [annotation(object, name), label(object, name)]
        .into_iter()
        .flatten()
        .any(|word| word.eq_ignore_ascii_case("enabled"))
}

/// The namespace and the name of the Kustomization that applied a live object.
pub(super) fn applied_by(object: &Value) -> Option<(&str, &str)> {
    let told = |what: &str| label(object, &format!("kustomize.toolkit.fluxcd.io/{what}"));
    told("namespace").zip(told("name"))
}
