//! `examples/ci/comment.py` against a server that answers as the services do and keeps what it was asked.

use std::process::{Command, Output};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};

use super::server::{self, Answers};
use super::{MACHINE_DEPLOYMENT, Program, root};

/// A service with comments.
#[derive(Default)]
pub(super) struct Service {
    is_gitlab: bool,
    comments: Vec<Value>,
    asked: Vec<String>,
    /// What is answered before the service works.
    faults: Vec<u16>,
    strangers: usize,
}

impl Answers for Service {
    fn headers(&mut self, headers: &[String]) {
        let (name, token) = match self.is_gitlab {
            true => ("private-token: ", "geheim"),
            false => ("authorization: bearer ", "geheim"),
        };
        let has = headers.iter().any(|header| header.strip_prefix(name) == Some(token));
        self.strangers += usize::from(!has);
    }

    fn answer(&mut self, method: &str, path: &str, body: &[u8]) -> (u16, Value) {
        self.asked.push(format!("{method} {path}"));
        if let Some(fault) = self.faults.pop() {
            return (fault, json!({"message": "no"}));
        }
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let list = if self.is_gitlab { "/projects/7/merge_requests/3/notes" } else { "/repos/o/r/issues/3/comments" };
        let one = if self.is_gitlab { "/projects/7/merge_requests/3/notes/" } else { "/repos/o/r/issues/comments/" };
        match (method, path) {
            ("GET", "/user") => (200, json!({"id": 5})),
            ("GET", path) if path.starts_with(&format!("{list}?per_page=100&page=")) => {
                let page: usize = path.rsplit('=').next().and_then(|text| text.parse().ok()).expect("a page");
                (200, self.comments.iter().skip((page - 1) * 100).take(100).cloned().collect())
            }
            ("POST", path) if path == list => {
                let id = self.comments.len() + 1;
                self.comments.push(self.comment(id, true, body["body"].as_str().expect("a body")));
                (201, json!({"id": id}))
            }
            ("PATCH" | "PUT", path) if path.starts_with(one) && (method == "PUT") == self.is_gitlab => {
                let id: usize = path[one.len()..].parse().expect("an id");
                self.comments[id - 1]["body"] = body["body"].clone();
                (200, json!({"id": id}))
            }
            _ => (404, json!({"message": "not found"})),
        }
    }
}

impl Service {
    pub(super) fn new(is_gitlab: bool) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self { is_gitlab, ..Self::default() }))
    }

    fn comment(&self, id: usize, is_ours: bool, body: &str) -> Value {
        if self.is_gitlab {
            return json!({"id": id, "body": body, "system": false, "author": {"id": if is_ours { 5 } else { 6 }}});
        }
        json!({"id": id, "body": body, "user": {"login": if is_ours { "github-actions[bot]" } else { "mallory" }}})
    }

    pub(super) fn bodies(&self) -> Vec<&str> {
        self.comments.iter().filter_map(|comment| comment["body"].as_str()).collect()
    }
}

struct Play {
    program: Program,
    service: Arc<Mutex<Service>>,
    address: String,
}

impl Play {
    fn new(is_gitlab: bool) -> Self {
        let program = Program::new();
        program.file("old.yaml", MACHINE_DEPLOYMENT);
        for (name, version) in [("held", "v1.32.0"), ("worse", "v1.33.0")] {
            let file = program.file("new.yaml", &MACHINE_DEPLOYMENT.replace("v1.31.0", version)).display().to_string();
            let output = format!("markdown={name}.md");
            let ran = program
                .run(&["plan", &file, "--live", "old.yaml", "-n", "ns", "--release", "demo", "-o", &output], b"");
            assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        }
        let service = Service::new(is_gitlab);
        let address = format!("http://{}", server::listen(&service));
        Self { program, service, address }
    }

    fn service(&self) -> MutexGuard<'_, Service> {
        self.service.lock().expect("no panic")
    }

    fn run(&self, file: &str, more: &[(&str, &str)]) -> Output {
        let mut command = Command::new("python3");
        command.arg(root().join("examples/ci/comment.py")).arg(file).current_dir(self.program.home()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("COMMENT_PAUSE", "0");
        let of_service: &[(&str, &str)] = match self.service().is_gitlab {
            true => &[
                ("GITLAB_CI", "true"),
                ("GITLAB_TOKEN", "geheim"),
                ("CI_PROJECT_ID", "7"),
                ("CI_MERGE_REQUEST_IID", "3"),
            ],
            false => &[("GITHUB_TOKEN", "geheim"), ("GITHUB_REPOSITORY", "o/r"), ("PR_NUMBER", "3")],
        };
        let root = if self.service().is_gitlab { "CI_API_V4_URL" } else { "GITHUB_API_URL" };
        command.envs(of_service.iter().copied()).env(root, &self.address).envs(more.iter().copied());
        let output = command.output().expect("python3 runs");
        assert!(!said(&output).contains("geheim"), "{}", said(&output));
        output
    }
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn one_comment_is_posted_and_then_updated() {
    for is_gitlab in [false, true] {
        let play = Play::new(is_gitlab);
        for (file, words) in [
            ("held.md", "posted comment 1"),
            ("worse.md", "updated comment 1"),
            ("worse.md", "comment 1 says this already"),
        ] {
            let output = play.run(file, &[]);
            assert_eq!(output.status.code(), Some(0), "{}", said(&output));
            assert!(said(&output).contains(words), "{}", said(&output));
        }
        let service = play.service();
        assert_eq!(service.bodies().len(), 1, "{:?}", service.asked);
        assert!(service.bodies()[0].contains("v1.33.0"), "{:?}", service.bodies());
        assert_eq!(service.strangers, 0, "each request carries the token");
    }
}

#[test]
fn a_comment_of_somebody_else_or_of_another_release_is_left_alone() {
    for is_gitlab in [false, true] {
        let play = Play::new(is_gitlab);
        let held = std::fs::read_to_string(play.program.home().join("held.md")).expect("a file");
        let marker = held.lines().next().expect("a marker").to_owned();
        {
            let mut service = play.service();
            // More than a page of others before them.
            let mut bodies: Vec<(bool, String)> =
                (0..150).map(|number| (number % 2 == 0, format!("word {number}"))).collect();
            bodies.push((false, format!("{marker}\nnothing to see")));
            bodies.push((true, "<!-- rollgate:0123456789abcdef -->\nof another release".to_owned()));
            bodies.push((true, format!("a quote\n{marker}")));
            for (at, (is_ours, body)) in bodies.iter().enumerate() {
                let comment = service.comment(at + 1, *is_ours, body);
                service.comments.push(comment);
            }
        }
        let before: Vec<Value> = play.service().comments.clone();
        let output = play.run("held.md", &[]);
        assert!(said(&output).contains("posted comment 154"), "{}", said(&output));
        assert_eq!(play.service().comments[..153], before[..]);
        let output = play.run("worse.md", &[]);
        assert!(said(&output).contains("updated comment 154"), "{}", said(&output));
        assert_eq!(play.service().comments.len(), 154);
    }
}

#[test]
fn a_service_that_fails_is_asked_again_where_nothing_can_be_doubled() {
    let play = Play::new(false);
    play.service().faults = vec![503, 429];
    assert_eq!(play.run("held.md", &[]).status.code(), Some(0), "a list is asked again");
    let play = Play::new(true);
    play.service().faults = vec![401, 500];
    let output = play.run("held.md", &[]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("GET /user: 401"), "{}", said(&output));
}

#[test]
fn what_is_missing_is_named_and_nothing_is_asked() {
    let play = Play::new(false);
    play.program.file("words.md", "no marker\n");
    for (file, env, words) in [
        ("words.md", ("PR_NUMBER", "3"), "does not start with a marker"),
        ("gone.md", ("PR_NUMBER", "3"), "gone.md cannot be read"),
        ("held.md", ("PR_NUMBER", ""), "no run for a pull request"),
        ("held.md", ("GITHUB_TOKEN", ""), "GITHUB_TOKEN is not set"),
        ("held.md", ("GITHUB_API_URL", "http://example.org"), "in the clear"),
    ] {
        let output = play.run(file, &[env]);
        assert_eq!(output.status.code(), Some(2), "{words}: {}", said(&output));
        assert!(said(&output).contains(words), "{words}: {}", said(&output));
    }
    assert_eq!(play.service().asked, [""; 0]);
}
