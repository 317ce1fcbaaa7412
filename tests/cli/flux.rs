//! `rollgate flux render` and `plan --flux` as far as they need no Helm: what is refused, what is missing, and what no error says.
//! What they render stands in tests/e2e/flux_render.rs, beside helm-controller.

use std::os::unix::fs::PermissionsExt as _;

use super::{Program, Ran, ran};

/// A HelmRelease with something of its own in its spec.
fn release(spec: &str) -> String {
    format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: demo, namespace: telco}}\nspec:\n  interval: 1h\n  \
         chart: {{spec: {{chart: charts/demo, sourceRef: {{kind: GitRepository, name: fleet}}}}}}\n{spec}"
    )
}

fn from(entry: &str) -> String {
    release(&format!("  valuesFrom: [{{{entry}}}]\n"))
}

/// A program with a chart that no Helm has to read, as nothing comes that far.
fn program() -> Program {
    let program = Program::new();
    std::fs::create_dir_all(program.home().join("charts/demo")).expect("a folder");
    program.file("charts/demo/Chart.yaml", "apiVersion: v2\nname: demo\nversion: 0.1.0\n");
    program.file(
        "values.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: v, namespace: telco}\ndata:\n  values.yaml: 'a: 1'\n  list: '[1]'\n  \
         text: hunter2hunter2\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: telco}\nstringData:\n  \
         values.yaml: 'password: hunter2hunter2'\n  text: 'hunter2hunter2,'\n  list: '- hunter2hunter2'\n",
    );
    program
}

fn render(program: &Program, release: &str, more: &[&str]) -> Ran {
    program.file("release.yaml", release);
    let mut command = program.command();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.args(["flux", "render", "release.yaml", "--repo-root", ".", "--values-from", "values.yaml"]).args(more);
    ran(command, b"")
}

#[test]
fn what_flux_would_wait_for_is_undecided_and_named() {
    let program = program();
    for (text, more, said) in [
        (from("kind: ConfigMap, name: w"), &[][..], "ConfigMap w of namespace telco is in no file that was given"),
        (from("kind: ConfigMap, name: w, optional: true"), &[], "pass --absent ConfigMap/w"),
        (
            from("kind: ConfigMap, name: w"),
            &["--absent", "ConfigMap/w"],
            "ConfigMap w is not there, so Flux does not install",
        ),
        (
            from("kind: Secret, name: s, valuesKey: k"),
            &[],
            "Secret s has no key k, so Flux does not install or upgrade",
        ),
        (release("").replace("GitRepository", "HelmRepository"), &[], "its chart is in HelmRepository telco/fleet"),
        (release("").replace("GitRepository", "Bucket"), &[], "its chart is in Bucket telco/fleet"),
    ] {
        let ran = render(&program, &text, more);
        assert_eq!(ran.code, Some(4), "{text}{}", ran.stderr);
        assert!(ran.stderr.contains(said) && ran.stderr.contains("HelmRelease telco/demo: "), "{}", ran.stderr);
        assert!(ran.stdout.is_empty());
    }
}

#[test]
fn what_flux_refuses_is_refused_by_name() {
    let program = program();
    let path = |path: &str| from(&format!("kind: ConfigMap, name: v, valuesKey: text, targetPath: '{path}'"));
    for (text, said) in [
        (from("kind: Deployment, name: v"), "valuesFrom: kind must be ConfigMap or Secret"),
        (from("kind: ConfigMap"), "name must have 1 to 253 characters"),
        (from("kind: ConfigMap, name: v, valuesKey: 'a b'"), "valuesKey of ConfigMap v must be of letters"),
        (path("a b"), "is none that the API server takes"),
        (path("a[x]"), "is none that the API server takes"),
        (path("a[123456]"), "is none that the API server takes"),
        (path("a[70000]"), "cannot be put at a[70000]: the index of a list is too great"),
        (path("a..b"), "cannot be put at"),
        (from("kind: ConfigMap, name: v, valuesKey: list"), "key list of ConfigMap v holds no map of values"),
        (
            release("  postRenderers: [{kustomize: {patchesStrategicMerge: []}}]\n"),
            "a field patchesStrategicMerge, which is not rendered",
        ),
        (release("  upgrade: {preserveValues: true}\n"), "takes over values of its last release"),
        (release("  postRenderStrategy: sometimes\n"), "is none that Flux takes"),
        (release("  kubeConfig: {secretRef: {name: k}}\n"), "it installs into another cluster"),
        (release("  chartRef: {kind: HelmChart, name: c}\n"), "either chart or chartRef"),
        (release("").replace("charts/demo", "../demo"), "../demo leads out of its source"),
        (format!("{}---\n{}", release(""), release("")), "HelmRelease telco/demo was given twice"),
        (format!("{}---\n{}", from("kind: ConfigMap, name: v"), VALUES), "ConfigMap telco/v was given twice"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: v}\n".to_owned(), "there is no HelmRelease"),
    ] {
        let ran = render(&program, &text, &[]);
        assert!(matches!(ran.code, Some(2 | 4)), "{text}{}", ran.stderr);
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
        assert!(ran.stdout.is_empty() && !ran.stderr.contains("hunter2"), "{}", ran.stderr);
    }
}

const VALUES: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: v, namespace: telco}\ndata: {values.yaml: ''}\n";

#[test]
fn no_error_says_a_secret() {
    let program = program();
    let helm = program.file(
        "helm",
        "#!/bin/sh\ncat \"$6\" >&2\necho 'Error: at (demo/templates/a.yaml:3:4): hunter2hunter2' >&2\nexit 1\n",
    );
    std::fs::set_permissions(&helm, std::fs::Permissions::from_mode(0o755)).expect("a script");
    let helm = helm.display().to_string();
    for entry in [
        "kind: Secret, name: s",
        "kind: Secret, name: s, valuesKey: text, targetPath: a",
        "kind: Secret, name: s, valuesKey: list",
        "kind: Secret, name: s, valuesKey: text, targetPath: 'a[1]b'",
    ] {
        let ran = render(&program, &from(entry), &["--helm", &helm]);
        assert!(matches!(ran.code, Some(2 | 4)), "{}", ran.stderr);
        assert!(ran.stderr.contains("Secret s") && !ran.stderr.contains("hunter2"), "{entry}: {}", ran.stderr);
    }
    let shown = render(&program, &from("kind: Secret, name: s"), &["--helm", &helm]);
    assert!(shown.stderr.contains("(demo/templates/a.yaml:3:4):"), "the place is no secret: {}", shown.stderr);
    // Where no Secret is among the values Helm's own words are handed on.
    let ran = render(&program, &from("kind: ConfigMap, name: v"), &["--helm", &helm]);
    assert!(ran.code == Some(2) && ran.stderr.contains("Error: at (demo/templates/a.yaml:3:4)"), "{}", ran.stderr);
}

#[test]
fn a_source_is_this_repository_only_where_that_is_known() {
    let program = program();
    let source = |spec: &str| {
        format!(
            "{}---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {{name: fleet, namespace: telco}}\nspec: {{interval: 1h, {spec}}}\n",
            release("")
        )
    };
    for (text, said) in [
        (source("url: https://git.example.com/telco/fleet"), "is at an address that no remote of this repository has"),
        (source("url: https://git.example.com/telco/fleet, ref: {tag: v1}"), "is pinned by ref.tag"),
        (source("url: https://git.example.com/telco/fleet, ref: {commit: abc}"), "is pinned by ref.commit"),
    ] {
        let ran = render(&program, &text, &[]);
        assert_eq!(ran.code, Some(4), "{}", ran.stderr);
        assert!(
            ran.stderr.contains(said) && ran.stderr.contains("pass --repo-source telco/fleet where it is"),
            "{}",
            ran.stderr
        );
        // Told, Helm is called for it.
        let ran = render(&program, &text, &["--repo-source", "fleet", "--helm", "./no-helm"]);
        assert!(ran.stderr.contains("install Helm, or pass --helm PROGRAM"), "{}", ran.stderr);
    }
}

/// A stream with a placeholder where a patch can write, and somewhere else.
fn patched(program: &Program, stream: &str, more: &[&str]) -> Ran {
    program.file(
        "rollgate.yaml",
        "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nlateValues:\n- {name: vip, placeholders: [\"55.55.55.55\"], type: ip, \
         from: [{env: VIP}]}\n",
    );
    let mut command = program.command();
    command.env("VIP", "10.0.3.7");
    command.args(["flux", "post-renderers", "--live", "none", "--release", "demo", "-n", "telco"]).args(more);
    ran(command, stream.as_bytes())
}

#[test]
fn patches_are_printed_where_they_can_say_it_and_refused_by_name_where_not() {
    let program = program();
    let map = |text: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {{{text}}}\n");
    let ran = patched(&program, &map("a: 'x 55.55.55.55'"), &[]);
    assert_eq!(
        (ran.code, ran.stdout.contains(r#""value":"x 10.0.3.7""#)),
        (Some(0), true),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    let ran = patched(&program, &map("a: same"), &[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "postRenderers: []\n"), "{}", ran.stderr);
    let ran =
        patched(&program, "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: 55.55.55.55}\n", &[]);
    assert!(ran.code == Some(2) && ran.stdout.is_empty(), "{:?} {}", ran.code, ran.stderr);
    assert!(ran.stderr.contains("rollgate flux values --secret"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("10.0.3.7"), "{}", ran.stderr);
}

#[test]
fn values_are_published_in_a_cluster_and_nowhere_else() {
    let program = program();
    program.file("values.yaml.j2", "vip: {{ late('vip') }}\n");
    program.file(
        "rollgate.yaml",
        "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nlateValues:\n- {name: vip, placeholders: [\"55.55.55.55\"], type: ip, \
         from: [{env: VIP}]}\npins: {file: pins.yaml}\n",
    );
    let publish = |vip: Option<&str>| {
        let mut command = program.command();
        command.envs(vip.map(|vip| ("VIP", vip)));
        command.args(["flux", "values", "-f", "values.yaml.j2", "--name", "late", "-n", "telco", "--live", "none"]);
        ran(command, b"")
    };
    let waits = publish(None);
    assert!(waits.code == Some(4) && waits.stdout.is_empty(), "{:?} {}", waits.code, waits.stderr);
    let nowhere = publish(Some("10.0.3.7"));
    assert!(
        nowhere.code == Some(2) && nowhere.stderr.contains("--live names none"),
        "{:?} {}",
        nowhere.code,
        nowhere.stderr
    );
    assert!(!program.home().join("pins.yaml").exists(), "what is not published is not pinned");
}
