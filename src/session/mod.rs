//! One question from its beginning to its end: who writes is detected, what is needed is read, late values are waited for, and what
//! an answer uses is written down. It prints nothing and knows no command line: whoever asks hands in values, and is told by [`Observer`].

mod answers;
mod commit;
mod detect;
pub mod flux;
mod forecast;
mod images;
pub mod input;
pub mod late;
mod observer;
mod own_policy;
mod owners;
pub mod packs;
mod pins;
pub mod policy;
pub mod process;
mod read;
mod releases;
pub mod revisions;
mod runtime;
mod setup;
pub mod source;
mod stop;
pub(crate) mod tool;
pub mod trailers;

pub use answers::Ready;
pub use answers::{approvals_of, history_of};
pub use commit::{Commit, Commitment};
pub use detect::{connect, detect};
pub use forecast::{keep as keep_forecast, kept as forecasts};
pub use input::Input;
pub use observer::{Guard, Observer, Unobserved};
pub use owners::{is_called, owners};
pub use policy::{InForce, Untold, Whence};
pub use read::Session;
pub use releases::{ClusterId, histories, place};
pub use revisions::{Revisions, Trees};
pub use runtime::runtime;
pub use setup::{Base, Live, Setup, environment};
pub use source::{Chart, Source, Tree};
pub use stop::Stop;
