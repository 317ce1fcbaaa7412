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

pub use call::{Call, quoted};
pub use cause::Cause;
pub use classified::Classified;
pub use effect::{Decision, Effect, Touches};
pub use fleet::{DeletionOrder, Standing, Strategy};
pub use hold::{Act, Hold, Places, Why, hold_of};
pub use machine::{Member, Unit};
pub use pair::{Action, Basis, Change, Pair, Sent, Within};
pub use rule::RuleId;
pub use said::{About, Course, DO, Finding, OR, Reason, Rollout, SET_BACK, Together};
pub use upgrade::{Behaviour, NextWrite, Upgrade, UpgradeStep};
pub use words::{age, plural};
