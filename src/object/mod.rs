//! One Kubernetes object: its key, the paths inside it, and where its body comes from.
//! A body is text until somebody needs the tree; equal texts are never parsed.

mod body;
mod index;
mod inventory;
mod key;
mod load;
mod origin;
mod path;
mod plain;
mod reading;
mod route;
mod seconds;
mod state;
mod stream;
mod text;
mod veil;
mod view;
mod words;

pub(crate) use body::{Body, Carrier};
pub use inventory::Inventory;
pub(crate) use key::ApiVersion;
pub(crate) use key::GroupKind;
pub use key::{Identity, Key};
pub(crate) use key::{in_order, may_be_equal};
pub(crate) use load::LoadError;
pub use load::Object;
pub use origin::Files;
pub(crate) use origin::Location;
pub(crate) use origin::Origins;
pub use path::Path;
pub(crate) use path::Segment;
pub(crate) use plain::RUN;
pub(crate) use route::Route;
pub(crate) use seconds::{go_duration, go_seconds, nanoseconds};
pub(crate) use state::is_deleting;
pub use stream::Stream;
pub use text::StreamText;
pub(crate) use veil::Veil;
pub(crate) use view::Objects;
pub(crate) use view::{Presence, View};
pub(crate) use words::MetadataKey;
