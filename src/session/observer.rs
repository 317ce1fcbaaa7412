//! What a session lets whoever asked know of while it works.

use std::any::Any;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use crate::late::wait::Screen;

/// Ends what it stands for when it goes.
pub(crate) type Guard = Box<dyn Any>;

/// Whoever has a session made. Nothing that is told here is a part of the answer.
pub trait Observer {
    /// A step that only computes begins, and nothing may be known of what it cannot find out in `limit`.
    fn begins(&self, step: &'static str, limit: Duration) -> Guard {
        let _: (&str, Duration) = (step, limit);
        Box::new(())
    }

    /// A wait for late values begins. Runs inside the runtime.
    fn waits(&self) -> Guard {
        Box::new(())
    }

    /// Other programs are about to be started, and `folder` is to be removed when all has ended. Runs inside the runtime.
    ///
    /// # Errors
    /// When the caller cannot see to it that they end with it.
    fn starts(&self, folder: Option<&Path>) -> io::Result<()> {
        let _: Option<&Path> = folder;
        Ok(())
    }

    /// Where a person sees what is read of a cluster, if one looks.
    fn progress(&self) -> Option<Box<dyn Write + Send>> {
        None
    }

    /// Where a person sees what is waited for.
    fn screen(&mut self) -> Screen<'_>;
}

/// Nobody looks, and nothing bounds a session but its own limits.
#[derive(Debug, Default)]
pub struct Unobserved(io::Sink);

impl Observer for Unobserved {
    fn screen(&mut self) -> Screen<'_> {
        Screen { out: &mut self.0, terminal: false }
    }
}
