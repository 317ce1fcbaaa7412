//! Who writes, for which release, and how that is known: what was told, the stream, the parent's command line, the
//! environment. Each is a pure function of what is passed in; a release or namespace is known or it is `None`, never guessed.

use std::collections::BTreeMap;

use memchr::memmem;

use super::helm_args::{self, HelmArgs};
use super::parent::{self, Process};
use super::{Host, HostKind};
use crate::object::{Inventory, Key};
use crate::world::{ReleaseName, Unread, WriteMethod};

/// Annotation that Helm 4 puts on each object before it calls a post-renderer (helm `pkg/action/action.go`).
const POSTRENDER_FILENAME: &[u8] = b"postrenderer.helm.sh/postrender-filename";

/// What options of rollgate's own command line said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToldHost {
    /// `--host`.
    pub kind: Option<HostKind>,
    /// `--release`.
    pub release: Option<String>,
    /// `--namespace`.
    pub namespace: Option<String>,
    /// `--kube-context`.
    pub context: Option<String>,
    /// `--method`.
    pub method: Option<WriteMethod>,
    /// `--force-conflicts`.
    pub force: bool,
    /// `--rolls-back`.
    pub rolls_back: bool,
    /// `--prune`.
    pub prune: bool,
}

/// What a host may be told from.
#[derive(Debug, Clone, Copy)]
pub struct Signs<'a> {
    /// The stream on standard input of `post-render`; `None` for every other command, where `# Source:` tells nothing.
    pub stdin: Option<&'a [u8]>,
    /// The environment.
    pub env: &'a BTreeMap<String, String>,
    /// The processes above, nearest first.
    pub parents: &'a [Process],
    /// What was told.
    pub told: &'a ToldHost,
}

/// How the cluster is reached when Helm was told so on its own command line or environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    /// Kubeconfig file or list.
    pub kubeconfig: Option<String>,
    /// Context.
    pub context: Option<String>,
    /// Address of the API server.
    pub server: Option<String>,
    /// User to act as.
    pub as_user: Option<String>,
    /// Groups to act as.
    pub as_groups: Vec<String>,
    /// File with the certificate authority.
    pub ca_file: Option<String>,
    /// Name in the server's certificate.
    pub tls_server_name: Option<String>,
    /// Whether certificates are not checked.
    pub insecure: bool,
}

/// Where Helm keeps its release records (`HELM_DRIVER`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Driver {
    /// Secrets, the default.
    #[default]
    Secret,
    /// ConfigMaps.
    ConfigMap,
    /// A database or memory: not to be read from here.
    Elsewhere,
}

/// The host and what came to light beside it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Detected {
    /// Who writes.
    pub host: Host,
    /// How the cluster is reached.
    pub reach: Reach,
    /// Where release records are kept.
    pub driver: Driver,
    /// Whether the namespace is that of the kubeconfig's context, because Helm was given none.
    pub namespace_of_context: bool,
    /// The namespace that was told while Helm takes that of the context; the two must be the same.
    pub told_over_context: Option<String>,
    /// Number of the Helm process above, where there is one.
    pub helm_pid: Option<u32>,
    /// What makes the prediction unsafe; belongs into [`crate::world::World::unread`].
    pub doubts: Vec<Unread>,
    /// What a person should know.
    pub warnings: Vec<String>,
}

/// Tells the host from all signs; what was told wins, then the stream, then the parent, then the environment.
#[must_use]
pub fn detect(signs: &Signs<'_>) -> Detected {
    let helm = parent::helm(signs.parents);
    let args = helm.map(|process| helm_args::parse(&process.words[1..])).filter(|args| !args.command.is_empty());
    let mut found = Detected { helm_pid: helm.map(|process| process.pid), ..Detected::default() };
    let (kind, evidence) = kind(signs, helm, args.as_ref());
    found.host.kind = kind;
    found.host.evidence = evidence;
    found.host.post_rendered = signs.stdin.is_some();
    found.host.rolls_back = signs.told.rolls_back;
    if let Some(args) = &args {
        from_args(&mut found, args);
    }
    from_env(&mut found, signs.env, args.is_some());
    let told = signs.told;
    if let Some(name) = &told.release {
        if found.host.release.as_ref().is_some_and(|other| other != name) {
            let other = found.host.release.as_deref().unwrap_or_default();
            found.doubts.push(doubt(
                "which release is written",
                format!("--release says {name}, the command line of Helm says {other}"),
                "give the name of the release that Helm writes, or leave --release out",
            ));
        }
        found.host.release = Some(name.clone());
    }
    if let Some(namespace) = &told.namespace {
        let other = found.host.namespace.clone().filter(|other| args.is_some() && other != namespace);
        if let Some(other) = other {
            found.doubts.push(wrong_namespace(namespace, &other));
        }
        found.told_over_context = found.namespace_of_context.then(|| namespace.clone());
        found.host.namespace = Some(namespace.clone());
        found.host.in_one_namespace = found.host.kind == Some(HostKind::Kubectl);
        found.namespace_of_context = false;
    }
    found.host.method = told.method.or(found.host.method);
    found.host.force |= told.force;
    found.host.prune |= told.prune;
    if let Some(context) = &told.context {
        found.reach.context = Some(context.clone());
        found.host.context = Some(context.clone());
    }
    found
}

/// The program, and how it is known.
fn kind(signs: &Signs<'_>, helm: Option<&Process>, args: Option<&HelmArgs>) -> (Option<HostKind>, String) {
    if let Some(kind) = signs.told.kind {
        return (Some(kind), "told".to_owned());
    }
    if let Some(stdin) = signs.stdin {
        if memmem::find(stdin, POSTRENDER_FILENAME).is_some() {
            return (Some(HostKind::Helm4), "the filename annotation in the stream".to_owned());
        }
        if has_source_line(stdin) {
            return (Some(HostKind::Helm3), "`# Source:` lines in the stream".to_owned());
        }
        // A command plugin of Helm 3 sets the folder too, so it counts only right below a Helm that calls a post-renderer.
        if signs.env.contains_key("HELM_PLUGIN_DIR") && helm.is_some() && args.is_some() {
            return (Some(HostKind::Helm4), "HELM_PLUGIN_DIR below Helm".to_owned());
        }
        if signs.parents.first().is_some_and(|process| process.program().starts_with("terraform-provider-helm")) {
            return (Some(HostKind::Helm3), "the Terraform provider above, which is built on Helm 3".to_owned());
        }
    }
    if signs.env.contains_key("ARGOCD_APP_NAME") {
        return (Some(HostKind::Argocd), "ARGOCD_APP_NAME in the environment".to_owned());
    }
    (None, "not known".to_owned())
}

/// Whether a document starts with the line that Helm 3 writes above each template.
fn has_source_line(stdin: &[u8]) -> bool {
    memmem::find_iter(stdin, b"# Source: ").any(|at| {
        let before = &stdin[..at];
        let marker = before.strip_suffix(b"\r\n").or_else(|| before.strip_suffix(b"\n")).unwrap_or(before);
        at == 0 || (marker.len() < at && marker.ends_with(b"---"))
    })
}

/// What Helm's own words say.
fn from_args(found: &mut Detected, args: &HelmArgs) {
    let host = &mut found.host;
    host.release.clone_from(&args.release);
    host.namespace.clone_from(&args.namespace);
    host.context.clone_from(&args.context);
    host.force = args.force_conflicts;
    host.replace = args.replace;
    host.take_ownership = args.take_ownership;
    host.writes_nothing = args.dry_run;
    host.no_hooks = args.no_hooks;
    host.method = match (host.kind, args.server_side) {
        (Some(HostKind::Helm3), _) | (_, Some(Some(false))) => Some(WriteMethod::MergePatch),
        (_, Some(Some(true))) => Some(WriteMethod::ServerSideApply),
        // An install by Helm 4 applies; an upgrade follows the release record, which is not known here.
        (Some(HostKind::Helm4), None) if args.command == "install" => Some(WriteMethod::ServerSideApply),
        _ => None,
    };
    found.reach = Reach {
        kubeconfig: args.kubeconfig.clone(),
        context: args.context.clone(),
        server: args.server.clone(),
        as_user: args.as_user.clone(),
        as_groups: args.as_groups.clone(),
        ca_file: args.ca_file.clone(),
        tls_server_name: args.tls_server_name.clone(),
        insecure: args.insecure,
    };
    if args.token {
        found.doubts.push(doubt(
            "the cluster that Helm writes to",
            "Helm was given --kube-token, which is not taken over from a command line",
            "put the token into a kubeconfig and give Helm --kube-context",
        ));
    }
    if args.output_dir {
        found
            .warnings
            .push("Helm 3 runs the post-renderer on nothing when --output-dir is given; drop --output-dir".to_owned());
    }
    if let Some(flag) = &args.unknown_flag {
        found.warnings.push(format!("{flag} on Helm's command line is not known; pass --release and --namespace"));
    }
}

/// What Helm takes from the environment where its command line is silent (helm `pkg/cli/environment.go`).
fn from_env(found: &mut Detected, env: &BTreeMap<String, String>, below_helm: bool) {
    let text = |name: &str| env.get(name).filter(|text| !text.is_empty()).cloned();
    let fill = |slot: &mut Option<String>, name: &str| {
        if slot.is_none() {
            *slot = text(name);
        }
    };
    fill(&mut found.host.namespace, "HELM_NAMESPACE");
    fill(&mut found.host.context, "HELM_KUBECONTEXT");
    fill(&mut found.reach.context, "HELM_KUBECONTEXT");
    if below_helm {
        fill(&mut found.reach.server, "HELM_KUBEAPISERVER");
        fill(&mut found.reach.as_user, "HELM_KUBEASUSER");
        fill(&mut found.reach.ca_file, "HELM_KUBECAFILE");
        fill(&mut found.reach.tls_server_name, "HELM_KUBETLS_SERVER_NAME");
        found.reach.insecure |=
            text("HELM_KUBEINSECURE_SKIP_TLS_VERIFY").is_some_and(|word| word == "true" || word == "1");
        found.namespace_of_context = found.host.namespace.is_none();
    }
    found.driver = match text("HELM_DRIVER").as_deref() {
        None | Some("secret" | "secrets") => Driver::Secret,
        Some("configmap" | "configmaps") => Driver::ConfigMap,
        Some(_) => Driver::Elsewhere,
    };
    if found.host.kind == Some(HostKind::Argocd) {
        fill(&mut found.host.release, "ARGOCD_APP_NAME");
        fill(&mut found.host.namespace, "ARGOCD_APP_NAMESPACE");
    }
}

/// The doubt where a namespace was told that is not the one that Helm writes to.
#[must_use]
pub fn wrong_namespace(told: &str, other: &str) -> Unread {
    doubt(
        "which namespace is written",
        format!("--namespace or ROLLGATE_NAMESPACE says {told}, and Helm writes to {other}"),
        "give the namespace that Helm writes to, or leave --namespace and ROLLGATE_NAMESPACE out",
    )
}

/// A doubt about the whole run.
fn doubt(what: &str, why: impl Into<String>, remedy: &str) -> Unread {
    Unread { what: what.to_owned(), why: why.into(), remedy: remedy.to_owned(), keys: Vec::new() }
}

/// The releases that live objects say they belong to (`meta.helm.sh/release-name`), for the keys in `rendered`.
/// A key without a namespace is looked for in `home`.
#[must_use]
pub fn releases_of(live: &Inventory, rendered: &Inventory, home: Option<&str>) -> Vec<ReleaseName> {
    let of = |object: &crate::object::Object| release_of(in_live(live, &object.key, home)?.value().ok()?.as_ref());
    let mut found: Vec<ReleaseName> = rendered.objects().iter().filter_map(of).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The live object of a rendered key, which may leave the namespace of the release out.
#[must_use]
pub fn in_live<'o>(live: &'o Inventory, key: &Key, home: Option<&str>) -> Option<&'o crate::object::Object> {
    let homed = || key.in_namespace(home.map(str::to_owned));
    live.get(key).or_else(|| live.get(&homed()).filter(|_| key.namespace.is_none()))
}

/// The release that one live object says it belongs to.
#[must_use]
pub fn release_of(object: &crate::tree::Value) -> Option<ReleaseName> {
    let annotations = object.pointer("/metadata/annotations")?;
    let text = |key: &str| annotations.get(key)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    Some(ReleaseName { name: text("meta.helm.sh/release-name")?, namespace: text("meta.helm.sh/release-namespace")? })
}

/// Which program owned the last write of a live object, told from labels that Flux puts on all that it renders.
#[must_use]
pub fn is_flux(object: &crate::tree::Value) -> bool {
    object.pointer("/metadata/labels").is_some_and(|labels| labels.get("helm.toolkit.fluxcd.io/name").is_some())
}

#[cfg(test)]
#[path = "detect_tests.rs"]
mod tests;
