//! The certificates that `https` needs, on machines that may have none.

use thiserror::Error;

/// No certificate can be checked. Says what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "`https` cannot be used, because no CA certificates are found on this machine: install its package \
     `ca-certificates`, or let the variable `SSL_CERT_FILE` name a file of such certificates"
)]
pub struct NoCaCertificates;

/// Calls `build` with the CA certificates of the machine (`true`). If there are none, calls it without any
/// certificates (`false`), which is enough for `http`. Also returns the flag that was used.
///
/// # Errors
/// Fails if `build` fails for another reason.
pub fn with_ca_certificates<T>(build: impl Fn(bool) -> reqwest::Result<T>) -> reqwest::Result<(T, bool)> {
    match build(true) {
        Ok(built) => Ok((built, true)),
        Err(error) => build(false).map_or(Err(error), |built| Ok((built, false))),
    }
}
