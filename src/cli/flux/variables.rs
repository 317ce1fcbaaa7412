//! The variables of a Kustomization, and how they are filled in (fluxcd/pkg `kustomize/kustomize_varsub.go`).

use std::collections::BTreeMap;

use anyhow::{Context as _, anyhow, bail};

use crate::flux::substitute;
use crate::kinds::contract::{CONFIG_MAP, SECRET};
use crate::kinds::fields::{annotation, label, list, text};
use crate::session::flux::Given;
use crate::tree::Value;
use crate::yaml;

/// The variables of a Kustomization: those of its sources in their order, its own last, without line breaks (fluxcd/pkg
/// `kustomize/kustomize_varsub.go`).
pub(super) fn variables(value: &Value, namespace: &str, given: &Given) -> anyhow::Result<BTreeMap<String, String>> {
    let mut out = BTreeMap::new();
    for source in list(value, "/spec/postBuild/substituteFrom") {
        let (kind, name) = (text(source, "/kind").unwrap_or_default(), text(source, "/name").unwrap_or_default());
        if !matches!(kind, CONFIG_MAP | SECRET) {
            bail!("substituteFrom names no ConfigMap or Secret");
        }
        let data = given.data(kind, namespace, name).map_err(|why| anyhow!("{kind} {name} {why}"))?;
        let Some(data) = data else {
            if source.get("optional") == Some(&Value::Bool(true)) {
                continue;
            }
            bail!("{kind} {name} is not there, so Flux does not apply it");
        };
        for (key, bytes) in data {
            let text = String::from_utf8(bytes).map_err(|_| anyhow!("key {key} of {kind} {name} is no text"))?;
            out.insert(key, text.replace('\n', ""));
        }
    }
    for (name, text) in value.pointer("/spec/postBuild/substitute").and_then(Value::as_object).into_iter().flatten() {
        let text = text.as_str().ok_or_else(|| anyhow!("its variable {name} is no text"))?;
        out.insert(name.to_string(), text.replace('\n', ""));
    }
    Ok(out)
}

/// Fills variables into each object of a stream that does not forbid it.
pub(super) fn filled(stream: &[u8], variables: &BTreeMap<String, String>) -> anyhow::Result<Vec<u8>> {
    const FORBIDS: &str = "kustomize.toolkit.fluxcd.io/substitute";
    if variables.is_empty() {
        return Ok(stream.to_vec());
    }
    let mut out = Vec::with_capacity(stream.len());
    for section in yaml::split(stream)? {
        if section.is_blank(stream) {
            continue;
        }
        let document = section.document.of(stream);
        let value = yaml::read_json(stream, section.document)?;
        let is_forbidden = [label(&value, FORBIDS), annotation(&value, FORBIDS)].contains(&Some("disabled"));
        out.extend_from_slice(b"---\n");
        if is_forbidden {
            out.extend_from_slice(document);
        } else {
            let text = std::str::from_utf8(document)?;
            let name = text_of(&value);
            out.extend(substitute::fill(text, variables).with_context(|| name)?.into_bytes());
        }
        out.push(b'\n');
    }
    Ok(out)
}

/// How an error calls an object.
fn text_of(value: &Value) -> String {
    format!("{} {}", text(value, "/kind").unwrap_or("an object"), text(value, "/metadata/name").unwrap_or_default())
}

/// What stands in the sources of its variables, as far as that is known.
pub(super) fn data(value: &Value, namespace: &str, given: &Given) -> String {
    let one = |source: &Value| {
        let (kind, name) = (text(source, "/kind").unwrap_or_default(), text(source, "/name").unwrap_or_default());
        format!("{kind}/{name}: {:?}\n", given.data(kind, namespace, name))
    };
    list(value, "/spec/postBuild/substituteFrom").map(one).collect()
}
