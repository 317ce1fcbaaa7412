//! Runs every folder of `testdata/scenarios/` and compares the report with the one that lies there.
//!
//! A folder holds `scenario.yaml` (what it shows, `command`, `options`, `env`, `exit`), `rendered.yaml` (none with `--upgrade`), and where they matter
//! `live.yaml`, `base.yaml`, `policy.yaml`. `expected.json` is the report; for `post-render`, `expected.yaml` is the stream that
//! comes out. `ROLLGATE_BLESS=1` writes both: read them before you commit them. `ROLLGATE_SCENARIO=WORD` runs only those with it in their names.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    /// What it shows, for people.
    #[expect(dead_code, reason = "a scenario without it cannot be read; the field makes it mandatory.")]
    shows: String,
    command: String,
    #[serde(default)]
    options: Vec<String>,
    #[serde(default)]
    env: std::collections::BTreeMap<String, String>,
    exit: i32,
}

impl Scenario {
    /// Whether it asks what other versions of providers do: then nothing is rendered.
    fn is_upgrade(&self) -> bool {
        self.options.iter().any(|option| option == "--upgrade")
    }
}

/// The clock of every scenario that does not say another one.
const NOW: &str = "2026-11-21T12:00:00Z";

fn scenario(folder: &Path) -> Scenario {
    let bytes = std::fs::read(folder.join("scenario.yaml")).expect("every scenario has a scenario.yaml");
    let span = rollgate::facade::yaml::Span { start: 0, end: bytes.len() };
    let value = rollgate::facade::yaml::read_json(&bytes, span).expect("scenario.yaml is YAML");
    rollgate::facade::tree::from_value(value).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
}

/// The program with nothing of this machine in its environment.
fn program(state: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rollgate"));
    command.env_clear().env("HOME", state).env("XDG_STATE_HOME", state).env("TZ", "UTC");
    // One key, so that the marks of hidden values are the same in every run.
    command.env("ROLLGATE_KEY", "the key of the scenarios, which is no secret");
    command
}

/// Runs a scenario in its folder, with what it leaves behind there too.
fn reported(folder: &Path) -> Output {
    called(&scenario(folder), folder, folder)
}

/// Runs a scenario; what it leaves behind goes to `state`, the report to `report.json` there.
fn called(scenario: &Scenario, folder: &Path, state: &Path) -> Output {
    let mut command = program(state);
    command.current_dir(folder).arg(&scenario.command);
    for (option, file) in [("--live", "live.yaml"), ("--base", "base.yaml"), ("--policy", "policy.yaml")] {
        if folder.join(file).exists() {
            command.args([option, file]);
        } else if option == "--live" {
            command.args(["--live", "none"]);
        } else if option == "--policy" {
            command.args(["--policy", "none"]);
        }
    }
    if !scenario.options.iter().any(|option| option.starts_with("--now")) {
        command.args(["--now", NOW]);
    }
    command
        .arg("-o")
        .arg(format!("json={}", state.join("report.json").display()))
        .args(&scenario.options)
        .envs(&scenario.env);
    if scenario.command == "plan" && !scenario.is_upgrade() {
        command.arg("rendered.yaml");
    }
    let stdin = if scenario.is_upgrade() { "live.yaml" } else { "rendered.yaml" };
    let stdin = std::fs::File::open(folder.join(stdin)).expect("every scenario has a rendered.yaml");
    command.stdin(stdin).output().expect("the program runs")
}

fn run(folder: &Path) -> Result<(), String> {
    let scenario = scenario(folder);
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let report = temporary.path().join("report.json");
    let output = called(&scenario, folder, temporary.path());
    let stderr = String::from_utf8_lossy(&output.stderr);
    if output.status.code() != Some(scenario.exit) {
        return Err(format!("exit {:?}, expected {}\n{stderr}", output.status.code(), scenario.exit));
    }
    if scenario.command == "post-render" {
        if scenario.exit != 0 && !output.stdout.is_empty() {
            return Err("something on standard output although the install is not allowed".to_owned());
        }
        if scenario.exit == 0 {
            compare(&folder.join("expected.yaml"), &output.stdout)?;
        }
    }
    if scenario.exit == 0 || scenario.exit >= 3 {
        let bytes = std::fs::read(&report).map_err(|error| format!("no report: {error}\n{stderr}"))?;
        let value: Value = serde_json::from_slice(&bytes).expect("the report is JSON");
        let pretty = format!("{:#}\n", value);
        compare(&folder.join("expected.json"), pretty.as_bytes())?;
    }
    Ok(())
}

/// Compares with a file of the scenario, or writes it when asked to.
fn compare(file: &Path, found: &[u8]) -> Result<(), String> {
    if std::env::var_os("ROLLGATE_BLESS").is_some() {
        std::fs::write(file, found).expect("the scenario folder can be written");
        return Ok(());
    }
    let expected = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    if expected == found {
        return Ok(());
    }
    let (old, new) = (String::from_utf8_lossy(&expected), String::from_utf8_lossy(found));
    let diff = similar::TextDiff::from_lines(&*old, &*new);
    Err(format!("{} differs:\n{}", file.display(), diff.unified_diff().context_radius(2)))
}

/// A report without what may differ between a read and its replay: the place that was read, and which mark stands for a hidden value.
fn told(report: &Path) -> Value {
    let text = std::fs::read_to_string(report).expect("a report");
    let mark = regex::Regex::new("<redacted:[0-9a-f]{32}>").expect("a regular expression");
    let place = regex::Regex::new(" --live [^ ]+ ").expect("a regular expression");
    let text = place.replace_all(&text, " --live FILE ");
    // What is doubted names the file that was read.
    let text = text.replace(&report.with_file_name("world.json").display().to_string(), "live.yaml");
    let mut value: Value = serde_json::from_str(&mark.replace_all(&text, "<redacted>")).expect("the report is JSON");
    value["live"]["source"] = Value::Null;
    // A snapshot says how old it is.
    for told in ["taken", "ageSeconds"] {
        value["live"].as_object_mut().expect("what it was compared with").shift_remove(told);
    }
    // A snapshot that was made elsewhere lies there without its key; a snapshot of it has its own.
    if let Some(warnings) = value["warnings"].as_array_mut() {
        warnings
            .retain(|said| !said.as_str().is_some_and(|said| said.starts_with("the key of this snapshot is neither")));
    }
    // A mark is written with quotes where a value needs none, so that a text around it is filled in as a whole.
    for late in value["lateValues"].as_array_mut().into_iter().flatten() {
        late.as_object_mut().expect("a late value").remove("filled");
    }
    value
}

/// What only a post-renderer is told, and what a snapshot has in it.
fn is_of_a_render(option: &str) -> bool {
    ["--live", "--base", "--commit", "-o"].contains(&option)
}

/// Plans a scenario from what it reads, and from a snapshot of that.
fn replayed(folder: &Path) -> Result<bool, String> {
    let scenario = scenario(folder);
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str| temporary.path().join(name).display().to_string();
    let call = |command: &str, live: &str, format: &str, output: &str| {
        let mut call = program(temporary.path());
        call.current_dir(folder).args([command, "--live", live]);
        if !scenario.is_upgrade() {
            call.arg("rendered.yaml");
        }
        let base = (live != file("world.json")).then_some(("--base", "base.yaml"));
        for (option, file) in base.into_iter().chain([("--policy", "policy.yaml")]) {
            if folder.join(file).exists() {
                call.args([option, file]);
            } else if option == "--policy" {
                call.args(["--policy", "none"]);
            }
        }
        if !scenario.options.iter().any(|option| option.starts_with("--now")) {
            call.args(["--now", NOW]);
        }
        let mut options = scenario.options.iter();
        while let Some(option) = options.next() {
            // What only a post-renderer is told, and what a snapshot has in it.
            match option.as_str() {
                "--live" | "--base" | "--commit" | "-o" => drop(options.next()),
                _ => drop(call.arg(option)),
            }
        }
        call.args(["-o", &format!("{format}{}", file(output))]).envs(&scenario.env).output().expect("the program runs")
    };
    let live = if folder.join("live.yaml").exists() { "live.yaml" } else { "none" };
    // A plan was called so when its report was compared.
    let is_told = scenario.command == "plan" && !scenario.options.iter().any(|option| is_of_a_render(option));
    let report = if is_told { folder.join("expected.json") } else { temporary.path().join("direct.json") };
    let code = if is_told { Some(scenario.exit) } else { call("plan", live, "json=", "direct.json").status.code() };
    if !report.exists() {
        return Ok(false);
    }
    let saved = call("snapshot", live, "", "world.json");
    if saved.status.code() != Some(0) {
        return Err(format!("no snapshot: {}", String::from_utf8_lossy(&saved.stderr)));
    }
    let again = call("plan", &file("world.json"), "json=", "again.json");
    if again.status.code() != code {
        let said = String::from_utf8_lossy(&again.stderr);
        return Err(format!("exit {code:?}, and {:?} from a snapshot\n{said}", again.status.code()));
    }
    let [direct, again] = [report, temporary.path().join("again.json")].map(|report| format!("{:#}\n", told(&report)));
    if direct != again {
        let diff = similar::TextDiff::from_lines(&*direct, &*again);
        return Err(format!("{}", diff.unified_diff().context_radius(2)));
    }
    Ok(true)
}

#[test]
fn the_page_of_incidents_says_what_the_scenarios_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/incidents.md")).expect("the page");
    let link = regex::Regex::new(r"\]\(\.\./testdata/scenarios/([^)]+)\)( [a-z]+)?").expect("a regular expression");
    let mut seen = 0;
    for found in link.captures_iter(&page) {
        let (name, said) = (&found[1], found.get(2).map_or("", |word| word.as_str().trim()));
        let word = match scenario(&root.join("testdata/scenarios").join(name)).exit {
            0 => "allow",
            3 => "hold",
            _ => "undecided",
        };
        assert_eq!(said, word, "docs/incidents.md says of {name}");
        seen += 1;
    }
    assert!(seen > 50, "links of the page: {seen}");
}

#[test]
fn a_snapshot_of_every_scenario_says_what_the_scenario_says() {
    let (mut same, mut faults) = (0, Vec::new());
    for (folder, result) in on_all_cores(replayed) {
        match result {
            Ok(compared) => same += usize::from(compared),
            Err(fault) => faults.push(format!("{}: {fault}", folder.display())),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    assert!(same > least(60), "only {same} scenarios were compared");
}

/// The scenario folders, in order.
fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/scenarios");
    let mut folders: Vec<PathBuf> = std::fs::read_dir(&root)
        .expect("testdata/scenarios")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .collect();
    if let Some(part) = std::env::var_os("ROLLGATE_SCENARIO").and_then(|part| part.into_string().ok()) {
        folders.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(&part)));
    }
    folders.sort();
    assert!(!folders.is_empty(), "no scenario in {}", root.display());
    folders
}

/// What is found in each scenario folder, in order.
fn on_all_cores<T: Send>(look: impl Fn(&Path) -> T + Sync) -> Vec<(PathBuf, T)> {
    let folders = folders();
    let next = AtomicUsize::new(0);
    let one_after_the_other = || {
        let turn = std::iter::from_fn(|| folders.get(next.fetch_add(1, Ordering::Relaxed)));
        turn.map(|folder| (folder.clone(), look(folder))).collect::<Vec<_>>()
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut all: Vec<(PathBuf, T)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(one_after_the_other)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no scenario panics")).collect()
    });
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    all
}

/// So many, or one where only some scenarios run.
fn least(many: usize) -> usize {
    if std::env::var_os("ROLLGATE_SCENARIO").is_some() { 1 } else { many }
}

#[test]
fn every_scenario_gives_its_report() {
    let faults: Vec<String> = on_all_cores(run)
        .into_iter()
        .filter_map(|(folder, result)| result.err().map(|fault| format!("{}: {fault}", folder.display())))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

/// Every word below a key, wherever it stands in what is said of changes; the values that change have keys of their own, such as the
/// `effect` of a taint.
fn words<'v>(value: &'v Value, keys: &[&str], out: &mut Vec<&'v str>) {
    match value {
        Value::Object(map) => {
            for (key, child) in map.iter().filter(|(key, _)| !["before", "after"].contains(&key.as_str())) {
                out.extend(child.as_str().filter(|_| keys.contains(&key.as_str())));
                words(child, keys, out);
            }
        }
        Value::Array(list) => list.iter().for_each(|child| words(child, keys, out)),
        _ => {}
    }
}

#[test]
fn no_machine_goes_for_which_no_change_answers() {
    const ORDER: [&str; 8] = ["none", "in-place", "scale", "latent", "rollout", "rejected", "delete", "unknown"];
    let place = |word: &&str| ORDER.iter().position(|known| known == word).expect("a known effect");
    for folder in folders() {
        let Ok(text) = std::fs::read_to_string(folder.join("expected.json")) else { continue };
        let report: Value = serde_json::from_str(&text).expect("the report is JSON");
        let of = |what: &str, keys: &[&str]| {
            let mut out = Vec::new();
            words(&report[what], keys, &mut out);
            out.iter().map(place).max().unwrap_or(0)
        };
        let (gone, answered) = (of("rollouts", &["effect"]), of("objects", &["effect", "waits"]));
        assert!(gone <= answered, "{}: Machines go ({}), and no change says so", folder.display(), ORDER[gone]);
    }
}

/// The words of a step that is a command of this program: it is one whole command, and nothing else stands in its line.
fn command_of(step: &str) -> Option<Vec<String>> {
    let rest = step.strip_prefix("rollgate ")?;
    // What a person fills in.
    Some(rest.split_whitespace().map(|word| if word == "VALUE" { "10.0.3.99" } else { word }.to_owned()).collect())
}

#[test]
fn every_next_line_of_every_scenario_is_a_command_that_the_program_accepts() {
    let mut ran = 0;
    let mut faults = Vec::new();
    for folder in folders() {
        let Ok(bytes) = std::fs::read(folder.join("expected.json")) else { continue };
        let report: Value = serde_json::from_slice(&bytes).expect("the report is JSON");
        for reason in report["reasons"].as_array().expect("reasons") {
            let others = reason["or"].as_array().into_iter().flatten();
            let steps: Vec<&str> = std::iter::once(&reason["next"]).chain(others).filter_map(Value::as_str).collect();
            let is_command = |step: &&str| ["rollgate ", "kubectl ", "helm "].iter().any(|name| step.starts_with(name));
            // What cannot be read is told by its own remedy alone.
            let is_told = reason["gate"] == "read" && reason["remedy"].is_string();
            let asks = !is_told && (reason["decision"] == "hold" || reason["decision"] == "undecided");
            if !steps.iter().all(is_command) || (steps.is_empty() && asks) {
                faults.push(format!("{}: what is next is no command: {reason}", folder.display()));
            }
            for words in steps.into_iter().filter_map(command_of) {
                // Some of them write: each runs in a copy of its scenario.
                let place = tempfile::tempdir().expect("a temporary folder");
                for entry in std::fs::read_dir(&folder).expect("the folder of a scenario") {
                    let file = entry.expect("an entry").path();
                    std::fs::copy(&file, place.path().join(file.file_name().expect("a name")))
                        .expect("a file is copied");
                }
                if words.first().is_some_and(|word| word == "approve") {
                    // It approves what was just held.
                    reported(place.path());
                }
                let output =
                    program(place.path()).current_dir(place.path()).args(&words).output().expect("the program runs");
                ran += 1;
                if !output.status.success() {
                    let said = String::from_utf8_lossy(&output.stderr);
                    faults.push(format!("{}: rollgate {}: {said}", folder.display(), words.join(" ")));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(ran >= least(10), "only {ran} commands were found");
}

/// Scenarios whose report for people lies in `testdata/human/`, in a narrow and in a wide terminal.
const FOR_PEOPLE: &[&str] = &[
    "address-pairs-of-workers",
    "cluster-removed-of-unknown-size",
    "flux-release-changes",
    "health-check-arrives",
    "hosts-short",
    "kcp-vip-moved",
    "late-secret-in-files",
    "late-unknown-in-a-plan",
    "machine-deployment-removed",
    "mid-rollout-scaled",
    "pin-source-moved",
    "pinned-field-by-hand",
    "refused-template-old-version",
    "rke2-template-edited",
    "sylva-1477-1-first-install",
    "sylva-1477-3-vip-moved",
    "topology-class-without-namespace",
    "topology-group-removed",
    "topology-template-on-delete",
    "topology-variable-rolls",
];

/// The report for people of a plan of a scenario.
fn for_people(folder: &Path, columns: &str) -> Vec<u8> {
    let scenario = scenario(folder);
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let mut command = program(temporary.path());
    command.current_dir(folder).args(["plan", "rendered.yaml"]).env("COLUMNS", columns);
    for (option, file) in [("--live", "live.yaml"), ("--base", "base.yaml"), ("--policy", "policy.yaml")] {
        match folder.join(file).exists() {
            true => drop(command.args([option, file])),
            false if option != "--base" => drop(command.args([option, "none"])),
            false => {}
        }
    }
    let mut options = scenario.options.iter();
    while let Some(option) = options.next() {
        match option.as_str() {
            "--commit" | "-o" => drop(options.next()),
            _ => drop(command.arg(option)),
        }
    }
    if !scenario.options.iter().any(|option| option.starts_with("--now")) {
        command.args(["--now", NOW]);
    }
    command.envs(&scenario.env).output().expect("the program runs").stdout
}

#[test]
fn people_read_what_lies_in_the_folder_for_people() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut faults = Vec::new();
    for name in FOR_PEOPLE {
        for columns in ["80", "160"] {
            let found = for_people(&root.join("scenarios").join(name), columns);
            assert!(found.starts_with(b"rollgate: "), "{name}: {}", String::from_utf8_lossy(&found));
            faults.extend(compare(&root.join("human").join(format!("{name}.{columns}.txt")), &found).err());
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}
