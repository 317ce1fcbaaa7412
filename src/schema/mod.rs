//! The shape of the objects that are compared: fields, types, defaults, and how lists and maps are merged.
//! There is one table (`table.rs`), generated from the providers' CustomResourceDefinitions by `tests/schemas`; a kind that it does not know
//! is treated as the API server treats a CRD without hints: lists are written whole, maps by key.

mod builtin;
pub(crate) mod carry;
mod defaults;
mod fields;
mod moved;
pub(crate) mod moves;
mod shape;
pub(crate) mod sources;
pub(crate) mod table;

pub use builtin::builtin;
pub(crate) use builtin::differ;
pub(crate) use builtin::is_cluster_wide;
pub(crate) use defaults::{refilled, refused_empty};
pub(crate) use moved::reshape;
pub(crate) use shape::Type;
pub use shape::{Merge, SchemaNode, SchemaShape};
pub(crate) use table::{has, kinds};
