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

pub(crate) use builtin::{is_known, known};
pub use explain::explain;
pub(crate) use explain::{completions, near};
pub use matching::{ChangedLeaf, Rules};
pub(crate) use matching::{Gates, Hit};

pub(crate) use pack::{Pack, Rule};
pub use pages::pages;
pub(crate) use pattern::Pattern;
pub use term::Term;

pub(crate) use user::UserFault;
pub use word_pages::{exit_codes, words};
