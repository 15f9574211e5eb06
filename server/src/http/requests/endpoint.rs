//! Where a request goes, and what its key must be allowed for that.

use lamina_base::error::ApiResult;
use lamina_data::access::{Action, Needed, Rights};
use warp::http::HeaderMap;

use crate::app::AppState;

/// A method and the pattern of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Endpoint {
    pub(crate) method: &'static str,
    /// A part in braces stands for any text without a slash.
    pub(crate) pattern: &'static str,
    /// `None`: no key is needed.
    pub(crate) needed: Option<Needed>,
}

impl Endpoint {
    /// Reports whether such a request is a search.
    pub(crate) fn searches(&self) -> bool {
        self.needed.is_some_and(|needed| needed.action == Action::Search)
    }

    /// Reports whether a replica answers such a request itself. This holds for reads of published data, and for
    /// requests about the addressed server.
    pub(crate) fn is_read(&self) -> bool {
        self.needed.is_none_or(|needed| {
            matches!(
                needed.action,
                Action::Search
                    | Action::DocumentsGet
                    | Action::IndexesGet
                    | Action::SettingsGet
                    | Action::StatsGet
                    | Action::FieldsPost
                    | Action::KeysGet
                    | Action::NetworkGet
                    | Action::MetricsGet
                    | Action::Version
                    | Action::ExperimentalGet
                    | Action::DynamicSearchRulesGet
                    | Action::WebhooksGet
                    | Action::ChatsGet
                    | Action::ChatsSettingsGet
            )
        })
    }

    /// The part of `path` that stands where the pattern has `{name}`, still encoded.
    pub(crate) fn part<'p>(&self, path: &'p str, name: &str) -> Option<&'p str> {
        let is_named = |wanted: &str| wanted.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) == Some(name);
        self.pattern.split('/').zip(path.split('/')).find_map(|(wanted, part)| is_named(wanted).then_some(part))
    }

    /// The path with `parts` in the places of the names, in their order.
    pub(super) fn path(&self, parts: &[&str]) -> String {
        let mut parts = parts.iter();
        let filled = self.pattern.split('/').map(|part| match part.starts_with('{') {
            true => parts.next().copied().unwrap_or_default(),
            false => part,
        });
        filled.collect::<Vec<&str>>().join("/")
    }

    /// The rights of the key that `headers` name, for a request to `path`. Those of a request that needs no key are none.
    ///
    /// # Errors
    /// The errors of [`Access::check`](lamina_data::access::Access::check).
    pub(super) fn check(&self, state: &AppState, path: &str, headers: &HeaderMap) -> ApiResult<Rights> {
        match self.needed {
            Some(needed) => state.access.check(needed, self.index(path), headers, state.instance.aliases()),
            None => Ok(Rights::none()),
        }
    }

    /// The part of `path` that names an index: its uid, or an alias of it.
    fn index<'p>(&self, path: &'p str) -> Option<&'p str> {
        self.part(path, "indexUid").or_else(|| self.part(path, "alias"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_path_have_names() {
        let endpoint = |pattern| Endpoint { method: "GET", pattern, needed: Some(Needed::only(Action::DocumentsGet)) };
        let document = endpoint("/indexes/{indexUid}/documents/{documentId}");
        assert_eq!(document.part("/indexes/a%2Db/documents/1", "documentId"), Some("1"));
        assert_eq!(document.part("/indexes/a%2Db/documents/1", "document"), None);
        assert_eq!(document.path(&["a%2Db", "1"]), "/indexes/a%2Db/documents/1");
        assert_eq!(document.index("/indexes/a%2Db/documents/1"), Some("a%2Db"));
        assert_eq!(endpoint("/aliases/{alias}").index("/aliases/b"), Some("b"));
        assert_eq!(endpoint("/tasks/{taskUid}").index("/tasks/1"), None);
    }
}
