//! YAML as Kubernetes reads it, with the bytes it stands in.
//!
//! Go reads manifests with sigs.k8s.io/yaml v1.6.0 over go.yaml.in/yaml/v2 v2.4.4 and encoding/json; this module gives the same values,
//! the same refusals, and a span for every node. A stream is cut into [`Section`]s first; a document that is never asked for is never
//! parsed; an edit replaces the bytes of a span and nothing else.

pub(crate) mod debug;

mod arena;
mod decode;
mod error;
mod events;
mod head;
mod json;
mod lines;
mod map;
mod message;
mod number;
mod parse;
mod quote;
mod read;
mod resolve;
mod scan;
mod span;
mod splice;
mod split;
mod text;
mod timestamp;
mod tree;
mod twin;
mod walk;

pub use self::arena::NodeId;
pub(crate) use self::error::Error;
pub(crate) use self::error::Result;
pub use self::head::head;
pub(crate) use self::lines::{holds_plain_metadata, holds_texts_alone};
pub(crate) use self::message::{nearest, plain};
pub use self::quote::double_quoted;
pub(crate) use self::quote::write_value;
pub use self::read::{read, read_first, read_json, read_section, read_strict};
pub(crate) use self::read::{read_at, read_beside};
pub use self::resolve::Scalar;
pub use self::scan::Style;
pub(crate) use self::span::chars;
pub use self::span::{Position, Span};
pub(crate) use self::splice::Patch;
pub(crate) use self::splice::respell;
pub use self::splice::{Edit, New, Spot, apply};
pub use self::split::{Section, split};

pub use self::tree::{NodeKind, Segment, Tree};
pub(crate) use self::twin::Twin;
