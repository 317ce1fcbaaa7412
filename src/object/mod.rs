//! One Kubernetes object: its key, the paths inside it, and where its body comes from.
//! A body is text until somebody needs the tree; equal texts are never parsed.

mod index;
mod inventory;
mod key;
mod load;
mod origin;
mod path;
mod route;
mod seconds;
mod state;
mod stream;
mod text;
mod veil;
mod view;
mod words;

pub use inventory::Inventory;
pub use key::{ApiVersion, GroupKind, Key};
pub use load::{Body, Carrier, LoadError, Object};
pub use origin::{Files, Location, Origins};
pub use path::{Path, PathError, Segment};
pub(crate) use route::Route;
pub(crate) use seconds::{go_duration, go_seconds, nanoseconds};
pub use state::is_deleting;
pub use stream::Stream;
pub use text::StreamText;
pub use veil::Veil;
pub use view::{Objects, Presence, View};
