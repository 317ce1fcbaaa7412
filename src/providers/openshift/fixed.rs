//! What the webhook of the assisted installer's bootstrap configs compares: the whole spec, as Go's types hold it.
//! Read beside `bootstrap/api/v1alpha1/webhook.go` ValidateUpdate and `openshiftassistedconfig_types.go` of
//! cluster-api-provider-openshift-assisted 0.4; the webhook was run.

use crate::kinds::diff::Style;
use crate::kinds::fixed::Fixed;
use crate::model::RuleId;

/// Pointers of its types, of which an empty one is not as none. Lists and maps are compared by what they mean: an empty one is as none.
const STYLE: Style = Style { keep_empty: &["proxy", "pullSecretRef"], drop_zero: &[], keep_blank: &[] };

/// A config.
pub(super) static CONFIG: Fixed = Fixed::spec(RuleId::of("capoa/config-fixed"), STYLE);
