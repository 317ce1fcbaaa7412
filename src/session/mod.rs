//! What every front door does around a judgement: options checked, the host detected, one read, a wait for late values, and the
//! commit. Knows no command line: options and writers are passed in, and what goes wrong comes out with its exit code.

mod commit;
mod look;
mod options;
pub mod packs;
mod policy;
mod source;
mod values;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use anyhow::Context as _;

pub use crate::late::wait::Screen;
use crate::exit::Exit;
pub use commit::Commit;
pub use look::{Look, Seen};
pub use options::{BaseFrom, Live, Options};
pub use policy::{InForce, Untold, in_force};
pub use source::{Input, is_empty};
pub use values::LateValues;

use crate::policy::Policy;
use crate::report::PolicyReport;
use crate::world::Provider;

/// The environment as text; a variable that is not text is not there.
#[must_use]
pub fn environment() -> BTreeMap<String, String> {
    std::env::vars_os().filter_map(|(name, text)| Some((name.into_string().ok()?, text.into_string().ok()?))).collect()
}

/// The one runtime of the process: a client dies with the runtime that it was made on, and both ends use the same client.
///
/// # Errors
/// When the system gives no threads.
pub fn runtime() -> Result<&'static tokio::runtime::Runtime, Stop> {
    static RUNTIME: OnceLock<tokio::runtime::Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the runtime")
        .map_err(Stop::internal)?;
    Ok(RUNTIME.get_or_init(|| runtime))
}

/// Options and policy of one judgement, read and checked.
#[derive(Debug)]
pub struct Session {
    /// The options as they were given.
    pub options: Options,
    /// The environment.
    pub env: BTreeMap<String, String>,
    /// The policy in force, with the packs that were given.
    pub policy: Policy,
    /// How the report calls it.
    pub policy_report: PolicyReport,
    policy_folder: std::path::PathBuf,
    providers: BTreeMap<String, Provider>,
    feature_gates: BTreeMap<String, bool>,
    now: jiff::Timestamp,
}

impl Session {
    /// Reads the policy, and checks what the options say.
    ///
    /// # Errors
    /// When the policy or a pack cannot be read, or an option says what cannot be.
    pub fn open(options: Options, untold: Untold) -> Result<Self, Stop> {
        let InForce { mut policy, report: mut policy_report, folder } = in_force(options.policy.as_deref(), untold)?;
        packs::add(&options.packs, &mut policy, &mut policy_report)?;
        Ok(Self {
            env: environment(),
            policy,
            policy_report,
            policy_folder: folder,
            providers: options.providers().map_err(Stop::usage)?,
            feature_gates: options.feature_gates().map_err(Stop::usage)?,
            now: options.now.unwrap_or_else(jiff::Timestamp::now),
            options,
        })
    }
}

/// What ends a command before its time, with the exit code that it stands for.
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

    /// Something that is needed and cannot be read.
    pub fn undecided(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Undecided, error: error.into() }
    }

    /// A defect, or an output that cannot be written.
    pub fn internal(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Internal, error: error.into() }
    }

    /// The same with the file that it is about in front, where the message starts with a line of the stream.
    #[must_use]
    pub fn about(self, input: &Input) -> Self {
        let message = self.error.to_string();
        let (line, rest) = message.strip_prefix("line ").unwrap_or(&message).split_once(':').unwrap_or_default();
        match line.parse() {
            Ok(line) => Self { exit: self.exit, error: anyhow::anyhow!("{}:{rest}", input.place(line)) },
            Err(_) => self,
        }
    }

    /// The same with names in its message replaced.
    #[must_use]
    pub fn respelt(self, name: impl Fn(&str) -> String) -> Self {
        Self { exit: self.exit, error: anyhow::anyhow!("{}", name(&format!("{:#}", self.error))) }
    }
}
