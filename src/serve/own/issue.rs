//! Makes a certificate and the authority that signs it. The key of the authority is forgotten at once: whoever reads the Secret
//! can be this server, and nobody else.

use anyhow::Context as _;
use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use std::time::Duration;

use super::shared::Pair;

/// How far clocks may differ.
const SKEW: Duration = Duration::from_secs(3_600);

/// A certificate for these names from now on, with an authority of its own.
///
/// # Errors
/// When a name is none that a certificate can carry.
pub(super) fn issue(names: &[String], now: Timestamp, life: Duration) -> anyhow::Result<Pair> {
    let (authority, certificate, key) = signed(names, now, life).context("a certificate cannot be made")?;
    let ends = now.checked_add(life).context("a certificate cannot be valid for so long")?;
    Ok(Pair { authority, certificate, key, made: now, ends, names: names.to_vec() })
}

fn signed(names: &[String], now: Timestamp, life: Duration) -> Result<(String, String, String), rcgen::Error> {
    let second = Duration::from_secs(u64::try_from(now.as_second()).unwrap_or_default());
    let since = date_time_ymd(1970, 1, 1) + second - SKEW;
    let until = date_time_ymd(1970, 1, 1) + second + life + SKEW;
    let named = |params: &mut CertificateParams, name: &str| {
        params.not_before = since;
        params.not_after = until;
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
    };
    let mut params = CertificateParams::new(Vec::new())?;
    // Of two authorities with one name, only the key says which one signed.
    named(&mut params, &format!("rollgate {}", now.as_second()));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(names.to_vec())?;
    named(&mut params, "rollgate");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let certificate = params.signed_by(&key, &authority)?;
    Ok((authority.pem(), certificate.pem(), key.serialize_pem()))
}
