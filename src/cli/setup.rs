//! What every judging command starts with: its options read and checked, and how its pages look.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use jiff::Timestamp;

use super::args::{Colour, CommonArgs};
use super::called::Called;
use super::known::duration;
use super::output::{self, Output};
use super::{Outside, Stop};
use crate::host::{Host, ToldHost};
use crate::policy;
use crate::providers::gates;
use crate::report::human;
use crate::rules;
use crate::session::{Base, InForce, Live, Setup, Untold, Whence, environment, packs};
use crate::world::Provider;

/// Whether a stream is painted.
pub(super) fn paint(colour: Colour, terminal: bool) -> human::Paint {
    human::Paint(match colour {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|text| text.is_empty()),
    })
}

/// How a report for people looks on a stream.
pub(super) fn page(colour: Colour, terminal: bool, summary: bool, outside: &Outside<'_>) -> human::Page {
    let width = outside.columns.unwrap_or(human::WIDTH);
    human::Page { paint: paint(colour, terminal), width, is_summary: summary }
}

/// The reports that were asked for, and one for people on the stream where none of them goes to one. `rendered` are files that the run reads beside
/// those of its options.
pub(super) fn outputs(args: &CommonArgs, rendered: &[PathBuf]) -> Result<Vec<Output>, Stop> {
    let outputs: anyhow::Result<Vec<Output>> = args.output.iter().map(|text| Output::parse(text)).collect();
    let mut outputs = outputs.map_err(Stop::usage)?;
    output::are_apart(&outputs, &read(args, rendered)).map_err(Stop::usage)?;
    if outputs.iter().all(Output::is_kept) {
        outputs.insert(0, Output::HUMAN);
    }
    Ok(outputs)
}

/// The files that a run reads: those of its options, and `rendered`.
pub(super) fn read<'a>(args: &'a CommonArgs, rendered: &'a [PathBuf]) -> Vec<&'a Path> {
    let told = [Some(&args.live), args.base.as_ref(), args.policy.as_ref()].into_iter().flatten().map(Path::new);
    told.chain(args.pack.iter().chain(rendered).map(PathBuf::as_path)).collect()
}

impl CommonArgs {
    /// Where a policy of the cluster is read.
    pub(super) fn whence(&self) -> Result<Whence<'_>, Stop> {
        let (context, namespace) = (self.kube_context.as_deref(), self.namespace.as_deref());
        Ok(Whence { context, namespace, deadline: duration(&self.deadline, "--deadline")? })
    }

    /// What these options say of the host.
    pub(super) fn told(&self) -> ToldHost {
        ToldHost {
            kind: self.host,
            release: self.release.clone(),
            namespace: self.namespace.clone(),
            context: self.kube_context.clone(),
            method: self.method,
            force: self.force_conflicts,
            rolls_back: self.rolls_back,
            prune: self.prune,
        }
    }

    /// The policy in force and everything else that these options say of a question.
    pub(super) fn setup(&self, untold: Untold<'_>) -> Result<Setup, Stop> {
        let policy = InForce::of(self.policy.as_deref(), untold, self.whence()?)?;
        let mut setup = Setup::new(policy, environment())?;
        packs::add(&self.pack, &mut setup.policy, &mut setup.policy_report)?;
        let length =
            |text: &Option<String>, option: &str| text.as_deref().map(|text| duration(text, option)).transpose();
        Ok(Setup {
            told: self.told(),
            live: Live::parse(&self.live),
            base: self.base.as_deref().map(Base::parse),
            storage_namespace: self.storage_namespace.clone(),
            providers: providers("--provider", &self.provider).map_err(Stop::usage)?,
            feature_gates: feature_gates(&self.feature_gate).map_err(Stop::usage)?,
            now: self.now.unwrap_or_else(Timestamp::now),
            now_is_told: self.now.is_some(),
            deadline: duration(&self.deadline, "--deadline")?,
            max_age: length(&self.max_age, "--max-age")?,
            wait: length(&self.wait, "--wait")?,
            ..setup
        })
    }

    /// How this run was called. Pins of a file are compared with the same objects again; those of a cluster are in the cluster.
    pub(super) fn called<'s>(&'s self, setup: &'s Setup, host: &'s Host) -> Called<'s> {
        Called {
            policy: setup.policy_file.as_deref(),
            packs: &self.pack,
            live: Some(self.live.as_str()).filter(|live| *live != "cluster" && setup.policy.pins.file.is_some()),
            namespace: host.namespace.as_deref(),
            context: host.context.as_deref(),
        }
    }
}

/// Versions of providers as an option tells them.
pub(super) fn providers(option: &str, told: &[String]) -> anyhow::Result<BTreeMap<String, Provider>> {
    told.iter()
        .map(|text| {
            let (name, version) =
                text.split_once('=').with_context(|| format!("{option} {text}: write NAME=VERSION"))?;
            let names = || rules::known().collect::<Vec<_>>().join(", ");
            let near = policy::nearest(name, rules::known());
            let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            let is_known = rules::is_known(name);
            ensure!(is_known, "{option} {text}: nothing is known about {name}{near}; known are {}", names());
            semver::Version::parse(version.trim_start_matches('v'))
                .with_context(|| format!("{option} {text}: {version} is no version such as v1.11.3"))?;
            Ok((name.to_owned(), Provider { version: version.to_owned(), evidence: "told".to_owned() }))
        })
        .collect()
}

pub(super) fn feature_gates(told: &[String]) -> anyhow::Result<BTreeMap<String, bool>> {
    told.iter()
        .map(|text| {
            let (name, on) = text.split_once('=').with_context(|| format!("--feature-gate {text}: write NAME=true"))?;
            let on = on.parse().with_context(|| format!("--feature-gate {text}: {on} is neither true nor false"))?;
            let known = || gates::all().map(|gate| gate.name);
            let near = policy::nearest(name, known()).filter(|near| *near != name);
            if let Some(near) = near.filter(|_| !known().any(|known| known == name)) {
                bail!("--feature-gate {text}: nothing depends on a gate {name}; did you mean {near}?");
            }
            Ok((name.to_owned(), on))
        })
        .collect()
}
