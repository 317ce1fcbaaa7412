//! From the words of a command line to the options of a session, and to where reports go.

use std::time::Duration;

use anyhow::Context as _;

use super::Stop;
use super::args::{Colour, CommonArgs};
use super::output::Output;
use crate::host::Told;
use crate::policy;
use crate::report::human;
use crate::session::{BaseFrom, Live, Options};

/// Whether a stream is painted.
pub(super) fn paint(colour: Colour, terminal: bool) -> human::Paint {
    human::Paint(match colour {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|text| text.is_empty()),
    })
}

/// What the common options say.
pub(super) fn options(args: &CommonArgs) -> Result<Options, Stop> {
    Ok(Options {
        policy: args.policy.clone(),
        packs: args.pack.clone(),
        live: Live::of(&args.live),
        base: BaseFrom::of(args.base.as_deref()),
        told: Told {
            kind: args.host,
            release: args.release.clone(),
            namespace: args.namespace.clone(),
            context: args.kube_context.clone(),
            method: args.method,
        },
        storage_namespace: args.storage_namespace.clone(),
        providers: args.provider.clone(),
        feature_gates: args.feature_gate.clone(),
        now: args.now,
        deadline: duration(&args.deadline, "--deadline")?,
        max_age: duration(&args.max_age, "--max-age")?,
        wait: args.wait.as_deref().map(|text| duration(text, "--wait")).transpose()?,
    })
}

/// Where the reports go.
pub(super) fn outputs(args: &CommonArgs) -> Result<Vec<Output>, Stop> {
    let outputs: anyhow::Result<Vec<Output>> = args.output.iter().map(|text| Output::parse(text)).collect();
    outputs.map_err(Stop::usage)
}

/// A length of time that an option names.
pub(super) fn duration(text: &str, option: &str) -> Result<Duration, Stop> {
    policy::duration(text).with_context(|| format!("{option} {text}")).map_err(Stop::usage)
}
