//! `rollgate flux values`: values templates in, and the ConfigMap or Secret out that a HelmRelease waits for.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use super::super::args::Commit;
use super::super::known::KnownArgs;
use super::super::values::{ValuesArgs, with_values};
use super::{Outside, Stop};
use crate::exit::Exit;
use crate::flux::published::Became;
use crate::late::Settled;
use crate::policy::StoreKind;
use crate::session::late::publish::Destination;

/// Options of `flux values`.
#[derive(Debug, Args)]
pub struct PublishArgs {
    /// Values files, later ones win; a template ends in .j2 or calls `{{ late("NAME") }}`. `-` for standard input.
    #[arg(long = "values", short = 'f', value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Name of the object that `valuesFrom` of the HelmRelease names.
    #[arg(long, value_name = "NAME")]
    pub name: String,
    /// A Secret instead of a ConfigMap.
    #[arg(long)]
    pub secret: bool,
    /// The key, `valuesKey` of the HelmRelease.
    #[arg(long, value_name = "KEY", default_value = "values.yaml")]
    pub key: String,
    /// Publish another value than the one that was published before, although no pin says so.
    #[arg(long)]
    pub replace: bool,
    /// Where late values come from.
    #[command(flatten)]
    pub known: KnownArgs,
    /// Longest time to wait for late values; overrides the policy's.
    #[arg(long, value_name = "DURATION")]
    pub wait: Option<String>,
}

pub(super) fn run(args: PublishArgs, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let PublishArgs { files, name, secret, key, replace, known, wait } = args;
    let asked = ValuesArgs { files, getter: false, call: Vec::new(), known, wait, commit: Commit::Always };
    let kind = if secret { StoreKind::Secret } else { StoreKind::ConfigMap };
    let place = Destination { kind, name, key, replace };
    with_values(&asked, outside, |text, known, settled, outside| {
        let used: Vec<&Settled> = settled.iter().collect();
        let (object, became) = known.publish(&place, text, &used)?;
        let key = &place.key;
        let line = match became {
            Became::Created => format!("wrote {key} of {object}: helm-controller may install now"),
            Became::Changed => format!("changed {key} of {object}: helm-controller upgrades with it at once"),
            Became::Unchanged => format!("{key} of {object} says this already"),
        };
        writeln!(outside.out, "{line}").context("cannot write to standard output").map_err(Stop::internal)?;
        Ok(Exit::Allow)
    })
}
