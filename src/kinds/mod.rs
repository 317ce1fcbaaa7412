//! What a kind is: its role, what it refers to, what moved between its versions, and what its webhooks and its controller may
//! say about it. Nothing here names a provider; a kind that none claims has what Cluster API's contract says.

pub(crate) mod addresses;
pub mod around;
pub(crate) mod as_go;
pub mod contract;
pub mod diff;
pub mod fields;
pub mod fixed;
pub mod gates;
pub mod immutable;
mod kind;
pub mod labels;
pub mod mirror;
pub(crate) mod openapi;
pub mod pools;
pub mod reads;
pub mod references;
pub(crate) mod remembered;
pub mod shapes;
pub mod standing;
pub mod superset;
pub(crate) mod url;
pub mod versions;
pub mod webhook;

pub use kind::{Kind, OwnerRules, Role, SelectorRules, Typed};
pub use mirror::Mirror;
pub use shapes::{POINTERS, Shape};
pub use versions::Versions;
pub use webhook::{SchemaAlone, Webhook};
