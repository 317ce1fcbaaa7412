//! Three lines stand around Flux: values that wait, the gate of HelmReleases, the webhook. The same story is played behind each of them
//! alone, with the real helm-controller, and `docs/lines.md` says what each held: `ROLLGATE_BLESS=1` writes its table.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::{Space, bench};
use crate::flux::publish_from;
use crate::gate_releases::{Gated, RELEASES, mark};
use crate::observe::{CAPI, Sight, condition, wait_for};
use crate::serve::{Hook, Server, installed_with, kubectl, person};

const PATIENCE: Duration = Duration::from_secs(300);
const OWNERS: &str = "controlplane.cluster.x-k8s.io/v1beta2";
const EVENTS: [&str; 8] = [
    "first install by Flux",
    "the virtual IP moves",
    "a wanted upgrade, approved",
    "Flux rolls a failed upgrade back",
    "`kubectl edit` of the control plane",
    "`kubectl scale` of workers to 0",
    "`kubectl delete cluster`",
    "the HelmRelease is deleted",
];
/// What the webhook lets through because the policy names it.
const EXPECT: &str = "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nexpect:
- {kind: KubeadmControlPlane, path: spec.version, to: v1.34.1, until: 2027-12-31T00:00:00Z}
- {kind: MachineDeployment, path: spec.template.spec.version, to: v1.34.1, until: 2027-12-31T00:00:00Z}\n";

/// A HelmRelease behind one line.
struct Stage<'a>(&'a Space);

impl<'a> Stage<'a> {
    /// The chart of the story, with a Deployment that never comes up where it is wanted: nothing runs it here.
    fn publish(space: &'a Space) -> Self {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/charts/kubeadm");
        let chart = space.dir.join("chart");
        fs::create_dir_all(chart.join("templates")).expect("a folder");
        for file in ["Chart.yaml", "values.yaml"] {
            fs::copy(from.join(file), chart.join(file)).expect("a copy");
        }
        for file in fs::read_dir(from.join("templates")).expect("templates").flatten() {
            fs::copy(file.path(), chart.join("templates").join(file.file_name())).expect("a copy");
        }
        let never = "{{- if .Values.never }}\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: never}\nspec:\n  \
                     selector: {matchLabels: {a: never}}\n  template: {metadata: {labels: {a: never}}, spec: {containers: [{name: a, image: a}]}}\n{{- end }}\n";
        fs::write(chart.join("templates/never.yaml"), never).expect("a file");
        publish_from(space, "kubeadm", &chart);
        Self(space)
    }

    fn path(&self) -> String {
        format!("/apis/{RELEASES}/namespaces/{}/helmreleases", self.0.namespace)
    }

    fn release(&self, annotations: &Value, account: Option<&str>) {
        let mut body = json!({"apiVersion": RELEASES, "kind": "HelmRelease", "metadata": {"name": "demo", "annotations": annotations},
            "spec": {"interval": "1h", "chartRef": {"kind": "OCIRepository", "name": "kubeadm"},
                "values": {"controlPlane": {"replicas": 1}, "workers": {"replicas": 1}},
                "valuesFrom": [{"kind": "ConfigMap", "name": "late"}]}});
        if let Some(account) = account {
            body["spec"]["serviceAccountName"] = json!(account);
        }
        self.0.bench.api.create(&self.path(), &body);
    }

    fn now(&self) -> Option<Value> {
        self.0.bench.api.get(&format!("{}/demo", self.path()))
    }

    fn change(&self, merge: &Value) {
        self.0.bench.api.merge(&format!("{}/demo", self.path()), merge);
    }

    fn late(&self, address: &str) {
        let labels = json!({"reconcile.fluxcd.io/watch": "Enabled"});
        self.0.config_map("late", &labels, &json!({"values.yaml": format!("vip: {address}\n")}));
    }

    fn control_plane(&self) -> String {
        let owners = self.0.list(OWNERS, "kubeadmcontrolplanes");
        owners.first().map(|owner| owner["spec"].to_string()).unwrap_or_default()
    }

    /// Waits until something is so, and gives the HelmRelease then.
    #[track_caller]
    fn until(&self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let release = self.now().unwrap_or_default();
            if is(&release) {
                return release;
            }
            assert!(began.elapsed() < PATIENCE, "not yet {what}: {release:#}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Waits until the control plane says a word, and all of it stands.
    #[track_caller]
    fn writes(&self, word: &str) -> String {
        self.until(word, |_| self.control_plane().contains(word));
        "goes through".to_owned()
    }

    fn settles(&self, version: &str) {
        let has = |machine: &Value| machine["spec"]["version"] == version;
        let is = |sight: &Sight| sight.running() == (2, 2) && sight.settled() && sight.all("machines").all(has);
        wait_for(self.0, "all Machines running", PATIENCE, is);
    }

    fn upgrades(&self) {
        self.change(&json!({"spec": {"values": {"version": "v1.34.1"}}}));
    }

    /// An upgrade that rolls the control plane, fails, and is taken back by Flux.
    fn fails(&self) {
        let args = json!([{"name": "v", "value": "3"}]);
        self.change(
            &json!({"spec": {"timeout": "25s", "upgrade": {"remediation": {"retries": 0, "remediateLastFailure": true}},
            "values": {"never": true, "controlPlane": {"extraArgs": args}}}}),
        );
    }

    /// What came of the rollback.
    fn remediated(&self) -> String {
        let release = self.until("rolled back", |release| condition(release, "Remediated").is_some());
        let remediated = condition(&release, "Remediated").expect("it was waited for");
        match remediated["status"].as_str() {
            Some("True") => {
                assert!(!self.control_plane().contains("extraArgs"), "it was rolled back");
                "goes through".to_owned()
            }
            _ => {
                let message = remediated["message"].to_string();
                assert!(message.contains("rollgate hold") && self.control_plane().contains("extraArgs"), "{message}");
                "held: each write that rolls Machines gets 403".to_owned()
            }
        }
    }

    /// What people do, as dry runs, which the webhook answers like all else.
    fn people(&self) -> Vec<String> {
        let edit = r#"{"spec":{"version":"v1.34.2"}}"#;
        let all: [&[&str]; 3] = [
            &["patch", "kubeadmcontrolplane", "demo-cp", "--type=merge", "-p", edit],
            &["scale", "machinedeployment", "demo-md", "--replicas=0"],
            &["delete", "cluster", "demo", "--wait=false"],
        ];
        let outcome = |args: &&[&str]| {
            let run = person(self.0, &[args, ["--dry-run=server"].as_slice()].concat());
            match run.code {
                Some(0) => "not asked".to_owned(),
                _ => {
                    run.refused("denied the request: rollgate hold");
                    "held: 403".to_owned()
                }
            }
        };
        all.iter().map(outcome).collect()
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path")
}

/// Only the publisher stands there.
fn values(space: &Space) -> Vec<String> {
    let stage = Stage::publish(space);
    let policy = format!(
        "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nlateValues:\n- {{name: vip, placeholders: [\"55.55.55.55\"], type: ip, from: [{{object: \
         {{apiVersion: v1, kind: ConfigMap, name: allocated, path: $.data.vip}}}}]}}\npins: {{store: configmap/rollgate-pins}}\n\
         flux: {{values: [{{namespace: {}, name: late, template: template}}]}}\n",
        space.namespace
    );
    let policy = space.file("rollgate.yaml", &policy);
    let (_, kubeconfig) = installed_with(space, &["--publish-values", "--policy", "configmap/default/rollgate"]);
    let more = ["--publish-values", "--lease-namespace", "rollgate-system"];
    let server = Server::start_under(text(&policy), &kubeconfig, &more);
    space.config_map("template", &json!({}), &json!({"values.yaml": "vip: {{ late(\"vip\") }}\n"}));
    stage.release(&json!({}), None);
    let reason = |release: &Value| condition(release, "Ready").map(|ready| ready["reason"].clone()).unwrap_or_default();
    stage.until("waiting for its values", |release| reason(release) == "ValuesError");
    std::thread::sleep(Duration::from_secs(12));
    assert!(space.list(CAPI, "clusters").is_empty(), "nothing is installed\n{}", server.log());
    space.config_map("allocated", &json!({}), &json!({"vip": "10.0.3.7"}));
    stage.writes("10.0.3.7");
    let mut cells = vec!["held until its address is known (`ValuesError`), then goes through".to_owned()];
    stage.settles("v1.34.0");

    // Its source moves: what was published stays, and the late value is named where people look.
    let published = || space.bench.api.get(&format!("/api/v1/namespaces/{}/configmaps/late", space.namespace));
    let before = published().expect("it is published");
    space.config_map("allocated", &json!({}), &json!({"vip": "10.0.9.9"}));
    let events = || {
        let all = space.bench.api.list(&format!("/api/v1/namespaces/{}/events", space.namespace));
        all.iter().filter(|one| one["reason"] == "ValuesHeld").map(|one| one["message"].to_string()).collect::<Vec<_>>()
    };
    let began = Instant::now();
    while !events().iter().any(|message| message.contains("vip")) {
        assert!(began.elapsed() < PATIENCE, "{:?}\n{}", events(), server.log());
        std::thread::sleep(Duration::from_millis(300));
    }
    assert_eq!(published().expect("it stays")["data"], before["data"]);
    // A restart pins nothing anew.
    drop(server);
    let server = Server::start_under(text(&policy), &kubeconfig, &more);
    std::thread::sleep(Duration::from_secs(25));
    assert_eq!(published().expect("it stays")["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
    assert!(server.log().contains("ValuesHeld") && stage.control_plane().contains("10.0.3.7"), "{}", server.log());
    cells.push("held: what was published stays (`ValuesHeld`)".to_owned());
    space.config_map("allocated", &json!({}), &json!({"vip": "10.0.3.7"}));

    stage.upgrades();
    stage.writes("v1.34.1");
    cells.push("not asked".to_owned());
    stage.settles("v1.34.1");
    stage.fails();
    assert_eq!(stage.remediated(), "goes through");
    cells.push("not asked".to_owned());
    cells.extend(stage.people());
    kubectl(space, &["delete", "helmrelease", "demo", "--wait=false"]).succeeded();
    stage.until("uninstalled", |_| {
        space.get(CAPI, "clusters", "demo").is_none_or(|cluster| cluster["metadata"]["deletionTimestamp"].is_string())
    });
    cells.push("not asked".to_owned());
    cells
}

/// Only the gate stands there.
fn gate(space: &Space) -> Vec<String> {
    let stage = Stage::publish(space);
    let gated = Gated::new(space);
    let server = gated.start();
    stage.late("10.0.3.7");
    stage.release(&json!({"rollgate.dev/gate": "enabled"}), None);
    gated.stands(&server, "demo", "done");
    assert!(stage.control_plane().contains("10.0.3.7") && gated.events("demo").contains(&"Allowed".to_owned()));
    let mut cells = vec!["judged while it is suspended, then goes through".to_owned()];
    stage.settles("v1.34.0");
    let held = || {
        let held = gated.stands(&server, "demo", "held");
        assert_eq!(held["spec"]["suspend"], true);
        held
    };
    stage.late("10.0.9.9");
    held();
    assert!(stage.control_plane().contains("10.0.3.7"));
    cells.push("held: it stays suspended (`HeldByRollgate`)".to_owned());
    stage.late("10.0.3.7");
    gated.stands(&server, "demo", "done");

    stage.upgrades();
    let waiting = held();
    assert!(!stage.control_plane().contains("v1.34.1"));
    gated.does_what_is_next(&waiting);
    stage.writes("v1.34.1");
    gated.stands(&server, "demo", "done");
    cells.push("held until it is approved, then goes through".to_owned());
    stage.settles("v1.34.1");

    stage.fails();
    gated.does_what_is_next(&held());
    assert_eq!(stage.remediated(), "goes through");
    cells.push("the upgrade is held until it is approved; its rollback is not asked about".to_owned());
    let failed =
        stage.until("suspended again", |release| ["done", "failed"].contains(&mark(release, "phase").as_str()));
    assert_eq!(failed["spec"]["suspend"], true, "{failed:#}");
    cells.extend(stage.people());

    kubectl(space, &["delete", "helmrelease", "demo", "--wait=false"]).succeeded();
    stage.until("its removal is held", |release| {
        release["metadata"]["deletionTimestamp"].is_string() && mark(release, "phase") == "held"
    });
    let cluster = space.get(CAPI, "clusters", "demo").expect("it stands");
    assert!(cluster["metadata"]["deletionTimestamp"].is_null());
    cells.push("held: it is kept, suspended (`RemovalHeld`)".to_owned());
    // Let go without being uninstalled, for whoever comes after.
    kubectl(space, &["annotate", "helmrelease", "demo", "rollgate.dev/gate-"]).succeeded();
    stage.until("gone", Value::is_null);
    cells
}

/// Only the webhook stands there. Flux writes as an account of the release, since the controllers of this bench are the administrator.
fn webhook(space: &Space) -> Vec<String> {
    let stage = Stage::publish(space);
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "flux"}});
    space.bench.api.create(&format!("/api/v1/namespaces/{}/serviceaccounts", space.namespace), &account);
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": space.namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "flux", "namespace": space.namespace}]});
    space.bench.api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding);
    let (stream, kubeconfig) = installed_with(space, &["--failure-policy", "fail"]);
    let enforce = ["--mode", "enforce"];
    let server = Server::start_under("none", &kubeconfig, &enforce);
    let hook = Hook::install(space, &stream, &server.url);
    std::thread::sleep(Duration::from_secs(2));
    stage.late("10.0.3.7");
    stage.release(&json!({}), Some("flux"));
    stage.until("installed", |release| condition(release, "Ready").is_some_and(|ready| ready["status"] == "True"));
    assert!(server.log().contains("\"decision\":\"allow\""), "each object is judged\n{}", server.log());
    let mut cells = vec!["each object is judged, and goes through".to_owned()];
    stage.settles("v1.34.0");
    let refused = || {
        stage.until("refused", |release| {
            condition(release, "Released").is_some_and(|one| one["message"].to_string().contains("rollgate hold"))
        });
        "each write that rolls Machines gets 403"
    };
    let installs = || {
        stage.until("as it was", |release| condition(release, "Ready").is_some_and(|ready| ready["status"] == "True"));
    };

    stage.late("10.0.9.9");
    let how = refused();
    assert!(stage.control_plane().contains("10.0.3.7"));
    cells.push(format!("held: {how}"));
    stage.late("10.0.3.7");
    installs();

    stage.upgrades();
    refused();
    assert!(!stage.control_plane().contains("v1.34.1"));
    let wanted = space.file("wanted.yaml", EXPECT);
    let knowing = Server::start_under(text(&wanted), &kubeconfig, &enforce);
    hook.moves(&knowing.url);
    let token = "again";
    stage.change(&json!({"metadata": {"annotations": {
        "reconcile.fluxcd.io/requestedAt": token, "reconcile.fluxcd.io/resetAt": token, "reconcile.fluxcd.io/forceAt": token}}}));
    stage.writes("v1.34.1");
    installs();
    cells.push("held until the policy names it (`expect`), then goes through".to_owned());
    stage.settles("v1.34.1");

    // What only observes lets the upgrade go; its rollback meets one that holds.
    let observer = Server::start_under("none", &kubeconfig, &["--mode", "observe"]);
    hook.moves(&observer.url);
    stage.fails();
    stage.writes("extraArgs");
    hook.moves(&knowing.url);
    cells.push(stage.remediated());
    cells.extend(stage.people());

    kubectl(space, &["delete", "helmrelease", "demo", "--wait=false"]).succeeded();
    stage.until("its removal is refused", |release| {
        release.to_string().contains("uninstall") && release.to_string().contains("rollgate hold")
    });
    assert!(space.get(CAPI, "clusters", "demo").expect("it stands")["metadata"]["deletionTimestamp"].is_null());
    cells.push("held: the deletion of what Machines hang on gets 403".to_owned());
    drop(hook);
    cells
}

#[test]
fn each_line_holds_what_the_page_says() {
    let Some(bench) = bench() else { return };
    let spaces = ["lines-values", "lines-gate", "lines-webhook"].map(|name| Space::new(bench, name));
    let columns = std::thread::scope(|scope| {
        let [one, other, third] = &spaces;
        let all = [scope.spawn(|| values(one)), scope.spawn(|| gate(other)), scope.spawn(|| webhook(third))];
        all.map(|line| line.join().expect("the story is played to its end"))
    });
    let mut table = "| | values | gate | webhook |\n|---|---|---|---|\n".to_owned();
    for (row, event) in EVENTS.iter().enumerate() {
        let cells: Vec<&str> = columns.iter().map(|column| column[row].as_str()).collect();
        writeln!(table, "| {event} | {} |", cells.join(" | ")).expect("text");
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/lines.md");
    let said = fs::read_to_string(&page).expect("the page");
    let start = said.find("| | values |").expect("a table");
    let end = said[start..].find("\n\n").map_or(said.len(), |at| start + at + 1);
    if said[start..end] != table {
        assert!(std::env::var_os("ROLLGATE_BLESS").is_some(), "docs/lines.md is stale; it has to say:\n{table}");
        fs::write(&page, format!("{}{table}{}", &said[..start], &said[end..])).expect("the page is written");
    }
}
