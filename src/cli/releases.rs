//! `rollgate plan --all`: every release that the policy lists, rendered and judged beside each other, in one report with the worst
//! exit code. What cannot be judged in one of them ends the run: a report without it could be taken for the whole.

use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::anyhow;

use super::args::{Colour, CommonArgs, PlanArgs};
use super::plan::{CaseSaid, Judged, PlanCase};
use super::{Outside, Stop, setup};
use crate::exit::Exit;
use crate::pipeline::Apart;
use crate::policy::{Doubt, ListedRelease, Policy};
use crate::report;
use crate::session::{Chart, InForce, Revisions, Source, Trees, Untold, runtime};
use crate::verdict;

/// Stack of a thread that judges: as much as the first one has.
const STACK: usize = 8 * 1024 * 1024;
/// Most releases at once: each may run a Helm and hold the World of a cluster.
const MOST: usize = 8;

/// One release that is judged.
pub(super) struct Job {
    pub(super) title: String,
    pub(super) context: Option<String>,
    pub(super) common: CommonArgs,
    pub(super) new: Source,
    /// The two revisions, and what it was rendered from before.
    pub(super) before: Option<(Arc<Trees>, Source, bool)>,
    /// What is judged beside it.
    pub(super) apart: Option<Arc<Apart>>,
}

pub(super) fn run(args: &PlanArgs, colour: Colour, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let (jobs, notes) = match &args.revisions.base_ref {
        None => (here(args)?, Vec::new()),
        Some(base) => between(args, base, outside)?,
    };
    if jobs.is_empty() {
        return Err(Stop::usage(anyhow!(
            "no release to judge: `releases` of the policy in force lists none, or none that --release and --namespace ask for; --policy FILE \
             names another policy"
        )));
    }
    judge(&jobs, notes, args, colour, outside)
}

/// Judges some releases beside each other, and writes one report of them.
pub(super) fn judge(
    jobs: &[Job],
    notes: Vec<String>,
    args: &PlanArgs,
    colour: Colour,
    outside: &mut Outside<'_>,
) -> Result<Exit, Stop> {
    let outputs = setup::outputs(&args.common, &args.source.read())?;
    // Made before several threads could make one each.
    runtime()?;
    let mut judged = Vec::new();
    let mut faults = Vec::new();
    for (job, (said, err)) in jobs.iter().zip(all(jobs, args)) {
        // A closed standard error leaves nothing to say it with.
        drop(outside.err.write_all(&err));
        match said {
            Ok(mut one) => {
                one.report.host.context =
                    job.context.as_deref().map(|context| report::escape::line(context).into_owned());
                judged.push(one);
            }
            Err(stop) => faults.push((stop.exit, format!("release {}: {:#}", job.title, stop.error))),
        }
    }
    if let Some(exit) = faults.iter().map(|(exit, _)| *exit).min() {
        let lines: Vec<String> = faults.into_iter().map(|(_, line)| line).collect();
        return Err(Stop { exit, error: anyhow!("{}", lines.join("\n")) });
    }
    let (mut reports, mut setups): (Vec<_>, Vec<_>) = judged.into_iter().map(|one| (one.report, one.setup)).unzip();
    if let Some(first) = reports.first_mut() {
        first.warnings.extend(notes.iter().map(|note| report::escape::line(note).into_owned()));
    }
    let page = setup::page(colour, outside.out_is_terminal, args.common.summary, outside);
    if let Some(setup) = setups.pop() {
        for output in &outputs {
            output.write(&reports, page, &setup.env, outside.out).map_err(Stop::internal)?;
        }
    }
    Ok(verdict::exit(report::decision(&reports)))
}

/// What became of a job, and what it said meanwhile.
type Outcome = (Result<Judged, Stop>, Vec<u8>);

/// What became of each job, in their order.
fn all(jobs: &[Job], args: &PlanArgs) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<Outcome>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while let Some((at, job)) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, jobs.get(at)?)))
        {
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let mut quiet =
                Outside { out: &mut out, err: &mut err, out_is_terminal: false, err_is_terminal: false, columns: None };
            let said = job.judge(at, args, &mut quiet);
            if let Some(slot) = done.get(at) {
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some((said, err));
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST).min(jobs.len());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            // Without threads the work is done below.
            drop(std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work));
        }
        work();
    });
    let lost = || (Err(Stop::internal(anyhow!("its judgement was lost"))), Vec::new());
    done.into_iter()
        .map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or_else(lost))
        .collect()
}

impl Job {
    fn judge(&self, at: usize, args: &PlanArgs, outside: &mut Outside<'_>) -> Result<Judged, Stop> {
        let mut case = match &self.before {
            None => PlanCase::of(&self.new, self.common.clone(), outside)?,
            Some((trees, old, may_be_new)) => {
                let revisions = Revisions::render(trees, at, Some(old), &self.new, *may_be_new, outside)?;
                PlanCase::of_revisions(revisions, self.common.clone())
            }
        };
        // What was rendered before brings its own; a chart of the list says what it is.
        if let Some(apart) = &self.apart {
            case.apart = Arc::clone(apart);
        }
        match case.judge(&args.asked, outside)? {
            CaseSaid::Report(judged) => Ok(*judged),
            CaseSaid::Reads(..) => Err(Stop::usage(anyhow!("--explain-reads is for one release"))),
        }
    }
}

/// The releases of the policy in force, compared with what is live.
fn here(args: &PlanArgs) -> Result<Vec<Job>, Stop> {
    let InForce { policy, folder, .. } =
        InForce::of(args.common.policy.as_deref(), Untold::look(), args.common.whence()?)?;
    // A policy that was found upward is named by its whole path; a report names files from here where it can.
    let here = std::env::current_dir().unwrap_or_default();
    let folder = folder.strip_prefix(&here).map(Path::to_owned).unwrap_or(folder);
    let listed = policy.releases.iter().filter(|listed| is_asked(listed, &args.common));
    Ok(listed.map(|listed| job(listed, args, &args.common, &folder)).collect())
}

/// The releases of a change. Which there are is what the change says, and how they are judged what the base says; one that the
/// change takes from the list is no longer judged by anybody, which the base has to allow.
fn between(args: &PlanArgs, base: &str, outside: &Outside<'_>) -> Result<(Vec<Job>, Vec<String>), Stop> {
    let trees = Trees::open(args.revisions.asked(base), outside)?;
    let told = args.common.policy.as_deref();
    let whence = args.common.whence()?;
    let list =
        |file: String| InForce::of(Some(&file), Untold::look(), whence).map(|found| (found.policy, found.folder));
    let named = |stop: Stop| stop.respelt(|text| trees.named(text));
    let (new, new_folder) = list(trees.policy_of_change(told)?).map_err(named)?;
    let before = trees.policy_before(told)?;
    // A base that had no policy listed nothing.
    let (old, old_folder) = match Path::new(&before).is_file() {
        true => list(before).map_err(named)?,
        false => (Policy::default(), new_folder.clone()),
    };
    let mut common = args.common.clone();
    common.under(&trees)?;
    let decides = match common.policy.as_deref() {
        Some(file) if file != "none" && !Path::new(file).is_file() => {
            return Err(Stop::usage(anyhow!(
                "{} is not there: what decides comes from the base, never from the change",
                trees.named(file)
            )));
        }
        file => list(file.unwrap_or("none").to_owned()).map_err(named)?.0,
    };
    let asked = |listed: &&ListedRelease| is_asked(listed, &args.common);
    let mut jobs = Vec::new();
    for listed in new.releases.iter().filter(asked) {
        let was = old.releases.iter().find(|other| other.is_same(listed));
        let mut job = job(listed, args, &common, &new_folder);
        if let Some(file) = files(&job.new).find(|file| !trees.is_in_change(file)) {
            return Err(Stop::usage(anyhow!(
                "release {} names {}, which is outside of the repository and not what was reviewed",
                job.title,
                file.display()
            )));
        }
        // What is listed for the first time may be as old as its chart: it is compared with what that rendered.
        let source = was.map_or_else(|| job.new.clone(), |was| source(was, args, &old_folder));
        job.before = Some((Arc::clone(&trees), source, was.is_none() || args.revisions.new_chart));
        jobs.push(job);
    }
    let mut notes = Vec::new();
    for gone in old.releases.iter().filter(asked).filter(|old| !new.releases.iter().any(|new| new.is_same(old))) {
        let text = format!(
            "release {} is listed in {base} and no longer in the change, so nobody judges what becomes of it",
            gone.title()
        );
        match decides.unseen.release {
            Doubt::Undecided => {
                return Err(Stop::undecided(anyhow!(
                    "{text}; plan its removal by itself, or let the policy of {base} say unseen: {{release: warn}}"
                )));
            }
            Doubt::Warn => notes.push(text),
            Doubt::Allow => {}
        }
    }
    Ok((jobs, notes))
}

/// The files of this machine that something is rendered from.
fn files(source: &Source) -> Box<dyn Iterator<Item = &Path> + '_> {
    match source {
        Source::Paths { paths, .. } => Box::new(paths.iter().map(PathBuf::as_path)),
        Source::Chart(chart) => Box::new(chart.files()),
        Source::Command(_) | Source::Given { .. } => Box::new(std::iter::empty()),
    }
}

/// Whether the options ask for a release.
fn is_asked(listed: &ListedRelease, common: &CommonArgs) -> bool {
    let fits = |told: &Option<String>, own: Option<&str>| told.as_deref().is_none_or(|told| own == Some(told));
    fits(&common.release, Some(&listed.name)) && fits(&common.namespace, listed.namespace.as_deref())
}

fn job(listed: &ListedRelease, args: &PlanArgs, common: &CommonArgs, folder: &Path) -> Job {
    let live = match listed.live.as_deref() {
        None => common.live.clone(),
        Some(word @ ("cluster" | "none")) => word.to_owned(),
        Some(path) => beside(folder, path).display().to_string(),
    };
    let common = CommonArgs {
        release: Some(listed.name.clone()),
        namespace: listed.namespace.clone(),
        kube_context: listed.kube_context.clone().or_else(|| common.kube_context.clone()),
        live,
        ..common.clone()
    };
    Job {
        title: listed.title(),
        context: listed.kube_context.clone(),
        common,
        new: source(listed, args, folder),
        before: None,
        apart: None,
    }
}

/// A path beside the policy as a repository calls it: `a/../b` is `b`, unless a link makes that another file. Services that show
/// findings beside the lines of a change know a file by that name alone.
fn beside(folder: &Path, path: &str) -> PathBuf {
    let whole = folder.join(path);
    let mut short = PathBuf::new();
    for part in whole.components() {
        match (part, short.components().next_back()) {
            (Component::CurDir, _) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => drop(short.pop()),
            _ => short.push(part),
        }
    }
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    if real(&short).is_some_and(|short| Some(short) == real(&whole)) { short } else { whole }
}

/// What a release of the list is rendered from.
fn source(listed: &ListedRelease, args: &PlanArgs, folder: &Path) -> Source {
    let Some(chart) = &listed.chart else {
        let paths: Vec<PathBuf> = listed.paths.iter().map(|path| beside(folder, path)).collect();
        return Source::Paths { paths, kustomize: args.source.kustomize.clone() };
    };
    let text = |path: &String| folder.join(path).display().to_string();
    // What is no file is what Helm knows by a repository or a registry.
    let is_file = chart.starts_with(['.', '/']) || folder.join(chart).exists();
    let values = listed.values.iter().map(|file| if file.contains("://") { file.clone() } else { text(file) });
    Source::Chart(Chart {
        helm: args.source.helm.clone(),
        chart: if is_file { text(chart) } else { chart.clone() },
        is_remote: !is_file,
        values: values.collect(),
        builds_dependencies: args.source.dependency_build,
        args: listed.set.iter().flat_map(|value| ["--set".to_owned(), value.clone()]).collect(),
        release: listed.name.clone(),
        namespace: listed.namespace.clone(),
        context: listed.kube_context.clone(),
        first: false,
        is_alone: args.revisions.base_ref.is_none() && listed.live.as_ref().unwrap_or(&args.common.live) == "none",
    })
}
