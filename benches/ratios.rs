//! Ratios against a peer or a limit, in one run: `cargo bench --bench ratios`.
//!
//! `post-render` of a stream without Cluster API objects against `cat`, each between two pipes and from a file; `plan` of two
//! renders, and of recorded changes in which every object differs, against `dyff between` (where `dyff` is on PATH or named by
//! DYFF); growth with the input; start-up. Each figure is the
//! median of several whole processes; memory is the high-water mark that Linux keeps for the process.

#![expect(clippy::print_stdout, reason = "a bench is its output.")]

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

#[path = "fleet/cost.rs"]
mod cost;
#[path = "ratios/recorded.rs"]
mod recorded;

use cost::{Cost, cost, high_water};

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let rollgate = PathBuf::from(env!("CARGO_BIN_EXE_rollgate"));
    let write = |name: &str, text: &str| -> PathBuf {
        let file = folder.path().join(name);
        std::fs::write(&file, text).expect("the temporary folder can be written");
        file
    };
    println!("{:<44} {:>9} {:>9} {:>8}", "what", "ms", "MiB", "ratio");

    let start = cost(20, &rollgate, &["--version"], None, &[]);
    row("start-up (--version)", start, None);

    let plain = write("plain.yaml", &plain_stream(10 << 20));
    let post_render = ["post-render", "--policy", "none", "--live", "none"];
    let bytes = std::fs::read(&plain).expect("just written");
    let cat = piped(15, Path::new("cat"), &[], &bytes);
    row("cat, 10 MB between two pipes", cat, None);
    let pass = piped(15, &rollgate, &post_render, &bytes);
    row("post-render of it, no CAPI object in it", pass, Some(pass.time.as_secs_f64() / cat.time.as_secs_f64()));
    let cat = cost(15, Path::new("cat"), &[], Some(&plain), &[]);
    row("cat, the same from a file to /dev/null", cat, None);
    let pass = cost(15, &rollgate, &post_render, Some(&plain), &[]);
    row("post-render of it", pass, Some(pass.time.as_secs_f64() / cat.time.as_secs_f64()));

    for megabytes in [1, 10, 100] {
        let (old, new) = (capi_stream(megabytes << 20, "55.55.55.55"), capi_stream(megabytes << 20, "10.0.3.7"));
        let (old, new) = (write("old.yaml", &old), write("new.yaml", &new));
        let (old, new) = (old.display().to_string(), new.display().to_string());
        let runs = if megabytes == 100 { 3 } else { 9 };
        let plan = cost(runs, &rollgate, &["plan", &new, "--live", &old, "--policy", "none", "-o", "json"], None, &[]);
        row(&format!("plan, two renders of {megabytes} MB"), plan, None);
        if megabytes == 10
            && let Some(dyff) = dyff()
        {
            let peer = cost(3, &dyff, &["between", &old, &new], None, &[]);
            row("dyff between, the same files", peer, Some(peer.time.as_secs_f64() / plan.time.as_secs_f64()));
        }
    }

    let largest = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/oracle/cluster-api@v1.14.2.jsonl.gz");
    let (old, new) = recorded::streams(&largest, RECORDED);
    let (old, new) = (write("old.yaml", &old), write("new.yaml", &new));
    let (old, new) = (old.display().to_string(), new.display().to_string());
    let plan = cost(3, &rollgate, &["plan", &new, "--live", &old, "--policy", "none", "-o", "json"], None, &[]);
    row(&format!("plan, {RECORDED} recorded changes"), plan, None);
    if let Some(dyff) = dyff() {
        let peer = cost(1, &dyff, &["between", &old, &new], None, &[]);
        row("dyff between, the same files", peer, Some(peer.time.as_secs_f64() / plan.time.as_secs_f64()));
    }
}

/// Cases of the largest recording that are planned at once: every object differs.
const RECORDED: usize = 6000;

/// What a filter between two pipes costs, which is how Helm holds a post-renderer; what comes out must be what went in.
fn piped(runs: usize, program: &Path, args: &[&str], input: &[u8]) -> Cost {
    let mut times = Vec::with_capacity(runs);
    let mut kib = 0;
    for _ in 0..runs {
        let mut command = Command::new(program);
        command.args(args).stderr(Stdio::null()).env("XDG_STATE_HOME", std::env::temp_dir());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let start = Instant::now();
        let mut child = command.spawn().expect("the program starts");
        let status = PathBuf::from(format!("/proc/{}/status", child.id()));
        let (mut stdin, mut stdout) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let count = std::thread::scope(|scope| {
            scope.spawn(move || stdin.write_all(input).expect("the program reads"));
            let (mut buffer, mut count) = (vec![0; 1 << 16], 0);
            loop {
                let read = stdout.read(&mut buffer).expect("the program writes");
                if read == 0 {
                    return count;
                }
                if count == 0 {
                    kib = kib.max(high_water(&status));
                }
                count += read;
            }
        });
        assert_eq!(count, input.len(), "{}: not what went in", program.display());
        child.wait().expect("the program ends");
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Cost { time: times[times.len() / 2], kib }
}

fn row(what: &str, cost: Cost, ratio: Option<f64>) {
    let ratio = ratio.map_or_else(String::new, |ratio| format!("{ratio:.1}x"));
    let milliseconds = cost.time.as_secs_f64() * 1000.0;
    println!("{what:<44} {milliseconds:>9.1} {:>9.1} {ratio:>8}", cost.kib as f64 / 1024.0);
}

/// The peer, if it is here.
fn dyff() -> Option<PathBuf> {
    let named = std::env::var_os("DYFF").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    named.or_else(|| std::env::split_paths(&path).map(|folder| folder.join("dyff")).find(|file| file.is_file()))
}

/// ConfigMaps and Deployments, about `size` bytes.
fn plain_stream(size: usize) -> String {
    let mut text = String::with_capacity(size + 4096);
    for number in 0.. {
        if text.len() >= size {
            break;
        }
        write!(text, "---\n# Source: app/templates/{number}.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app-{number}\ndata:\n  run.sh: |\n")
            .expect("a string can be written");
        for line in 0..40 {
            writeln!(text, "    echo \"step {line} of {number}\" >> /var/log/app.log")
                .expect("a string can be written");
        }
    }
    text
}

/// Clusters with a control plane, three worker groups and their templates, about `size` bytes; the address stands once in each.
fn capi_stream(size: usize, address: &str) -> String {
    let mut text = String::with_capacity(size + 32_768);
    for number in 0.. {
        if text.len() >= size {
            break;
        }
        cluster(&mut text, number, address);
    }
    text
}

fn cluster(text: &mut String, number: usize, address: &str) {
    let name = format!("c{number}");
    write!(
        text,
        "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: {name}\n  namespace: {name}\nspec:\n  controlPlaneRef:\n    \
         apiVersion: controlplane.cluster.x-k8s.io/v1beta1\n    kind: KubeadmControlPlane\n    name: {name}-cp\n---\napiVersion: \
         controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata:\n  name: {name}-cp\n  namespace: {name}\nspec:\n  replicas: 3\n  \
         version: v1.33.4\n  machineTemplate:\n    infrastructureRef:\n      apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\n      kind: \
         OpenStackMachineTemplate\n      name: {name}-cp\n  kubeadmConfigSpec:\n    files:\n    - path: /etc/calico.conf\n      owner: root:root\n      \
         content: |\n        canReach: {address}\n"
    )
    .expect("a string can be written");
    for line in 0..90 {
        writeln!(text, "        setting-{line} = value of {name} number {line}").expect("a string can be written");
    }
    for pool in 0..3 {
        write!(
            text,
            "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata:\n  name: {name}-md{pool}\n  namespace: {name}\nspec:\n  \
             clusterName: {name}\n  replicas: 3\n  template:\n    spec:\n      clusterName: {name}\n      version: v1.33.4\n      bootstrap:\n        \
             configRef:\n          apiVersion: bootstrap.cluster.x-k8s.io/v1beta1\n          kind: KubeadmConfigTemplate\n          name: {name}-md{pool}\n      \
             infrastructureRef:\n        apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\n        kind: OpenStackMachineTemplate\n        name: \
             {name}-md{pool}\n---\napiVersion: bootstrap.cluster.x-k8s.io/v1beta1\nkind: KubeadmConfigTemplate\nmetadata:\n  name: {name}-md{pool}\n  \
             namespace: {name}\nspec:\n  template:\n    spec:\n      preKubeadmCommands:\n"
        )
        .expect("a string can be written");
        for line in 0..40 {
            writeln!(text, "      - echo step {line} on {name} pool {pool}").expect("a string can be written");
        }
    }
}
