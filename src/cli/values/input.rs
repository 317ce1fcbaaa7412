//! What `values` reads: files, standard input, and the URL that Helm hands to a getter.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};

use super::{Stop, ValuesArgs};
use crate::late::template;
use crate::session::input::STDIN;
use crate::session::late::fill::Input;
use crate::world::whole;
use crate::yaml;

/// Reads a file, or standard input for `-`. A plain file must be YAML, as Helm wants it.
pub(super) fn read(file: &Path) -> Result<Input, Stop> {
    let (name, bytes) = match file.as_os_str() == "-" {
        true => {
            let stdin = std::io::stdin().as_fd().try_clone_to_owned().map(File::from);
            let bytes = stdin.and_then(whole).context("cannot read standard input").map_err(Stop::usage)?;
            (STDIN.to_owned(), bytes)
        }
        false => {
            let name = file.display().to_string();
            let bytes = File::open(file).and_then(whole).with_context(|| format!("values {name}"));
            (name, bytes.map_err(Stop::usage)?)
        }
    };
    let text = std::str::from_utf8(&bytes).map_err(|_| Stop::usage(anyhow!("{name}: the text is not UTF-8")))?;
    let text = text.to_owned();
    let template = template::is_template(&name, &text);
    if !template {
        yaml::read(text.as_bytes()).map_err(|error| Stop::usage(anyhow!("{name}:{error}")))?;
    }
    Ok(Input { name, text, template })
}

/// What Helm calls a getter with: `CERT KEY CA URL` (helm `pkg/getter/plugingetter.go`).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Call {
    file: PathBuf,
    query: Vec<(String, String)>,
}

impl Call {
    /// The call, where the arguments are one.
    pub(super) fn of(args: &ValuesArgs) -> anyhow::Result<Option<Self>> {
        match args.call.as_slice() {
            [] if !args.getter => Ok(None),
            [.., url] if args.files.is_empty() && url.starts_with(SCHEME) => Self::parse(url).map(Some),
            _ => bail!("a getter is called with CERT KEY CA rollgate://FILE; values files are given with -f FILE"),
        }
    }

    fn parse(url: &str) -> anyhow::Result<Self> {
        let rest = url.strip_prefix(SCHEME).unwrap_or(url);
        let rest = rest.split('#').next().unwrap_or_default();
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let file = decode(path).with_context(|| format!("{url}: the path is not percent-encoded text"))?;
        if file.is_empty() {
            bail!("{url}: no values file is named; write rollgate://values.yaml");
        }
        let query = query
            .split('&')
            .filter(|part| !part.is_empty())
            .map(|part| {
                let (name, value) = part.split_once('=').unwrap_or((part, ""));
                let value = decode(value).with_context(|| format!("{url}: {name} is not percent-encoded text"))?;
                Ok((name.to_owned(), value))
            })
            .collect::<anyhow::Result<_>>()?;
        Ok(Self { file: PathBuf::from(file), query })
    }

    /// Sets the options that the URL names.
    pub(super) fn into_args(self, args: &mut ValuesArgs) -> anyhow::Result<()> {
        args.getter = true;
        args.files = vec![self.file];
        for (name, value) in self.query {
            match name.as_str() {
                "policy" => args.known.policy = Some(value),
                "live" => args.known.live = value,
                "release" => args.known.release = Some(value),
                "namespace" => args.known.namespace = Some(value),
                "context" => args.known.kube_context = Some(value),
                "wait" => args.wait = Some(value),
                "deadline" => args.known.deadline = value,
                "values" => args.files.push(PathBuf::from(value)),
                other => bail!(
                    "rollgate://...?{other}= is not known; known are policy, live, release, namespace, context, wait, deadline, values"
                ),
            }
        }
        Ok(())
    }
}

const SCHEME: &str = "rollgate://";

/// Takes percent-encoding off.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: ValuesArgs,
    }

    fn args(words: &[&str]) -> ValuesArgs {
        Line::parse_from([&["values"], words].concat()).args
    }

    fn called(url: &str) -> anyhow::Result<ValuesArgs> {
        let mut args = args(&["--getter", "", "", "", url]);
        Call::of(&args)?.expect("a call").into_args(&mut args)?;
        Ok(args)
    }

    #[test]
    fn helm_calls_with_three_files_and_the_url() {
        let args = called("rollgate://clusters/a%20b.yaml?policy=p.yaml&namespace=capo&wait=5m#frag").expect("a call");
        assert_eq!(args.files, [PathBuf::from("clusters/a b.yaml")]);
        assert_eq!(
            (args.known.policy.as_deref(), args.known.namespace.as_deref(), args.wait.as_deref()),
            (Some("p.yaml"), Some("capo"), Some("5m"))
        );
        assert_eq!(called("rollgate:///abs/b.yaml").expect("a call").files, [PathBuf::from("/abs/b.yaml")]);
    }

    #[test]
    fn the_url_alone_makes_a_getter_too() {
        let args = args(&["", "", "", "rollgate://values.yaml"]);
        assert!(Call::of(&args).expect("well formed").is_some());
        assert_eq!(Call::of(&self::args(&["-f", "values.yaml"])).expect("well formed"), None);
    }

    #[test]
    fn a_call_that_is_none_is_refused_with_what_is_known() {
        for (url, message) in [
            ("https://values.yaml", "CERT KEY CA rollgate://FILE"),
            ("rollgate://", "no values file"),
            ("rollgate://a?polcy=b", "polcy= is not known; known are policy"),
            ("rollgate://a%zz", "percent-encoded"),
        ] {
            let error = called(url).expect_err(url).to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
