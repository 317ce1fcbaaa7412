//! The shape of the policy file. Every field has a safe default, so an empty policy holds what it should.

mod approvals;
mod flux;
mod forecasts;
mod gates;
mod images;
mod per_cluster;
mod profile;
mod releases;
#[cfg(test)]
mod rule;
mod set_back;
mod sources;
mod workload;

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use self::approvals::{ApprovalPlace, ApprovalTrailer, Approvals, BreakGlass, Expectation, Revision};
pub(crate) use self::flux::{Flux, FluxValues};
pub(crate) use self::forecasts::Forecasts;
pub(crate) use self::gates::{Budget, Freeze, GateAnswer, Gates, HealthGates, HistoryPlace, Later, Window};
pub(crate) use self::images::Images;
pub(crate) use self::per_cluster::ClusterGates;
pub(crate) use self::profile::Profile;
pub(crate) use self::releases::ListedRelease;
pub(crate) use self::set_back::SetBack;
pub(crate) use self::sources::{HttpSource, ObjectSource, Source, SourceKind};
pub(crate) use self::workload::Workload;
use super::Resolve;

/// The whole policy file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
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
    /// What the gates do that `gates` does not mention, and whether any gate holds at all.
    #[serde(default, skip_serializing_if = "Profile::is_default")]
    pub profile: Profile,
    /// What each gate does.
    #[serde(default)]
    pub gates: Gates,
    /// Gates of some clusters; the first entry that a cluster fits counts, and `gates` for all others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub per_cluster: Vec<ClusterGates>,
    /// Whether the workload clusters may be asked themselves. By default none of them ever is.
    #[serde(default, skip_serializing_if = "Workload::is_nothing")]
    pub workload: Workload,
    /// Which servers may be asked whether the images of new Machines are still there. By default none ever is.
    #[serde(default, skip_serializing_if = "Images::is_nothing")]
    pub images: Images,
    /// Where forecasts are kept, to be compared later with what came.
    #[serde(default, skip_serializing_if = "Forecasts::is_nothing")]
    pub forecasts: Forecasts,
    /// What `rollgate serve` does for Flux. Where nothing is said, only HelmReleases that ask for it are gated, and nothing is published.
    #[serde(default, skip_serializing_if = "Flux::is_nothing")]
    pub flux: Flux,
    /// Where a person's yes to one change counts. By default none counts.
    #[serde(default, skip_serializing_if = "Approvals::is_nowhere")]
    pub approvals: Approvals,
    /// Wanted changes: they pass the gate of their effect with what must move with them, and nothing else in the same render does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<Expectation>,
    /// What a post-renderer does with a stream that is held because fields of it replace or destroy Machines.
    #[serde(default, skip_serializing_if = "SetBack::is_never")]
    pub set_back: SetBack,
    /// What to do about what a stream does not show.
    #[serde(default)]
    pub unseen: Unseen,
    /// The releases that `plan --all` judges in one run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub releases: Vec<ListedRelease>,
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
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
            profile: Profile::default(),
            gates: Gates::default(),
            per_cluster: Vec::new(),
            workload: Workload::default(),
            images: Images::default(),
            forecasts: Forecasts::default(),
            flux: Flux::default(),
            approvals: Approvals::default(),
            expect: Vec::new(),
            set_back: SetBack::default(),
            unseen: Unseen::default(),
            releases: Vec::new(),
            rules: Vec::new(),
            ignore: Vec::new(),
            redact: Vec::new(),
            show: Vec::new(),
        }
    }
}

impl Policy {
    /// Every set of gates that may count.
    pub fn all_gates(&self) -> impl Iterator<Item = &Gates> {
        std::iter::once(&self.gates).chain(self.per_cluster.iter().map(|entry| &entry.gates))
    }
}

/// A named value that is unknown when the chart is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
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
    /// Whether the stream may lack it: then it is no sign of a wrong placeholder if neither it nor its placeholder is there.
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
    /// What a first install does while no source has it.
    #[serde(default, skip_serializing_if = "FirstInstall::is_hold")]
    pub first_install: FirstInstall,
}

/// What a first install does while no source has a late value. An install is the first one where neither a release record, nor a live
/// object, nor a pin of the value says that there was another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FirstInstall {
    /// It does not go out.
    #[default]
    Hold,
    /// The placeholder goes out, if no field that holds it replaces a Machine when it changes. That is judged, not believed.
    PlaceholderOk,
    /// The placeholder goes out as it is, whatever the value does to Machines later.
    Skip,
}

impl FirstInstall {
    /// Whether nothing is let out.
    #[must_use]
    pub fn is_hold(&self) -> bool {
        *self == Self::Hold
    }
}

/// One network or several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
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

impl LateValue {
    /// Whether it must never be shown, by what the policy says of it and of its sources.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.secret.unwrap_or_else(|| self.from.iter().any(Source::is_secret))
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

    /// Whether only the stream tells if it is secret: neither the policy, nor a source, nor the shape of its type says so.
    #[must_use]
    pub fn is_open_secret(&self) -> bool {
        self.secret.is_none() && !self.is_secret() && self.is_secret_in_a_secret()
    }
}

/// Whether the first value is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pins {
    /// `configmap/NAME` or `secret/NAME`, in the namespace of the release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    /// A file, beside the policy unless the path is absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Whom secret values are encrypted to: recipients of age (`age1...`). Whoever has a key (`ROLLGATE_AGE_KEY_FILE`,
    /// `SOPS_AGE_KEY_FILE`) gets a value back from its pin when its source is gone. Without recipients a pin only recognises a secret
    /// value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub encrypt_to: Vec<String>,
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FieldPin {
    /// Kind of the objects, such as `RKE2ControlPlane`.
    pub kind: String,
    /// Where they stand, as a path of the packs: `*` is one key, `[*]` a list place. `metadata.name` keeps the name of a template, and the
    /// references to it, if nothing but the name is new.
    pub path: String,
    /// `once` keeps the first value, `manual` keeps what `value` says, and `follow` takes what each render says and reports it.
    #[serde(default)]
    pub pin: PinMode,
    /// What the field is, where only a person sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<crate::tree::Value>,
}

/// What to do about what a stream does not show.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Unseen {
    /// A stream without Cluster API objects, of a release that nothing names: Helm deletes what that release had.
    pub release: Doubt,
    /// A changed object that carries others inside it: a release of Flux, an application of Argo CD, manifests kept as data. Also a
    /// chart that asks about the cluster while it is rendered without one (`lookup`, `.Capabilities`).
    pub inside: Doubt,
    /// Controllers of Cluster API in the stream itself that are new beside its objects or get another image or other settings, and
    /// other definitions of their kinds: what these call out of date is not judged. With `plan --upgrade` it is what no mirror computes of
    /// the new version; `allow` then acts like `warn`.
    pub controllers: Doubt,
    /// A new object that nothing compares, such as a ConfigMap, if the right is missing to see whether one of that name exists: Helm
    /// refuses the release if it belongs to nobody or to another release.
    /// Also an object of the last manifest that is applied again on the server's side, where nobody can see who else holds it.
    pub ownership: Doubt,
}

/// What a doubt comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
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

/// A rule of the user, in the format of the packs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(transparent)]
pub struct UserRule(#[cfg_attr(test, schemars(with = "rule::RuleForm"))] pub crate::tree::Value);

/// The JSON Schema of a policy file, for editors.
pub(crate) const SCHEMA: &str = include_str!("../../schemas/policy.json");

/// The JSON Schema of a policy file, read.
#[must_use]
pub(crate) fn schema_json() -> crate::tree::Value {
    // A test reads it.
    serde_json::from_str(SCHEMA).unwrap_or_default()
}

/// The JSON Schema of a policy file, made from the types.
#[cfg(test)]
pub(crate) fn fresh_schema() -> crate::tree::Value {
    let mut schema = schemars::schema_for!(Policy);
    schema.insert("$id".to_owned(), "https://rollgate.dev/schemas/policy.json".into());
    schema.insert("title".to_owned(), "rollgate policy".into());
    schema.to_value().into()
}
