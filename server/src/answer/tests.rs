//! Permissions that tests search with.

use std::sync::Arc;

use lamina_base::timestamp::Timestamp;
use lamina_data::access::{Action, ApiKey, Rights};
use serde_json::Value;
use uuid::Uuid;

fn key(uid: Uuid, action: Action, indexes: &[&str]) -> Arc<ApiKey> {
    Arc::new(ApiKey {
        uid,
        name: None,
        description: None,
        actions: vec![action],
        indexes: indexes.iter().map(|&index| index.to_owned()).collect(),
        expires_at: None,
        created_at: Timestamp::now(),
        updated_at: Timestamp::now(),
    })
}

/// Returns what a key for everything in these indexes permits.
pub(crate) fn rights_of(indexes: &[&str]) -> Rights {
    Rights::of_key(key(Uuid::new_v4(), Action::All, indexes))
}

/// Returns what a tenant with these rules may do: search.
pub(crate) fn tenant_rights(rules: Value) -> Rights {
    Rights::of_tenant(key(Uuid::new_v4(), Action::Search, &["*"]), serde_json::from_value(rules).unwrap())
}

/// Returns what a key with this uid may do: search, everywhere.
pub(crate) fn key_rights(uid: Uuid) -> Rights {
    Rights::of_key(key(uid, Action::Search, &["*"]))
}
