//! One question from its beginning to its end: who writes is detected, what is needed is read, late values are waited for, and what
//! an answer uses is written down. It prints nothing and knows no command line: whoever asks hands in values, and is told by [`Observer`].

mod answers;
mod asks;
mod chart;
mod commit;
mod detect;
pub(crate) mod flux;
mod forecast;
mod images;
pub(crate) mod input;
pub(crate) mod late;
mod observer;
mod own_policy;
mod owners;
pub(crate) mod packs;
mod pins;
pub(crate) mod policy;
pub(crate) mod process;
pub(crate) mod reach;
mod read;
mod releases;
pub(crate) mod revisions;
mod runtime;
mod setup;
pub(crate) mod source;
mod stop;
pub(crate) mod tool;
pub(crate) mod trailers;

pub(crate) use answers::Ready;
#[cfg(feature = "serve")]
pub(crate) use answers::{approvals_of, history_of};
pub(crate) use asks::Unseen;
pub(crate) use chart::Chart;
pub use commit::{Commit, Commitment};
pub(crate) use detect::{connect, detect};
pub(crate) use forecast::{keep as keep_forecast, kept as forecasts};
pub use input::Input;
pub(crate) use observer::Guard;
pub(crate) use observer::Observer;
pub use observer::Unobserved;
pub(crate) use owners::{is_called, owners};
pub use policy::{InForce, Untold, Whence};
pub use read::Session;
pub(crate) use releases::{histories, place};
pub(crate) use revisions::{Revisions, Trees};
pub(crate) use runtime::runtime;
pub(crate) use setup::environment;
pub use setup::{Base, Live, Setup};
pub(crate) use source::{Source, Tree};
pub(crate) use stop::Stop;
