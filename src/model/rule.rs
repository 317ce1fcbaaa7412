//! The id under which the program explains what it said: `rollgate explain kcp/version`.

/// An id that the code itself gives. A test reads every `RuleId::of` in the source and fails where no pack explains the id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(&'static str);

impl RuleId {
    /// The id of this name: `family/name`, in lower case.
    #[must_use]
    pub const fn of(id: &'static str) -> Self {
        Self(id)
    }

    /// Its text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl std::fmt::Display for RuleId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl From<RuleId> for String {
    fn from(rule: RuleId) -> Self {
        rule.0.to_owned()
    }
}
