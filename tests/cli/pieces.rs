//! The ready-made pieces for pipelines: their scripts are taken out of the files that people include, and run as their service
//! runs them, in a repository with a branch that replaces Machines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::comment::Service;
use super::formats::readers;
use super::{MACHINE_DEPLOYMENT, Program, root, server};

/// A clone whose branch changes the version, and its origin with the old one.
struct Repository {
    program: Program,
    clone: PathBuf,
}

fn git(folder: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(folder).args([
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@example.org",
        "-c",
        "init.defaultBranch=main",
    ]);
    let output = command.args(args).env("GIT_CONFIG_GLOBAL", "/dev/null").output().expect("git runs");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Repository {
    fn new() -> Self {
        let program = Program::new();
        let (origin, clone) = (program.home().join("origin"), program.home().join("clone"));
        std::fs::create_dir(&origin).expect("a folder");
        git(&origin, &["init", "--quiet"]);
        std::fs::write(origin.join("chart.yaml"), MACHINE_DEPLOYMENT).expect("written");
        git(&origin, &["add", "."]);
        git(&origin, &["commit", "--quiet", "-m", "one"]);
        git(program.home(), &["clone", "--quiet", "origin", "clone"]);
        git(&clone, &["checkout", "--quiet", "-b", "change"]);
        std::fs::write(clone.join("chart.yaml"), MACHINE_DEPLOYMENT.replace("v1.31.0", "v1.32.0")).expect("written");
        git(&clone, &["commit", "--quiet", "-am", "two"]);
        Self { program, clone }
    }

    /// Runs a script by bash, as the runners of both services do, with the program on the path.
    fn bash(&self, script: &str, args: &[&str], env: &BTreeMap<String, String>) -> Output {
        let binary = Path::new(env!("CARGO_BIN_EXE_rollgate")).parent().expect("a folder");
        let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script, "script"]).args(args);
        command.current_dir(&self.clone).env_clear().env("HOME", self.program.home()).env("PATH", path).envs(env);
        command.output().expect("bash runs")
    }

    fn text(&self, file: &str) -> String {
        std::fs::read_to_string(self.clone.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    fn checked(&self, format: &str, file: &str) {
        let text = self.text(file);
        readers::check(format, &text).unwrap_or_else(|fault| panic!("{file}: {fault}\n{text}"));
        assert!(text.contains("MachineDeployment"), "{file}: {text}");
    }
}

/// The documents of a file of this repository.
fn documents(file: &str) -> Vec<Value> {
    let bytes = std::fs::read(root().join(file)).expect(file);
    let sections = rollgate::facade::yaml::split(&bytes).expect("YAML");
    sections
        .iter()
        .map(|section| rollgate::facade::yaml::read_json(&bytes, section.document).expect("YAML").into())
        .collect()
}

fn strings(value: &Value) -> Vec<String> {
    let list = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    list.map(str::to_owned).collect()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The component as GitLab reads it: inputs are put in before the job is.
struct Component {
    inputs: BTreeMap<String, String>,
    job: Value,
}

impl Component {
    fn new(given: &[(&str, &str)]) -> Self {
        let documents = documents("templates/plan.yml");
        let [head, jobs] = documents.as_slice() else { panic!("a header and the jobs") };
        let inputs = head["spec"]["inputs"].as_object().expect("inputs");
        let value = |name: &str, input: &Value| {
            let told = given.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned());
            told.unwrap_or_else(|| {
                input["default"].as_str().unwrap_or_else(|| panic!("{name} has no value")).to_owned()
            })
        };
        let inputs = inputs.iter().map(|(name, input)| (name.clone(), value(name, input))).collect();
        Self { inputs, job: jobs["rollgate"].clone() }
    }

    fn filled(&self, text: &str) -> String {
        let put =
            |text: String, (name, value): (&String, &String)| text.replace(&format!("$[[ inputs.{name} ]]"), value);
        self.inputs.iter().fold(text.to_owned(), put)
    }

    fn script(&self, name: &str) -> String {
        self.filled(&strings(&self.job[name]).join("\n"))
    }

    /// The variables of the job, and those of a merge request.
    fn env(&self) -> BTreeMap<String, String> {
        let variables = self.job["variables"].as_object().expect("variables");
        let own = |(name, value): (&String, &Value)| (name.clone(), self.filled(value.as_str().unwrap_or_default()));
        let mut env: BTreeMap<String, String> = variables.iter().map(own).collect();
        env.insert("CI_MERGE_REQUEST_TARGET_BRANCH_NAME".to_owned(), "main".to_owned());
        env.insert("GITLAB_CI".to_owned(), "true".to_owned());
        env
    }
}

/// What the service of comments is told of the request.
fn with_service(
    env: &mut BTreeMap<String, String>,
    service: &Arc<Mutex<Service>>,
    variables: &[(&str, &str)],
    root: &str,
) {
    env.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    env.insert(root.to_owned(), format!("http://{}", server::listen(service)));
}

#[test]
fn the_component_of_gitlab_runs_and_writes_what_its_merge_request_shows() {
    let repository = Repository::new();
    let comment = root().join("examples/ci/comment.py").display().to_string();
    let component = Component::new(&[("render", "cat chart.yaml"), ("comment", &comment)]);
    let mut env = component.env();
    let service = Service::new(true);
    let variables = [("GITLAB_TOKEN", "geheim"), ("CI_PROJECT_ID", "7"), ("CI_MERGE_REQUEST_IID", "3")];
    with_service(&mut env, &service, &variables, "CI_API_V4_URL");
    let output = repository.bash(&component.script("script"), &[], &env);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let reports = &component.job["artifacts"]["reports"];
    repository.checked("gitlab", reports["codequality"].as_str().expect("a file"));
    repository.checked("junit", reports["junit"].as_str().expect("a file"));
    for file in strings(&component.job["artifacts"]["paths"]) {
        let format = ["html", "json"].into_iter().find(|end| file.ends_with(end)).unwrap_or("markdown");
        repository.checked(format, &file);
    }
    // GitLab runs what comes after in a shell of its own, also where the job failed: twice, as two runs of the pipeline do.
    for _ in 0..2 {
        let posted = repository.bash(&component.script("after_script"), &[], &env);
        assert_eq!(posted.status.code(), Some(0), "{}", said(&posted));
    }
    let service = service.lock().expect("no panic");
    let [body] = service.bodies()[..] else { panic!("one comment: {:?}", service.bodies()) };
    assert!(body.contains("rollgate: hold") && body.contains("2 Machines would be replaced"), "{body}");
    let example = &self::documents("examples/ci/gitlab-ci.yml")[0]["include"][0]["inputs"];
    assert!(example.as_object().expect("inputs").keys().all(|name| component.inputs.contains_key(name)), "{example}");
}

#[test]
fn the_component_judges_every_release_that_the_policy_lists() {
    let repository = Repository::new();
    let policy = "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nreleases:\n- {name: one, paths: [chart.yaml]}\n";
    std::fs::write(repository.clone.join("rollgate.yaml"), policy).expect("written");
    git(&repository.clone, &["add", "."]);
    git(&repository.clone, &["commit", "--quiet", "-m", "list it"]);
    let component = Component::new(&[("args", "--all --summary")]);
    let output = repository.bash(&component.script("script"), &[], &component.env());
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let after = repository.bash(&component.script("after_script"), &[], &component.env());
    assert_eq!((after.status.code(), said(&after).as_str()), (Some(0), ""), "no comment was asked for");
    let untold = Component::new(&[]);
    let output = repository.bash(&untold.script("script"), &[], &untold.env());
    assert_eq!(output.status.code(), Some(2), "nothing to judge is no allow: {}", said(&output));
}

#[test]
fn the_action_of_github_runs_and_ends_with_the_code_of_the_plan() {
    let repository = Repository::new();
    let action = &documents("action.yml")[0];
    let inputs = action["inputs"].as_object().expect("inputs");
    let steps = action["runs"]["steps"].as_array().expect("steps");
    let given = BTreeMap::from([
        ("render", "cat chart.yaml"),
        ("base-ref", "origin/main"),
        ("comment", "true"),
        ("token", "geheim"),
    ]);
    let value = |name: &str| given.get(name).copied().or(inputs[name]["default"].as_str()).expect(name).to_owned();
    let env_of = |step: &Value| -> BTreeMap<String, String> {
        let input = |text: &Value| {
            let name = text.as_str().and_then(|text| text.strip_prefix("${{ inputs.")?.strip_suffix(" }}"));
            value(name.expect("an input"))
        };
        step["env"].as_object().expect("env").iter().map(|(name, text)| (name.clone(), input(text))).collect()
    };
    let mut env = env_of(&steps[0]);
    for file in ["GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"] {
        let path = repository.program.file(file, "");
        env.insert(file.to_owned(), path.display().to_string());
    }
    let script = steps[0]["run"].as_str().expect("a script");
    let output = repository.bash(script, &[], &env);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let commands = readers::github(&String::from_utf8_lossy(&output.stdout)).expect("workflow commands");
    assert!(commands.iter().any(|command| command.message.contains("MachineDeployment ns/md")), "{commands:?}");
    let told = |file: &str| std::fs::read_to_string(repository.program.home().join(file)).expect(file);
    assert_eq!(told("GITHUB_OUTPUT"), "exit-code=3\n");
    assert!(told("GITHUB_STEP_SUMMARY").contains("rollgate: hold"));
    repository.checked("sarif", "rollgate.sarif");
    repository.checked("markdown", "rollgate.md");
    repository.checked("html", "rollgate.html");
    for step in steps {
        assert!(
            !step["run"].as_str().expect("a script").contains("${{"),
            "what a request can write would be a part of the script"
        );
    }
    // The second step posts the comment, and says it once however often it runs.
    let service = Service::new(false);
    let mut env = env_of(&steps[1]);
    let folder = root().display().to_string();
    let variables = [("GITHUB_ACTION_PATH", folder.as_str()), ("GITHUB_REPOSITORY", "o/r"), ("PR_NUMBER", "3")];
    with_service(&mut env, &service, &variables, "GITHUB_API_URL");
    for _ in 0..2 {
        let posted = repository.bash(steps[1]["run"].as_str().expect("a script"), &[], &env);
        assert_eq!(posted.status.code(), Some(0), "{}", said(&posted));
    }
    let bodies = service.lock().expect("no panic").bodies().join("\n");
    assert_eq!(bodies.matches("<!-- rollgate:").count(), 1, "{bodies}");
    let workflow = &documents("examples/ci/github-workflow.yml")[0];
    let steps = workflow["jobs"]["plan"]["steps"].as_array().expect("steps");
    let ours = steps
        .iter()
        .find(|step| step["uses"].as_str().is_some_and(|uses| uses.starts_with("rollgate/")))
        .expect("ours");
    let with = ours["with"].as_object().expect("inputs");
    assert!(with.keys().all(|name| inputs.contains_key(name)));
    assert!(inputs.iter().filter(|(_, input)| input["required"] == true).all(|(name, _)| with.contains_key(name)));
}

#[test]
fn the_hooks_of_pre_commit_run_as_it_calls_them() {
    let repository = Repository::new();
    let hooks = &documents(".pre-commit-hooks.yaml")[0];
    let config = &documents("examples/ci/pre-commit-config.yaml")[0];
    std::fs::write(repository.clone.join("rollgate.yaml"), "apiVersion: rollgate.dev/v1alpha1\nkind: Polcy\n")
        .expect("written");
    for (hook, code) in [("rollgate-policy", 2), ("rollgate-plan", 3)] {
        let own = hooks.as_array().expect("hooks").iter().find(|one| one["id"] == hook).expect(hook);
        let entry = own["entry"].as_str().expect("an entry");
        let used =
            config["repos"][0]["hooks"].as_array().expect("hooks").iter().find(|one| one["id"] == hook).expect(hook);
        // pre-commit appends the arguments and, where it passes them, the files.
        let mut args = strings(&used["args"]);
        args.iter_mut()
            .for_each(|arg| *arg = arg.replace("helm template demo ./chart -f values.yaml", "cat chart.yaml"));
        if own["pass_filenames"] != false {
            args.push("rollgate.yaml".to_owned());
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let output = repository.bash(&format!("{entry} \"$@\""), &args, &BTreeMap::new());
        assert_eq!(output.status.code(), Some(code), "{hook}: {}", said(&output));
    }
}

#[test]
fn the_plain_script_says_how_it_ended() {
    let repository = Repository::new();
    let script = std::fs::read_to_string(root().join("examples/ci/check.sh")).expect("the script");
    let held = repository.bash(&script, &["origin/main", "cat chart.yaml"], &BTreeMap::new());
    assert_eq!(held.status.code(), Some(3), "{}", said(&held));
    assert!(said(&held).contains("held: rollgate.md says why"), "{}", said(&held));
    let failed = repository.bash(&script, &["origin/main", "false"], &BTreeMap::new());
    assert!(failed.status.code() == Some(2) && said(&failed).contains("the check itself failed"), "{}", said(&failed));
}
