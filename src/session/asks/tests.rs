//! What a chart may ask about a cluster, and when it matters.

use super::*;
use crate::session::flux::artifact::tests::packed;

const ASKING: &[u8] = b"{{- $old := lookup \"v1\" \"Secret\" \"a\" \"b\" }}";
const COMPARED: &[u8] = b"apiVersion: cluster.x-k8s.io/v1beta1";

fn write(folder: &Path, name: &str, text: &[u8]) {
    let file = folder.join(name);
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    std::fs::write(file, text).expect("a file");
}

const NOTHING: Heard =
    Heard { objects: false, apis: false, version: false, revision: false, time: false, addresses: false };
/// What those hear whose renders here do not tell of another revision.
const REVISION: Heard = Heard { revision: true, ..NOTHING };

/// What is said of a chart whose copy renders what `again` says, where the chart itself rendered nothing.
fn said(chart: &Path, told: &[&[u8]], again: &str) -> Option<String> {
    let rendering = Rendering { chart, told, stream: b"", heard: REVISION };
    Unseen::of(rendering, |_, _| Ok(again.as_bytes().to_vec())).map(|unseen| unseen.why)
}

#[test]
fn a_file_that_asks_is_found_wherever_it_lies() {
    let folder = tempfile::tempdir().expect("a folder");
    let chart = folder.path();
    write(chart, "Chart.yaml", b"name: demo");
    write(chart, "templates/a.yaml", b"a: {{ .Values.lookup }}");
    write(chart, "files/data.tgz", b"no archive, and nothing that Helm unpacks");
    assert_eq!(said(chart, &[COMPARED], "kind: cluster.x-k8s.io"), None);
    write(chart, "charts/sub.tgz", &packed(&[("sub/Chart.yaml", b"name: sub"), ("sub/templates/s.yaml", ASKING)]));
    assert_eq!(said(chart, &[], "kind: cluster.x-k8s.io"), None, "it names no group that is compared");
    let why = said(chart, &[COMPARED], "kind: cluster.x-k8s.io").expect("it asks");
    assert!(why.starts_with("charts/sub.tgz/sub/templates/s.yaml asks the cluster"), "{why}");
    write(chart, "a.md", ASKING);
    write(chart, "charts/near/templates/_helpers.tpl", ASKING);
    let why = said(chart, &[COMPARED], "kind: cluster.x-k8s.io").expect("it asks");
    assert!(why.starts_with("charts/near/templates/_helpers.tpl asks the cluster"), "{why}");
    assert!(said(chart, &[COMPARED, ASKING], "").expect("they may ask").starts_with("a template in its values asks"));
    write(chart, "charts/bad.tgz", b"no archive");
    assert!(said(chart, &[COMPARED], "").expect("nobody knows").contains("is not known: "));
}

#[test]
fn a_call_that_is_never_reached_counts_for_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let below = packed(&[("sub/Chart.yaml", b"name: sub"), ("sub/templates/s.yaml", ASKING)]);
    let files = [("demo/Chart.yaml", b"name: demo".as_slice()), ("demo/charts/sub-1.tgz", &below)];
    let files: Vec<(&str, &[u8])> = files.into_iter().chain([("demo/templates/a.yaml", COMPARED)]).collect();
    let archive = folder.path().join("demo.tgz");
    std::fs::write(&archive, packed(&files)).expect("an archive");
    let unpacked = folder.path().join("unpacked");
    files.iter().for_each(|(name, text)| write(&unpacked, name, text));
    for chart in [archive, unpacked.join("demo")] {
        let again = |copy: &Path, _: &[String]| {
            let read = |name: &str| std::fs::read_to_string(copy.join(name)).expect(name);
            assert_eq!(read("Chart.yaml"), "name: demo");
            assert_eq!(read("charts/sub-1-unpacked/Chart.yaml"), "name: sub");
            assert!(!copy.join("charts/sub-1.tgz").exists());
            Ok(read("charts/sub-1-unpacked/templates/s.yaml").into_bytes())
        };
        let disarmed = b"{{- $old := fail \"v1\" \"Secret\" \"a\" \"b\" }}";
        let unseen = |stream: &[u8]| Unseen::of(Rendering { chart: &chart, told: &[], stream, heard: NOTHING }, again);
        assert_eq!(unseen(disarmed), None);
        assert!(unseen(COMPARED).is_some(), "an object goes");
        let rendering = Rendering { chart: &chart, told: &[], stream: b"", heard: NOTHING };
        let fails = Unseen::of(rendering, |_, _| anyhow::bail!("it failed"));
        assert!(fails.is_some(), "the call is reached");
    }
}

#[test]
fn two_renders_of_the_same_leave_nothing_unseen_between_them() {
    let of = |of: Option<&str>| Unseen { why: format!("{of:?}"), remedy: String::new(), of: of.map(str::to_owned) };
    let (one, two, unread) = (of(Some("1")), of(Some("2")), of(None));
    assert_eq!(Unseen::between(Some(&one), Some(&one)), None);
    assert_eq!(Unseen::between(Some(&unread), Some(&unread)), Some(&unread));
    for (before, after, expected) in [
        (Some(&one), Some(&two), Some(&two)),
        (Some(&one), None, Some(&one)),
        (None, Some(&two), Some(&two)),
        (None, None, None),
    ] {
        assert_eq!(Unseen::between(before, after), expected);
    }
}

#[test]
fn what_is_served_counts_where_it_makes_a_difference() {
    let folder = tempfile::tempdir().expect("a folder");
    let chart = folder.path();
    write(chart, "Chart.yaml", b"name: demo");
    write(chart, "templates/md.yaml", b"{{ if .Capabilities.APIVersions.Has \"cluster.x-k8s.io/v1beta2/Cluster\" }}");
    write(chart, "README.md", b"See https://example.org/cluster.x-k8s.io/a and .Capabilities.APIVersions.");
    let beside = |heard: Heard, rendered: &'static str| {
        let rendering = Rendering { chart, told: &[], stream: b"", heard };
        Unseen::of(rendering, |_, args: &[String]| {
            assert!(args.iter().all(|one| one.starts_with("--api-versions=")), "{args:?}");
            Ok(rendered.as_bytes().to_vec())
        })
    };
    let unseen = beside(REVISION, "kind: cluster.x-k8s.io").expect("it asks");
    assert!(unseen.why.starts_with("templates/md.yaml asks what the API server serves"), "{}", unseen.why);
    assert!(unseen.remedy.ends_with("--helm-arg=--api-versions=cluster.x-k8s.io/v1beta2/Cluster"), "{}", unseen.remedy);
    assert_eq!(beside(REVISION, ""), None, "it makes no difference");
    assert_eq!(beside(Heard { apis: true, ..REVISION }, "kind: cluster.x-k8s.io"), None, "it was told");
    let failed = Rendering { chart, told: &[], stream: b"", heard: NOTHING };
    assert!(Unseen::of(failed, |_, _| anyhow::bail!("it failed")).is_some(), "a difference too");
}

#[test]
fn a_version_that_is_served_alone_counts_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let chart = folder.path();
    write(
        chart,
        "templates/md.yaml",
        b"# cluster.x-k8s.io {{ .Capabilities.APIVersions.Has (printf \"%s/v1beta1\" .Values.group) }}",
    );
    // As a chart renders that asks for one version and not for another, whose group is put together.
    let renders = |wanted: &'static str, unwanted: &'static str| {
        let rendering = Rendering { chart, told: &[], stream: b"old", heard: REVISION };
        let again = |_: &Path, args: &[String]| {
            let has = |version: &str| args.contains(&format!("--api-versions={version}"));
            Ok(if has(wanted) && !has(unwanted) { b"# cluster.x-k8s.io new".to_vec() } else { b"old".to_vec() })
        };
        Unseen::of(rendering, again).is_some()
    };
    assert!(renders("cluster.x-k8s.io/v1beta1", "cluster.x-k8s.io/v1beta2"));
    assert!(renders("infrastructure.cluster.x-k8s.io/v1beta1/OpenStackCluster", "nothing"));
    write(chart, "templates/a.yaml", b"cluster.x-k8s.io/v1beta1 infrastructure.cluster.x-k8s.io/v1beta1/DevCluster");
    assert!(renders("cluster.x-k8s.io/v1beta1", "infrastructure.cluster.x-k8s.io/v1beta1"), "one of both alone");
    assert!(!renders("apps/v1", "nothing"));
}

#[test]
fn the_time_counts_where_it_makes_a_difference() {
    let folder = tempfile::tempdir().expect("a folder");
    let chart = folder.path();
    write(chart, "Chart.yaml", b"name: demo");
    let unseen = |template: &str, told: &[&[u8]]| {
        write(chart, "templates/md.yaml", template.as_bytes());
        let rendering = Rendering { chart, told, stream: template.as_bytes(), heard: REVISION };
        let again = |copy: &Path, _: &[String]| Ok(std::fs::read(copy.join("templates/md.yaml")).expect("a file"));
        Unseen::of(rendering, again).map(|unseen| unseen.why)
    };
    let why = unseen("# cluster.x-k8s.io\nname: {{ now | date `2006` }}", &[]).expect("it counts");
    assert!(why.starts_with("templates/md.yaml renders what time it is"), "{why}");
    assert_eq!(unseen("# cluster.x-k8s.io\n---\nkind: ConfigMap\nname: {{ now }}", &[]), None, "another object");
    assert_eq!(unseen("# cluster.x-k8s.io\nname: {{ .Values.now }}", &[]), None);
    assert!(unseen("# cluster.x-k8s.io", &[b"name: '{{ now }}'"]).is_some(), "values may hold a template");
}

#[test]
fn the_revision_counts_where_it_makes_a_difference() {
    let folder = tempfile::tempdir().expect("a folder");
    let chart = folder.path();
    write(chart, "Chart.yaml", b"name: demo");
    write(chart, "templates/md.yaml", b"# cluster.x-k8s.io\nname: t-{{ .Release.Revision }}");
    // As Helm would: what was set is what is told.
    let render = |copy: &Path, _: &[String]| {
        let text = std::fs::read_to_string(copy.join("templates/md.yaml")).expect("a file");
        let told = text.strip_prefix("{{ $_ := set .Release \"Revision\" ").and_then(|rest| rest.split_once(" }}"));
        let (revision, text) = told.expect("another revision");
        Ok(text.replace("{{ .Release.Revision }}", revision).into_bytes())
    };
    let unseen = |heard: Heard| {
        let stream = b"# cluster.x-k8s.io\nname: t-1";
        Unseen::of(Rendering { chart, told: &[], stream, heard }, render)
    };
    let why = unseen(NOTHING).expect("it counts").why;
    assert!(why.starts_with("templates/md.yaml renders another stream at each upgrade"), "{why}");
    assert_eq!(unseen(Heard { revision: true, ..NOTHING }), None);
    write(
        chart,
        "templates/md.yaml",
        b"# cluster.x-k8s.io\nname: t-1\n---\nkind: ConfigMap\nname: {{ .Release.Revision }}",
    );
    let stream = b"# cluster.x-k8s.io\nname: t-1\n---\nkind: ConfigMap\nname: 1";
    let other = Unseen::of(Rendering { chart, told: &[], stream, heard: NOTHING }, render);
    assert_eq!(other, None, "no object of Cluster API has it");
    // One that names it nowhere may show all that it is given.
    write(chart, "templates/md.yaml", b"# cluster.x-k8s.io\nname: {{ toYaml . | sha256sum }}");
    let shows = |copy: &Path, _: &[String]| {
        let text = std::fs::read_to_string(copy.join("templates/md.yaml")).expect("a file");
        let number = text.split_whitespace().find_map(|word| word.parse::<u64>().ok()).unwrap_or(1);
        Ok(format!("# cluster.x-k8s.io\nname: {number}").into_bytes())
    };
    let of = |stream: &[u8]| Unseen::of(Rendering { chart, told: &[], stream, heard: NOTHING }, shows);
    let why = of(b"# cluster.x-k8s.io\nname: 1").expect("it counts").why;
    assert!(why.starts_with("one of its templates renders another stream each time"), "{why}");
    assert_eq!(of(b"# cluster.x-k8s.io\nname: 1000000"), None, "near miss: it is the same");
}

#[test]
fn the_version_counts_where_it_makes_a_difference() {
    let folder = tempfile::tempdir().expect("a folder");
    let chart = folder.path();
    write(chart, "Chart.yaml", b"name: demo\nkubeVersion: '>=1.25'");
    write(chart, "templates/md.yaml", b"# cluster.x-k8s.io\nversion: {{ .Capabilities.KubeVersion.Version }}");
    let unseen = |heard: Heard, newer: &'static str| {
        let stream = b"# cluster.x-k8s.io\nversion: v1.34.0";
        Unseen::of(Rendering { chart, told: &[], stream, heard }, |_, args| match args {
            [version] if version == "--kube-version=1.99.0" => Ok(newer.as_bytes().to_vec()),
            _ => anyhow::bail!("the chart wants another version"),
        })
    };
    let why = unseen(REVISION, "# cluster.x-k8s.io\nversion: v1.99.0").expect("it counts").why;
    assert!(why.starts_with("templates/md.yaml may render another stream for another version"), "{why}");
    assert_eq!(unseen(REVISION, "# cluster.x-k8s.io\nversion: v1.34.0"), None, "it makes no difference");
    assert_eq!(unseen(Heard { version: true, ..REVISION }, "# cluster.x-k8s.io\nversion: v1.99.0"), None);
}

#[test]
fn a_version_that_the_chart_names_is_tried_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let chart = folder.path();
    let renders = |template: &str, from: u64, to: u64| {
        write(chart, "templates/md.yaml", format!("# cluster.x-k8s.io {template}").as_bytes());
        let rendering = Rendering { chart, told: &[], stream: b"old", heard: REVISION };
        let unseen = Unseen::of(rendering, |_, args| {
            let [version] = args else { anyhow::bail!("no version") };
            let (minor, _) = version.trim_start_matches("--kube-version=1.").split_once('.').expect("a patch");
            let minor: u64 = minor.parse()?;
            anyhow::ensure!((from..=to).contains(&minor), "the chart wants another version");
            Ok(if minor == 30 { b"# cluster.x-k8s.io new".to_vec() } else { b"old".to_vec() })
        });
        unseen.map(|unseen| unseen.why)
    };
    let by_text = r#"{{ semverCompare "~1.30-0" .Capabilities.KubeVersion.Version }}"#;
    assert!(renders(by_text, 20, 99).is_some());
    assert!(renders("{{ eq (int .Capabilities.KubeVersion.Minor) 30 }}", 20, 99).is_some());
    assert!(renders("{{ gt (int .Capabilities.KubeVersion.Minor) 29 }}", 20, 99).is_some(), "the next one is tried");
    assert_eq!(renders("{{ .Capabilities.KubeVersion }} 1.40", 20, 99), None, "none that is named differs");
    assert!(renders("{{ .Capabilities.KubeVersion }}", 26, 28).is_some(), "no version was rendered, so nobody knows");
    assert_eq!(renders("{{ .Capabilities.KubeVersion }} 1.27", 26, 28), None);
}

#[test]
fn helm_may_be_told_of_the_cluster() {
    let heard = |args: &[&str]| {
        let Heard { objects, apis, .. } = Heard::by(&args.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>());
        (objects, apis)
    };
    assert_eq!(heard(&["--dry-run=server", "-a", "example.org/v1"]), (true, true));
    assert_eq!(heard(&["--set", "a=b", "--dry-run", "server"]), (true, false));
    assert_eq!(heard(&["--api-versions=example.org/v1", "--dry-run=client", "--set", "server"]), (false, true));
    assert_eq!(heard(&["--dry-run"]), (false, false));
    assert_eq!(heard(&[]), (false, false));
}

#[test]
fn an_address_counts_where_helm_may_look_for_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let chart = folder.path();
    write(chart, "Chart.yaml", b"name: demo");
    let unseen = |args: &[&str], template: &str| {
        write(chart, "templates/a.yaml", template.as_bytes());
        let heard = Heard::by(&args.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>());
        let heard = Heard { objects: true, apis: true, version: true, revision: true, time: true, ..heard };
        let render = |text: &str| match text.contains("{{ fail") {
            true if text.contains("cluster.x-k8s.io") => anyhow::bail!("it fails"),
            _ => Ok(text.replace("{{ getHostByName `vip` }}", "192.0.2.10").into_bytes()),
        };
        let stream = render(template).expect("a stream");
        Unseen::of(Rendering { chart, told: &[], stream: &stream, heard }, |copy, _| {
            render(&std::fs::read_to_string(copy.join("templates/a.yaml")).expect("a file"))
        })
    };
    let asks = "# cluster.x-k8s.io\nhost: {{ getHostByName `vip` }}";
    let why = unseen(&["--enable-dns"], asks).expect("it counts").why;
    assert!(why.starts_with("templates/a.yaml asks which address a name has"), "{why}");
    assert_eq!(unseen(&[], asks), None, "no name has an address");
    assert_eq!(unseen(&["--enable-dns"], "# cluster.x-k8s.io\nhost: 192.0.2.10"), None);
}
