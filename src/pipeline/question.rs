//! What is asked, what is answered, and why there may be no answer: plain data.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;

use crate::approval::Approval;
use crate::compare::redact::MarkKey;
use crate::gate::budget::Spending;
use crate::gate::glass;
use crate::judge::upgrade::Wanted;
use crate::late;
use crate::object::{Files, Key, LoadError, StreamText};
use crate::pin::Pin;
use crate::policy::Policy;
use crate::report::{PolicyReport, Report};
use crate::rules::UserFault;
use crate::world::Unread;

/// What is asked: may this stream be written under this policy?
#[derive(Clone)]
pub struct Question {
    /// The rendered stream, as it came.
    pub stream: StreamText,
    /// The policy in force.
    pub policy: Policy,
    /// The files that the stream was put together from, where it came from files.
    pub files: Files,
    /// How the policy is called in the report.
    pub policy_report: PolicyReport,
    /// How far the sources of late values can be reached.
    pub reach: late::Reach,
    /// What the marks of hidden values are made with.
    pub key: MarkKey,
    /// Whether that key outlives the run, so that another run can make the same marks.
    pub key_lasts: bool,
    /// Whether the stream that comes out is what the host writes, so that fields of it can be set back.
    pub goes_out: bool,
    /// What somebody wishes who wants a held install to go through without an approval.
    pub break_glass: Option<glass::Wish>,
    /// What is judged beside this stream, and what could not be.
    pub apart: Arc<Apart>,
    /// Versions of providers that come, by their names: then nothing is written, and the objects that are there are judged.
    pub upgrade: Wanted,
}

/// What objects of a stream that carry others have written, where somebody rendered it.
#[derive(Debug, Clone, Default)]
pub struct Apart {
    /// Objects of which all that they carry is judged elsewhere.
    pub judged: BTreeSet<Key>,
    /// What of them was not rendered and may have changed.
    pub unread: Vec<Unread>,
    /// Objects that Flux deletes and makes anew where the API server refuses their write.
    pub forced: BTreeSet<Key>,
}

impl std::fmt::Debug for Question {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Question").field("stream", &self.stream.len()).finish_non_exhaustive()
    }
}

/// The answer, and what is to be done if it is yes.
#[derive(Clone)]
pub struct Judgement {
    /// What is said.
    pub report: Report,
    /// The stream with late values filled in.
    pub stream: Bytes,
    /// Pins to record after an allowed run.
    pub pins: Vec<Pin>,
    /// Approvals that it is allowed by, with their places as the policy names them.
    pub approvals: Vec<(String, Approval)>,
    /// What was said of the whole stream, where fields of it were set back so that the rest may go out.
    pub whole: Option<Box<Report>>,
    /// What must be noted of the Machines that go, before it goes out.
    pub spending: Option<Spending>,
    /// Addresses of the images of new Machines, as far as the policy lets their servers be asked.
    pub images: Vec<String>,
    /// What must be written down of a broken glass before it goes out, with its place as the policy names it.
    pub glass: Option<(String, Approval)>,
}

impl std::fmt::Debug for Judgement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Judgement").field("report", &self.report).finish_non_exhaustive()
    }
}

/// What is asked outside of the management cluster, where the policy allows it.
#[derive(Debug, Default)]
pub(crate) struct Beyond {
    /// The Clusters (namespace and name) of which Machines go: only these are worth a look into.
    pub clusters: BTreeSet<(Option<String>, String)>,
    /// Addresses of the images that new Machines boot from.
    pub images: Vec<String>,
}

/// Why there is no judgement.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The stream is not what Kubernetes reads.
    #[error(transparent)]
    Stream(#[from] LoadError),
    /// An object has a name that no API server takes.
    #[error("line {line}: {object}: {why}; nothing of this stream is judged")]
    Name {
        /// Line where its document starts.
        line: usize,
        /// The object.
        object: String,
        /// What is wrong with the name.
        why: &'static str,
    },
    /// A rule of the user cannot be used, so a judgement would be without it.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Rules(Vec<UserFault>),
    /// Filling in values changed more than values: a defect of this program.
    #[error("filling in late values changed the number of documents from {before} to {after}; nothing was written")]
    Lost {
        /// Documents that came in.
        before: usize,
        /// Documents that would go out.
        after: usize,
    },
}
