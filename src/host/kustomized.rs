//! What kustomize-controller leaves alone by its own words on an object (fluxcd/pkg `ssa/manager_apply.go`, `shouldSkipApply`;
//! kustomize-controller `internal/controller/kustomization_controller.go`, `apply`, v1.9.4).

use crate::kinds::fields::{annotation, label};
use crate::tree::Value;

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
