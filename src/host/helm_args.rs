//! Helm's command line as Helm itself reads it (cobra and pflag), for both majors.
//! A word that could be either a name or the value of a flag that is not known here is taken for neither.

/// What a command line of Helm says about the write that follows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HelmArgs {
    /// `install`, `upgrade` or `template`; empty where it is another command.
    pub command: String,
    /// The release name, where it is on the command line for sure.
    pub release: Option<String>,
    /// `--namespace`.
    pub namespace: Option<String>,
    /// `--kube-context`.
    pub context: Option<String>,
    /// `--kubeconfig`.
    pub kubeconfig: Option<String>,
    /// `--kube-apiserver`.
    pub server: Option<String>,
    /// `--kube-as-user`.
    pub as_user: Option<String>,
    /// `--kube-as-group`, each.
    pub as_groups: Vec<String>,
    /// `--kube-ca-file`.
    pub ca_file: Option<String>,
    /// `--kube-tls-server-name`.
    pub tls_server_name: Option<String>,
    /// `--kube-insecure-skip-tls-verify`.
    pub insecure: bool,
    /// Whether `--kube-token` was given; the token itself is not kept.
    pub token: bool,
    /// Whether nothing is written: `template`, or `--dry-run` in any spelling but `none` and `false`.
    pub dry_run: bool,
    /// `--server-side` where it was given: `Some(None)` is `auto`.
    pub server_side: Option<Option<bool>>,
    /// `--force-conflicts` (Helm 4).
    pub force_conflicts: bool,
    /// `--force` (Helm 3) or `--force-replace` (Helm 4): objects are replaced, not patched.
    pub replace: bool,
    /// `--take-ownership`.
    pub take_ownership: bool,
    /// `--output-dir`: Helm 3 then runs the post-renderer on nothing.
    pub output_dir: bool,
    /// `--no-hooks`.
    pub no_hooks: bool,
    /// First flag that no version known here has; the words after it are in doubt.
    pub unknown_flag: Option<String>,
}

/// Flags of `install`, `upgrade`, `template` and `rollback` that take the next word, as `--help` of Helm 3.22 and 4.3 lists them.
/// Flags with an optional value (`--dry-run`, `--wait`) never take the next word, exactly as booleans.
const WITH_VALUE: &[&str] = &[
    "api-versions",
    "burst-limit",
    "ca-file",
    "cert-file",
    "color",
    "colour",
    "content-cache",
    "description",
    "history-max",
    "key-file",
    "keyring",
    "kube-apiserver",
    "kube-as-group",
    "kube-as-user",
    "kube-ca-file",
    "kube-context",
    "kube-tls-server-name",
    "kube-token",
    "kube-version",
    "kubeconfig",
    "labels",
    "name-template",
    "namespace",
    "output",
    "output-dir",
    "password",
    "post-renderer",
    "post-renderer-args",
    "qps",
    "registry-config",
    "repo",
    "repository-cache",
    "repository-config",
    "set",
    "set-file",
    "set-json",
    "set-literal",
    "set-string",
    "show-only",
    "timeout",
    "username",
    "values",
    "version",
];

/// Flags of the same commands that stand alone.
const ALONE: &[&str] = &[
    "atomic",
    "cleanup-on-fail",
    "create-namespace",
    "debug",
    "dependency-update",
    "devel",
    "disable-openapi-validation",
    "dry-run",
    "enable-dns",
    "force",
    "force-conflicts",
    "force-replace",
    "generate-name",
    "help",
    "hide-notes",
    "hide-secret",
    "include-crds",
    "insecure-skip-tls-verify",
    "install",
    "is-upgrade",
    "kube-insecure-skip-tls-verify",
    "no-hooks",
    "pass-credentials",
    "plain-http",
    "recreate-pods",
    "release-name",
    "render-subchart-notes",
    "replace",
    "reset-then-reuse-values",
    "reset-values",
    "reuse-values",
    "rollback-on-failure",
    "skip-crds",
    "skip-schema-validation",
    "skip-tests",
    "take-ownership",
    "validate",
    "verify",
    "wait",
    "wait-for-jobs",
];

/// One-letter flags and their long names.
const SHORT: &[(char, &str)] = &[
    ('a', "api-versions"),
    ('f', "values"),
    ('g', "generate-name"),
    ('h', "help"),
    ('i', "install"),
    ('l', "labels"),
    ('n', "namespace"),
    ('o', "output"),
    ('s', "show-only"),
];

/// Reads the words after the program's name.
#[must_use]
pub(crate) fn parse(words: &[String]) -> HelmArgs {
    let mut args = HelmArgs::default();
    let mut positional = Vec::new();
    let mut generate_name = false;
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if word == "--" {
            positional.extend(rest.by_ref().cloned());
        } else if let Some(body) = word.strip_prefix("--") {
            let (name, inline) = split_value(body);
            generate_name |= matches!(name, "generate-name" | "name-template");
            let takes = takes_next(&args.command, name);
            if takes.is_none() && args.unknown_flag.is_none() {
                args.unknown_flag = Some(format!("--{name}"));
            }
            // Before the command is known, cobra skips the word after any flag that the root does not know as a switch.
            let takes = takes.unwrap_or(args.command.is_empty());
            let value = match inline {
                Some(value) => Some(value.to_owned()),
                None if takes => rest.next().cloned(),
                None => None,
            };
            set(&mut args, name, value.as_deref());
        } else if word.len() > 1 && word.starts_with('-') {
            generate_name |= shorts(&mut args, &word[1..], &mut rest);
        } else if args.command.is_empty() {
            args.command = word.clone();
        } else {
            positional.push(word.clone());
        }
    }
    args.dry_run |= args.command == "template";
    if args.unknown_flag.is_none() && !generate_name {
        args.release = release(&args.command, &positional);
    }
    if !matches!(args.command.as_str(), "install" | "upgrade" | "template") {
        args.command.clear();
    }
    args
}

/// The release among the words without a dash: the first of exactly two.
fn release(command: &str, positional: &[String]) -> Option<String> {
    match (command, positional) {
        ("install" | "upgrade" | "template", [name, _chart]) if is_release_name(name) => Some(name.clone()),
        // `helm template CHART` names the release so (helm `pkg/action/install.go`, NameAndChart and its template caller).
        ("template", [_chart]) => Some("release-name".to_owned()),
        _ => None,
    }
}

/// Whether Helm would accept the word as a release name (helm `pkg/chart/common/util` ValidateReleaseName).
fn is_release_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=53).contains(&name.len())
        && name.bytes().all(|byte| plain(byte) || matches!(byte, b'-' | b'.'))
        && name.bytes().next().is_some_and(plain)
        && name.bytes().last().is_some_and(plain)
}

/// A word of a command line of Helm, as far as options of somebody else are told from Helm's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word<'w> {
    /// A command, a name, a chart: what has no dash before it, or stands behind `--`.
    Plain(&'w str),
    /// A flag, with the word behind it that it takes.
    Flag(&'w str, Option<&'w str>),
}

/// The words of a command of Helm, each flag with what it takes. A flag that no version known here has takes nothing.
#[must_use]
pub(crate) fn words(words: &[String]) -> Vec<Word<'_>> {
    let command = words.first().map_or("", String::as_str);
    let mut out = Vec::new();
    let mut rest = words.iter().map(String::as_str);
    while let Some(word) = rest.next() {
        out.push(match word.strip_prefix('-') {
            Some("-") => {
                out.extend(rest.map(Word::Plain));
                break;
            }
            None | Some("") => Word::Plain(word),
            Some(body) => Word::Flag(word, if takes_word(command, body) { rest.next() } else { None }),
        });
    }
    out
}

/// Whether a flag, less its first dash, takes the next word.
fn takes_word(command: &str, body: &str) -> bool {
    if let Some(long) = body.strip_prefix('-') {
        return !long.contains('=') && takes_next(command, long) == Some(true);
    }
    let letters: Vec<char> = body.chars().collect();
    let takes = |letter: &char| SHORT.iter().any(|(short, name)| short == letter && WITH_VALUE.contains(name));
    letters.iter().position(takes).is_some_and(|at| at + 1 == letters.len())
}

/// Whether Helm has a long flag of this name.
#[must_use]
pub(crate) fn is_flag(name: &str) -> bool {
    takes_next("upgrade", name).is_some()
}

/// Splits `name=value`.
fn split_value(body: &str) -> (&str, Option<&str>) {
    body.split_once('=').map_or((body, None), |(name, value)| (name, Some(value)))
}

/// Whether a flag takes the next word; `None` where it is not known.
fn takes_next(command: &str, name: &str) -> Option<bool> {
    // Helm 4 declares it as a text for `upgrade` and `rollback`, and as a switch for `install` and `template`.
    if name == "server-side" {
        return Some(matches!(command, "upgrade" | "rollback"));
    }
    if WITH_VALUE.contains(&name) {
        return Some(true);
    }
    ALONE.contains(&name).then_some(false)
}

/// Reads a cluster of one-letter flags; the first that takes a value takes the rest of the word or the next word.
/// Returns whether the name of the release is generated.
fn shorts<'w>(args: &mut HelmArgs, body: &str, rest: &mut impl Iterator<Item = &'w String>) -> bool {
    let mut generated = false;
    for (at, letter) in body.char_indices() {
        let Some((_, name)) = SHORT.iter().find(|(short, _)| *short == letter) else {
            args.unknown_flag.get_or_insert(format!("-{letter}"));
            return generated;
        };
        generated |= *name == "generate-name";
        let tail = &body[at + letter.len_utf8()..];
        if let Some(value) = tail.strip_prefix('=') {
            set(args, name, Some(value));
            return generated;
        }
        if WITH_VALUE.contains(name) {
            let value = if tail.is_empty() { rest.next().cloned() } else { Some(tail.to_owned()) };
            set(args, name, value.as_deref());
            return generated;
        }
        set(args, name, None);
    }
    generated
}

/// Writes down a flag that matters here.
fn set(args: &mut HelmArgs, name: &str, value: Option<&str>) {
    let text = || value.filter(|text| !text.is_empty()).map(str::to_owned);
    let on = value.is_none_or(is_true);
    match name {
        "namespace" => args.namespace = text(),
        "kube-context" => args.context = text(),
        "kubeconfig" => args.kubeconfig = text(),
        "kube-apiserver" => args.server = text(),
        "kube-as-user" => args.as_user = text(),
        "kube-as-group" => args.as_groups.extend(text()),
        "kube-ca-file" => args.ca_file = text(),
        "kube-tls-server-name" => args.tls_server_name = text(),
        "kube-insecure-skip-tls-verify" => args.insecure = on,
        "kube-token" => args.token = value.is_some_and(|text| !text.is_empty()),
        // Helm 3.22 and 4.3: client, server, true and the bare flag write nothing; any other word does.
        "dry-run" => {
            args.dry_run = value.is_none_or(|text| is_true(text) || matches!(text, "client" | "server" | "unset"));
        }
        "server-side" => {
            args.server_side = Some(match value {
                Some("auto") => None,
                Some(text) => Some(is_true(text)),
                None => Some(true),
            });
        }
        "force-conflicts" => args.force_conflicts = on,
        "force" | "force-replace" => args.replace = on,
        "take-ownership" => args.take_ownership = on,
        "no-hooks" => args.no_hooks = on,
        "output-dir" => args.output_dir = value.is_some_and(|text| !text.is_empty()),
        _ => {}
    }
}

/// Go's `strconv.ParseBool`, true half.
fn is_true(text: &str) -> bool {
    matches!(text, "1" | "t" | "T" | "TRUE" | "true" | "True")
}

#[cfg(test)]
#[path = "helm_args_tests.rs"]
mod tests;
