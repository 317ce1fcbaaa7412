//! A word of a report that is no rule: of which sort it is, and how it is found.

use super::terms::TERMS;

/// What a word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// A check that can hold.
    Gate,
    /// Something that deserves a line of its own.
    Finding,
    /// The answer of a gate, or of a run.
    Decision,
    /// How the program ends.
    Exit,
    /// The state of a late value.
    LateState,
    /// What became of one source of a late value.
    SourceState,
}

impl Sort {
    /// What it is called.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Gate => "gate",
            Self::Finding => "finding",
            Self::Decision => "decision",
            Self::Exit => "exit code",
            Self::LateState => "state of a late value",
            Self::SourceState => "state of a source of a late value",
        }
    }
}

impl Sort {
    /// The page about words of this sort.
    #[must_use]
    pub const fn page(self) -> &'static str {
        match self {
            Self::Gate => "docs/gates.md",
            Self::Finding => "docs/words.md",
            Self::Decision | Self::Exit => "docs/exit-codes.md",
            Self::LateState | Self::SourceState => "docs/late-values.md",
        }
    }
}

/// A word and what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term {
    /// What it is.
    pub sort: Sort,
    /// The word, as reports have it.
    pub name: &'static str,
    /// What it means.
    pub says: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
}

impl Term {
    /// The gate or finding of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        TERMS.iter().find(|term| term.name == name && matches!(term.sort, Sort::Gate | Sort::Finding))
    }

    /// Every meaning of a word; an exit code may be said as `3` or `exit 3`, a gate with `gates.` or `gate/` before it.
    pub fn all_named(name: &str) -> impl Iterator<Item = &'static Self> {
        let name = name.trim().to_ascii_lowercase();
        let prefixes = ["exit code ", "exit ", "gates.", "gate/", "effect/"];
        let name = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(&name).to_owned();
        // A key of the policy stands for its gate: `inPlace`, `health.etcd`, and `etcd` below `health`.
        let same = |term: &str, name: &str| term.replace('-', "").eq_ignore_ascii_case(&name.replace('-', ""));
        let is_named = move |term: &&Self| {
            let key = term.name.strip_prefix("health.").unwrap_or(term.name);
            same(term.name, &name) || same(key, &name)
        };
        TERMS.iter().filter(is_named)
    }
}

pub(super) const fn gate(name: &'static str, says: &'static str, remedy: &'static str) -> Term {
    Term { sort: Sort::Gate, name, says, remedy }
}

pub(super) const fn finding(name: &'static str, says: &'static str, remedy: &'static str) -> Term {
    Term { sort: Sort::Finding, name, says, remedy }
}

pub(super) const fn decision(name: &'static str, says: &'static str, remedy: &'static str) -> Term {
    Term { sort: Sort::Decision, name, says, remedy }
}

pub(super) const fn exit(name: &'static str, says: &'static str, remedy: &'static str) -> Term {
    Term { sort: Sort::Exit, name, says, remedy }
}

pub(super) const fn late(name: &'static str, says: &'static str, remedy: &'static str) -> Term {
    Term { sort: Sort::LateState, name, says, remedy }
}

pub(super) const fn source(name: &'static str, says: &'static str, remedy: &'static str) -> Term {
    Term { sort: Sort::SourceState, name, says, remedy }
}
