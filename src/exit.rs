//! The exit codes, one public table. A code never depends on the output format.

use std::process::ExitCode;

/// Why the program ended; the number is a promise to scripts and pipelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Exit {
    /// The install may go on.
    Allow = 0,
    /// A defect of rollgate itself.
    Internal = 1,
    /// The command line, the policy or the stream could not be read.
    Usage = 2,
    /// A gate, a pin or a left-over placeholder holds the install.
    Hold = 3,
    /// Something needed could not be read, or a late value is not there in time.
    Undecided = 4,
}

impl Exit {
    /// Every code, in order, for documentation and tests.
    pub const ALL: [Self; 5] = [Self::Allow, Self::Internal, Self::Usage, Self::Hold, Self::Undecided];

    /// The number that the operating system sees.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
