//! Our options among Helm's: which words of `helm rollgate upgrade ...` are for the gate, and which for Helm.

use clap::Args as _;

use crate::cli::Stop;
use crate::cli::args::PostRenderArgs;
use crate::host::helm_args::{self, Word};

/// What the help of `rollgate helm` says of the commands that are handed on.
pub(in crate::cli) const HELP: &str = "\
Behind the gate, with Helm's own arguments:
  install, upgrade, template  What Helm renders is judged before Helm writes it
  rollback                    What the stored revision would change is judged before Helm writes it

Options of rollgate post-render can stand among those of Helm: --policy, --pack, --live, --base,
--provider, --feature-gate, --max-age, --deadline, --commit, --summary and whatever else Helm does
not have; its --output is called --report FORMAT=FILE here. Where the gate stops Helm, the exit
code is that of rollgate: 3 hold, 4 undecided, 2 usage.

Examples:
  helm rollgate upgrade --install demo ./chart -n demo --policy rollgate.yaml
  helm rollgate upgrade demo ./chart -n demo --policy rollgate.yaml --report html=report.html
  helm rollgate rollback demo 3 -n demo --policy rollgate.yaml";

/// The words of a command line, told apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Split {
    /// For Helm, in their order.
    pub(super) helm: Vec<String>,
    /// For the gate, each as one word.
    pub(super) ours: Vec<String>,
    /// Whether somebody asks for help.
    pub(super) help: bool,
}

/// Tells the words apart: what the gate takes and Helm does not have is for the gate.
pub(super) fn split(words: &[String]) -> Result<Split, Stop> {
    let gate = PostRenderArgs::augment_args(clap::Command::new("post-render"));
    let mut out = Split::default();
    let mut rest = helm_args::words(words).into_iter().peekable();
    while let Some(word) = rest.next() {
        let (flag, taken) = match word {
            Word::Plain(text) => {
                out.helm.push(text.to_owned());
                continue;
            }
            Word::Flag(flag, taken) => (flag, taken),
        };
        let (name, inline) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
        let long = name.strip_prefix("--").unwrap_or_default();
        let own = if long == "report" { "output" } else { long };
        let argument = gate.get_arguments().find(|argument| argument.get_long() == Some(own));
        let Some(argument) = argument.filter(|_| own != long || !helm_args::is_flag(long)) else {
            out.help |= matches!(flag, "-h" | "--help");
            out.helm.extend([Some(flag), taken].into_iter().flatten().map(str::to_owned));
            continue;
        };
        let value = match inline {
            _ if !argument.get_action().takes_values() => None,
            Some(value) => Some(value),
            None => match rest.next() {
                Some(Word::Plain(value)) => Some(value),
                _ => return Err(Stop::usage(anyhow::anyhow!("{name} wants a value"))),
            },
        };
        out.ours.push(value.map_or_else(|| format!("--{own}"), |value| format!("--{own}={value}")));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> (String, String) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let split = super::split(&words).expect(line);
        (split.helm.join(" "), split.ours.join(" "))
    }

    #[test]
    fn what_helm_has_is_for_helm_and_the_rest_of_ours_for_the_gate() {
        for (line, helm, ours) in [
            ("upgrade demo ./chart --policy p.yaml -n ns", "upgrade demo ./chart -n ns", "--policy=p.yaml"),
            (
                "upgrade --policy=p.yaml --summary demo ./chart --wait",
                "upgrade demo ./chart --wait",
                "--policy=p.yaml --summary",
            ),
            ("upgrade demo ./chart --set --policy=x -o json", "upgrade demo ./chart --set --policy=x -o json", ""),
            ("upgrade demo ./chart --report html=r.html", "upgrade demo ./chart", "--output=html=r.html"),
            ("rollback demo 3 --force-conflicts --commit never", "rollback demo 3 --force-conflicts", "--commit=never"),
            ("install --of-tomorrow demo ./chart", "install --of-tomorrow demo ./chart", ""),
        ] {
            assert_eq!(split(line), (helm.to_owned(), ours.to_owned()), "{line}");
        }
        assert!(super::split(&["upgrade".to_owned(), "--policy".to_owned()]).is_err());
    }

    #[test]
    fn the_help_names_options_that_there_are() {
        let gate = PostRenderArgs::augment_args(clap::Command::new("post-render"));
        for word in HELP.split([' ', ',', '\n']).filter_map(|word| word.strip_prefix("--")) {
            let is_ours = gate.get_arguments().any(|argument| argument.get_long() == Some(word));
            assert!(is_ours || ["install", "report", "output."].contains(&word), "--{word}");
        }
    }
}
