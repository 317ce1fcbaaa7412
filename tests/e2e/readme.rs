//! The commands with Helm and kubectl of the README and the pages, run as they stand there: those of the programs that a block names
//! are on the search path, once alone and once beside a Helm 3, as on a machine that moves to Helm 4.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::{Space, bench, say};
use crate::helm::rollgate;
use crate::starter;

/// Who runs a page has told Git who they are.
const IDENTITY: &str = "[user]\nname = a\nemail = a@b\n";
/// A template that no controller acts on by itself.
const MANIFEST: &str = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: page, namespace: demo}
spec: {template: {spec: {backend: {inMemory: {vm: {provisioning: {startupDuration: 1s}}}}}}}
";

/// What the blocks of a page with this info string say.
pub(crate) fn blocks(page: &str, info: &str) -> Vec<String> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).expect(page);
    let mark = format!("```{info}\n");
    text.split(&mark).skip(1).filter_map(|rest| rest.split("```").next()).map(str::to_owned).collect()
}

#[test]
fn every_helm_command_of_the_readme_and_the_pages_runs() {
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, "demo");
    let mut pages = vec![PathBuf::from("README.md")];
    for folder in ["docs", "docs/hosts"] {
        let docs = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).expect("the pages");
        pages.extend(docs.map(|entry| Path::new(folder).join(entry.expect("an entry").file_name())));
    }
    pages.retain(|page| page.extension().is_some_and(|end| end == "md"));
    pages.sort();
    let mut count = 0;
    for page in &pages {
        for (number, block) in blocks(&page.to_string_lossy(), "sh helm").iter().enumerate() {
            let name = format!("{}-{number}", page.with_extension("").to_string_lossy().replace('/', "-"));
            run_block(&space, &space.dir.join(&name), block, false);
            // A machine that has both majors: Helm 3 goes by its plain name.
            if block.contains("helm4") {
                run_block(&space, &space.dir.join(format!("{name}-beside-helm-3")), block, true);
            }
            // What is said of one major where it holds for both is tried with the other.
            if block.contains("helm3 rollgate") {
                let other = block.replace("helm3", "helm4");
                run_block(&space, &space.dir.join(format!("{name}-helm-4")), &other, false);
                run_block(&space, &space.dir.join(format!("{name}-helm-4-beside")), &other, true);
            }
            count += 1;
        }
    }
    assert!(count >= 9, "the pages lost their Helm commands: {count}");
}

/// Runs a block as a user who has the programs that it names, and no others.
fn run_block(space: &Space, folder: &Path, block: &str, beside_helm_3: bool) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    has_programs(&space.bench.bin, folder, block, beside_helm_3);
    let late = block.contains(".j2") || block.contains("post-renderers");
    fill(folder, &root.join("tests/e2e/charts/kubeadm"), &root.join("examples/late"), late);
    types(folder, block, &space.bench.kubeconfig);
}

/// From nothing to a held and then an allowed change: the blocks of a page follow each other, under the policy that the page shows. They
/// need no cluster.
#[test]
fn every_page_of_a_host_leads_to_a_held_and_an_allowed_change() {
    let programs = match starter::find(&["helm3", "helm4", "kubectl"]) {
        Ok(programs) => programs,
        Err(missing) => {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{missing}; in CI that is a failure");
            return say(&format!("skipped: {missing}"));
        }
    };
    for host in ["helm", "flux", "argocd", "kubectl"] {
        let page = format!("docs/hosts/{host}.md");
        let folder = tempfile::tempdir().expect("a folder");
        let story = blocks(&page, "sh story").concat();
        let codes: Vec<&str> =
            story.lines().map(|line| line.split_once(" # exit ").map_or("0", |(_, code)| code)).collect();
        let held = codes.iter().position(|code| *code != "0").unwrap_or_else(|| panic!("{page}: nothing is held"));
        assert!(codes[held..].contains(&"0"), "{page}: nothing is allowed");
        has_programs(&programs, folder.path(), &story, false);
        let policy = blocks(&page, "yaml").into_iter().find(|block| block.starts_with("apiVersion: rollgate.dev/"));
        // What a person has who comes with nothing: an empty folder, the policy of the page, and the sources beside it.
        fs::write(folder.path().join("rollgate.yaml"), policy.expect("a policy")).expect("written");
        fs::write(folder.path().join(".gitconfig"), IDENTITY).expect("written");
        types(folder.path(), &story, Path::new("/nowhere"));
    }
}

/// Puts the programs that a block names into the folder `bin`.
fn has_programs(from: &Path, folder: &Path, block: &str, beside_helm_3: bool) {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).expect("the folder can be made");
    let link = |program: &str, name: &str| symlink(from.join(program), bin.join(name)).expect("it can be linked");
    for program in ["helm3", "helm4", "kubectl"].into_iter().filter(|program| block.contains(program)) {
        link(program, program);
    }
    if beside_helm_3 {
        link("helm3", "helm");
    } else if !block.contains("helm3") && !block.contains("helm4") {
        link("helm4", "helm");
    }
    symlink(rollgate(), bin.join("rollgate")).expect("rollgate can be linked");
}

/// Types the lines of a block, one after the other.
fn types(folder: &Path, block: &str, kubeconfig: &Path) {
    let bin = folder.join("bin");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    for line in block.replace("\\\n", " ").lines().filter(|line| !line.trim().is_empty()) {
        let (command, code) = line.split_once(" # exit ").unwrap_or((line, "0"));
        let output = Command::new("sh")
            .args(["-c", command])
            .current_dir(folder)
            .env_clear()
            .env("PATH", &path)
            .env("HOME", folder)
            .env("KUBECONFIG", kubeconfig)
            .env("CLUSTER_VIP", "10.0.3.7")
            .env("ROLLGATE", env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("a shell runs");
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), code.trim().parse().ok(), "{}: {command}\n{said}", folder.display());
    }
}

/// What a user of the pages has: a repository with a chart, its values, a policy, manifests and an overlay.
fn fill(folder: &Path, chart: &Path, late: &Path, is_late: bool) {
    let copied = Command::new("cp").arg("-r").arg(chart).arg(folder.join("chart")).status();
    assert!(copied.expect("cp runs").success());
    let file = |name: &str, text: &str| {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
        fs::write(file, text).expect("written");
    };
    for name in ["rollgate.yaml", "rollgate.pins.yaml", "values.yaml.j2"] {
        fs::copy(late.join(name), folder.join(name)).expect("the example can be copied");
    }
    if !is_late {
        file("rollgate.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\ngates: {maxMachines: 3}\n");
    }
    file("values.yaml", "vip: 10.0.3.7\n");
    file("edge-1.yaml", "vip: 10.0.3.7\n");
    file("manifests/template.yaml", MANIFEST);
    file("overlays/edge-1/template.yaml", MANIFEST);
    file("overlays/edge-1/kustomization.yaml", "resources: [template.yaml]\n");
    fs::create_dir_all(folder.join("snapshots")).expect("a folder");
    file(".gitconfig", IDENTITY);
    for name in ["flux", "argocd"] {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name);
        assert!(Command::new("cp").arg("-r").arg(example).arg(folder.join(name)).status().expect("cp runs").success());
    }
    for words in [
        &["init", "--quiet"][..],
        &["add", "chart", "values.yaml", "rollgate.yaml"],
        &["commit", "--quiet", "-m", "one"],
        &["checkout", "--quiet", "-b", "change"],
    ] {
        git(folder, words);
    }
    file("values.yaml", "vip: 10.0.3.8\n");
    git(folder, &["commit", "--quiet", "-am", "two"]);
}

fn git(folder: &Path, words: &[&str]) {
    let set =
        ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main"];
    let mut command = Command::new("git");
    command.args(set).args(words).current_dir(folder).env("HOME", folder);
    let output = command.output().expect("git runs");
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
}
