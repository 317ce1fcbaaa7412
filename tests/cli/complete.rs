//! What a shell completes, asked as the script of each shell asks: commands, options, rules, releases and late values.

use std::process::Command;

use super::Program;

const POLICY: &str = "apiVersion: rollgate.dev/v1alpha1
kind: Policy
lateValues:
- {name: cluster_virtual_ip, placeholders: [55.55.55.55], type: ip, from: [{env: VIP}]}
releases:
- {name: edge-1, namespace: lab, chart: ./chart}
- {name: \"$(touch forged)\", namespace: \"a b\", chart: ./chart}
rules:
- {id: ours/drain, kinds: [MachineDeployment], paths: [spec.x], effect: rollout, because: We know}
";

/// What a shell is offered behind these words, of which the last one is being typed.
fn offered(program: &Program, shell: &str, words: &[&str]) -> Vec<String> {
    let index = (words.len() - 1).to_string();
    let mut env = vec![("ROLLGATE_COMPLETE", shell), ("_CLAP_COMPLETE_INDEX", &index), ("_CLAP_IFS", "\n")];
    let path = std::env::var("PATH").unwrap_or_default();
    env.push(("PATH", &path));
    let ran = program.run_with(&[&["--"], words].concat(), b"", &env);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{words:?}");
    // zsh and fish show a help text beside a word.
    let word = |line: &str| line.split(['\t', ':']).next().unwrap_or_default().to_owned();
    ran.stdout.lines().map(word).collect()
}

#[test]
fn each_shell_is_offered_what_is_known_and_what_is_here() {
    let program = Program::new();
    program.file("rollgate.yaml", POLICY);
    program.file("live.json", "{}");
    for shell in ["bash", "zsh", "fish"] {
        let offers = |words: &[&str]| offered(&program, shell, words);
        for (words, some) in [
            (&["rollgate", "po"][..], "post-render"),
            (&["rollgate", "plan", "--ba"], "--base-ref"),
            (&["rollgate", "plan", "--host", ""], "argocd"),
            (&["rollgate", "plan", "-o", "ju"], "junit"),
            (&["rollgate", "plan", "--live", "cl"], "cluster"),
            (&["rollgate", "plan", "--live", "li"], "live.json"),
            (&["rollgate", "explain", "kcp/ver"], "kcp/version"),
            (&["rollgate", "explain", "ours/"], "ours/drain"),
            (&["rollgate", "explain", "max"], "maxMachines"),
            (&["rollgate", "explain", "KubeadmControlPlane.spec.ver"], "KubeadmControlPlane.spec.version"),
            (&["rollgate", "plan", "--all", "--release", ""], "edge-1"),
            (&["rollgate", "plan", "--all", "--namespace", ""], "lab"),
            (&["rollgate", "pin", "show", "clu"], "cluster_virtual_ip"),
            (&["rollgate", "pin", "repin", ""], "cluster_virtual_ip"),
            (&["rollgate", "approve", "la"], "last"),
            (&["rollgate", "completions", "z"], "zsh"),
        ] {
            let found = offers(words);
            assert!(found.iter().any(|one| one == some), "{shell}: {words:?} offers {found:?}");
            // fish gets all and chooses by itself.
            let typed = words.last().copied().unwrap_or_default();
            assert!(
                shell == "fish" || found.iter().all(|one| one.starts_with(typed)),
                "{shell}: {words:?} offers {found:?}"
            );
        }
        let releases = offers(&["rollgate", "plan", "--release", ""]);
        assert!(
            releases.iter().all(|one| !one.contains(['$', ' '])),
            "{shell}: a name that a shell would run: {releases:?}"
        );
    }
    program.file("other.yaml", &POLICY.replace("edge-1", "core-7"));
    let found = offered(&program, "bash", &["rollgate", "plan", "--policy", "other.yaml", "--release", ""]);
    assert_eq!(found, ["core-7"]);
    program.file("rollgate.yaml", "kind: [");
    assert_eq!(
        offered(&program, "bash", &["rollgate", "plan", "--release", ""]),
        [""; 0],
        "the command itself says what is wrong"
    );
}

#[test]
fn bash_completes_with_the_script_that_it_is_given() {
    let program = Program::new();
    program.file("rollgate.yaml", POLICY);
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_rollgate")).parent().expect("a folder");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let script = r#"
        source <(rollgate completions bash)
        function_of=$(complete -p rollgate | sed 's/.*-F \([^ ]*\).*/\1/')
        COMP_WORDS=(rollgate explain kcp/vers) COMP_CWORD=2 COMP_TYPE=9
        "$function_of" rollgate kcp/vers explain
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let mut bash = Command::new("bash");
    bash.env_clear().env("PATH", path).env("HOME", program.home()).current_dir(program.home());
    let output = bash.args(["--noprofile", "--norc", "-c", script]).output().expect("bash runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said.trim(), "kcp/version\nkcp/version-prefix", "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_variable_alone_changes_nothing() {
    let program = Program::new();
    let map = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n";
    let args = ["post-render", "--policy", "none", "--live", "none"];
    let ran = program.run_with(&args, map, &[("ROLLGATE_COMPLETE", "bash")]);
    assert_eq!((ran.code, ran.stdout.as_bytes()), (Some(0), &map[..]), "{}", ran.stderr);
    let shells = ["bash", "elvish", "fish", "powershell", "zsh"];
    for shell in shells {
        let ran = program.run(&["completions", shell], b"");
        assert!(ran.code == Some(0) && ran.stdout.contains("ROLLGATE_COMPLETE"), "{shell}: {}", ran.stderr);
    }
    let ran = program.run_with(&["--", "rollgate", "plan", "--"], b"", &[("ROLLGATE_COMPLETE", "tcsh")]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
}
