//! Where a database is, and as who.

use std::fmt;
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use reqwest::Url;

use super::sign_in::Methods;
use super::tls::Tls;

const PORT: u16 = 5432;

/// `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=MODE&sslrootcert=FILE`
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) user: String,
    pub(super) password: Option<String>,
    pub database: String,
    pub(super) tls: Tls,
    pub(super) methods: Methods,
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

    /// Returns a warning for the user about the protection of the connection.
    pub(crate) fn caution(&self) -> Option<&'static str> {
        (self.tls == Tls::Unverified).then_some(
            "the connection to the database is encrypted, but its certificate is not verified: set `sslmode=verify-full`, with \
             `sslrootcert=FILE` if the authority is your own",
        )
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
        let (mut mode, mut roots, mut methods) = (None, None, None);
        for (name, value) in url.query_pairs() {
            match (&*name, &*value) {
                ("sslrootcert", _) => roots = Some(value.into_owned()),
                ("sslmode", _) => mode = Some(value.into_owned()),
                ("require_auth", _) => methods = Some(value.into_owned()),
                // The password is proven without the channel.
                ("channel_binding", "disable" | "prefer") => {}
                ("channel_binding", _) => {
                    return Err(format!("`channel_binding={value}` is not supported: leave it out, or set `prefer`"));
                }
                (other, _) => {
                    return Err(format!(
                        "the parameter `{other}` is unknown: expected `sslmode`, `sslrootcert`, `require_auth` or `channel_binding`"
                    ));
                }
            }
        }
        let password = url.password().map(decoded);
        let tls = Tls::new(mode.as_deref(), roots.as_deref())?;
        Ok(Address {
            host: decoded(host.trim_start_matches('[').trim_end_matches(']')),
            port: url.port().unwrap_or(PORT),
            methods: Methods::new(methods.as_deref(), password.is_some(), &tls)?,
            password,
            database: if named.is_empty() { user.clone() } else { named },
            user,
            tls,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::tls::Roots;

    #[test]
    fn addresses_are_read() {
        let read = |text: &str| text.parse::<Address>();
        let address = read("postgres://me:p%40ss@db.example:5433/shop").unwrap();
        assert_eq!((address.host.as_str(), address.port, address.user.as_str()), ("db.example", 5433, "me"));
        assert_eq!((address.password.as_deref(), address.database.as_str()), (Some("p@ss"), "shop"));
        assert_eq!(format!("{address:?}"), "postgres://me@db.example:5433/shop", "without the password");
        let short = read("postgresql://me@[::1]").unwrap();
        assert_eq!((short.place(), short.database.as_str(), short.password), ("::1:5432".to_owned(), "me", None));
        for (parameters, tls) in [
            ("", Tls::Preferred),
            ("?sslmode=disable&sslrootcert=/ca.pem", Tls::Off),
            ("?sslmode=allow", Tls::Preferred),
            ("?sslmode=prefer&sslrootcert=/ca.pem&channel_binding=prefer", Tls::Preferred),
            ("?sslmode=require", Tls::Unverified),
            ("?sslmode=require&sslrootcert=/ca.pem", Tls::Signed(Roots::File("/ca.pem".into()))),
            ("?sslmode=verify-ca&sslrootcert=/ca.pem", Tls::Signed(Roots::File("/ca.pem".into()))),
            ("?sslmode=verify-full&sslrootcert=/ca.pem", Tls::Verified(Roots::File("/ca.pem".into()))),
            ("?sslrootcert=/ca.pem", Tls::Verified(Roots::File("/ca.pem".into()))),
            ("?sslrootcert=system", Tls::Verified(Roots::System)),
            ("?sslmode=verify-full", Tls::Verified(Roots::System)),
        ] {
            let address = read(&format!("postgres://me@h/d{parameters}")).unwrap();
            assert_eq!(address.tls, tls, "{parameters}");
            assert_eq!(address.caution().is_some(), tls == Tls::Unverified, "{parameters}");
        }
        for (bad, reason) in [
            ("nowhere", "expected postgres://"),
            ("mysql://a@b/c", "expected postgres://"),
            ("postgres://host/db", "names no user"),
            ("postgres://a@b/c?sslmode=verify-ca", "set its file with `sslrootcert`"),
            ("postgres://a@b/c?sslmode=require&sslrootcert=system", "set `sslmode=verify-full`"),
            ("postgres://a@b/c?sslrootcert=", "`sslrootcert` is empty"),
            ("postgres://a@b/c?channel_binding=require", "`channel_binding=require` is not supported"),
            ("postgres://a@b/c?sslmode=often", "cannot be `often`"),
            ("postgres://a@b/c?ssl=1", "`ssl` is unknown"),
        ] {
            let said = read(bad).unwrap_err();
            assert!(said.contains(reason), "{bad}: {said}");
        }
    }
}
