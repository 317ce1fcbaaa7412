//! The certificate of the server: read from files, and read again when they change, without a connection being dropped.

use std::fmt;
use std::path::{Path, PathBuf};
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

/// A certificate with its key, from two files in PEM.
pub(super) struct Certificate {
    certificate: PathBuf,
    key: PathBuf,
    now: RwLock<Loaded>,
}

struct Loaded {
    bytes: (Vec<u8>, Vec<u8>),
    key: Arc<CertifiedKey>,
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

impl Certificate {
    /// Reads both files.
    ///
    /// # Errors
    /// When one cannot be read, or the key is not that of the certificate.
    pub(super) fn read(certificate: &Path, key: &Path) -> anyhow::Result<Arc<Self>> {
        let now = RwLock::new(load(files(certificate, key)?)?);
        Ok(Arc::new(Self { certificate: certificate.to_owned(), key: key.to_owned(), now }))
    }

    /// Looks at the files once; `true` where what they hold is new and in use from now on.
    ///
    /// # Errors
    /// When what they hold cannot be used. Then the old one stays: files that are half written are whole a moment later.
    pub(super) fn renew(&self) -> anyhow::Result<bool> {
        let bytes = files(&self.certificate, &self.key)?;
        if self.now.read().unwrap_or_else(PoisonError::into_inner).bytes == bytes {
            return Ok(false);
        }
        let fresh = load(bytes)?;
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(true)
    }

    /// Looks at the files again and again, and tells what came of it where it is anything.
    pub(super) async fn watch(&self, tell: impl Fn(anyhow::Result<()>)) {
        let mut told = String::new();
        loop {
            tokio::time::sleep(LOOK).await;
            match self.renew() {
                Ok(false) => told.clear(),
                Ok(true) => {
                    told.clear();
                    tell(Ok(()));
                }
                Err(error) => {
                    let text = format!("{error:#}");
                    if text != told {
                        told = text;
                        tell(Err(error));
                    }
                }
            }
        }
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

/// What both files hold.
fn files(certificate: &Path, key: &Path) -> anyhow::Result<(Vec<u8>, Vec<u8>)> {
    let read = |path: &Path| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    Ok((read(certificate)?, read(key)?))
}

/// What they hold, as a certificate that can be used. Nothing of the key reaches an error.
fn load(bytes: (Vec<u8>, Vec<u8>)) -> anyhow::Result<Loaded> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes.0).collect();
    let chain = chain.ok().context("the certificate is not PEM")?;
    ensure!(!chain.is_empty(), "the certificate is not PEM");
    let key = PrivateKeyDer::from_pem_slice(&bytes.1).ok().context("the key is not PEM")?;
    let key = CertifiedKey::from_der(chain, key, &ring::default_provider())
        .ok()
        .context("the key cannot be used, or is not that of the certificate")?;
    Ok(Loaded { bytes, key: Arc::new(key) })
}
