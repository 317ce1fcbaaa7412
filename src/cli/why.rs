//! `rollgate why`: which Machines are out of date or were replaced, which field says so, who wrote it, and what is due by itself.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::Args;
use serde_json::Value;

use super::args::{Colour, CommonArgs};
use super::run::Look;
use super::setup::{self, Setup, Untold};
use super::source::{Source, Tree};
use super::{Outside, Stop};
use crate::compare::Change;
use crate::compare::redact::Redactor;
use crate::exit::Exit;
use crate::host::{Host, writers};
use crate::judge::why::{self, Difference, OwnerState};
use crate::kinds::contract::{CLUSTER, CLUSTER_NAME, MACHINE};
use crate::model::Basis;
use crate::object::Key;
use crate::pipeline;
use crate::report::escape::{self, Visible};
use crate::report::why::{self as answer, WhyDue, WhyField, WhyMachines, WhyOwner, WhyReport};
use crate::world::{World, files};

/// Options of `why`.
#[derive(Debug, Args)]
pub struct WhyArgs {
    /// A cluster, an owner of Machines or a Machine: NAME, NAMESPACE/NAME or KIND/NAME; everything where nothing is said.
    #[arg(value_name = "CLUSTER|OWNER|MACHINE")]
    pub what: Option<String>,
    /// What the cluster is read for, with `--live cluster`: rendered streams, such as `helm get manifest` prints (`-` for
    /// standard input).
    #[arg(long, value_name = "FILE")]
    pub of: Vec<PathBuf>,
    /// An earlier World or dump: then those of its Machines are told that were replaced since.
    #[arg(long, value_name = "PATH")]
    pub before: Option<PathBuf>,
    /// Options that every judging command has; `-o` is human or json.
    #[command(flatten)]
    pub common: CommonArgs,
}

pub(super) fn run(args: &WhyArgs, colour: Colour, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let is_json = match args.common.output.as_slice() {
        [] => false,
        [format] if format == "human" => false,
        [format] if format == "json" => true,
        _ => return Err(Stop::usage(anyhow!("why writes to standard output: give -o human or -o json, once"))),
    };
    let setup = Setup::new(&args.common, Untold::Look)?;
    let read = read(args, &setup, outside)?;
    let mut report = read.report(args, &setup)?;
    report.each_text(|text| *text = escape::line(text).into_owned());
    if is_json {
        let mut json = serde_json::Serializer::with_formatter(&mut *outside.out, Visible);
        serde::Serialize::serialize(&report, &mut json)
            .context("cannot write to standard output")
            .map_err(Stop::internal)?;
        outside.out.write_all(b"\n").context("cannot write to standard output").map_err(Stop::internal)?;
    } else {
        let page = setup::page(colour, outside.out_is_terminal, false, outside);
        answer::write(&report, page, outside.out).context("cannot write to standard output").map_err(Stop::internal)?;
    }
    Ok(if report.is_whole { Exit::Allow } else { Exit::Undecided })
}

/// What was read.
struct Read {
    world: World,
    before: Option<World>,
    warnings: Vec<String>,
    /// Whether hidden values of both Worlds can be compared.
    is_comparable: bool,
}

/// Reads the World, and the earlier one where there is one.
fn read(args: &WhyArgs, setup: &Setup, outside: &mut Outside<'_>) -> Result<Read, Stop> {
    let open = |path: &Path| files::open(path, &Host::default(), setup.now()).map_err(Stop::usage);
    let (mut world, key, mut warnings) = match args.common.live.as_str() {
        "none" => return Err(Stop::usage(anyhow!("there is nothing to read; say --live cluster or --live PATH"))),
        "cluster" if args.of.is_empty() => {
            return Err(Stop::usage(anyhow!(
                "say what the cluster is read for: `helm get manifest RELEASE | rollgate why --of -`, or give a saved one with --live PATH"
            )));
        }
        "cluster" => {
            let of = Source::Paths { paths: args.of.clone(), kustomize: None };
            let input = of.render(Tree::here(), false).map_err(Stop::usage)?;
            input.refuse_empty()?;
            let look = Look { setup, args: &args.common, input: &input, piped: false };
            let seen = look.read(outside).map_err(|stop| stop.about(&input))?;
            (seen.world, None, seen.warnings)
        }
        path => {
            let opened = open(Path::new(path))?;
            (opened.world, opened.key_id, Vec::new())
        }
    };
    setup.tell(&mut world);
    if args.common.now.is_some() {
        world.now = setup.now();
    }
    let before = args.before.as_deref().map(open).transpose()?;
    let is_comparable = before.as_ref().is_none_or(|before| before.key_id == key);
    if !is_comparable {
        warnings.push(
            "the two snapshots hide values under different keys, so hidden values look different; take both with one ROLLGATE_KEY"
                .to_owned(),
        );
    }
    let before = before.map(|opened| {
        let mut world = opened.world;
        setup.tell(&mut world);
        world
    });
    Ok(Read { world, before, warnings, is_comparable })
}

impl Read {
    /// The answer.
    fn report(&self, args: &WhyArgs, setup: &Setup) -> Result<WhyReport, Stop> {
        let rules = pipeline::rules(&setup.policy).map_err(|faults| Stop::usage(pipeline::Fault::Rules(faults)))?;
        let redactor = self.redactor(setup);
        let mut owners: Vec<WhyOwner> = Vec::new();
        let mut unread: Vec<String> =
            self.world.unread.iter().map(|one| format!("{}: {}; {}", one.what, one.why, one.remedy)).collect();
        for state in &why::now(&self.world, &rules) {
            if state.basis == Basis::Specs && state.machines > 0 {
                unread.push(format!("the Machines of {}: none was read", state.key));
            }
            owners.push(self.owner(state, false, &redactor));
        }
        for state in self.before.iter().flat_map(|before| why::between(before, &self.world, &rules)) {
            let told = self.owner(&state, true, &redactor);
            match owners.iter_mut().find(|owner| owner.owner == state.key) {
                Some(owner) => owner.outdated.splice(0..0, told.outdated).for_each(drop),
                None => owners.push(told),
            }
        }
        let mut quiet = 0;
        if let Some(what) = &args.what {
            self.refuse_unknown(what)?;
            owners.retain_mut(|owner| is_about(owner, what));
        }
        owners.retain(|owner| {
            let says = !(owner.outdated.is_empty()
                && owner.never_matches.is_empty()
                && owner.due.is_none()
                && owner.remediation.is_empty());
            quiet += usize::from(!says);
            says
        });
        let mut report = WhyReport {
            api_version: "rollgate.dev/v1alpha1".to_owned(),
            kind: "Why".to_owned(),
            is_whole: unread.is_empty() && self.is_comparable,
            about: args.what.clone(),
            owners,
            quiet,
            unread,
            warnings: self.warnings.clone(),
            source: self.world.source.name.clone(),
        };
        report.each_text(|text| *text = redactor.text(text));
        Ok(report)
    }

    /// Whether there is anything of this name.
    fn refuse_unknown(&self, what: &str) -> Result<(), Stop> {
        let worlds = std::iter::once(&self.world).chain(&self.before);
        if worlds.flat_map(|world| world.live.objects()).any(|object| is_called(&object.key, what)) {
            return Ok(());
        }
        Err(Stop::usage(anyhow!("nothing is called {what:?} in {}", self.world.source.name)))
    }

    /// What hides secrets: it has seen every Secret that was read.
    fn redactor(&self, setup: &Setup) -> Redactor {
        let worlds = || std::iter::once(&self.world).chain(&self.before).flat_map(|world| world.live.objects());
        let names = worlds().flat_map(|object| [Some(object.key.name.as_str()), object.key.namespace.as_deref()]);
        let mut redactor = Redactor::new(&setup.key)
            .with_patterns(setup.policy.redact.iter().map(String::as_str))
            .with_shown(setup.policy.show.iter().map(String::as_str))
            .with_names(names.flatten());
        for object in worlds().filter(|object| object.key.is_secret()) {
            if let Ok(value) = object.value() {
                redactor.learn(&object.key, &value);
            }
        }
        redactor
    }

    /// What is said of one owner.
    fn owner(&self, state: &OwnerState, is_replaced: bool, redactor: &Redactor) -> WhyOwner {
        let live = self.world.live.get(&state.key).and_then(|object| object.value().ok());
        let live = live.as_deref().unwrap_or(&Value::Null);
        // A Machine may be compared with two forms of one configuration.
        let fields = |all: &[Difference]| {
            let mut out: Vec<WhyField> = Vec::new();
            for field in all.iter().map(|one| field(&state.key, one, live, redactor)) {
                if !out.contains(&field) {
                    out.push(field);
                }
            }
            out
        };
        let mut outdated: Vec<WhyMachines> = Vec::new();
        for machines in &state.outdated {
            let fields = fields(&machines.differences);
            match outdated.iter_mut().find(|one| one.fields == fields) {
                Some(same) => same.names.extend(machines.names.iter().cloned()),
                None => outdated.push(WhyMachines { names: machines.names.clone(), is_replaced, fields }),
            }
        }
        let due = state.soon.as_ref().map(|due| WhyDue {
            at: due.at.to_string(),
            names: due.names.clone(),
            fields: fields(&due.differences),
        });
        WhyOwner {
            owner: state.key.clone(),
            cluster: state.cluster.as_ref().map(|cluster| cluster.name.clone()),
            machines: state.machines,
            held: state.held.clone().filter(|_| !outdated.is_empty() && !is_replaced),
            never_matches: fields(&state.perpetual),
            due,
            remediation: self.remediation(state, live),
            managed_by: managed_by(live),
            outdated,
        }
    }

    /// Remediations of an owner's Machines that go on: what its annotation says, and how often it was tried.
    fn remediation(&self, state: &OwnerState, live: &Value) -> Vec<String> {
        let tried = |text: &str| {
            let value: Value = serde_json::from_str(text).ok()?;
            let machine = value.get("machine").and_then(Value::as_str)?.to_owned();
            Some((machine, value.get("retryCount").and_then(Value::as_u64).unwrap_or(0)))
        };
        let note = |object: &Value, name: &str| {
            object.pointer("/metadata/annotations").and_then(|all| all.get(name)?.as_str()).and_then(tried)
        };
        let mut out: Vec<String> = Vec::new();
        if let Some((machine, count)) = note(live, REMEDIATING) {
            out.push(format!("being remediated: {machine}, tried {count} times before"));
        }
        let cluster = state.cluster.as_ref().map(|cluster| cluster.name.as_str()).unwrap_or_default();
        let machines = self.world.live.of_kind(MACHINE).filter(|object| object.key.namespace == state.key.namespace);
        for machine in machines {
            let Ok(value) = machine.value() else { continue };
            let label = value.pointer("/metadata/labels").and_then(|labels| labels.get(CLUSTER_NAME)?.as_str());
            let is_own = value.pointer("/metadata/ownerReferences").and_then(Value::as_array).is_some_and(|owners| {
                owners.iter().any(|owner| owner.get("name").and_then(Value::as_str) == Some(&state.key.name))
            });
            if let Some((old, count)) = note(&value, REMEDIATED_FOR).filter(|_| is_own && label == Some(cluster)) {
                out.push(format!(
                    "{} was made in the place of {old}, which was unhealthy; try {}",
                    machine.key.name,
                    count + 1
                ));
            }
        }
        out
    }
}

/// Annotation of a control plane whose remediation runs (Cluster API `controlplane/kubeadm/api/v1beta1`, RKE2 alike).
const REMEDIATING: &str = "controlplane.cluster.x-k8s.io/remediation-in-progress";
/// Annotation of a Machine that was made in the place of an unhealthy one.
const REMEDIATED_FOR: &str = "controlplane.cluster.x-k8s.io/remediation-for";

/// A field with both sides as they may be shown, and who wrote it.
fn field(key: &Key, one: &Difference, live: &Value, redactor: &Redactor) -> WhyField {
    let mut change = Change::unjudged(one.path.clone(), one.before.clone(), one.after.clone());
    redactor.change(key, &mut change);
    let wrote = |writer: writers::Writer| match writer.time {
        Some(time) => format!("{} ({}), which last wrote the object {time}", writer.manager, writer.operation),
        None => format!("{} ({})", writer.manager, writer.operation),
    };
    WhyField {
        path: one.path.to_string(),
        before: change.before,
        after: change.after,
        detail: one.detail.clone(),
        rule: one.rule.to_owned(),
        writers: writers::writers(live, &one.path).into_iter().map(wrote).collect(),
    }
}

/// Labels and annotations that say who manages an object, each with what it means.
const MANAGERS: [(&str, &str); 5] = [
    ("meta.helm.sh/release-name", "of the Helm release"),
    ("helm.toolkit.fluxcd.io/name", "of the HelmRelease of Flux"),
    ("kustomize.toolkit.fluxcd.io/name", "of the Kustomization of Flux"),
    ("argocd.argoproj.io/tracking-id", "of the Application of Argo CD"),
    ("topology.cluster.x-k8s.io/owned", "written by the topology of its Cluster: look there and at its class"),
];

/// Who manages an object, as its labels and annotations say.
fn managed_by(object: &Value) -> Vec<String> {
    let of = |map: &str, name: &str| object.pointer(&format!("/metadata/{map}"))?.get(name)?.as_str();
    MANAGERS
        .iter()
        .filter_map(|(name, what)| Some((of("annotations", name).or_else(|| of("labels", name))?, what)))
        .map(|(value, what)| format!("{what} {value}").trim_end().to_owned())
        .collect()
}

/// Whether an owner, or some of its Machines, are what was asked about; other Machines are left out.
fn is_about(owner: &mut WhyOwner, what: &str) -> bool {
    let cluster =
        owner.cluster.as_ref().map(|name| Key { kind: CLUSTER.to_owned(), name: name.clone(), ..owner.owner.clone() });
    if is_called(&owner.owner, what) || cluster.is_some_and(|cluster| is_called(&cluster, what)) {
        return true;
    }
    let machine = |name: &String| Key { kind: MACHINE.to_owned(), name: name.clone(), ..owner.owner.clone() };
    let keep = |names: &mut Vec<String>| names.retain(|name| is_called(&machine(name), what));
    owner.outdated.iter_mut().for_each(|one| keep(&mut one.names));
    owner.outdated.retain(|one| !one.names.is_empty());
    owner.due.iter_mut().for_each(|due| keep(&mut due.names));
    owner.due = owner.due.take().filter(|due| !due.names.is_empty());
    owner.never_matches.clear();
    owner.remediation.clear();
    !owner.outdated.is_empty() || owner.due.is_some()
}

/// Whether an object is called so: by its name, with its namespace or with its kind before it.
fn is_called(key: &Key, what: &str) -> bool {
    match what.rsplit_once('/') {
        None => key.name == what,
        Some((first, name)) => {
            key.name == name && (key.namespace.as_deref() == Some(first) || key.kind.eq_ignore_ascii_case(first))
        }
    }
}
