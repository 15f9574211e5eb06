//! Which addresses may be reached.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ipnet::IpNet;
use reqwest::Url;
use thiserror::Error;

/// Global addresses, and what `--experimental-allowed-ip-networks` adds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IpPolicy {
    /// Global addresses only.
    #[default]
    Global,
    /// Global addresses and these networks.
    GlobalAnd(Vec<IpNet>),
    /// Everything.
    Any,
}

/// Fault in the value of the option.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is neither an IP network like `10.0.0.0/8` nor `any`")]
pub struct IpPolicyError(String);

/// An address that may not be reached.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "Rejected IP: `{0}` is not a global address. Networks of your own can be allowed with \
     `--experimental-allowed-ip-networks`"
)]
pub struct Rejected(pub(super) IpAddr);

impl FromStr for IpPolicy {
    type Err = IpPolicyError;

    /// Comma-separated networks, single addresses, or `any`.
    fn from_str(text: &str) -> Result<IpPolicy, IpPolicyError> {
        let mut networks = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            if part.eq_ignore_ascii_case("any") {
                return Ok(IpPolicy::Any);
            }
            let network = part.parse::<IpNet>().or_else(|_| part.parse::<IpAddr>().map(IpNet::from));
            networks.push(network.map_err(|_| IpPolicyError(part.to_owned()))?);
        }
        Ok(if networks.is_empty() { IpPolicy::Global } else { IpPolicy::GlobalAnd(networks) })
    }
}

impl IpPolicy {
    /// Reports whether `address` may be reached.
    pub fn admits(&self, address: IpAddr) -> bool {
        match self {
            IpPolicy::Any => true,
            IpPolicy::Global => is_global(address),
            IpPolicy::GlobalAnd(networks) => {
                // `::ffff:10.0.0.1` is 10.0.0.1, whichever way it is written.
                let address = address.to_canonical();
                is_global(address) || networks.iter().any(|network| network.contains(&address))
            }
        }
    }

    pub(super) fn check(&self, address: IpAddr) -> Result<(), Rejected> {
        if self.admits(address) { Ok(()) } else { Err(Rejected(address)) }
    }

    /// Checks the address that a URL holds itself; one with a name is checked when the name is resolved.
    pub(super) fn check_url(&self, url: &Url) -> Result<(), Rejected> {
        // The parser has turned `0x7f.1`, `2130706433` and the like into plain addresses.
        let host = url.host_str().unwrap_or_default();
        let literal = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        literal.parse().map_or(Ok(()), |address| self.check(address))
    }
}

/// Reports whether an address is globally reachable, according to the registries of special-purpose addresses.
fn is_global(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_global_v4(address),
        IpAddr::V6(address) => is_global_v6(address),
    }
}

fn is_global_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = a == 0
        || a >= 224
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (18..20).contains(&b));
    !is_special
}

fn is_global_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_global_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        // Addresses of the older family in other clothes reach what those reach.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        [0x2002, high, low, ..] => v4(high, low),
        // Protocol assignments (Teredo among them), documentation.
        [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => false,
        [first, second, ..] => (0x2000..0x4000).contains(&first) && !(first == 0x3fff && second < 0x1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(text: &str) -> IpPolicy {
        text.parse().unwrap()
    }

    fn admits(networks: &str, address: &str) -> bool {
        policy(networks).admits(address.parse().unwrap())
    }

    #[test]
    fn only_global_addresses_by_default() {
        for good in ["1.1.1.1", "100.63.0.1", "172.32.0.1", "2606:4700::1111", "2002:0101:0101::", "64:ff9b::101:101"] {
            assert!(admits("", good), "{good}");
        }
        for bad in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "192.168.1.1",
            "198.18.0.1",
            "203.0.113.5",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "3fff::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "ff02::1",
        ] {
            assert!(!admits("", bad), "{bad}");
        }
    }

    #[test]
    fn networks_are_added() {
        assert!(admits("127.0.0.0/8, 10.0.0.1", "127.0.0.1"));
        assert!(admits("127.0.0.0/8,10.0.0.1", "10.0.0.1"));
        assert!(admits("127.0.0.0/8", "::ffff:127.0.0.1"));
        assert!(!admits("127.0.0.0/8,10.0.0.1", "10.0.0.2"));
        assert!(!admits("127.0.0.0/8", "::1"));
        assert!(admits("::1/128", "::1"));
        assert!(admits("127.0.0.0/8", "1.1.1.1"));
        assert!(admits("any", "::1"));
        assert!(admits("10.0.0.0/8,ANY", "127.0.0.1"));
        assert_eq!(" , ".parse(), Ok(IpPolicy::Global));
        assert_eq!("10.0.0.0/33".parse::<IpPolicy>(), Err(IpPolicyError("10.0.0.0/33".into())));
    }

    #[test]
    fn urls_with_addresses_are_checked_however_they_are_written() {
        let check = |url: &str| policy("").check_url(&Url::parse(url).unwrap()).is_ok();
        for bad in ["http://127.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://[::1]:80/", "http://0/"] {
            assert!(!check(bad), "{bad}");
        }
        assert!(check("http://1.1.1.1/"));
        assert!(check("https://example.org/"));
        assert!(check("http://localhost/"));
    }
}
