//! Certificates that nobody else makes: the replicas share one in a Secret, tell its authority to the API server, and put another one in
//! its place in time. Each replica does the same, onto what it has read: whoever comes second reads again, and finds it done.

mod issue;
mod shared;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};

use self::issue::issue;
use self::shared::{Pair, Shared, Terms};
use super::tls::{Certificate, Once, Pem};

/// The key of the Secret that all of it stands under.
const KEY: &str = "rollgate.json";
/// Who writes.
const WRITER: &str = "rollgate";
/// How long one look may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where certificates of our own are kept, and who is told of them.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    /// Namespace of the Secret.
    pub namespace: String,
    /// Its name. It is there: nobody here makes one.
    pub secret: String,
    /// The `ValidatingWebhookConfiguration` whose `caBundle` is written.
    pub configuration: String,
    /// The names and addresses that the API server asks at.
    pub names: Vec<String>,
    /// How long a certificate is valid.
    pub life: Duration,
}

impl Told {
    fn terms(&self) -> Terms {
        Terms { names: self.names.clone(), life: self.life }
    }
}

/// One that nobody knows, for probes, until the one that is shared is read.
///
/// # Errors
/// When a name is none that a certificate can carry.
pub(super) fn begin(told: &Told) -> anyhow::Result<Arc<Certificate>> {
    Certificate::of(pem(&issue(&told.names, Timestamp::now(), told.life)?), false)
}

/// Keeps the shared certificate in use, and its authority told, for as long as this is polled.
pub(super) async fn keep(client: Client, told: &Told, certificate: &Certificate, tell: impl Fn(anyhow::Result<()>)) {
    let place = OwnObjects {
        secrets: Api::namespaced(client.clone(), &told.namespace),
        configurations: Api::all(client),
        told,
        terms: told.terms(),
    };
    let pause = (place.terms.settled() / 4).clamp(Duration::from_millis(250), Duration::from_secs(5));
    let mut once = Once::default();
    loop {
        let look = tokio::time::timeout(PATIENCE, place.look(certificate)).await;
        once.tell(look.unwrap_or_else(|_| Err(anyhow!("the API server does not answer"))), &tell);
        tokio::time::sleep(pause).await;
    }
}

/// The Secret and the configuration.
struct OwnObjects<'a> {
    secrets: Api<Secret>,
    configurations: Api<ValidatingWebhookConfiguration>,
    told: &'a Told,
    terms: Terms,
}

impl OwnObjects<'_> {
    /// Looks once: reads what is shared, takes it into use, tells its authority, and writes what comes next. `true` where another
    /// certificate is in use from now on.
    async fn look(&self, certificate: &Certificate) -> anyhow::Result<bool> {
        let Told { namespace, secret: name, .. } = self.told;
        let secret = self.secrets.get(name).await.map_err(|error| said(&error));
        let secret = secret.with_context(|| format!("Secret {namespace}/{name} cannot be read"))?;
        let shared = read(&secret).with_context(|| format!("Secret {namespace}/{name}"))?;
        let is_new = match &shared.current {
            Some(pair) => certificate.take(pem(pair))?,
            None => false,
        };
        let is_told = shared.current.is_some() && self.tells(&shared.bundle()).await?;
        let now = Timestamp::now();
        let issue = || issue(&self.terms.names, now, self.terms.life);
        if let Some(after) = shared.step(&self.terms, now, is_told, issue)? {
            self.writes(secret, &after).await?;
        }
        Ok(is_new)
    }

    /// Tells the API server the authorities; `true` where it had been told these before.
    async fn tells(&self, bundle: &str) -> anyhow::Result<bool> {
        let name = &self.told.configuration;
        let there = self.configurations.get_opt(name).await.map_err(|error| said(&error));
        let Some(there) = there.with_context(|| format!("ValidatingWebhookConfiguration {name} cannot be read"))?
        else {
            // Nobody asks, so nobody has to be told.
            return Ok(true);
        };
        let hooks = there.webhooks.unwrap_or_default();
        let differs = |client: &Option<ByteString>| client.as_ref().is_none_or(|text| text.0 != bundle.as_bytes());
        if !hooks.iter().any(|hook| differs(&hook.client_config.ca_bundle)) {
            return Ok(true);
        }
        let wanted = ByteString(bundle.as_bytes().to_vec());
        let hooks: Vec<_> = hooks
            .iter()
            .map(|hook| serde_json::json!({"name": hook.name, "clientConfig": {"caBundle": wanted}}))
            .collect();
        // A webhook that was taken out meanwhile must not come back without its rules: then nothing is written, and it is looked again.
        let patch =
            serde_json::json!({"metadata": {"resourceVersion": there.metadata.resource_version}, "webhooks": hooks});
        let params = PatchParams { field_manager: Some(WRITER.to_owned()), ..PatchParams::default() };
        match self.configurations.patch(name, &params, &Patch::Strategic(&patch)).await {
            Ok(_) => Ok(false),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(false),
            Err(error) => Err(said(&error)).with_context(|| format!("the caBundle of {name} cannot be written")),
        }
    }

    /// Writes onto what was read. Where somebody else was faster, theirs is read a moment later.
    async fn writes(&self, mut secret: Secret, shared: &Shared) -> anyhow::Result<()> {
        let text = serde_json::to_vec(shared).context("what is shared cannot be written")?;
        secret.data.get_or_insert_with(BTreeMap::new).insert(KEY.to_owned(), ByteString(text));
        let params = PostParams { field_manager: Some(WRITER.to_owned()), ..PostParams::default() };
        match self.secrets.replace(&self.told.secret, &params, &secret).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            Err(error) => Err(said(&error)).context("the new certificate cannot be written"),
        }
    }
}

/// What a Secret holds; nothing where it is new.
fn read(secret: &Secret) -> anyhow::Result<Shared> {
    let Some(text) = secret.data.as_ref().and_then(|data| data.get(KEY)) else { return Ok(Shared::default()) };
    // What serde says may hold what was read.
    serde_json::from_slice(&text.0)
        .map_err(|_| anyhow!("what {KEY} holds is not ours; delete that key, and another certificate is made"))
}

fn pem(pair: &Pair) -> Pem {
    Pem { certificate: pair.certificate.clone().into_bytes(), key: pair.key.clone().into_bytes() }
}

/// What an API server or the way to it says, in one line and without what was sent.
fn said(error: &kube::Error) -> anyhow::Error {
    match error {
        kube::Error::Api(status) => anyhow!("{} ({})", status.message.replace('\n', " "), status.code),
        other => anyhow!("{}", other.to_string().replace('\n', " ")),
    }
}
