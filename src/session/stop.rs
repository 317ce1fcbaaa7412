//! What ends a session before there is an answer, with the exit code that it stands for.

use super::input::Input;
use crate::exit::Exit;
use crate::pipeline::Fault;

/// An error that ends a run, with the exit code that it stands for.
#[derive(Debug)]
pub struct Stop {
    /// The code.
    pub exit: Exit,
    /// What went wrong.
    pub error: anyhow::Error,
}

impl Stop {
    /// A wrong command line, policy or stream.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Usage, error: error.into() }
    }

    /// A change that nobody asked for.
    pub fn hold(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Hold, error: error.into() }
    }

    /// Something that is needed and cannot be read.
    pub fn undecided(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Undecided, error: error.into() }
    }

    /// A defect, or an output that cannot be written.
    pub fn internal(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Internal, error: error.into() }
    }

    /// A stream that cannot be read is the user's; lost documents are our defect.
    #[must_use]
    pub fn of_fault(fault: Fault) -> Self {
        match fault {
            Fault::Stream(_) | Fault::Name { .. } | Fault::Rules(_) => Self::usage(fault),
            Fault::Lost { .. } => Self::internal(fault),
        }
    }

    /// This stop with the file that it is about in front, where the message starts with a line of the stream.
    #[must_use]
    pub fn about(self, input: &Input) -> Self {
        let message = self.error.to_string();
        let (line, rest) = message.strip_prefix("line ").unwrap_or(&message).split_once(':').unwrap_or_default();
        match line.parse() {
            Ok(line) => Self { exit: self.exit, error: anyhow::anyhow!("{}:{rest}", input.place(line)) },
            Err(_) => self,
        }
    }

    /// This stop with names in its message replaced.
    #[must_use]
    pub fn respelt(self, name: impl Fn(&str) -> String) -> Self {
        Self { exit: self.exit, error: anyhow::anyhow!("{}", name(&format!("{:#}", self.error))) }
    }
}
