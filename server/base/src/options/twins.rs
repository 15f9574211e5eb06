//! Variables of another server of the protocol: `MEILI_ENV` is taken as `SVC_ENV`, so that a start that was written for that
//! server means the same here.

use std::env;

const OWN: &str = "SVC_";
const TWIN: &str = "MEILI_";

/// The variable to read for the option whose variable is `own`: that, or its twin where only the twin is set.
pub fn variable(own: String) -> String {
    let is_set = |name: &str| env::var_os(name).is_some();
    match twin_of(&own) {
        Some(twin) if !is_set(&own) && is_set(&twin) => twin,
        _ => own,
    }
}

fn twin_of(own: &str) -> Option<String> {
    own.strip_prefix(OWN).map(|name| format!("{TWIN}{name}"))
}

/// Returns the startup notices about environment variables of the other server: those that are used, those that are
/// not, and the reasons.
pub fn twin_notices() -> Vec<String> {
    let own: Vec<String> = super::own_variables();
    let set = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    notices(&own, set.collect())
}

fn notices(own: &[String], mut set: Vec<String>) -> Vec<String> {
    set.sort_unstable();
    let is_set = |name: &String| set.binary_search(name).is_ok();
    let (mut taken, mut beaten, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for name in set.iter().filter(|name| name.starts_with(TWIN)) {
        let twin = format!("{OWN}{}", &name[TWIN.len()..]);
        match own.contains(&twin) {
            true if is_set(&twin) => beaten.push(name.as_str()),
            true => taken.push(name.as_str()),
            false => unknown.push(name.as_str()),
        }
    }
    let all = [
        (taken, "taken as the variables of the same names with SVC_"),
        (beaten, "passed over, as the variables of the same names with SVC_ are set"),
        (unknown, "ignored: there is no such option"),
    ];
    let lines = all.into_iter().filter(|(names, _)| !names.is_empty());
    lines.map(|(names, fate)| format!("Variables of Meilisearch: {} ({fate})", names.join(", "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_variable_is_named_with_its_fate() {
        let own = ["SVC_ENV", "SVC_MASTER_KEY", "SVC_HTTP_ADDR"].map(str::to_owned);
        let set =
            ["PATH", "MEILI_ENV", "MEILI_MASTER_KEY", "SVC_HTTP_ADDR", "MEILI_HTTP_ADDR", "MEILI_FOO", "XMEILI_ENV"];
        let said = notices(&own, set.map(str::to_owned).to_vec());
        assert_eq!(said.len(), 3);
        assert!(said[0].contains(": MEILI_ENV, MEILI_MASTER_KEY (taken as"), "{said:?}");
        assert!(said[1].contains(": MEILI_HTTP_ADDR (passed over, as"), "{said:?}");
        assert!(said[2].contains(": MEILI_FOO (ignored: there is no"), "{said:?}");
        assert!(notices(&own, vec!["SVC_ENV".to_owned()]).is_empty());
    }
}
