//! The shape of the objects that are compared: fields, types, defaults, and how lists and maps are merged.
//! The built-in table is generated from the providers' CustomResourceDefinitions by `tests/oracle/schema`; a kind that it
//! does not know is treated as the API server treats a CRD without hints: lists are written whole, maps by key.

mod builtin;
mod defaults;
mod moved;
pub(crate) mod moves;
mod shape;

pub use builtin::{builtin, is_cluster_wide};
pub use defaults::{defaulted, refilled, refused_empty, unknown_fields};
pub use moved::reshape;
pub use shape::{Merge, SchemaNode, SchemaShape, Type};
