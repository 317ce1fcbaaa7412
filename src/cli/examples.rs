//! The examples below the options of each command; a test reads each as the command line that it is.

pub(super) const PROGRAM: &str = "\
Examples:
  rollgate plan new.yaml --live old.yaml --policy none
  rollgate explain \"exit 3\"
  rollgate policy check rollgate.yaml

What it said last: rollgate explain last. Pages: docs/README.md";

pub(super) const PLAN: &str = "\
Examples:
  rollgate plan new.yaml --live old.yaml --policy none
  rollgate plan --base-ref origin/main --chart ./chart -f values.yaml --release demo -n demo
  rollgate plan --base-ref origin/main --render 'helm template demo ./chart' -o markdown=report.md
  rollgate plan manifests/ --host kubectl
  rollgate plan --all --policy rollgate.yaml -o json=report.json

Exit codes: 0 allow, 3 hold, 4 undecided; 1 and 2 are faults of the run (rollgate explain \"exit 4\").";

pub(super) const POST_RENDER: &str = "\
Examples:
  helm3 upgrade demo ./chart -n demo --post-renderer rollgate --post-renderer-args post-render \\
    --post-renderer-args --policy=rollgate.yaml
  helm4 upgrade demo ./chart -n demo --post-renderer rollgate-post-render \\
    --post-renderer-args --policy=rollgate.yaml
  helm rollgate upgrade --install demo ./chart -n demo --policy rollgate.yaml";

pub(super) const VALUES: &str = "\
Examples:
  rollgate values -f values.yaml.j2 | helm upgrade --install demo ./chart -n demo -f -
  rollgate values --policy rollgate.yaml -f values.yaml -f late.yaml.j2 --wait 10m";

pub(super) const PIN: &str = "\
Examples:
  rollgate pin list
  rollgate pin verify
  rollgate pin repin cluster_virtual_ip --from-source --reason \"CHG0042: the new network\"";

pub(super) const APPROVE: &str = "\
Examples:
  rollgate approve last --reason \"CHG0042: the address has arrived\" --expires 4h --once
  rollgate approve --list
  rollgate approve --revoke a1b2c3d4 --reason \"the window moved\"";

pub(super) const WHY: &str = "\
Examples:
  rollgate why edge-1
  rollgate why edge-1-control-plane -n telco -o json
  rollgate why edge-1 --live dump/ --before dump-before/";

pub(super) const SCORE: &str = "\
Examples:
  rollgate score --since 168h
  rollgate score -n telco -o json
  rollgate score --forecasts forecasts.yaml --live dump/";

pub(super) const FLUX: &str = "\
Examples:
  rollgate flux render release.yaml --chart charts/demo
  rollgate flux render apps/demo.yaml --repo-root . --values-from values.yaml --from-cluster";

pub(super) const SERVE: &str = "\
Examples:
  rollgate serve --policy rollgate.yaml --tls-cert tls.crt --tls-key tls.key --mode observe
  rollgate serve --policy configmap/telco/policy --tls-cert tls.crt --tls-key tls.key --mode enforce
  rollgate serve manifests --image registry.example.org/rollgate:v0.1.0 --failure-policy fail";

pub(super) const EXPLAIN: &str = "\
Examples:
  rollgate explain kcp/version
  rollgate explain KubeadmControlPlane.spec.version
  rollgate explain maxMachines
  rollgate explain last";

pub(super) const POLICY: &str = "\
Examples:
  rollgate policy check rollgate.yaml
  rollgate policy show
  rollgate policy test cases";

pub(super) const SNAPSHOT: &str = "\
Examples:
  rollgate snapshot --chart ./chart -f edge-1.yaml --release edge-1 -n edge-1 -o edge-1.json
  rollgate plan --chart ./chart -f edge-1.yaml --release edge-1 -n edge-1 --live edge-1.json";

pub(super) const COMPLETIONS: &str = "\
bash: source <(rollgate completions bash), in ~/.bashrc
zsh:  source <(rollgate completions zsh), in ~/.zshrc behind compinit
fish: rollgate completions fish > ~/.config/fish/completions/rollgate.fish";

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use crate::cli::Cli;

    /// The words of a line as a shell takes them apart.
    fn words(line: &str) -> Vec<String> {
        let (mut out, mut quote, mut word) = (Vec::new(), None, String::new());
        for c in line.trim().chars() {
            match c {
                '"' | '\'' if quote == Some(c) => quote = None,
                '"' | '\'' if quote.is_none() => quote = Some(c),
                ' ' if quote.is_none() => out.push(std::mem::take(&mut word)),
                c => word.push(c),
            }
        }
        out.push(word);
        out.retain(|word| !word.is_empty());
        out
    }

    #[test]
    fn every_example_is_a_command_line_that_is_taken() {
        let mut count = 0;
        let command = Cli::command();
        let text = |command: &clap::Command| {
            let below = command.get_after_long_help().or_else(|| command.get_after_help());
            below.map(ToString::to_string).unwrap_or_default()
        };
        let texts: Vec<String> = std::iter::once(&command).chain(command.get_subcommands()).map(text).collect();
        for line in texts.iter().flat_map(|text| text.lines()) {
            assert!(line.chars().count() <= 100, "it would be broken on a terminal: {line}");
            let Some(line) = line.strip_prefix("  rollgate ") else { continue };
            let line = line.split_once(" | ").map_or(line, |(first, _)| first);
            let words = std::iter::once("rollgate".to_owned()).chain(words(line));
            Cli::command().try_get_matches_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
            count += 1;
        }
        assert!(count > 18, "the examples are gone: {count}");
        let without = ["schema", "man", "debug", "help"];
        let shown =
            command.get_subcommands().filter(|inner| !inner.is_hide_set() && !without.contains(&inner.get_name()));
        for inner in shown {
            let help = text(inner);
            assert!(
                help.contains("Examples:") || help.contains("bash: "),
                "{} has no example: {help}",
                inner.get_name()
            );
        }
    }
}
