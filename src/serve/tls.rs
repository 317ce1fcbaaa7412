//! The certificate of the server: what new connections are made with. Another one takes its place without a connection being dropped; it
//! comes from files, which are read again when they change, or is made by ourselves (`own`).

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// A certificate with those between it and its authority, and its key, both in PEM.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Pem {
    pub(super) certificate: Vec<u8>,
    pub(super) key: Vec<u8>,
}

/// The certificate in use.
pub(super) struct Certificate {
    now: RwLock<Loaded>,
    /// Whether those who ask can know its authority.
    is_known: AtomicBool,
}

struct Loaded {
    pem: Pem,
    key: Arc<CertifiedKey>,
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").field("is_known", &self.is_known).finish_non_exhaustive()
    }
}

impl Certificate {
    /// Begins with this one. `is_known`: those who ask know its authority already; else that is said by `take`.
    ///
    /// # Errors
    /// When it cannot be used, or the key is not its own.
    pub(super) fn of(pem: Pem, is_known: bool) -> anyhow::Result<Arc<Self>> {
        Ok(Arc::new(Self { now: RwLock::new(load(pem)?), is_known: AtomicBool::new(is_known) }))
    }

    /// Takes this one into use; `true` where it is another one than before.
    ///
    /// # Errors
    /// When it cannot be used. Then the old one stays.
    pub(super) fn take(&self, pem: Pem) -> anyhow::Result<bool> {
        let is_new = self.now.read().unwrap_or_else(PoisonError::into_inner).pem != pem;
        if is_new {
            let fresh = load(pem)?;
            *self.now.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        }
        self.is_known.store(true, Ordering::Relaxed);
        Ok(is_new)
    }

    /// Why nobody can trust it yet; nothing where they can.
    pub(super) fn lacks(&self) -> Option<String> {
        let lacks = || "the certificate that the replicas share is not there yet".to_owned();
        (!self.is_known.load(Ordering::Relaxed)).then(lacks)
    }

    /// How connections are made with it: TLS 1.3 only.
    ///
    /// # Errors
    /// When the library lacks that.
    pub(super) fn config(self: &Arc<Self>) -> anyhow::Result<Arc<ServerConfig>> {
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])?;
        let resolver = Arc::clone(self) as Arc<dyn ResolvesServerCert>;
        let mut config = builder.with_no_client_auth().with_cert_resolver(resolver);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner).key))
    }
}

/// The files that a certificate comes from.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    /// The certificate, in PEM.
    pub certificate: PathBuf,
    /// Its key, in PEM.
    pub key: PathBuf,
}

impl Files {
    /// What both hold.
    ///
    /// # Errors
    /// When one cannot be read.
    pub(super) fn read(&self) -> anyhow::Result<Pem> {
        let read = |path: &PathBuf| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
        Ok(Pem { certificate: read(&self.certificate)?, key: read(&self.key)? })
    }

    /// Looks at the files again and again, and tells what came of it where it is anything. Files that are half written are whole a
    /// moment later.
    pub(super) async fn watch(&self, certificate: &Certificate, tell: impl Fn(anyhow::Result<()>)) {
        let mut once = Once::default();
        loop {
            tokio::time::sleep(LOOK).await;
            once.tell(self.read().and_then(|pem| certificate.take(pem)), &tell);
        }
    }
}

/// Tells of each change and of each fault once, however often it is looked.
#[derive(Debug, Default)]
pub(super) struct Once(String);

impl Once {
    /// `came`: whether something is new.
    pub(super) fn tell(&mut self, came: anyhow::Result<bool>, tell: &impl Fn(anyhow::Result<()>)) {
        match came {
            Ok(is_new) => {
                self.0.clear();
                if is_new {
                    tell(Ok(()));
                }
            }
            Err(error) => {
                let text = format!("{error:#}");
                if text != self.0 {
                    self.0 = text;
                    tell(Err(error));
                }
            }
        }
    }
}

/// What both hold, as a certificate that can be used. Nothing of the key reaches an error.
fn load(pem: Pem) -> anyhow::Result<Loaded> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem.certificate).collect();
    let chain = chain.ok().context("the certificate is not PEM")?;
    ensure!(!chain.is_empty(), "the certificate is not PEM");
    let key = PrivateKeyDer::from_pem_slice(&pem.key).ok().context("the key is not PEM")?;
    let key = CertifiedKey::from_der(chain, key, &ring::default_provider())
        .ok()
        .context("the key cannot be used, or is not that of the certificate")?;
    Ok(Loaded { pem, key: Arc::new(key) })
}
