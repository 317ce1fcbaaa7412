//! Packs: what is known about the fields of a provider's kinds, as data.
//! First match wins; a spec field of a known kind that nothing names is unknown, never harmless.

mod builtin;
mod explain;
mod matching;
mod meta;
mod pack;
mod pages;
mod pattern;
mod term;
mod terms;
mod user;
mod word_pages;

pub use builtin::{is_known, known};
pub use explain::{completions, explain, near};
pub use matching::{ChangedLeaf, Gates, Hit, Rules, Shift};
pub use meta::check_pack;
pub use pack::{CauseText, Gate, KindName, Pack, PackError, Rule, When};
pub use pages::pages;
pub use pattern::Pattern;
pub use term::{Sort, Term};
pub use terms::TERMS;
pub use user::UserFault;
pub use word_pages::{exit_codes, words};
