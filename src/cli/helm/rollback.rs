//! `helm rollgate rollback`: Helm asks nobody before it writes a stored revision again, so what that would change is judged here
//! first, as an install of the same manifest would be. Mirrors helm `pkg/action/rollback.go` `prepareRollback`, 3.22 and 4.3.

use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow, bail, ensure};

use super::options::Split;
use super::{Helm, output};
use crate::cli::{Outside, Stop};
use crate::exit::Exit;
use crate::host::helm_args::{self, HelmArgs, Word};
use crate::tree::Value;

/// What Helm is told to write.
struct Order {
    release: String,
    /// The revision; the one before the last where none is said, as with 0.
    revision: u64,
    /// The flags, in their order.
    flags: Vec<String>,
    /// What they say.
    args: HelmArgs,
    /// Where it is: `--namespace` and `--kube-context`, said or from the environment.
    place: Vec<String>,
    namespace: String,
}

pub(super) fn run(helm: &Helm, split: &Split, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let mut order = Order::read(helm, &split.helm).map_err(Stop::usage)?;
    if order.revision == 0 {
        order.revision = order.before_the_last(helm).map_err(Stop::undecided)?;
    }
    let exit = order.judge(helm, &split.ours)?;
    if exit != Exit::Allow {
        return Ok(exit);
    }
    // What was judged is what is written: the revision is said, also where Helm would find it by itself.
    let mut command = Command::new(&helm.binary);
    command.args(["rollback", &order.release, &order.revision.to_string()]).args(&order.flags).args(&order.place);
    outside.out.flush().context("cannot write to standard output").map_err(Stop::internal)?;
    let status = command.status().with_context(|| format!("cannot run {}", helm.binary.display()));
    Ok(if status.map_err(Stop::internal)?.success() { Exit::Allow } else { Exit::Internal })
}

impl Order {
    fn read(helm: &Helm, words: &[String]) -> anyhow::Result<Self> {
        let args = helm_args::parse(words);
        if let Some(flag) = &args.unknown_flag {
            bail!("{flag} is no flag of helm rollback that is known here, so what it does cannot be judged");
        }
        let told = helm_args::words(words);
        let plain: Vec<&str> =
            told.iter().filter_map(|word| if let Word::Plain(text) = word { Some(*text) } else { None }).collect();
        let (release, revision) = match plain.as_slice() {
            [_, release] => (*release, "0"),
            [_, release, revision] => (*release, *revision),
            _ => bail!("helm rollgate rollback wants RELEASE and, where it is not the one before, REVISION"),
        };
        let flag = |word: &Word<'_>| match word {
            Word::Flag(flag, value) => [Some((*flag).to_owned()), value.map(str::to_owned)],
            Word::Plain(_) => [None, None],
        };
        let mut order = Self {
            release: release.to_owned(),
            revision: revision.parse().with_context(|| format!("{revision:?} is no revision"))?,
            flags: told.iter().flat_map(flag).flatten().collect(),
            place: Vec::new(),
            namespace: String::new(),
            args,
        };
        order.refuse_other_ways()?;
        order.find(helm)?;
        Ok(order)
    }

    /// What Helm is told of the API server beside a kubeconfig would have to be told to the one who reads it as well.
    fn refuse_other_ways(&self) -> anyhow::Result<()> {
        let args = &self.args;
        let by_flag = args.token || args.insecure || !args.as_groups.is_empty();
        let told = [&args.server, &args.as_user, &args.ca_file, &args.tls_server_name].iter().any(|one| one.is_some());
        let names = ["APISERVER", "ASUSER", "ASGROUPS", "TOKEN", "CAFILE", "TLS_SERVER_NAME"];
        let is_set = |name: &&str| std::env::var_os(format!("HELM_KUBE{name}")).is_some_and(|text| !text.is_empty());
        ensure!(
            !by_flag && !told && !names.iter().any(is_set),
            "a rollback is judged with what a kubeconfig says alone; put server, user and authority into one, and pass --kube-context"
        );
        Ok(())
    }

    /// Release and cluster, as Helm finds them.
    fn find(&mut self, helm: &Helm) -> anyhow::Result<()> {
        let env = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
        if self.args.context.is_none()
            && let Some(context) = env("HELM_KUBECONTEXT")
        {
            self.place.extend(["--kube-context".to_owned(), context.clone()]);
            self.args.context = Some(context);
        }
        self.namespace = match self.args.namespace.clone().or_else(|| env("HELM_NAMESPACE")) {
            Some(namespace) => namespace,
            // That of the context, which Helm itself knows best.
            None => self.ask(helm, &["env", "HELM_NAMESPACE"])?,
        };
        if self.args.namespace.is_none() {
            self.place.extend(["--namespace".to_owned(), self.namespace.clone()]);
        }
        Ok(())
    }

    /// Asks Helm about this place.
    fn ask(&self, helm: &Helm, words: &[&str]) -> anyhow::Result<String> {
        let namespace = Some(self.namespace.as_str()).filter(|text| !text.is_empty());
        let told = [
            ("--kube-context", self.args.context.as_deref()),
            ("--kubeconfig", self.args.kubeconfig.as_deref()),
            ("--namespace", namespace),
        ];
        let place = told.into_iter().filter_map(|(flag, value)| Some([flag, value?])).flatten();
        output(&helm.binary, &words.iter().copied().chain(place).collect::<Vec<_>>())
    }

    /// The revision before the last (helm `prepareRollback`: the number before, not the last that was deployed).
    fn before_the_last(&self, helm: &Helm) -> anyhow::Result<u64> {
        let text = self.ask(helm, &["history", &self.release, "--max", "1", "-o", "json"])?;
        let list: Value = serde_json::from_str(&text).context("helm history prints no JSON")?;
        let last = list.as_array().and_then(|list| list.last()?["revision"].as_u64());
        let before = last.and_then(|last| last.checked_sub(1)).filter(|before| *before > 0);
        before.ok_or_else(|| anyhow!("release {} has no revision before its last; name one", self.release))
    }

    /// Judges the stored manifest as the post-renderer judges a rendered one.
    fn judge(&self, helm: &Helm, ours: &[String]) -> Result<Exit, Stop> {
        let revision = self.revision.to_string();
        let of = |what: &str| self.ask(helm, &["get", what, &self.release, "--revision", &revision]);
        let mut stream = of("manifest").map_err(Stop::undecided)?;
        if !self.args.no_hooks {
            let hooks = of("hooks").map_err(Stop::undecided)?;
            stream = format!("{stream}\n{hooks}");
        }
        stream.push('\n');
        let last = self.ask(helm, &["get", "manifest", &self.release]).map_err(Stop::undecided)?;
        let folder =
            tempfile::tempdir().context("cannot make a folder for the last manifest").map_err(Stop::internal)?;
        let base = folder.path().join("base.yaml");
        std::fs::write(&base, last).context("cannot write the last manifest").map_err(Stop::internal)?;
        let mut command = self.gate(helm, &revision).map_err(Stop::undecided)?;
        command.arg("--base").arg(&base).args(ours);
        let ran = piped(&mut command, stream.as_bytes()).map_err(Stop::internal)?;
        let exit = exit_of(ran.status.code());
        if exit == Exit::Allow && ran.stdout != stream.as_bytes() {
            return Err(Stop {
                exit: Exit::Hold,
                error: anyhow!(
                    "the policy fills in or sets back values in revision {revision} of {}, and a rollback writes it as it is stored; \
                     upgrade with the old values instead: helm rollgate upgrade {} CHART",
                    self.release,
                    self.release
                ),
            });
        }
        Ok(exit)
    }

    /// The post-renderer, told what it cannot find out here.
    fn gate(&self, helm: &Helm, revision: &str) -> anyhow::Result<Command> {
        let mut command = Command::new(std::env::current_exe().context("cannot find the path of this program")?);
        command.args([
            "post-render",
            "--rolls-back",
            "--host",
            helm.host(),
            "--release",
            &self.release,
            "--namespace",
            &self.namespace,
        ]);
        if let Some(context) = &self.args.context {
            command.args(["--kube-context", context]);
        }
        if let Some(file) = &self.args.kubeconfig {
            command.env("KUBECONFIG", file);
        }
        if self.args.dry_run {
            command.args(["--commit", "never"]);
        }
        if self.args.force_conflicts {
            command.arg("--force-conflicts");
        }
        if let Some(method) = self.method(helm, revision)? {
            command.args(["--method", method]);
        }
        Ok(command)
    }

    /// How Helm writes: Helm 4 as the revision that it goes back to was written, unless it is told.
    fn method(&self, helm: &Helm, revision: &str) -> anyhow::Result<Option<&'static str>> {
        if self.args.replace {
            return Ok(Some("replace"));
        }
        if helm.major < 4 {
            return Ok(None);
        }
        let by_server = match self.args.server_side.flatten() {
            Some(told) => told,
            None => {
                let text = self.ask(helm, &["get", "metadata", &self.release, "--revision", revision, "-o", "json"])?;
                let metadata: Value = serde_json::from_str(&text).context("helm get metadata prints no JSON")?;
                metadata["applyMethod"].as_str() == Some("ssa")
            }
        };
        Ok(Some(if by_server { "server-side-apply" } else { "merge-patch" }))
    }
}

/// Runs a program on a stream; what it says goes to standard error.
fn piped(command: &mut Command, stream: &[u8]) -> anyhow::Result<std::process::Output> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot run this program")?;
    if let Some(mut stdin) = child.stdin.take() {
        // Who does not read it all says why by itself.
        drop(stdin.write_all(stream));
    }
    child.wait_with_output().context("the post-renderer was lost")
}

/// The exit code that a child ended with; one that is none of ours is a defect.
fn exit_of(code: Option<i32>) -> Exit {
    let all = [Exit::Allow, Exit::Usage, Exit::Hold, Exit::Undecided];
    all.into_iter().find(|exit| Some(i32::from(exit.code())) == code).unwrap_or(Exit::Internal)
}
