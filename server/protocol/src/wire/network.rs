//! Requests about the network.

use lamina_base::error::{ApiError, ApiResult, Code};
use serde_json::Value;

use super::json::At;

/// Changes by the name of a remote; a null value removes one.
pub type RemotePatches = Vec<(String, Option<RemotePatch>)>;

/// A change. Outer `None`: as it is. Inner `None`: null.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkPatch {
    /// The name of this server.
    pub own_name: Option<Option<String>>,
    /// Null removes all.
    pub remotes: Option<Option<RemotePatches>>,
}

/// A change of one remote. Outer `None`: as it is. Inner `None`: null.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemotePatch {
    /// Base address.
    pub url: Option<Option<String>>,
    /// The key that searches of it are made with.
    pub search_api_key: Option<Option<String>>,
    /// The key that writes to it are made with.
    pub write_api_key: Option<Option<String>>,
}

/// The body of a change.
///
/// # Errors
/// The first problem in the order of the text. Whether addresses make sense is checked with the remotes.
pub fn patch(body: &Value) -> ApiResult<NetworkPatch> {
    const ACCEPTED: [&str; 6] = ["remotes", "shards", "previousShards", "self", "leader", "previousRemotes"];
    let mut patch = NetworkPatch::default();
    At::root(body).fields(&ACCEPTED, |name, field| {
        match name {
            "remotes" => {
                patch.remotes = Some(field.code(Code::InvalidNetworkRemotes).optional(|field| remotes(&field))?);
            }
            "self" => patch.own_name = Some(said(&field.code(Code::InvalidNetworkSelf))?),
            "leader" if said(&field.code(Code::InvalidNetworkLeader))?.is_some() => {
                return Err(ApiError::new(
                    Code::RequiresEnterpriseEdition,
                    "Setting `network.leader` would shard indexes over the network, which this server does not do.",
                ));
            }
            // Shards belong to a leader.
            _ => {}
        }
        Ok(())
    })?;
    Ok(patch)
}

fn remotes(field: &At<'_>) -> ApiResult<Vec<(String, Option<RemotePatch>)>> {
    let mut remotes = Vec::new();
    field.entries(|name, entry| {
        remotes.push((name.to_owned(), entry.optional(|entry| remote(&entry))?));
        Ok(())
    })?;
    Ok(remotes)
}

fn remote(entry: &At<'_>) -> ApiResult<RemotePatch> {
    let mut patch = RemotePatch::default();
    entry.fields(&["url", "searchApiKey", "writeApiKey"], |name, field| {
        let (place, code) = match name {
            "url" => (&mut patch.url, Code::InvalidNetworkUrl),
            "searchApiKey" => (&mut patch.search_api_key, Code::InvalidNetworkSearchApiKey),
            _ => (&mut patch.write_api_key, Code::InvalidNetworkWriteApiKey),
        };
        let field = field.code(code);
        *place = Some(if name == "url" { field.optional(|field| field.string())? } else { said(&field)? });
        Ok(())
    })?;
    Ok(patch)
}

/// A text. An empty one is as clients send it that always send all fields: nothing.
fn said(field: &At<'_>) -> ApiResult<Option<String>> {
    Ok(field.optional(|field| field.string())?.filter(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn changes_are_read() {
        assert_eq!(patch(&json!({})), Ok(NetworkPatch::default()));
        let read = patch(&json!({
            "self": null, "leader": null, "shards": null, "previousRemotes": {},
            "remotes": {"a": {"url": "u", "searchApiKey": null}, "b": null}
        }));
        let empty = json!({"self": "", "leader": "", "remotes": {"a": {"url": "u", "searchApiKey": ""}, "b": null}});
        assert_eq!(patch(&empty), read);
        let a = RemotePatch { url: Some(Some("u".into())), search_api_key: Some(None), write_api_key: None };
        let remotes = vec![("a".to_owned(), Some(a)), ("b".to_owned(), None)];
        assert_eq!(read, Ok(NetworkPatch { own_name: Some(None), remotes: Some(Some(remotes)) }));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (body, code) in [
            (json!({"self": 1}), Code::InvalidNetworkSelf),
            (json!({"remotes": []}), Code::InvalidNetworkRemotes),
            (json!({"remotes": {"a": 1}}), Code::InvalidNetworkRemotes),
            (json!({"remotes": {"a": {"url": 1}}}), Code::InvalidNetworkUrl),
            (json!({"remotes": {"a": {"searchApiKey": 1}}}), Code::InvalidNetworkSearchApiKey),
            (json!({"remotes": {"a": {"writeApiKey": 1}}}), Code::InvalidNetworkWriteApiKey),
            (json!({"remotes": {"a": {"doggo": 1}}}), Code::InvalidNetworkRemotes),
            (json!({"leader": "a"}), Code::RequiresEnterpriseEdition),
            (json!({"doggo": 1}), Code::BadRequest),
        ] {
            assert_eq!(patch(&body).unwrap_err().code, code, "{body}");
        }
        let error = patch(&json!({"remotes": {"a": {"doggo": 1}}})).unwrap_err();
        assert_eq!(
            error.message,
            "Unknown field `doggo` inside `.remotes.a`: expected one of `url`, `searchApiKey`, `writeApiKey`"
        );
    }
}
