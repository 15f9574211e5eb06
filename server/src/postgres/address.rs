//! Where a database is, and as who.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use reqwest::Url;

const PORT: u16 = 5432;

/// `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslrootcert=FILE`
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) user: String,
    pub(super) password: Option<String>,
    pub(crate) database: String,
    /// Certificates that its own must be signed by; without them the connection is in the clear.
    pub(super) roots: Option<PathBuf>,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "postgres://{}@{}:{}/{}", self.user, self.host, self.port, self.database)
    }
}

impl Address {
    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        const FORM: &str = "expected postgres://USER:PASSWORD@HOST:PORT/DATABASE";
        // What is wrong is said without the text, which has a password.
        let url = Url::parse(text).map_err(|error| format!("{error}: {FORM}"))?;
        if !matches!(url.scheme(), "postgres" | "postgresql") {
            return Err(FORM.to_owned());
        }
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let user = decoded(url.username());
        if user.is_empty() {
            return Err(format!("it names no user: {FORM}"));
        }
        let named = decoded(url.path().trim_start_matches('/'));
        let host = url.host_str().filter(|host| !host.is_empty()).unwrap_or("localhost");
        let mut address = Address {
            host: decoded(host.trim_start_matches('[').trim_end_matches(']')),
            port: url.port().unwrap_or(PORT),
            password: url.password().map(decoded),
            database: if named.is_empty() { user.clone() } else { named },
            user,
            roots: None,
        };
        let mut mode = None;
        for (name, value) in url.query_pairs() {
            match &*name {
                "sslrootcert" => address.roots = Some(PathBuf::from(&*value)),
                "sslmode" => mode = Some(value.into_owned()),
                other => {
                    return Err(format!("the parameter `{other}` is unknown: expected `sslmode` or `sslrootcert`"));
                }
            }
        }
        match mode.as_deref() {
            None | Some("disable" | "allow" | "prefer") => {}
            Some("require" | "verify-ca" | "verify-full") => {
                if address.roots.is_none() {
                    return Err(
                        "`sslmode` requires TLS: set the file of its certificates with `sslrootcert`".to_owned()
                    );
                }
            }
            Some(other) => return Err(format!("`sslmode` cannot be `{other}`: expected `disable` or `verify-full`")),
        }
        if mode.as_deref() == Some("disable") {
            address.roots = None;
        }
        Ok(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let read = |text: &str| text.parse::<Address>();
        let address = read("postgres://me:p%40ss@db.example:5433/shop").unwrap();
        assert_eq!((address.host.as_str(), address.port, address.user.as_str()), ("db.example", 5433, "me"));
        assert_eq!((address.password.as_deref(), address.database.as_str()), (Some("p@ss"), "shop"));
        assert_eq!(format!("{address:?}"), "postgres://me@db.example:5433/shop", "without the password");
        let short = read("postgresql://me@[::1]").unwrap();
        assert_eq!((short.place(), short.database.as_str(), short.password), ("::1:5432".to_owned(), "me", None));
        let safe = read("postgres://me@h/d?sslmode=verify-full&sslrootcert=/ca.pem").unwrap();
        assert_eq!(safe.roots, Some(PathBuf::from("/ca.pem")));
        assert_eq!(read("postgres://me@h/d?sslmode=disable&sslrootcert=/ca.pem").unwrap().roots, None);
        for (bad, reason) in [
            ("nowhere", "expected postgres://"),
            ("mysql://a@b/c", "expected postgres://"),
            ("postgres://host/db", "names no user"),
            ("postgres://a@b/c?sslmode=require", "sslrootcert"),
            ("postgres://a@b/c?sslmode=often", "cannot be `often`"),
            ("postgres://a@b/c?ssl=1", "`ssl` is unknown"),
        ] {
            let said = read(bad).unwrap_err();
            assert!(said.contains(reason), "{bad}: {said}");
        }
    }
}
