//! What an object that carries others says about them: that it does, into which cluster, and from which sources.

use super::kinds;
use crate::hashed::HashMap;
use crate::kinds::contract::{CONFIG_MAP, SECRET};
use crate::kinds::fields::text;
use crate::object::{ApiVersion, Inventory, Key, LoadError, Object};
use crate::providers::{self, carriers};
use crate::tree::Value;
use crate::world::remote::{By, Leads, Remote, RemoteReading};
use crate::world::{LiveKind, World};

/// What the name of the Secret with the kubeconfig of a Cluster ends with.
const KUBECONFIG: &str = "-kubeconfig";
/// The group of what releases of Flux are made from.
const SOURCES: &str = "source.toolkit.fluxcd.io";

/// Whether an object is there to have others written: by its kind, or by what it holds.
pub(crate) fn is_carrier(object: &Object) -> bool {
    carriers::is_carrier(&object.key.group, &object.key.kind) || carries_by_content(object)
}

/// Whether an object of a group that nobody knows holds compared objects, or what a release is made of.
fn carries_by_content(object: &Object) -> bool {
    if !kinds::is_foreign(&object.key) {
        return false;
    }
    let says = |word: &&str| object.may_say(word);
    let may = providers::compared_words().any(|word| says(&word)) || ["valuesFrom", "chart", "config"].iter().any(says);
    may && object.value().is_ok_and(|value| {
        let spec = value.get("spec").unwrap_or(&Value::Null);
        let is_release = spec.get("valuesFrom").is_some_and(Value::is_array)
            || spec.get("chart").is_some_and(|chart| chart.is_object() || chart.is_string())
            || (spec.get("template").is_some_and(Value::is_string) && spec.get("config").is_some_and(Value::is_object));
        is_release || value.as_object().into_iter().flatten().any(|(_, field)| holds(field))
    })
}

/// Whether a tree holds an object of a compared kind, which a mere reference to one is not.
fn holds(value: &Value) -> bool {
    match value {
        Value::Object(map) => {
            let is_compared =
                text(value, "/apiVersion").is_some_and(|api| providers::is_compared(ApiVersion::parse(api).group));
            let is_whole = map.contains_key("kind") && (map.contains_key("metadata") || map.contains_key("spec"));
            (is_compared && is_whole) || map.values().any(holds)
        }
        Value::Array(items) => items.iter().any(holds),
        Value::String(text) => holds_compared(text),
        _ => false,
    }
}

/// Whether a text holds an object of a compared kind, in YAML or JSON.
pub(super) fn holds_compared(text: &str) -> bool {
    const END: [char; 8] = ['"', '\'', ',', '}', ' ', '\n', '\r', '\t'];
    text.match_indices("apiVersion").any(|(at, word)| {
        let rest = text[at + word.len()..].trim_start_matches(['"', '\'', ':', ' ', '\\']);
        let version = rest.split(END).next().unwrap_or_default().trim_end_matches('\\');
        providers::is_compared(ApiVersion::parse(version).group)
    })
}

/// The cluster that what an object has written goes into, where it names one: Flux does with a kubeconfig, Argo CD with a
/// destination, an add-on of Azimuth by the name of its Cluster. `None` is this cluster.
pub(crate) fn remote_of(key: &Key, value: &Value, home: Option<&str>) -> Option<Remote> {
    let by = if key.group == "argoproj.io" {
        let at = |field: &str| text(value, &format!("/spec/destination/{field}")).filter(|text| !text.is_empty());
        let server = at("server").filter(|server| server.trim_end_matches('/') != "https://kubernetes.default.svc");
        let name = at("name").filter(|name| *name != "in-cluster");
        let by = server.map(|server| By::Server(server.to_owned())).or_else(|| Some(By::Cluster(name?.to_owned())));
        by.filter(|_| key.kind == "Application")?
    } else if key.group == carriers::ADD_ONS {
        let cluster = text(value, "/spec/clusterName").filter(|name| !name.is_empty())?;
        By::Secret { name: format!("{cluster}{KUBECONFIG}"), key: None }
    } else {
        let config = value.pointer("/spec/kubeConfig").filter(|_| is_of_flux(key))?;
        let word = |pointer: &str| text(config, pointer).filter(|text| !text.is_empty()).map(str::to_owned);
        match (word("/secretRef/name"), word("/configMapRef/name")) {
            (Some(name), _) => By::Secret { name, key: word("/secretRef/key") },
            (None, name) => By::ConfigMap(name?),
        }
    };
    Some(Remote { namespace: key.namespace.as_deref().or(home).map(str::to_owned), by })
}

/// Where the clusters are that objects name.
pub(super) struct Remotes<'a> {
    known: &'a [RemoteReading],
    home: Option<&'a str>,
    /// Whether no cluster was read.
    is_offline: bool,
}

impl<'a> Remotes<'a> {
    /// What a World says of them.
    pub(super) fn new(world: &'a World, home: Option<&'a str>) -> Self {
        Self { known: &world.remotes, home, is_offline: world.source.kind != LiveKind::Cluster }
    }

    /// Where what an object has written goes.
    pub(super) fn leads(&self, key: &Key, value: &Value) -> Leads {
        let Some(remote) = remote_of(key, value, self.home) else { return Leads::Here };
        if let Some(reading) = self.known.iter().find(|reading| reading.remote == remote) {
            return match &reading.leads {
                Leads::Here => Leads::Unknown(format!("{remote} leads back into this cluster")),
                leads => leads.clone(),
            };
        }
        match &remote.by {
            // The contract's name for the kubeconfig of a Cluster is all that two renders tell.
            By::Secret { name, .. } if self.is_offline && name.ends_with(KUBECONFIG) => Leads::Likely,
            _ => Leads::Unknown(format!("nobody looked into which cluster {remote} leads")),
        }
    }
}

/// Whether a kind is a release of Flux, which a source of one is not.
fn is_of_flux(key: &Key) -> bool {
    matches!(key.group.as_str(), "helm.toolkit.fluxcd.io" | "kustomize.toolkit.fluxcd.io")
}

/// The sources that releases of Flux name, by kind and name, and whether one that writes into this cluster does.
#[derive(Debug, Default)]
pub(super) struct Sources(HashMap<(String, String), bool>);

impl Sources {
    /// Those of all releases on these sides.
    pub(super) fn of(sides: &[&Inventory], remotes: &Remotes<'_>) -> Result<Self, LoadError> {
        let mut out = Self::default();
        for object in sides.iter().flat_map(|side| side.objects()) {
            if !is_of_flux(&object.key) && object.key.group != SOURCES {
                continue;
            }
            let value = object.value()?;
            let is_local = !matches!(remotes.leads(&object.key, &value), Leads::Elsewhere | Leads::Likely);
            for pointer in ["/spec/sourceRef", "/spec/chartRef", "/spec/chart/spec/sourceRef"] {
                let Some(source) = value.pointer(pointer) else { continue };
                let word = |field: &str| text(source, field).unwrap_or_default().to_owned();
                *out.0.entry((word("/kind"), word("/name"))).or_default() |= is_local;
            }
        }
        Ok(out)
    }

    /// Whether an object is a source that only releases into other clusters name.
    pub(super) fn are_only_remote(&self, key: &Key) -> bool {
        key.group == SOURCES && self.0.get(&(key.kind.clone(), key.name.clone())) == Some(&false)
    }
}

/// Hands on kind and name of the ConfigMaps and Secrets that a release takes values from, or a cluster of another project its configuration.
///
/// The fields are those of Flux (`valuesFrom`, `substituteFrom`), of Crossplane's Release and of Fleet (`valuesFrom`), of the HelmChart of k3s
/// (`valuesSecrets`), of a NodePool of HyperShift (`config`) and of an App of Giant Swarm (`config`, `userConfig`, `extraConfigs`).
pub(super) fn values_of(value: &Value, add: &mut dyn FnMut(&str, &str)) {
    if let Some(spec) = value.get("spec") {
        // Elsewhere a field of this name holds the values themselves.
        if let Some(config) = spec.get("config") {
            match config {
                Value::Array(_) => sources(config, CONFIG_MAP, add),
                _ => ["configMap", "secret"]
                    .iter()
                    .filter_map(|field| config.get(field).map(|at| (*field, at)))
                    .for_each(|(field, at)| sources(at, if field == "secret" { SECRET } else { CONFIG_MAP }, add)),
            }
        }
        below(spec, add);
    }
}

/// Hands on the ConfigMaps and Secrets that any field below a value takes values from.
fn below(value: &Value, add: &mut dyn FnMut(&str, &str)) {
    match value {
        Value::Object(map) => {
            for (field, child) in map.iter() {
                match field.as_str() {
                    "valuesFrom" | "substituteFrom" | "extraConfigs" => sources(child, CONFIG_MAP, add),
                    "valuesSecrets" => sources(child, SECRET, add),
                    "userConfig" => {
                        child.get("configMap").into_iter().for_each(|at| sources(at, CONFIG_MAP, add));
                        child.get("secret").into_iter().for_each(|at| sources(at, SECRET, add));
                    }
                    _ => below(child, add),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| below(item, add)),
        _ => {}
    }
}

/// Hands on what one source or a list of them names, where it says no kind by the usual one.
fn sources(value: &Value, usual: &str, add: &mut dyn FnMut(&str, &str)) {
    if let Value::Array(items) = value {
        items.iter().for_each(|item| sources(item, usual, add));
    }
    for (pointer, kind) in [("/configMapKeyRef/name", CONFIG_MAP), ("/secretKeyRef/name", SECRET)] {
        text(value, pointer).into_iter().for_each(|name| add(kind, name));
    }
    let said = text(value, "/kind").map(|kind| if kind.eq_ignore_ascii_case(SECRET) { SECRET } else { CONFIG_MAP });
    text(value, "/name").into_iter().for_each(|name| add(said.unwrap_or(usual), name));
}
