//! Name resolution that leaves out addresses which may not be reached.

use std::net::SocketAddr;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::policy::IpPolicy;

/// Asked for every new connection, so that a name which changes its address between two looks gains nothing: the
/// addresses that are checked are those that are connected to.
#[derive(Debug)]
pub(super) struct GuardedResolver {
    policy: Arc<IpPolicy>,
}

impl GuardedResolver {
    pub(super) fn new(policy: Arc<IpPolicy>) -> GuardedResolver {
        GuardedResolver { policy }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let policy = Arc::clone(&self.policy);
        Box::pin(async move {
            // The port is set by the caller.
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let admitted: Vec<SocketAddr> = found.iter().copied().filter(|a| policy.admits(a.ip())).collect();
            if let (true, Some(first)) = (admitted.is_empty(), found.first()) {
                policy.check(first.ip())?;
            }
            Ok(Box::new(admitted.into_iter()) as Addrs)
        })
    }
}
