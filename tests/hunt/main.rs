//! The hunt: seeded walks through the situations that clusters get into, played on the bench with the real controllers. Before
//! each write rollgate forecasts, from the cluster and from a snapshot; after it what happens is compared (`make hunt`).
//!
//! What earlier walks found (`tests/hunt/found`) is played first. `ROLLGATE_HUNT_MINUTES` (0 for no new walk),
//! `ROLLGATE_HUNT_SEED`, `ROLLGATE_HUNT_LANES`; `ROLLGATE_HUNT_FINDS` is the folder for what is found, and `ROLLGATE_HUNT_SCRIPT`
//! a script of one to play again.

#[path = "../e2e/api.rs"]
#[expect(dead_code, reason = "the end-to-end tests use the rest")]
mod api;
#[path = "../e2e/bench.rs"]
#[expect(dead_code, reason = "the end-to-end tests use the rest")]
mod bench;
#[path = "../e2e/helm.rs"]
#[expect(dead_code, reason = "the end-to-end tests use the rest")]
mod helm;
mod keep;
mod lookout;
mod names;
mod narrow;
mod objects;
#[path = "../e2e/observe.rs"]
#[expect(dead_code, reason = "the end-to-end tests use the rest")]
mod observe;
mod score;
mod seed;
#[path = "../e2e/servers.rs"]
mod servers;
mod situations;
mod stage;
#[path = "../bench/starter.rs"]
mod starter;
mod steps;
mod tables;
mod writes;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use bench::{Bench, Space, say};
use lookout::{Lookout, watched};
use narrow::Narrow;
use objects::{Objects, Shape};
use score::{Figures, Mark};
use seed::{Seed, smallest};
use stage::{Forecast, Outcome, Stage, Writer};
use steps::{Draw, Step, Write};

/// Writes that one cluster gets before a fresh one takes its place: what is broken for good must not hide what comes later.
const WRITES: usize = 10;
/// Users who may not read a kind that are asked about each write that is held.
const BLIND: usize = 3;
/// Replays that one find may cost.
const REPLAYS: usize = 6;

/// A walk that can be played again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Script {
    pub(crate) seed: u64,
    pub(crate) shape: Shape,
    pub(crate) writer: Writer,
    pub(crate) steps: Vec<Step>,
}

impl Script {
    /// Where it is now, and who writes to what.
    pub(crate) fn place(&self) -> String {
        format!("seed {} step {} {:?} {:?}", self.seed, self.steps.len(), self.shape, self.writer)
    }
}

/// One change that was played.
pub(crate) struct Played {
    pub(crate) forecast: Forecast,
    pub(crate) outcome: Outcome,
    pub(crate) mark: Mark,
    /// What was written.
    pub(crate) stream: String,
    /// The snapshot that was taken before.
    pub(crate) world: PathBuf,
    /// What was written before.
    pub(crate) base: Objects,
    /// How long the forecast took, with that of the snapshot.
    pub(crate) asked: Duration,
    /// How long it all took.
    pub(crate) took: Duration,
}

impl Played {
    /// Whether the host or rollgate did not reach the API server, as on a machine that has no time for it.
    fn is_lost(&self) -> bool {
        const SIGNS: [&str; 5] = [
            "TLS handshake timeout",
            "client connection lost",
            "connection refused",
            "context deadline exceeded",
            "deadline has elapsed",
        ];
        let said = [self.outcome.refused.clone().unwrap_or_default(), self.forecast.report["reasons"].to_string()];
        said.iter().any(|said| SIGNS.iter().any(|sign| said.contains(sign)))
    }
}

/// All that the walks share.
struct Hunt {
    bench: &'static Bench,
    lookout: Lookout,
    /// How long new walks go on.
    time: Duration,
    /// When they end, once they began.
    until: OnceLock<Instant>,
    figures: Mutex<Figures>,
    /// What was found before and is not foretold yet.
    missed: Mutex<Vec<String>>,
    clusters: AtomicUsize,
    finds: keep::Finds,
    narrow: Narrow,
    /// What was allowed to who may not read a kind, and held for who may.
    blind: Mutex<Vec<String>>,
}

/// Forecasts a write, makes it, compares.
fn play(stage: &mut Stage<'_>, write: &Write) -> Played {
    let began = Instant::now();
    let base = stage.objects.clone();
    let mut objects = base.clone();
    write.edits.iter().for_each(|edit| edit.apply(&mut objects));
    let forecast = stage.forecast(&objects, write.way);
    let asked = began.elapsed();
    let stream = Stage::stream(&objects);
    // What was on its way out when the forecast was made is nothing that the write did, however late it is seen here.
    let going = stage.going();
    let mut outcome = stage.act(objects, write.way, write.hurried);
    outcome.due.extend(going);
    let mark = score::mark(&forecast, &outcome, write.hurried);
    stage.announce(score::names(&forecast.report), &outcome.gone);
    Played { forecast, outcome, mark, stream, world: stage.world(), base, asked, took: began.elapsed() }
}

impl Hunt {
    fn is_over(&self) -> bool {
        self.until.get().is_some_and(|until| Instant::now() > *until)
    }

    /// A fresh cluster.
    fn stage(&self, shape: Shape, writer: Writer) -> Option<Stage<'_>> {
        let number = self.clusters.fetch_add(1, Ordering::Relaxed);
        Stage::new(self.bench, &format!("hunt-{number}"), &self.lookout, shape, writer)
    }

    /// Walks from one fresh cluster to the next until the time is over.
    fn lane(&self, first: u64, lanes: u64) {
        let mut number = first;
        while !self.is_over() {
            self.walk(number);
            number += lanes;
        }
    }

    /// One walk: everything in it comes from its number.
    fn walk(&self, number: u64) {
        let mut seed = Seed::new(number);
        let shape = *seed.pick(&Shape::ALL);
        let writer = *seed.pick(&Writer::ALL);
        let Some(mut stage) = self.stage(shape, writer) else {
            say(&format!("seed {number}: {shape:?} by {writer:?} does not come up"));
            return;
        };
        let mut script = Script { seed: number, shape, writer, steps: Vec::new() };
        let mut past = vec![stage.objects.clone()];
        let (mut writes, mut refused) = (0, 0);
        while writes < WRITES && refused < 3 && !self.is_over() {
            let sight = stage.sight();
            let machines = sight.all("machines").count();
            if writes > 0 && machines == 0 {
                break;
            }
            let step = Draw { shape, objects: &stage.objects, past: &past, machines, under_way: stage.is_under_way() }
                .step(&mut seed);
            script.steps.push(step.clone());
            let write = match &step {
                Step::Act(act) => {
                    stage.meddle(act);
                    stage.rest();
                    continue;
                }
                Step::Write(write) => write,
            };
            self.ask_blindly(&script, &stage, write);
            let played = play(&mut stage, write);
            if !write.hurried && !played.outcome.rested {
                stage.rest();
            }
            // A cluster that nobody reaches is no answer of a controller.
            if played.is_lost() {
                say(&format!("seed {} step {}: the API server was out of reach", script.seed, script.steps.len()));
                break;
            }
            refused = if played.outcome.refused.is_some() { refused + 1 } else { 0 };
            writes += 1;
            past.push(stage.objects.clone());
            self.tell(&script, write, &played);
            // Nothing reaches a cluster that has lost its address: what is foretold of it can no longer be seen.
            if played.outcome.cut {
                break;
            }
        }
    }

    /// Asks again as some who may not read one kind each. What controllers have done meanwhile is no blindness, so it is asked a few times.
    fn ask_blindly(&self, script: &Script, stage: &Stage<'_>, write: &Write) {
        let mut objects = stage.objects.clone();
        write.edits.iter().for_each(|edit| edit.apply(&mut objects));
        let held = || stage.decision(&objects, write.way, &self.bench.kubeconfig) != "allow";
        if !held() {
            return;
        }
        let first = usize::try_from(script.seed).unwrap_or_default() * 7 + script.steps.len() * BLIND;
        for user in (first..first + BLIND).map(|number| self.narrow.user(number)) {
            let allowed = || stage.decision(&objects, write.way, &user.kubeconfig) == "allow";
            if (0..3).all(|_| allowed() && held()) {
                let (group, resource) = &user.kept;
                let (place, class) = (script.place(), &write.class);
                let line = format!("{place} {class}: held, and allowed to who may not read {resource} of {group:?}");
                say(&format!("! {line}"));
                self.blind.lock().expect("no thread panics with it").push(line);
            }
        }
    }

    /// Notes how a change fared, and keeps it where the forecast was wrong.
    fn tell(&self, script: &Script, write: &Write, played: &Played) {
        let line = score::line(&played.forecast, &played.outcome);
        let mark = if played.mark == Mark::Agrees { " " } else { "!" };
        say(&format!(
            "{mark} {} {} {}: {line}; {:.1} s, of which asked {:.1} s and written {:.1} s",
            script.place(),
            write.class,
            played.mark.word(),
            played.took.as_secs_f64(),
            played.asked.as_secs_f64(),
            played.outcome.written.as_secs_f64()
        ));
        self.figures.lock().expect("no thread panics with it").add(
            &write.class,
            played.mark,
            played.took.as_secs_f64(),
        );
        if played.mark > Mark::Doubt {
            let folder = self.finds.keep(script, write, played, &line);
            if played.mark >= Mark::FalseHold && !self.is_over() {
                let small = self.shrink(script, played.mark);
                keep::note(&folder, &small);
            }
        }
    }

    /// The shortest script that still shows a mark, as far as the replays go.
    fn shrink(&self, script: &Script, mark: Mark) -> Script {
        let mut left = REPLAYS;
        let mut shows = |script: &Script| {
            left = left.saturating_sub(1);
            left > 0 && !self.is_over() && self.replay(script).is_some_and(|played| played.mark == mark)
        };
        let with = |steps: &[Step]| Script { steps: steps.to_vec(), ..script.clone() };
        let mut small = script.clone();
        for kept in [1, 2, 4] {
            let tail = with(&script.steps[script.steps.len().saturating_sub(kept)..]);
            if tail.steps.len() < script.steps.len() && shows(&tail) {
                small = tail;
                break;
            }
        }
        if let Some(Step::Write(last)) = small.steps.last().cloned()
            && last.edits.len() > 1
        {
            let edits = smallest(&last.edits, |edits| {
                let mut trial = small.clone();
                trial.steps.pop();
                trial.steps.push(Step::Write(Write { edits: edits.to_vec(), ..last.clone() }));
                shows(&trial)
            });
            small.steps.pop();
            small.steps.push(Step::Write(Write { edits, ..last }));
        }
        small
    }

    /// Plays what an earlier walk found.
    fn again(&self, (name, script): &(String, Script)) {
        let began = Instant::now();
        let played = self.replay(script).unwrap_or_else(|| panic!("{name}: the cluster does not come up"));
        let mark = if played.mark == Mark::Agrees { " " } else { "!" };
        let line = score::line(&played.forecast, &played.outcome);
        let told = format!("{name} {}: {line}", played.mark.word());
        say(&format!("{mark} found before: {told}"));
        if played.mark > Mark::Doubt {
            self.missed.lock().expect("no thread panics with it").push(told);
        }
        self.figures.lock().expect("no thread panics with it").add(
            "found before",
            played.mark,
            began.elapsed().as_secs_f64(),
        );
    }

    /// Plays a script on a fresh cluster; what its last write gave.
    fn replay(&self, script: &Script) -> Option<Played> {
        let mut stage = self.stage(script.shape, script.writer)?;
        let mut last = None;
        for step in &script.steps {
            match step {
                Step::Act(act) => {
                    stage.meddle(act);
                    stage.rest();
                }
                Step::Write(write) => last = Some(play(&mut stage, write)),
            }
        }
        last
    }
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// The bench, where it is built.
fn started() -> Option<&'static Bench> {
    static BENCH: OnceLock<Option<Bench>> = OnceLock::new();
    BENCH.get_or_init(start).as_ref()
}

fn start() -> Option<Bench> {
    let needed = [
        "core",
        "bootstrap",
        "controlplane",
        "capd",
        "rke2-bootstrap",
        "rke2-controlplane",
        "helm3",
        "helm4",
        "kubectl",
    ];
    match starter::find(&needed) {
        Ok(bin) => Some(bench::start(bin, "hunt", &["--without-flux"])),
        Err(missing) if std::env::var("CI").as_deref() == Ok("true") => panic!("{missing}; in CI that is a failure"),
        Err(missing) => {
            say(&format!("skipped: the hunt, because {missing} (build it with `make bench`)"));
            None
        }
    }
}

#[test]
fn no_forecast_is_falsely_safe() {
    let Some(bench) = started() else { return };
    let minutes = number("ROLLGATE_HUNT_MINUTES", 3);
    let (first, lanes) = (number("ROLLGATE_HUNT_SEED", 1), number("ROLLGATE_HUNT_LANES", 8));
    let hunt = Hunt {
        bench,
        lookout: Lookout::default(),
        time: Duration::from_secs(60 * minutes),
        until: OnceLock::new(),
        figures: Mutex::default(),
        missed: Mutex::default(),
        clusters: AtomicUsize::new(0),
        finds: keep::Finds::new(&bench.out),
        narrow: Narrow::of(bench),
        blind: Mutex::default(),
    };
    let looking = AtomicBool::new(true);
    std::thread::scope(|scope| {
        let (hunt, looking) = (&hunt, &looking);
        for resource in watched() {
            scope.spawn(move || hunt.lookout.listen(&hunt.bench.api, resource, looking));
        }
        if let Some(script) = keep::script() {
            let played = hunt.replay(&script).expect("the cluster comes up");
            say(&format!("{}: {}", played.mark.word(), score::line(&played.forecast, &played.outcome)));
            hunt.figures.lock().expect("no thread panics with it").add("script", played.mark, 0.0);
        } else {
            let found: Vec<_> = keep::found().into_iter().map(|one| scope.spawn(move || hunt.again(&one))).collect();
            found.into_iter().for_each(|one| drop(one.join()));
            hunt.until.get_or_init(|| Instant::now() + hunt.time);
            let walks: Vec<_> = (0..lanes).map(|lane| scope.spawn(move || hunt.lane(first + lane, lanes))).collect();
            walks.into_iter().for_each(|walk| drop(walk.join()));
        }
        looking.store(false, Ordering::Relaxed);
    });
    let figures = hunt.figures.into_inner().expect("no thread panics with it");
    say(&format!("{}\nseeds from {first}, {lanes} lanes, {minutes} minutes", figures.table()));
    assert!(figures.played() > 0, "nothing was played");
    let missed = hunt.missed.into_inner().expect("no thread panics with it");
    assert!(missed.is_empty(), "found before and wrong again:\n{}", missed.join("\n"));
    let blind = hunt.blind.into_inner().expect("no thread panics with it");
    assert!(blind.is_empty(), "allowed blindly:\n{}", blind.join("\n"));
    let [safe, held] = [Mark::FalseSafe, Mark::FalseHold].map(|mark| figures.count(&[mark]));
    assert_eq!(safe, 0, "{safe} forecasts were falsely safe; see {}", hunt.finds.folder().display());
    // One in two hundred; a few changes prove no share, and are only told.
    let is_share = figures.played() >= 1000;
    assert!(
        !is_share || held <= figures.played() / 200,
        "{held} forecasts were falsely held; see {}",
        hunt.finds.folder().display()
    );
}

#[test]
fn no_refusal_is_missed() {
    let count = number("ROLLGATE_HUNT_WRITES", 40);
    let Some(bench) = started().filter(|_| count > 0) else { return };
    let (first, lanes) = (number("ROLLGATE_HUNT_SEED", 1), 2);
    let played: Vec<_> = std::thread::scope(|scope| {
        let lane = |lane: u64| {
            let space = Space::new(bench, &format!("hunt-writes-{lane}"));
            writes::play(&space, first + lane * count.div_ceil(lanes), count.div_ceil(lanes))
        };
        let threads: Vec<_> = (0..lanes).map(|number| scope.spawn(move || lane(number))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a lane ends")).collect()
    });
    let mut wrong = Vec::new();
    for (figures, missed) in played {
        say(&figures.table());
        assert!(figures.played() > 0, "nothing was played");
        wrong.extend(missed);
    }
    assert!(wrong.is_empty(), "the API server refuses what was allowed:\n{}", wrong.join("\n"));
}
