//! What a plan is asked about, rendered by the real Helm 3, Helm 4, kustomize and kubectl, on one side and on both. No API server is
//! needed, only the programs of the bench.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::say;
use crate::helm::{Run, rollgate};
use crate::readme::blocks;
use crate::starter;

/// A folder with the test chart under Git, and the programs.
struct Place {
    folder: tempfile::TempDir,
    bin: PathBuf,
}

impl Place {
    fn new() -> Option<Self> {
        match starter::find(&["helm3", "helm4", "kustomize", "kubectl"]) {
            Ok(bin) => Some(Self { folder: tempfile::tempdir().expect("a folder"), bin }),
            Err(missing) => {
                assert!(std::env::var_os("CI").is_none(), "{missing}");
                say(&format!("skipped: charts and kustomizations, because {missing} (build it with `make bench`)"));
                None
            }
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn file(&self, name: &str, text: &str) {
        let file = self.path().join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
        fs::write(file, text).expect("written");
    }

    fn chart(&self) {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/charts/kubeadm");
        let copied = Command::new("cp").arg("-r").arg(from).arg(self.path().join("chart")).status();
        assert!(copied.expect("cp runs").success());
    }

    fn git(&self, args: &[&str]) {
        let set = [
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "-c",
            "commit.gpgsign=false",
            "-c",
            "init.defaultBranch=main",
        ];
        let mut command = Command::new("git");
        command.args(set).args(args).current_dir(self.path()).env("HOME", self.path());
        assert!(command.output().expect("git runs").status.success(), "git {args:?}");
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
    }

    fn plan(&self, args: &[&str]) -> Run {
        let mut command = Command::new(rollgate());
        command.env_clear().env("HOME", self.path()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        Run::of(command.current_dir(self.path()).arg("plan").args(args).output().expect("it runs"))
    }

    /// What Helm renders of the chart with its values.
    fn templated(&self, helm: &str) -> String {
        let mut command = Command::new(helm);
        command.args(["template", "demo", "./chart", "-f", "values.yaml", "-n", "demo", "--is-upgrade"]);
        let ran = Run::of(command.current_dir(self.path()).output().expect("Helm runs"));
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        ran.stdout
    }

    fn program(&self, name: &str) -> String {
        self.bin.join(name).display().to_string()
    }
}

#[test]
fn a_chart_of_both_helms_is_judged_at_both_revisions() {
    let Some(place) = Place::new() else { return };
    place.chart();
    place.file("values.yaml", "vip: 10.0.3.7\n");
    place.git(&["init", "--quiet"]);
    place.git(&["add", "."]);
    place.git(&["commit", "--quiet", "-m", "one"]);
    place.file("values.yaml", "vip: 10.0.3.8\n");
    place.git(&["commit", "--quiet", "-am", "two"]);
    for helm in ["helm3", "helm4"] {
        let helm = place.program(helm);
        let chart = ["--chart", "./chart", "-f", "values.yaml", "--release", "demo", "-n", "demo", "--helm", &helm];
        let held = place.plan(&[&["--base-ref", "HEAD~1"], &chart[..]].concat());
        assert_eq!(held.code, Some(3), "{held:#?}");
        assert!(held.stdout.contains("10.0.3.7 -> 10.0.3.8"), "{held:#?}");
        let json = place.plan(&[&["--base-ref", "HEAD~1", "-o", "json"], &chart[..]].concat());
        assert!(
            json.stdout.contains("\"template\": \"kubeadm-cluster/templates/"),
            "Helm names the template: {json:#?}"
        );
        let same = place.plan(&[&["--base-ref", "HEAD"], &chart[..]].concat());
        assert_eq!(same.code, Some(0), "{same:#?}");
        let install = place.plan(&[&["--live", "none"], &chart[..]].concat());
        assert_eq!(install.code, Some(0), "{install:#?}");
    }
}

/// A template that asks the cluster as soon as a value says so.
const ASKS: &str = "{{- if .Values.asks }}
{{- if not (lookup \"v1\" \"Secret\" \"demo\" \"etcd-key\") }}
apiVersion: v1
kind: Secret
metadata: {name: etcd-key}
{{- end }}
{{- end }}
";

#[test]
fn a_chart_that_asks_the_cluster_is_undecided_where_a_change_reaches_it() {
    let Some(place) = Place::new() else { return };
    place.chart();
    place.file("chart/templates/asks.yaml", ASKS);
    place.git(&["init", "--quiet"]);
    let says = "templates/asks.yaml asks the cluster";
    place.file("rollgate.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nreleases: [{name: demo, namespace: demo, chart: ./chart, values: [values.yaml]}]\n");
    // What the values are, what they become, and how it is answered.
    let cases = [
        ("asks: true", "asks: true\nother: 1", 4),
        ("asks: true", "asks: true", 0),
        ("asks: false", "asks: false\nother: 1", 0),
        ("asks: false", "asks: true", 4),
        ("asks: true", "asks: false", 4),
    ];
    for helm in ["helm3", "helm4"] {
        let helm = place.program(helm);
        let chart = ["--chart", "./chart", "-f", "values.yaml", "--release", "demo", "-n", "demo", "--helm", &helm];
        for (before, after, code) in cases {
            place.file("values.yaml", &format!("vip: 10.0.3.7\n{before}\n"));
            place.commit("one");
            place.file("values.yaml", &format!("vip: 10.0.3.7\n{after}\n"));
            place.file("unrelated", &format!("{before} {after}"));
            place.commit("two");
            let ran = place.plan(&[&["--base-ref", "HEAD~1"], &chart[..]].concat());
            assert_eq!((ran.code, ran.stdout.contains(says)), (Some(code), code == 4), "{before} {after}: {ran:#?}");
            let listed = place.plan(&["--all", "--base-ref", "HEAD~1", "--helm", &helm]);
            assert_eq!(listed.code, Some(code), "{before} {after}: {listed:#?}");
        }
        place.file("values.yaml", "vip: 10.0.3.7\nasks: true\n");
        let live = place.plan(&[&["--live", "none"], &chart[..]].concat());
        assert_eq!(live.code, Some(0), "beside nothing nothing is found: {live:#?}");
        place.file("before.yaml", &place.templated(&helm));
        let live = place.plan(&[&["--live", "before.yaml"], &chart[..]].concat());
        assert_eq!((live.code, live.stdout.contains(says)), (Some(4), true), "{live:#?}");
        let piped = place.plan(&["before.yaml", "--live", "before.yaml"]);
        assert_eq!(piped.code, Some(0), "who rendered it knows: {piped:#?}");
    }
}

#[test]
fn a_chart_that_asks_what_is_served_is_undecided_where_that_makes_a_difference() {
    let Some(place) = Place::new() else { return };
    place.chart();
    let served =
        |asks: &str| format!("{{{{- if {asks} }}}}\n{WATCH}      team: {{{{ .Values.team }}}}\n{{{{- end }}}}\n");
    let has = |api: &str| format!("(.Capabilities.APIVersions.Has {api})");
    place.git(&["init", "--quiet"]);
    for helm in ["helm3", "helm4"] {
        let helm = place.program(helm);
        let chart = ["--chart", "./chart", "-f", "values.yaml", "--release", "demo", "-n", "demo", "--helm", &helm];
        let plan = |asks: &str, more: &[&str]| {
            place.file("chart/templates/served.yaml", &served(asks));
            for team in ["blue", "red"] {
                place.file("values.yaml", &format!("vip: 10.0.3.7\nteam: {team}\n"));
                place.commit(team);
            }
            place.plan(&[&["--base-ref", "HEAD~1"], &chart[..], more].concat())
        };
        let api = "cluster.x-k8s.io/v1beta1/MachineHealthCheck";
        let quoted = |api: &str| has(&format!("\"{api}\""));
        let (old, new) = (quoted("cluster.x-k8s.io/v1beta1"), quoted("cluster.x-k8s.io/v1beta2"));
        let put_together = has("(printf \"%s/%s\" \"cluster.x-k8s.io\" \"v1beta2\")");
        let one_of_both = format!("and {old} (not {})", quoted("infrastructure.cluster.x-k8s.io/v1beta1"));
        for asks in [quoted(api), format!("and {old} (not {new})"), put_together, one_of_both] {
            let ran = plan(&asks, &[]);
            assert_eq!(
                (ran.code, ran.stdout.contains("asks what the API server")),
                (Some(4), true),
                "{asks}: {ran:#?}"
            );
        }
        let told = plan(&quoted(api), &["--helm-arg", &format!("--api-versions={api}")]);
        assert_eq!((told.code, told.stdout.contains("team")), (Some(0), true), "{told:#?}");
        let other = plan(&quoted("monitoring.coreos.com/v1"), &[]);
        assert_eq!(other.code, Some(0), "what is not of Cluster API makes no difference: {other:#?}");
    }
}

#[test]
fn a_chart_that_names_its_revision_or_the_time_is_undecided_where_objects_of_cluster_api_have_it() {
    let Some(place) = Place::new() else { return };
    place.chart();
    place.git(&["init", "--quiet"]);
    let is_named = |said: &str| {
        ["templates/revision.yaml renders", "a template in its values renders", "one of its templates renders"]
            .iter()
            .any(|file| said.contains(file))
    };
    let (revision, today) = ("{{ .Release.Revision }}", "{{ now | date `2006-01-02` }}");
    let map = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n");
    let watch = |name: &str| format!("{}      team: blue\n", WATCH.replace("name: watch", &format!("name: {name}")));
    for helm in ["helm3", "helm4"] {
        let helm = place.program(helm);
        let chart = ["--chart", "./chart", "-f", "values.yaml", "--release", "demo", "-n", "demo", "--helm", &helm];
        let cases = [
            (watch(&format!("watch-{revision}")), 4),
            (watch("watch-{{ with .Release }}{{ .Revision }}{{ end }}"), 4),
            (watch("watch-{{ .Release | toYaml | sha256sum | trunc 8 }}"), 4),
            (watch("watch{{ if eq (int .Release.Revision) 2 }}-two{{ end }}"), 4),
            (watch("watch-{{ pick . `Release` | toYaml | sha256sum | trunc 8 }}"), 4),
            (watch("watch-{{ tpl .Values.note . }}"), 4),
            (watch("watch-{{ $all := dict `all` . }}{{ index $all.all `Release` | toYaml | sha256sum | trunc 8 }}"), 4),
            (watch("watch-{{ index . `Release` `Name` }}"), 0),
            (watch("watch{{ tpl .Values.note . | regexFind `x` }}"), 0),
            (watch("watch{{ if ge .Release.Revision 1 }}-any{{ end }}"), 0),
            (watch("watch{{ .Values.Revision }}"), 0),
            (watch("watch-{{ date `2006-01-02` .Chart.Name }}"), 4),
            (map(&format!("map-{revision}")), 0),
            (watch(&format!("watch-{today}")), 4),
            (map(&format!("map-{today}")), 0),
            (format!("{{{{- $never := \"{today}\" }}}}\n{}", watch("watch")), 0),
        ];
        for (template, code) in cases {
            place.file("chart/templates/revision.yaml", &template);
            for other in ["1", "2"] {
                place.file("values.yaml", &format!("vip: 10.0.3.7\nother: {other}\nnote: '{revision}'\n"));
                place.commit(other);
            }
            let ran = place.plan(&[&["--base-ref", "HEAD~1"], &chart[..]].concat());
            assert_eq!((ran.code, is_named(&ran.stdout)), (Some(code), code == 4), "{ran:#?}");
            let first = place.plan(&[&["--live", "none"], &chart[..]].concat());
            assert_eq!(first.code, Some(0), "the first revision it is: {first:#?}");
        }
        place.file("chart/templates/revision.yaml", &watch("watch-{{ getHostByName `localhost` | replace `:` `-` }}x"));
        place.commit("an address");
        place.file("values.yaml", "vip: 10.0.3.7\nother: 3\n");
        place.commit("other values");
        for (args, code) in [(&[][..], 0), (&["--helm-arg=--enable-dns"][..], 4)] {
            let ran = place.plan(&[&["--base-ref", "HEAD~1"], args, &chart[..]].concat());
            assert_eq!(
                (ran.code, ran.stdout.contains("asks which address a name has")),
                (Some(code), code == 4),
                "{ran:#?}"
            );
        }
    }
}

/// A health check as a chart has it, but for its last label.
const WATCH: &str = "apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineHealthCheck
metadata: {name: watch}
spec:
  clusterName: demo
  selector:
    matchLabels:
";

#[test]
fn a_chart_that_is_fetched_may_ask_too() {
    let Some(place) = Place::new() else { return };
    place.chart();
    place.file("chart/templates/asks.yaml", ASKS);
    let helm = place.program("helm4");
    let packed = Command::new(&helm).args(["package", "chart"]).current_dir(place.path()).output().expect("Helm runs");
    assert!(packed.status.success(), "{packed:?}");
    let archive = fs::read_dir(place.path()).expect("a folder").filter_map(|entry| Some(entry.ok()?.path()));
    let archive =
        archive.into_iter().find(|file| file.extension().is_some_and(|end| end == "tgz")).expect("an archive");
    let archive = fs::read(archive).expect("an archive");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/demo.tgz", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut head = [0; 4096];
            let _read = stream.read(&mut head);
            let about = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", archive.len());
            drop(stream.write_all(about.as_bytes()).and_then(|()| stream.write_all(&archive)));
        }
    });
    for helm in ["helm3", "helm4"] {
        let helm = place.program(helm);
        for (asks, code) in [("true", 4), ("false", 0)] {
            place.file("values.yaml", &format!("vip: 10.0.3.7\nasks: {asks}\n"));
            place.file("before.yaml", &place.templated(&helm));
            let ran = place.plan(&[
                "--chart",
                &url,
                "-f",
                "values.yaml",
                "--release",
                "demo",
                "-n",
                "demo",
                "--live",
                "before.yaml",
                "--helm",
                &helm,
            ]);
            assert_eq!(ran.code, Some(code), "{asks}: {ran:#?}");
        }
    }
}

#[test]
fn what_a_chart_depends_on_is_fetched_in_each_worktree() {
    let Some(place) = Place::new() else { return };
    place.chart();
    let about = |beside: &str| {
        format!(
            "apiVersion: v2\nname: umbrella\nversion: 1.0.0\ndependencies:\n- {{name: kubeadm-cluster, version: '>=0-0', repository: 'file://{beside}'}}\n"
        )
    };
    place.file("umbrella/Chart.yaml", &about("../chart"));
    place.file("values.yaml", "kubeadm-cluster: {vip: 10.0.3.7}\n");
    place.git(&["init", "--quiet"]);
    place.git(&["add", "."]);
    place.git(&["commit", "--quiet", "-m", "one"]);
    place.file("values.yaml", "kubeadm-cluster: {vip: 10.0.3.8}\n");
    place.file("new/Chart.yaml", "apiVersion: v2\nname: new\nversion: 1.0.0\n");
    place.git(&["add", "."]);
    place.git(&["commit", "--quiet", "-m", "two"]);
    let outside = tempfile::tempdir().expect("a folder");
    for helm in ["helm3", "helm4"] {
        let helm = place.program(helm);
        let plan = |chart: &str, more: &[&str]| {
            let chart =
                ["--base-ref", "HEAD~1", "--chart", chart, "-f", "values.yaml", "--release", "demo", "--helm", &helm];
            place.plan(&[&chart[..], more].concat())
        };
        let lacks = plan("umbrella", &[]);
        assert_eq!((lacks.code, lacks.stdout.as_str()), (Some(2), ""), "{lacks:#?}");
        assert!(lacks.stderr.contains("--dependency-build fetches them first"), "{lacks:#?}");
        let held = plan("umbrella", &["--dependency-build"]);
        assert_eq!(held.code, Some(3), "{held:#?}");
        assert!(held.stdout.contains("10.0.3.7 -> 10.0.3.8"), "{held:#?}");
        assert!(!place.path().join("umbrella/charts").exists(), "the tree of the user stays as it is");
        let new = plan("new", &[]);
        assert_eq!(new.code, Some(2), "{new:#?}");
        assert!(new.stderr.contains("new is not in HEAD~1; where it is new, pass --new-chart"), "{new:#?}");
    }
    place.file("umbrella/Chart.yaml", &about(&outside.path().display().to_string()));
    place.git(&["commit", "--quiet", "-am", "three"]);
    let helm = place.program("helm3");
    let chart =
        ["--base-ref", "HEAD", "--chart", "umbrella", "--release", "demo", "--helm", &helm, "--dependency-build"];
    let leaves = place.plan(&chart);
    assert_eq!(leaves.code, Some(2), "{leaves:#?}");
    assert!(leaves.stderr.contains("leads out of the repository"), "{leaves:#?}");
}

#[test]
fn what_a_helm_says_of_a_chart_that_it_cannot_render_is_handed_on() {
    let Some(place) = Place::new() else { return };
    place.chart();
    place.file("chart/templates/broken.yaml", "{{ required \"the address is missing\" .Values.nothing }}\n");
    place.file("empty/Chart.yaml", "apiVersion: v2\nname: empty\nversion: 1.0.0\n");
    for helm in ["helm3", "helm4"] {
        let helm = place.program(helm);
        let plan =
            |chart: &str| place.plan(&["--chart", chart, "--release", "demo", "--live", "none", "--helm", &helm]);
        let failed = plan("chart");
        assert_eq!((failed.code, failed.stdout.as_str()), (Some(2), ""), "{failed:#?}");
        assert!(failed.stderr.contains("the address is missing"), "{failed:#?}");
        let empty = plan("empty");
        assert_eq!((empty.code, empty.stdout.as_str()), (Some(2), ""), "{empty:#?}");
        assert!(empty.stderr.contains("prints no object"), "{empty:#?}");
    }
}

#[test]
fn a_kustomization_is_built_by_kustomize_and_by_kubectl() {
    let Some(place) = Place::new() else { return };
    place.file("base/md.yaml", include_str!("../../testdata/machine-deployment.yaml"));
    place.file("base/kustomization.yaml", "resources: [md.yaml]\n");
    place.file("over/kustomization.yaml", "resources: [../base]\n");
    place.git(&["init", "--quiet"]);
    place.git(&["add", "."]);
    place.git(&["commit", "--quiet", "-m", "one"]);
    let patch = "resources: [../base]\npatches:\n- target: {kind: MachineDeployment}\n  patch: |-\n    - {op: replace, path: /spec/template/spec/version, value: v1.32.0}\n";
    place.file("over/kustomization.yaml", patch);
    place.git(&["commit", "--quiet", "-am", "two"]);
    for program in ["kustomize", "kubectl"] {
        let program = place.program(program);
        let held = place.plan(&["over", "--base-ref", "HEAD~1", "--kustomize", &program]);
        assert_eq!(held.code, Some(3), "{held:#?}");
        assert!(held.stdout.contains("v1.31.0 -> v1.32.0 replaces 2"), "{held:#?}");
    }
    place.file("over/kustomization.yaml", "resources: [../gone]\n");
    let failed = place.plan(&["over", "--live", "none", "--kustomize", &place.program("kustomize")]);
    assert_eq!((failed.code, failed.stdout.as_str()), (Some(2), ""), "{failed:#?}");
    assert!(failed.stderr.contains("accumulating resources"), "{failed:#?}");
}

#[test]
fn an_archive_of_a_release_is_a_plugin_of_both_helms() {
    let Some(place) = Place::new() else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    place.file("rollgate", &format!("#!/bin/sh\nexec {} \"$@\"\n", rollgate()));
    let binary = place.path().join("rollgate");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&binary, mode).expect("a script");
    let packed = Command::new(root.join(".ci/release"))
        .args(["pack", "x86_64-unknown-linux-musl"])
        .arg(&binary)
        .arg(place.path())
        .output()
        .expect("bash runs");
    let packed = Run::of(packed).succeeded();
    let archive = PathBuf::from(packed.stdout.trim());
    let folder = archive.to_str().and_then(|name| name.strip_suffix(".tar.gz")).expect("a name").to_owned();
    let path = |place: &Place| format!("{}:{}", place.bin.display(), std::env::var("PATH").unwrap_or_default());
    let run = |home: &str, words: &str| {
        let mut command = Command::new("sh");
        command.env_clear().env("HOME", place.path().join(home)).env("PATH", path(&place)).current_dir(place.path());
        Run::of(command.args(["-c", words]).output().expect("a shell runs"))
    };
    // As the page says it; each major in a home of its own.
    let lines = blocks("docs/hosts/helm.md", "sh archive");
    let mut installed = 0;
    for line in lines.iter().flat_map(|block| block.lines()) {
        let helm = if line.contains("helm4") { "helm4" } else { "helm3" };
        run(helm, line).succeeded();
        let help = run(helm, &format!("{helm} rollgate setup --help")).succeeded();
        assert!(help.stdout.contains("Usage: rollgate helm setup"), "{help:#?}");
        // What Helm itself says of the command, and our options beside it.
        let help = run(helm, &format!("HELM_BIN={helm} {helm} rollgate rollback --help")).succeeded();
        assert!(help.stdout.contains("--policy") && help.stdout.contains("rolls back a release"), "{help:#?}");
        installed += 1;
    }
    assert_eq!(installed, 2, "one line a major");
    // A checkout is a plugin as well, once the program is in it.
    for helm in ["helm3", "helm4"] {
        let checkout = place.path().join(format!("checkout-{helm}"));
        fs::create_dir_all(checkout.join("bin")).expect("folders");
        fs::copy(root.join("plugin.yaml"), checkout.join("plugin.yaml")).expect("copied");
        fs::copy(PathBuf::from(&folder).join("bin/rollgate"), checkout.join("bin/rollgate")).expect("copied");
        let home = format!("home-{helm}");
        run(&home, &format!("{helm} plugin install {}", checkout.display())).succeeded();
        let said = run(&home, &format!("{helm} rollgate explain 'exit 3'")).succeeded();
        assert!(said.stdout.contains("exit code: 3"), "{said:#?}");
    }
}
