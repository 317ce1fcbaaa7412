//! The shape of the policy file. Every field has a safe default, so an empty policy holds what it should.

use crate::kinds::contract::{CLUSTER, CONFIG_MAP, CORE, INFRASTRUCTURE, SECRET};
use crate::providers::metal3::MACHINE_TEMPLATE;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Resolve;

/// The whole policy file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Policy {
    /// Always `rollgate.dev/v1alpha1`.
    pub api_version: String,
    /// Always `Policy`.
    pub kind: String,
    /// Values that are not known when the chart is written.
    #[serde(default)]
    pub late_values: Vec<LateValue>,
    /// Where they are filled in.
    #[serde(default, skip_serializing_if = "Resolve::is_everywhere")]
    pub resolve: Resolve,
    /// Where pins are kept.
    #[serde(default)]
    pub pins: Pins,
    /// What each gate does.
    #[serde(default)]
    pub gates: Gates,
    /// What is said of what a stream does not show.
    #[serde(default)]
    pub unseen: Unseen,
    /// Rules of the user, in the format of the packs; they may only make a verdict stricter unless they say `override: true`.
    #[serde(default)]
    pub rules: Vec<UserRule>,
    /// Changes that a report need not show one by one. They are counted, and never left out of a decision; a change that
    /// touches Machines is shown all the same.
    #[serde(default)]
    pub ignore: Vec<Ignore>,
    /// Places whose values are never shown, beside those that are secret anyway: paths such as `spec.files.*.content` or
    /// `spec.**.community`, where `*` is one step (also a list place) and `**` any number of them.
    #[serde(default)]
    pub redact: Vec<String>,
    /// Places whose values are shown although anything could stand there: files, commands and bootstrap data show only what has a
    /// form that no secret has. Paths as in `redact`. Values of Secrets, and what has the form of a secret, stay hidden.
    #[serde(default)]
    pub show: Vec<String>,
}

/// Changes that a report need not show one by one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ignore {
    /// Where they stand, as a path of the packs: `*` is one key, `[*]` a list place, `**` everything below.
    pub path: String,
    /// In which kinds; in all where none is said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
    /// Why nobody needs to see them.
    pub reason: String,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            api_version: "rollgate.dev/v1alpha1".to_owned(),
            kind: "Policy".to_owned(),
            late_values: Vec::new(),
            resolve: Resolve::default(),
            pins: Pins::default(),
            gates: Gates::default(),
            unseen: Unseen::default(),
            rules: Vec::new(),
            ignore: Vec::new(),
            redact: Vec::new(),
            show: Vec::new(),
        }
    }
}

/// A named value that is unknown when the chart is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LateValue {
    /// Its name.
    pub name: String,
    /// What the chart prints while it is unknown; found as a whole token anywhere in the stream.
    #[serde(default)]
    pub placeholders: Vec<String>,
    /// Other spellings of "not known yet"; never a change against a placeholder.
    #[serde(default)]
    pub equivalent: Vec<String>,
    /// What a value must look like.
    #[serde(default, rename = "type")]
    pub kind: ValueType,
    /// A regular expression that the whole value must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The network that the address must lie in, or several of which one is enough.
    #[serde(default, skip_serializing_if = "Networks::is_empty")]
    pub within: Networks,
    /// Where it comes from, tried in order.
    #[serde(default)]
    pub from: Vec<Source>,
    /// Whether the first value is kept.
    #[serde(default)]
    pub pin: PinMode,
    /// Whether it must never be shown or stored in the clear. Where nothing is said: if a Secret is among its sources, or if it is
    /// written into a Secret and is of a type that can be secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<bool>,
    /// The values that a value of type `enum` may have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// Whether the stream need not hold it: then it is no sign of a wrong placeholder that neither stands there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// Whether it is filled in where it stands in the key of a field too; otherwise such a place holds the install.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keys: bool,
    /// Texts that look like a placeholder of this type and are meant, such as an address of a documentation network in a lab.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// How long to wait for it, such as `10m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<String>,
}

/// One network or several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Networks {
    /// One, such as `10.0.0.0/16`.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl Default for Networks {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

impl Networks {
    /// Each of them, as it was written.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let list = match self {
            Self::One(network) => std::slice::from_ref(network),
            Self::Several(list) => list.as_slice(),
        };
        list.iter().map(String::as_str)
    }

    /// Whether none is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}

/// What a late value must look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the words say it.")]
pub enum ValueType {
    Ip,
    Cidr,
    Hostname,
    Url,
    Uuid,
    Integer,
    Boolean,
    Quantity,
    Duration,
    Pem,
    Sha256,
    Enum,
    #[default]
    String,
}

/// One place that a late value may come from; exactly one field is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NamedSource {
    /// Its name.
    pub name: String,
    /// Its namespace; that of the release where none is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

impl Source {
    /// Says a source of a platform as the field of an object that it is, so that all that follows knows objects only.
    pub(super) fn unfold(&mut self) {
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

impl LateValue {
    /// Whether it must never be shown, by what the policy says of it and of its sources.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.secret
            .unwrap_or_else(|| self.from.iter().filter_map(|from| from.object.as_ref()).any(ObjectSource::is_secret))
    }

    /// Whether it becomes secret by being written into a Secret: not where the policy says that it is none, nor where the shape of
    /// its type cannot be one, such as that of an address.
    #[must_use]
    pub const fn is_secret_in_a_secret(&self) -> bool {
        let by_shape = matches!(self.kind, ValueType::Url | ValueType::Uuid | ValueType::Pem | ValueType::String);
        match self.secret {
            Some(secret) => secret,
            None => by_shape,
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// Whether the first value is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PinMode {
    /// The first value is recorded; another one later holds the install.
    #[default]
    Once,
    /// The newest value is taken each time.
    Follow,
    /// Only a person sets it; what the source says is compared and never taken.
    Manual,
}

/// Where pins are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pins {
    /// `configmap/NAME` or `secret/NAME`, in the namespace of the release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    /// A file, beside the policy unless the path is absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Fields that stay what they are once they are there, whatever a later render says of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldPin>,
}

/// What kind of object in the cluster keeps the pins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words say it.")]
pub enum StoreKind {
    ConfigMap,
    Secret,
}

impl Pins {
    /// Kind and name of the object in the cluster that keeps them, where one does.
    #[must_use]
    pub fn in_cluster(&self) -> Option<(StoreKind, &str)> {
        let (kind, name) = self.store.as_deref()?.split_once('/')?;
        match kind {
            "configmap" => Some((StoreKind::ConfigMap, name)),
            "secret" => Some((StoreKind::Secret, name)),
            _ => None,
        }
    }
}

/// Fields that stay what they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FieldPin {
    /// Kind of the objects, such as `RKE2ControlPlane`.
    pub kind: String,
    /// Where they stand, as a path of the packs: `*` is one key, `[*]` a list place. `metadata.name` of a template keeps its name,
    /// and that of the references to it, where nothing but the name is new.
    pub path: String,
    /// `once` keeps what was there on first sight, `manual` what `value` says, and `follow` takes what each render says and tells of it.
    #[serde(default)]
    pub pin: PinMode,
    /// What the field is, where only a person sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<serde_json::Value>,
}

/// What a gate answers when it finds something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// Say nothing.
    Allow,
    /// Say it, and go on.
    Warn,
    /// Stop the install.
    Hold,
}

/// What each gate does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Gates {
    /// A change that is propagated to Machines without replacing them.
    pub in_place: Answer,
    /// A change of the number of Machines.
    pub scale: Answer,
    /// Fewer Machines of a control plane, or more workers of one owner taken away at once than `maxMachines` says (3 where it says
    /// nothing).
    pub scale_in: Answer,
    /// A change that lands with the next new Machine.
    pub latent: Answer,
    /// A change that replaces Machines. Where nothing is said: hold, and with `windows` a warning while one of them is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollout: Option<Answer>,
    /// A write that the API server will refuse.
    pub rejected: Answer,
    /// A change that destroys Machines.
    pub delete: Answer,
    /// A change that moves load balancers, networks or security groups at once.
    pub infrastructure: Answer,
    /// Most Machines that one run may replace or remove without a hold, whatever the other gates say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_machines: Option<u64>,
    /// When rollouts may start; outside of them a rollout is held.
    pub windows: Vec<Window>,
    /// What a change does that replaces or deletes Machines once a pause or another block ends.
    pub paused: Later,
    /// What the state of the cluster does.
    pub health: HealthGates,
}

impl Default for Gates {
    fn default() -> Self {
        Self {
            in_place: Answer::Allow,
            scale: Answer::Allow,
            scale_in: Answer::Hold,
            latent: Answer::Warn,
            rollout: None,
            rejected: Answer::Hold,
            delete: Answer::Hold,
            infrastructure: Answer::Warn,
            max_machines: None,
            windows: Vec::new(),
            paused: Later::default(),
            health: HealthGates::default(),
        }
    }
}

impl Gates {
    /// What a change that replaces Machines meets, whatever the clock says.
    #[must_use]
    pub fn on_rollout(&self) -> Answer {
        self.rollout.unwrap_or(Answer::Hold)
    }
}

/// What is said of what a stream does not show.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Unseen {
    /// A stream without Cluster API objects, of a release that nothing names: Helm deletes what that release had.
    pub release: Doubt,
    /// A changed object that carries others inside it: a release of Flux, an application of Argo CD, manifests kept as data.
    pub inside: Doubt,
}

/// What a doubt comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Doubt {
    /// The run is undecided.
    #[default]
    Undecided,
    /// Say it, and go on.
    Warn,
    /// It is of no interest.
    Allow,
}

/// The answer to what lands later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Later {
    /// That of the `rollout` gate, as if it landed now.
    #[default]
    Rollout,
    /// Go on, and say nothing.
    Allow,
    /// Go on, and say it.
    Warn,
    /// Stop.
    Hold,
}

/// A time in which rollouts may start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Window {
    /// Start, as a cron line of five fields.
    pub cron: String,
    /// Length, such as `3h`.
    #[serde(rename = "for")]
    pub length: String,
    /// Time zone by its IANA name; UTC where none is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
}

/// What the state of the cluster does to a rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HealthGates {
    /// etcd could lose its quorum.
    pub etcd: Answer,
    /// Machines are not ok.
    pub machines: Answer,
    /// A remediation is under way.
    pub remediation: Answer,
    /// The control plane was never complete: something would be replaced while the cluster is still being made.
    pub bootstrap: Answer,
    /// A rollout or a scaling is under way already, or a controller has not seen the last change yet.
    pub in_progress: Answer,
    /// A control plane rolls whose virtual IP one of its Machines holds. Which one lies in the workload cluster, where this version
    /// does not look: `warn` says so, and `hold` is refused.
    pub vip: Answer,
    /// Metal3: there are fewer free hosts than a rollout needs before the first old Machine goes.
    pub hosts: Answer,
}

impl Default for HealthGates {
    fn default() -> Self {
        Self {
            etcd: Answer::Hold,
            machines: Answer::Hold,
            remediation: Answer::Hold,
            bootstrap: Answer::Hold,
            in_progress: Answer::Hold,
            vip: Answer::Allow,
            hosts: Answer::Hold,
        }
    }
}

/// A rule of the user, in the format of the packs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct UserRule(pub serde_json::Value);

/// The JSON Schema of a policy file, for editors; it is generated into `schemas/policy.json`.
#[must_use]
pub fn schema_json() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Policy);
    schema.insert("$id".to_owned(), "https://rollgate.dev/schemas/policy.json".into());
    schema.insert("title".to_owned(), "rollgate policy".into());
    schema.to_value()
}
