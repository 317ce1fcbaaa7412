//! The shape of the policy file. Every field has a safe default, so an empty policy holds what it should.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// Where pins are kept.
    #[serde(default)]
    pub pins: Pins,
    /// What each gate does.
    #[serde(default)]
    pub gates: Gates,
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
            pins: Pins::default(),
            gates: Gates::default(),
            rules: Vec::new(),
            ignore: Vec::new(),
            redact: Vec::new(),
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
    /// A network that the address must lie in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Where it comes from, tried in order.
    #[serde(default)]
    pub from: Vec<Source>,
    /// Whether the first value is kept.
    #[serde(default)]
    pub pin: PinMode,
    /// Whether the stream need not hold it: then it is no sign of a wrong placeholder that neither stands there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// Texts that look like a placeholder of this type and are meant, such as an address of a documentation network in a lab.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// How long to wait for it, such as `10m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<String>,
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
    #[default]
    String,
}

/// One place that a late value may come from; exactly one field is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Source {
    /// A field of a live object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectSource>,
    /// A file whose whole content, without surrounding white space, is the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// An environment variable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<String>,
}

/// A field of a live object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObjectSource {
    /// Its `apiVersion`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its namespace; that of the release where none is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Where the value stands: a JSONPath such as `$.data.allocated_ip`. Data of a Secret is decoded.
    pub path: String,
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
}

/// Where pins are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pins {
    /// `configmap/NAME`, in the namespace of the release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    /// A file, beside the policy unless the path is absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
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
    /// A change that lands with the next new Machine.
    pub latent: Answer,
    /// A change that replaces Machines.
    pub rollout: Answer,
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
    /// What the state of the cluster does.
    pub health: HealthGates,
}

impl Default for Gates {
    fn default() -> Self {
        Self {
            in_place: Answer::Allow,
            scale: Answer::Allow,
            latent: Answer::Warn,
            rollout: Answer::Hold,
            rejected: Answer::Hold,
            delete: Answer::Hold,
            infrastructure: Answer::Warn,
            max_machines: None,
            windows: Vec::new(),
            health: HealthGates::default(),
        }
    }
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
    /// The virtual IP could be lost. Read, but not judged yet: no answer depends on it.
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
            vip: Answer::Warn,
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
