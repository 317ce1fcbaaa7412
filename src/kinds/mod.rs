//! What a kind is: its role, what it refers to, what moved between its versions, and what its webhooks and its controller may
//! say about it. Nothing here names a provider; a kind that none claims has what Cluster API's contract says.

pub(crate) mod addresses;
pub(crate) mod around;
pub(crate) mod as_go;
pub(crate) mod contract;
pub(crate) mod diff;
pub(crate) mod fields;
pub(crate) mod fixed;
pub(crate) mod gates;
pub(crate) mod immutable;
mod kind;
pub(crate) mod labels;

pub(crate) mod mirror;
pub(crate) mod openapi;
pub(crate) mod pools;
pub(crate) mod reads;
pub(crate) mod references;
pub(crate) mod remembered;
pub(crate) mod shapes;
pub(crate) mod standing;
pub(crate) mod superset;
pub(crate) mod url;
pub(crate) mod versions;
pub(crate) mod webhook;

pub(crate) use kind::Role;
pub(crate) use kind::Typed;
pub(crate) use kind::{Asks, Bounds, Claim, Kind, Made, OwnerRules, SelectorRules};
pub(crate) use mirror::Mirror;
pub(crate) use shapes::POINTERS;
pub use shapes::Shape;
pub use versions::Versions;
pub(crate) use webhook::SchemaAlone;
pub(crate) use webhook::Webhook;
