//! What is known of a HelmRelease under the gate: what it is made of, where it stands, what helm-controller says, what was decided. Plain
//! data: what follows from it is the next step.

use std::time::Duration;

use jiff::Timestamp;

/// What a release is made of at one time, each as a digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Made {
    /// Its spec, without whether it is suspended.
    pub spec: String,
    /// The artifact of its chart.
    pub chart: String,
    /// The objects of its values.
    pub values: String,
}

/// Where a release stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It is to be judged, or something that it is made of is not there.
    Waiting,
    /// A gate holds it.
    Held,
    /// It cannot be said what it does.
    Undecided,
    /// helm-controller may act.
    Resumed,
    /// helm-controller has acted.
    Done,
    /// helm-controller has acted, failed, and tries no more until something changes.
    Failed,
    /// A person has suspended it, and a person resumes it.
    Theirs,
    /// It is deleted, and helm-controller may uninstall it.
    Removing,
}

impl Phase {
    /// All of them.
    pub(crate) const ALL: [Self; 8] = [
        Self::Waiting,
        Self::Held,
        Self::Undecided,
        Self::Resumed,
        Self::Done,
        Self::Failed,
        Self::Theirs,
        Self::Removing,
    ];

    /// The word that stands on the object.
    #[must_use]
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Held => "held",
            Self::Undecided => "undecided",
            Self::Resumed => "resumed",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Theirs => "suspended-by-hand",
            Self::Removing => "uninstalling",
        }
    }

    /// Whether helm-controller may act.
    #[must_use]
    pub(crate) const fn is_open(self) -> bool {
        matches!(self, Self::Resumed | Self::Removing)
    }
}

/// What was decided, as it stands on the object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    /// Where it stands.
    pub phase: Phase,
    /// What was judged last.
    pub made: Option<Made>,
    /// What helm-controller did last without failing.
    pub applied: Option<Made>,
    /// The generation that it was resumed with; 0 where it is not.
    pub generation: i64,
    /// Digest of the report.
    pub verdict: String,
    /// Since when.
    pub since: Timestamp,
    /// Why, in one line; empty where there is nothing to say.
    pub why: String,
}

/// What helm-controller says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Flux {
    /// It has begun with this generation.
    pub began: bool,
    /// It is done with this generation.
    pub done: bool,
    /// What it did went well.
    pub ready: bool,
    /// It tries no more until something changes.
    pub stalled: bool,
    /// It has a release, or had one and may.
    pub installed: bool,
    /// What it says of it.
    pub said: String,
}

/// What is seen of a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Observed {
    /// Whether it asks to be gated.
    pub asked: bool,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether it cannot go before it is let go here.
    pub guarded: bool,
    /// Whether it is suspended.
    pub suspended: bool,
    /// Its generation.
    pub generation: i64,
    /// What it is made of, or what of that is not there.
    pub made: Result<Made, String>,
    /// What helm-controller says.
    pub flux: Flux,
    /// How often it is reconciled.
    pub interval: Duration,
    /// How long helm-controller may take.
    pub timeout: Duration,
    /// The clock.
    pub now: Timestamp,
    /// When it was judged last, by whoever looks.
    pub judged: Option<Timestamp>,
    /// Something that decides has changed, or a person asks.
    pub stirred: bool,
}

/// What was decided of an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ruling {
    /// It may be.
    Allow,
    /// A gate holds it.
    Hold,
    /// It cannot be said.
    Undecided,
}

/// A verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// What was judged.
    pub made: Made,
    /// Whether it was its removal.
    pub removal: bool,
    /// What was decided.
    pub answer: Ruling,
    /// Digest of the report.
    pub digest: String,
    /// Why, in one line with the next command.
    pub line: String,
}
