//! Where a late value may come from: objects by name or label, files, the environment, web servers, commands, releases.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kinds::contract::{CLUSTER, CONFIG_MAP, CORE, INFRASTRUCTURE, SECRET};
use crate::providers::metal3::MACHINE_TEMPLATE;

/// One place that a late value may come from; exactly one field is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Source {
    /// A field of a live object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectSource>,
    /// A file: its whole content without surrounding white space, or what stands at `path` in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// An environment variable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<String>,
    /// The answer of a web server to GET: the whole of it, or what stands at `path` in it. Asked only where the environment
    /// variable `ROLLGATE_ALLOW_SOURCES` names `http`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpSource>,
    /// What a program prints: the whole of it, or what stands at `path` in it. The program and its arguments, without a shell. Run
    /// only where the environment variable `ROLLGATE_ALLOW_SOURCES` names `exec`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exec: Vec<String>,
    /// A text made of other late values, such as `{{ late("vip") }}:6443`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// An output of a Heat stack, as the operator of Sylva writes it into a ConfigMap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heat: Option<HeatSource>,
    /// The host of a control plane endpoint that an infrastructure provider has filled in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<EndpointSource>,
    /// The address that a load balancer (kube-vip, MetalLB, a cloud) gave to a Service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<NamedSource>,
    /// The checksum of the image of a `Metal3MachineTemplate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<NamedSource>,
    /// A value that the deployed revision of a Helm release was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<ReleaseSource>,
    /// Where the value stands in a file, an answer or an output: a JSONPath such as `$.outputs.vip` in YAML and JSON, the name of a
    /// variable in `KEY=VALUE` lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// A web server that is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpSource {
    /// The address, `https://` or `http://`.
    pub url: String,
    /// A file with the certificates of the authorities that the server is known by; those of this machine where none is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// Longest time for the answer, such as `5s`; ten seconds where none is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
}

/// An output of a Heat stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HeatSource {
    /// Name of the output.
    pub output: String,
    /// The ConfigMap that the outputs are written to; `capo-cluster-resources` where none is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map: Option<String>,
    /// Its namespace; that of the release where none is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// A value of a Helm release, whose record is a Secret. The defaults of its chart are not looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReleaseSource {
    /// Name of the release.
    pub name: String,
    /// Where the value stands: a JSONPath such as `$.cluster.virtualIp`.
    pub path: String,
    /// Namespace of its record; that of this release where none is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// A control plane endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndpointSource {
    /// Kind of the object that holds it: `Cluster`, or that of the infrastructure cluster, such as `OpenStackCluster`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its namespace; that of the release where none is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// An object whose kind goes without saying.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NamedSource {
    /// Its name.
    pub name: String,
    /// Its namespace; that of the release where none is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// What a source is, once it was unfolded. Whoever reads sources matches all of it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SourceKind<'s> {
    /// A field of a live object.
    Object(&'s ObjectSource),
    /// A file.
    File(&'s str),
    /// An environment variable.
    Env(&'s str),
    /// A web server.
    Http(&'s HttpSource),
    /// A text made of other late values.
    Template(&'s str),
    /// A program and its arguments.
    Exec(&'s [String]),
}

impl Source {
    /// What it is. A source of a platform is the object that [`Source::unfold`] made of it.
    pub(crate) fn kind(&self) -> SourceKind<'_> {
        // Every field is named, so that a new one cannot be forgotten here.
        let Self {
            object,
            file,
            env,
            http,
            exec,
            template,
            path: _,
            heat: _,
            endpoint: _,
            service: _,
            image: _,
            release: _,
        } = self;
        None.or(object.as_ref().map(SourceKind::Object))
            .or(file.as_deref().map(SourceKind::File))
            .or(env.as_deref().map(SourceKind::Env))
            .or(http.as_ref().map(SourceKind::Http))
            .or(template.as_deref().map(SourceKind::Template))
            .unwrap_or(SourceKind::Exec(exec))
    }

    /// Whether it is a field of a live object.
    pub(crate) fn is_object(&self) -> bool {
        matches!(self.kind(), SourceKind::Object(_))
    }

    /// Whether it is a Secret.
    pub(in crate::policy) fn is_secret(&self) -> bool {
        matches!(self.kind(), SourceKind::Object(object) if object.is_secret())
    }

    /// Says a source of a platform as the field of an object that it is, so that all that follows knows objects only.
    pub(in crate::policy) fn unfold(&mut self) {
        let object =
            |api_version: &str, kind: &str, name: &str, namespace: &Option<String>, path: String| ObjectSource {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
                name: name.to_owned(),
                selector: None,
                namespace: namespace.clone(),
                path,
                release: None,
            };
        if let Some(HeatSource { output, config_map, namespace }) = self.heat.take() {
            let name = config_map.as_deref().unwrap_or("capo-cluster-resources");
            self.object = Some(object("v1", CONFIG_MAP, name, &namespace, format!("$.data['{output}']")));
        }
        if let Some(ReleaseSource { name, path, namespace }) = self.release.take() {
            let selector = Some(format!("owner=helm,name={name},status=deployed"));
            let record = object("v1", SECRET, "", &namespace, path);
            self.object = Some(ObjectSource { selector, release: Some(name), ..record });
        }
        if let Some(EndpointSource { kind, name, namespace }) = self.endpoint.take() {
            let group = if kind == CLUSTER { CORE } else { INFRASTRUCTURE };
            let path = "$.spec.controlPlaneEndpoint.host".to_owned();
            self.object = Some(object(&format!("{group}/v1beta1"), &kind, &name, &namespace, path));
        }
        if let Some(NamedSource { name, namespace }) = self.service.take() {
            // Two addresses are no choice of ours: the path finds both, and that is said.
            let path = "$.status.loadBalancer.ingress[*]['ip','hostname']".to_owned();
            self.object = Some(object("v1", "Service", &name, &namespace, path));
        }
        if let Some(NamedSource { name, namespace }) = self.image.take() {
            let path = "$.spec.template.spec.image.checksum".to_owned();
            let group = "infrastructure.cluster.x-k8s.io/v1beta1";
            self.object = Some(object(group, MACHINE_TEMPLATE, &name, &namespace, path));
        }
    }
}

impl ObjectSource {
    /// Whether the object is a Secret of the core group.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.api_version == "v1" && self.kind == SECRET
    }
}

/// A field of a live object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObjectSource {
    /// Its `apiVersion`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name; none where a selector finds it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its labels, such as `app=vip,tier!=test`, where its name is not known. More than one object with them is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// Its namespace; that of the release where none is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Where the value stands: a JSONPath such as `$.data.allocated_ip`. Data of a Secret is decoded.
    pub path: String,
    /// The Helm release whose record it is: the path is one into the values of that.
    #[serde(skip)]
    pub release: Option<String>,
}
