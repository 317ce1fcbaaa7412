//! `rollgate why`: which Machines are out of date or were replaced, which field says so, who wrote it, and what is due by itself.

mod tell;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::Args;

use self::tell::Teller;
use super::args::{Colour, CommonArgs};
use super::{Outside, Stop, setup};
use crate::cluster::Cluster;
use crate::compare::redact::Redactor;
use crate::exit::Exit;
use crate::host::Host;
use crate::judge::why;
use crate::kinds::Role;
use crate::kinds::contract::{self, MACHINE};
use crate::kinds::fields::number;
use crate::model::Basis;
use crate::object::{Key, Object};
use crate::pipeline;
use crate::providers::kind;
use crate::report::escape::{self, Visible};
use crate::report::why::{self as answer, WhyOwner, WhyReport, WhyRollout, headline};
use crate::session::{Session, Setup, Source, Tree, Untold, histories, is_called, owners, place};
use crate::world::{Unread, World, files, history};

/// Where nothing is asked about by name, rollouts that ended in so long a time are told.
const RECENT: jiff::SignedDuration = jiff::SignedDuration::from_hours(7 * 24);

/// Options of `why`.
#[derive(Debug, Args)]
pub struct WhyArgs {
    /// A cluster, an owner of Machines or a Machine: NAME, NAMESPACE/NAME or KIND/NAME; by default everything.
    #[arg(value_name = "CLUSTER|OWNER|MACHINE")]
    pub what: Option<String>,
    /// Rendered streams that say what to read, instead of every owner of Machines in the namespace (or everywhere); `helm get manifest`
    /// prints one (`-` for standard input).
    #[arg(long, value_name = "FILE")]
    pub of: Vec<PathBuf>,
    /// An earlier World or dump: then the report names those of its Machines that were replaced since.
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
    let setup = args.common.setup(Untold::look())?;
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
    let open = |path: &Path| files::open(path, &Host::default(), setup.now).map_err(Stop::usage);
    let (mut world, key, mut warnings) = match args.common.live.as_str() {
        "none" => return Err(Stop::usage(anyhow!("there is nothing to read; pass --live cluster or --live PATH"))),
        "cluster" => {
            let (mut world, cluster, warnings) = match args.of.is_empty() {
                true => of_owners(setup, outside)?,
                false => of_stream(args, setup, outside)?,
            };
            if let Some(cluster) = cluster {
                histories(&mut world, &cluster, args.what.as_deref(), setup)?;
            }
            (world, None, warnings)
        }
        path => {
            let opened = open(Path::new(path))?;
            (opened.world, opened.key_id, Vec::new())
        }
    };
    setup.tell(&mut world);
    if args.common.now.is_some() {
        world.now = setup.now;
    }
    if world.histories.is_empty() {
        world.histories = history::among(&world.live);
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

/// What is read of a cluster.
type Answers = (World, Option<Cluster>, Vec<String>);

/// Reads what a stream calls for.
fn of_stream(args: &WhyArgs, setup: &Setup, outside: &mut Outside<'_>) -> Result<Answers, Stop> {
    let of = Source::Paths { paths: args.of.clone(), kustomize: None };
    let input = of.render(Tree::here(), false, outside).map_err(Stop::usage)?;
    input.refuse_empty()?;
    let session = Session { setup, input: &input, is_hosts: false };
    let ready = session.read(outside).map_err(|stop| stop.about(&input))?;
    Ok((ready.world, ready.cluster, ready.warnings))
}

/// Reads all owners of Machines, with what they are made from.
fn of_owners(setup: &Setup, outside: &Outside<'_>) -> Result<Answers, Stop> {
    let outcome = owners(setup, outside)?;
    Ok((outcome.world, outcome.cluster, outcome.warnings))
}

impl Read {
    /// The answer.
    fn report(&self, args: &WhyArgs, setup: &Setup) -> Result<WhyReport, Stop> {
        let rules = pipeline::rules(&setup.policy).map_err(|faults| Stop::usage(pipeline::Fault::Rules(faults)))?;
        let redactor = self.redactor(setup);
        let versions = why::versions(&self.world);
        let teller = Teller { read: self, redactor: &redactor, versions: &versions };
        let mut owners: Vec<WhyOwner> = Vec::new();
        let mut unread: Vec<String> =
            self.unread().map(|one| format!("{}: {}; {}", one.what, one.why, one.remedy)).collect();
        let mut warnings = self.warnings.clone();
        for state in &why::now(&self.world, &rules) {
            if state.is_bare && state.machines > 0 {
                warnings.push(format!("{} has no Machines ({} wanted)", state.key, state.machines));
            } else if state.basis == Basis::Specs && state.machines > 0 {
                unread.push(format!("the Machines of {}: none was read", state.key));
            }
            owners.push(teller.owner(state, false));
        }
        for state in self.before.iter().flat_map(|before| why::between(before, &self.world, &rules)) {
            let told = teller.owner(&state, true);
            match owners.iter_mut().find(|owner| owner.owner == state.key) {
                Some(owner) => {
                    owner.outdated.splice(0..0, told.outdated).for_each(drop);
                    owner.topology =
                        if owner.topology.is_empty() { told.topology } else { std::mem::take(&mut owner.topology) };
                    owner.headline = headline(owner);
                }
                None => owners.push(told),
            }
        }
        unread.extend(self.unmirrored(args.what.as_deref()));
        let (mut quiet, mut older) = (0, 0);
        if let Some(what) = &args.what {
            self.refuse_unknown(what)?;
            owners.retain_mut(|owner| is_about(owner, what));
        } else {
            let newest = self.world.now.checked_sub(RECENT).unwrap_or(self.world.now);
            let is_recent =
                |rollout: &WhyRollout| rollout.until.parse::<jiff::Timestamp>().is_ok_and(|until| until >= newest);
            for owner in &mut owners {
                let all = owner.rollouts.len();
                owner.rollouts.retain(is_recent);
                older += usize::from(owner.rollouts.len() < all);
                owner.headline = headline(owner);
            }
        }
        owners.retain(|owner| {
            let says = !(owner.outdated.is_empty()
                && owner.rollouts.is_empty()
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
            older,
            unread,
            warnings,
            source: self.world.source.name.clone(),
        };
        report.each_text(|text| *text = redactor.text(text));
        Ok(report)
    }

    /// What could not be read, also of the histories.
    fn unread(&self) -> impl Iterator<Item = &Unread> {
        self.world.unread.iter().chain(self.world.histories.iter().flat_map(|history| &history.unread))
    }

    /// The owners of Machines of which nobody here knows how their controllers decide.
    fn unmirrored(&self, what: Option<&str>) -> impl Iterator<Item = String> {
        let live = &self.world.live;
        let has_machines = |object: &Object| {
            let (name, own) = (&object.key.kind, &object.key.name);
            let made = || live.owned_by(name, own).any(|one| kind(&one.key).role == Role::Machine);
            let wanted =
                || object.value().is_ok_and(|value| number(&value, "/spec/replicas").is_none_or(|count| count > 0));
            made() || kind(&object.key).role == Role::Pool && wanted()
        };
        let asked = move |object: &&Object| {
            let cluster = || object.value().ok().and_then(|value| place(object, &value));
            let of = || cluster().map(|(namespace, name)| contract::cluster(namespace.as_deref(), &name));
            what.is_none_or(|what| is_called(&object.key, what) || of().is_some_and(|of| is_called(&of, what)))
        };
        let owners = live.objects().iter().filter(|object| {
            let known = kind(&object.key);
            known.role.is_part_of_cluster() && known.mirror.is_none()
        });
        let told = owners.filter(asked).filter(move |object| has_machines(object));
        told.map(|object| {
            format!(
                "which Machines of {} are out of date: how its controller decides is not known here; look at its status",
                object.key
            )
        })
    }

    /// Whether there is anything of this name.
    fn refuse_unknown(&self, what: &str) -> Result<(), Stop> {
        // Of what could not be read nobody knows whether it is there.
        if !self.world.unread.is_empty() {
            return Ok(());
        }
        let worlds = std::iter::once(&self.world).chain(&self.before);
        // Of anything else nothing is said here, and that would read as if all were well.
        let can_be_asked = |key: &Key| {
            let role = kind(key).role;
            matches!(role, Role::Cluster | Role::Machine) || role.is_part_of_cluster()
        };
        let mut objects = worlds.flat_map(|world| world.live.objects());
        if objects.any(|object| is_called(&object.key, what) && can_be_asked(&object.key)) {
            return Ok(());
        }
        let source = &self.world.source.name;
        Err(Stop::usage(anyhow!("no cluster, owner of Machines or Machine is called {what:?} in {source}")))
    }

    /// What hides secrets: it has seen every Secret that was read.
    fn redactor(&self, setup: &Setup) -> Redactor {
        let worlds = || worlds_of(self).flat_map(|world| world.live.objects());
        let names = worlds().flat_map(|object| [Some(object.key.name.as_str()), object.key.namespace.as_deref()]);
        let mut redactor = Redactor::new(&setup.key)
            .with_patterns(setup.policy.redact.iter().map(String::as_str))
            .with_shown(setup.policy.show.iter().map(String::as_str))
            .with_names(names.flatten());
        let recorded = || worlds_of(self).flat_map(|world| &world.histories).flat_map(|history| &history.revisions);
        let of_releases = recorded().flat_map(|revision| revision.objects.objects());
        for object in worlds().chain(of_releases).filter(|object| object.key.is_secret()) {
            if let Ok(value) = object.value() {
                redactor.learn(&object.key, &value);
            }
        }
        redactor
    }
}

/// Both Worlds.
fn worlds_of(read: &Read) -> impl Iterator<Item = &World> {
    std::iter::once(&read.world).chain(&read.before)
}

/// Whether an owner, or some of its Machines, are what was asked about; other Machines are left out.
fn is_about(owner: &mut WhyOwner, what: &str) -> bool {
    let cluster = tell::cluster_of(owner);
    if is_called(&owner.owner, what) || cluster.is_some_and(|cluster| is_called(&cluster, what)) {
        return true;
    }
    let machine = |name: &String| owner.owner.sibling(MACHINE, name.as_str());
    let keep = |names: &mut Vec<String>| names.retain(|name| is_called(&machine(name), what));
    owner.outdated.iter_mut().for_each(|one| keep(&mut one.names));
    owner.outdated.retain(|one| !one.names.is_empty());
    owner.due.iter_mut().for_each(|due| keep(&mut due.names));
    owner.due = owner.due.take().filter(|due| !due.names.is_empty());
    // A Machine is of the rollout that it was made in.
    owner.rollouts.retain(|rollout| rollout.made.iter().any(|name| is_called(&machine(name), what)));
    owner.never_matches.clear();
    owner.remediation.retain(|line| what.rsplit('/').next().is_some_and(|name| line.contains(name)));
    owner.headline = headline(owner);
    !(owner.outdated.is_empty() && owner.rollouts.is_empty() && owner.due.is_none() && owner.remediation.is_empty())
}
