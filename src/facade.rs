//! What of each room can be reached from outside, item by item: what tests, benchmarks, fuzz targets and other front doors use.
//!
//! The rooms themselves are private. So an item that is not named here, and that the program does not use, is a warning of the compiler.

#![expect(missing_docs, reason = "each module is of the room of its name, and explains nothing that the room does not")]

pub mod approval {
    pub use crate::approval::{Approval, Ledger, Object, Use};
}

pub mod cluster {
    pub use crate::cluster::{Online, WorldRead, connect, read};
}

pub mod compare {
    pub use crate::compare::{Action, Change, Pair, changes};
    pub mod redact {
        pub use crate::compare::redact::{MarkKey, Redactor};
    }
}

pub mod gotemplate {
    pub use crate::gotemplate::render;
}

pub mod history {
    pub use crate::history::{Limits, Object, Spent};
}

pub mod host {
    pub use crate::host::{Detected, Host, HostKind, ServerSaid, Signs, ToldHost, detect, predict, writes};
    pub mod hook {
        pub use crate::host::hook::{Role, role};
    }
}

pub mod impact {
    pub mod simulate {
        pub use crate::impact::simulate::{Act, End, Fleet, Pace, Played, Wait, play, worst};
    }
}

pub mod judge {
    pub use crate::judge::{Scene, classify};
    pub mod upgrade {
        pub use crate::judge::upgrade::{Foresight, Wanted, foresee};
    }
}

pub mod kinds {
    pub use crate::kinds::{Shape, Versions};
    pub mod fields {
        pub use crate::kinds::fields::{annotation, target};
    }
    pub mod superset {
        pub use crate::kinds::superset::path;
    }
    pub mod versions {
        pub use crate::kinds::versions::parse;
    }
}

pub mod late {
    pub use crate::late::{Reach, needed, resolve};
    pub mod token {
        pub use crate::late::token::places;
    }
}

pub mod model {
    pub use crate::model::{Classified, Decision, Effect, Standing, Strategy};
}

pub mod object {
    pub use crate::object::{Files, Identity, Inventory, Key, Object, Path, Stream, StreamText};
}

pub mod pin {
    pub use crate::pin::{BookError, Pin};
    pub mod cluster {
        pub use crate::pin::cluster::store;
    }
}

pub mod pipeline {
    pub use crate::pipeline::{Fault, Question, judge};
}

pub mod policy {
    pub use crate::policy::{Pins, Policy, StoreKind, parse, reference};
}

pub mod providers {
    pub use crate::providers::{PROVIDERS, kind, known, pages};
    pub mod gates {
        pub use crate::providers::gates::{all, is_usually_on};
    }
}

pub mod report {
    pub use crate::report::{Format, FormatOptions, PolicyReport, Report};
    pub mod escape {
        pub use crate::report::escape::{is_risky, report};
    }
    pub mod human {
        pub use crate::report::human::{Page, Paint};
    }
    pub mod markdown {
        pub use crate::report::markdown::GITHUB;
    }
}

pub mod rules {
    pub use crate::rules::{ChangedLeaf, Rules, Term, exit_codes, explain, pages, words};
}

pub mod schema {
    pub use crate::schema::{Merge, SchemaNode, SchemaShape, builtin};
}

#[cfg(feature = "serve")]
pub mod serve {
    pub mod cache {
        pub use crate::serve::cache::Cache;
    }
    pub mod judge {
        pub use crate::serve::judge::{Doubtful, Judge, Manner, Mode};
    }
    pub mod review {
        pub use crate::serve::review::parse;
    }
}

pub mod session {
    pub use crate::session::{
        Base, Commit, Commitment, InForce, Input, Live, Session, Setup, Unobserved, Untold, Whence,
    };
}

pub mod tree {
    pub use crate::tree::{Map, Value, from_value};
}

pub mod verdict {
    pub use crate::verdict::exit;
}

pub mod world {
    pub use crate::world::{
        Absent, Base, BaseKind, LiveKind, LiveSource, Marks, Provider, Release, ReleaseStatus, There, Unread, World,
        WriteMethod,
    };
    pub mod files {
        pub use crate::world::files::{nothing, open};
    }
    pub mod snapshot {
        pub use crate::world::snapshot::{Snapshot, is_snapshot, reveal};
    }
}

pub mod yaml {
    pub use crate::yaml::{
        Edit, New, NodeId, NodeKind, Position, Scalar, Section, Segment, Span, Spot, Style, Tree, apply, double_quoted,
        head, read, read_first, read_json, read_section, read_strict, split,
    };
    pub mod debug {
        pub use crate::yaml::debug::lines;
    }
}
