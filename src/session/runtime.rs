//! The one runtime of the process: a client dies with the runtime that it was made on, and both ends use the same client.

use std::sync::OnceLock;

use anyhow::Context as _;

use super::Stop;

/// The runtime; made by whoever asks first.
///
/// # Errors
/// When its threads cannot be started: nothing that it reads is known then.
pub(crate) fn runtime() -> Result<&'static tokio::runtime::Runtime, Stop> {
    static RUNTIME: OnceLock<tokio::runtime::Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the runtime")
        .map_err(Stop::undecided)?;
    Ok(RUNTIME.get_or_init(|| runtime))
}
