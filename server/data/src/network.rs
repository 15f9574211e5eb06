//! Other servers that searches, and reads of documents, can be spread over.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::outbound::parse_url;
use lamina_base::secret::{have_same_origin, redacted, shown_url};
use lamina_protocol::wire::network::{NetworkPatch, RemotePatch};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::instance::{StateFile, write_state};

/// Another server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Remote {
    /// Base address.
    pub url: String,
    /// Sent with searches.
    #[serde(default)]
    pub search_api_key: Option<String>,
    /// Kept for clients; nothing here writes to remotes.
    #[serde(default)]
    pub write_api_key: Option<String>,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote").finish_non_exhaustive()
    }
}

/// Servers of the network.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    /// The name of this server among them.
    #[serde(default, rename = "self")]
    pub own_name: Option<String>,
    /// By name; may hold this server too.
    #[serde(default)]
    pub remotes: BTreeMap<String, Remote>,
}

/// The topology and its file.
#[derive(Debug)]
pub struct Network {
    file: StateFile<Topology>,
}

/// The file in the database folder.
const FILE: &str = "network.json";

impl Network {
    /// Reads the topology from the database folder. A damaged file is an empty one: searches on this server alone need none.
    pub fn open(folder: &Path) -> Network {
        Network { file: StateFile::open(folder, FILE, "the network: it is empty") }
    }

    /// Returns the current topology.
    pub fn topology(&self) -> Arc<Topology> {
        self.file.get()
    }

    /// Takes that of the server that this one follows, as it stores it; blocks until the file is durable.
    ///
    /// # Errors
    /// The errors of the file system; nothing changes then.
    pub fn follow(&self, stored: &Value) -> ApiResult<()> {
        // One that cannot be read comes from a later program: searches on this server alone need none.
        self.file.replace(Topology::deserialize(stored).unwrap_or_default())
    }

    /// Changes it; blocks until the file is durable.
    ///
    /// # Errors
    /// The errors of the change and of the file system; nothing changes then.
    pub fn change(&self, patch: NetworkPatch) -> ApiResult<Arc<Topology>> {
        self.file.change(|topology| topology.apply(patch))?;
        Ok(self.topology())
    }
}

/// Writes the network of another server into the database folder that is to become its copy.
pub fn import(folder: &Path, topology: &Topology) -> io::Result<()> {
    write_state(folder, FILE, topology)
}

impl Topology {
    /// Returns the other servers with their names.
    pub fn others(&self) -> impl Iterator<Item = (&String, &Remote)> {
        self.remotes.iter().filter(|(name, _)| self.own_name.as_ref() != Some(name))
    }

    /// The public object as dumps hold it: with all secrets. There is no sharding, so there is no leader either.
    pub fn whole(&self) -> Value {
        let remotes: serde_json::Map<String, Value> = self
            .remotes
            .iter()
            .map(|(name, remote)| {
                let mut shown = serde_json::to_value(remote).expect("texts are JSON");
                shown["status"] = "available".into();
                (name.clone(), shown)
            })
            .collect();
        json!({
            "self": self.own_name, "remotes": remotes, "leader": null, "shards": {}, "version": uuid::Uuid::nil()
        })
    }

    /// The public object, with the keys of the remotes or with as much of them as identifies them; passwords in
    /// addresses are never shown.
    pub fn show(&self, with_keys: bool) -> Value {
        let mut shown = self.whole();
        for (name, remote) in &self.remotes {
            let shown = &mut shown["remotes"][name];
            shown["url"] = shown_url(&remote.url).into();
            for key in ["searchApiKey", "writeApiKey"] {
                if let Value::String(key) = &mut shown[key]
                    && !with_keys
                {
                    *key = redacted(key);
                }
            }
        }
        shown
    }

    fn apply(&mut self, patch: NetworkPatch) -> ApiResult<()> {
        if let Some(own_name) = patch.own_name {
            self.own_name = own_name;
        }
        match patch.remotes {
            None => {}
            Some(None) => self.remotes.clear(),
            Some(Some(remotes)) => {
                for (name, patch) in remotes {
                    match patch {
                        None => drop(self.remotes.remove(&name)),
                        Some(patch) => {
                            let remote = patched(&name, self.remotes.get(&name), patch)?;
                            self.remotes.insert(name, remote);
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

fn patched(name: &str, old: Option<&Remote>, patch: RemotePatch) -> ApiResult<Remote> {
    let refuse = |code, message: String| Err(ApiError::new(code, message));
    let has_moved = |url: &str| old.is_some_and(|old| !have_same_origin(&old.url, url));
    let url = match (patch.url, old) {
        (Some(Some(url)), _) => url,
        (Some(None), _) => {
            let message = format!("Field `.remotes.{name}.url` cannot be set to `null`");
            return refuse(Code::InvalidNetworkUrl, message);
        }
        (None, Some(old)) => old.url.clone(),
        (None, None) => return refuse(Code::MissingNetworkUrl, format!("Missing field `.remotes.{name}.url`")),
    };
    if let Err(reason) = parse_url(&url) {
        return refuse(
            Code::InvalidNetworkUrl,
            format!("Invalid `.remotes.{name}.url` (`{}`): {reason}", shown_url(&url)),
        );
    }
    // What was given for one server is not sent to another.
    let old = old.filter(|_| !has_moved(&url));
    let kept = |new: Option<Option<String>>, old: Option<&String>| new.unwrap_or_else(|| old.cloned());
    Ok(Remote {
        url,
        search_api_key: kept(patch.search_api_key, old.and_then(|old| old.search_api_key.as_ref())),
        write_api_key: kept(patch.write_api_key, old.and_then(|old| old.write_api_key.as_ref())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(url: Option<&str>) -> RemotePatch {
        RemotePatch { url: url.map(|url| Some(url.to_owned())), ..RemotePatch::default() }
    }

    fn remotes(list: Vec<(&str, Option<RemotePatch>)>) -> NetworkPatch {
        let list = list.into_iter().map(|(name, patch)| (name.to_owned(), patch)).collect();
        NetworkPatch { own_name: None, remotes: Some(Some(list)) }
    }

    #[test]
    fn changes_are_merged_and_survive() {
        let folder = tempfile::tempdir().unwrap();
        let network = Network::open(folder.path());
        assert_eq!(
            network.topology().show(true).to_string(),
            r#"{"self":null,"remotes":{},"leader":null,"shards":{},"version":"00000000-0000-0000-0000-000000000000"}"#
        );
        network.change(NetworkPatch { own_name: Some(Some("a".into())), remotes: None }).unwrap();
        let with_key = RemotePatch { search_api_key: Some(Some("k".into())), ..remote(Some("http://b.org")) };
        network.change(remotes(vec![("b", Some(with_key)), ("c", Some(remote(Some("http://c.org"))))])).unwrap();
        let changed =
            network.change(remotes(vec![("b", Some(remote(Some("http://b.org/below")))), ("c", None)])).unwrap();
        assert_eq!(changed.own_name.as_deref(), Some("a"));
        let b = Remote { url: "http://b.org/below".into(), search_api_key: Some("k".into()), write_api_key: None };
        assert_eq!(changed.remotes, BTreeMap::from([("b".to_owned(), b)]));
        assert_eq!(Network::open(folder.path()).topology(), changed);
        let moved = network.change(remotes(vec![("b", Some(remote(Some("http://b2.org"))))])).unwrap();
        assert_eq!(moved.remotes["b"].search_api_key, None, "it was for another server");
        let with_key = RemotePatch { search_api_key: Some(Some("new".into())), ..remote(Some("http://b3.org")) };
        let moved = network.change(remotes(vec![("b", Some(with_key))])).unwrap();
        assert_eq!(moved.remotes["b"].search_api_key.as_deref(), Some("new"));
        let cleared = NetworkPatch { own_name: Some(None), remotes: Some(None) };
        assert_eq!(*network.change(cleared).unwrap(), Topology::default());
    }

    #[test]
    fn what_is_shown_can_be_taken_over() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let network = Network::open(one.path());
        network.change(remotes(vec![("b", Some(remote(Some("http://user:pass@b.org"))))])).unwrap();
        let shown: Topology = serde_json::from_value(network.topology().whole()).unwrap();
        import(other.path(), &shown).unwrap();
        assert_eq!(Network::open(other.path()).topology(), network.topology());
    }

    #[test]
    fn secrets_are_for_those_who_may_change_them() {
        let folder = tempfile::tempdir().unwrap();
        let network = Network::open(folder.path());
        let keys = RemotePatch {
            search_api_key: Some(Some("a search key".into())),
            write_api_key: Some(Some("a write key that is long".into())),
            ..remote(Some("https://user:pass@b.org"))
        };
        let topology = network.change(remotes(vec![("b", Some(keys)), ("c", Some(remote(Some("http://c"))))])).unwrap();
        let full = topology.show(true);
        assert_eq!(full["remotes"]["b"]["searchApiKey"], "a search key");
        assert_eq!(full["remotes"]["b"]["url"], "https://user:XXX...@b.org/");
        let masked = topology.show(false);
        assert_eq!(masked["remotes"]["b"]["searchApiKey"], "a XXXX...");
        assert_eq!(masked["remotes"]["b"]["writeApiKey"], "a wXXXXX...");
        assert_eq!(masked["remotes"]["c"]["writeApiKey"], Value::Null);
        assert_eq!(topology.remotes["b"].url, "https://user:pass@b.org");
    }

    #[test]
    fn remotes_need_an_address() {
        let folder = tempfile::tempdir().unwrap();
        let network = Network::open(folder.path());
        let refused = |patch: RemotePatch| {
            let error = network.change(remotes(vec![("b", Some(patch))])).unwrap_err();
            (error.code, error.message)
        };
        assert_eq!(refused(remote(None)), (Code::MissingNetworkUrl, "Missing field `.remotes.b.url`".into()));
        let null = RemotePatch { url: Some(None), ..RemotePatch::default() };
        assert_eq!(refused(null), (Code::InvalidNetworkUrl, "Field `.remotes.b.url` cannot be set to `null`".into()));
        assert_eq!(
            refused(remote(Some("nope"))),
            (Code::InvalidNetworkUrl, "Invalid `.remotes.b.url` (`nope`): relative URL without a base".into())
        );
        assert_eq!(*network.topology(), Topology::default());
    }
}
