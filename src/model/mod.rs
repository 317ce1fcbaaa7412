//! Plain words that every room shares, and nothing that decides: a pair of one object, a change, an effect, a cause, a rollout.

mod call;
mod cause;
mod classified;
mod effect;
mod fleet;
mod hold;
mod machine;
mod pair;
mod rule;
mod said;
mod upgrade;
mod words;

pub(crate) use call::Call;
pub(crate) use call::quoted;
pub(crate) use cause::Cause;
pub use classified::Classified;
pub(crate) use effect::Touches;
pub use effect::{Decision, Effect};
pub(crate) use fleet::DeletionOrder;
pub use fleet::{Standing, Strategy};
pub(crate) use hold::Act;
pub(crate) use hold::{Hold, Why};
pub(crate) use hold::{Places, hold_of};
pub(crate) use machine::{Member, Unit};
pub use pair::{Action, Change, Pair};
pub(crate) use pair::{Basis, Sent, Within};
pub(crate) use rule::RuleId;
pub(crate) use said::{About, Course, Finding, Reason, Rollout, Together};
pub(crate) use said::{DO, OR, SET_BACK};
pub(crate) use upgrade::{Behaviour, NextWrite, Upgrade, UpgradeStep};
pub(crate) use words::{age, first_and_more, is, plural, plural_is, some_of};
