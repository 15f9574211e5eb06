//! Batches that give aliases other indexes.

use lamina_base::aliases::{AliasMoves, Aliases, is_no_index, not_found};
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::timestamp::Timestamp;
use lamina_data::tasks::store::IndexChange;
use serde_json::{Map, Value};

use super::{Context, Done, failed, reported};

/// All moves of a task, or none. The report says what the aliases stood for before.
pub(super) fn change(context: Context<'_>, task: u32, moves: &AliasMoves) -> Done {
    let aliases = context.instance.aliases();
    if let Err(error) = check(&|uid| context.instance.contains(uid), &aliases, moves) {
        return context.stored_only(&[failed(task, &error)], &[]);
    }
    let before = |name: &String| {
        let index_uid = aliases.get(name).map(|alias| alias.index_uid.clone());
        (name.clone(), index_uid.map_or(Value::Null, Value::String))
    };
    let before: Map<String, Value> = moves.keys().map(before).collect();
    let report = Map::from_iter([("before".to_owned(), Value::Object(before))]);
    let change = IndexChange::Aliased { moves: moves.clone(), at: Timestamp::now().nanos() };
    context.stored_only(&[reported(task, report)], &[change])
}

fn check(exists: &dyn Fn(&str) -> bool, aliases: &Aliases, moves: &AliasMoves) -> ApiResult<()> {
    for (name, target) in moves {
        let Some(target) = target else {
            if aliases.get(name).is_none() {
                return Err(not_found(name));
            }
            continue;
        };
        if exists(name) {
            let message = format!("Index `{name}` already exists, and an alias cannot have the uid of an index.");
            return Err(ApiError::new(Code::IndexAlreadyExists, message));
        }
        if let Some(alias) = aliases.get(target) {
            return Err(is_no_index(target, &alias.index_uid));
        }
        if moves.get(target).is_some_and(Option::is_some) || !exists(target) {
            return Err(ApiError::index_not_found(target));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use lamina_base::aliases::Alias;

    use super::*;

    fn refused(moves: &[(&str, Option<&str>)]) -> Option<Code> {
        let mut aliases = Aliases::default();
        let alias = Alias { index_uid: "one".to_owned(), updated_at: Timestamp::from_nanos(0) };
        aliases.insert("films".to_owned(), alias);
        let moves = moves.iter().map(|(name, target)| ((*name).to_owned(), target.map(str::to_owned))).collect();
        check(&|uid| matches!(uid, "one" | "two"), &aliases, &moves).err().map(|error| error.code)
    }

    #[test]
    fn an_alias_stands_for_an_index_and_hides_none() {
        assert_eq!(refused(&[("films", Some("two")), ("new", Some("two"))]), None);
        assert_eq!(refused(&[("films", None)]), None);
        assert_eq!(refused(&[]), None);
        assert_eq!(refused(&[("one", Some("two"))]), Some(Code::IndexAlreadyExists));
        assert_eq!(refused(&[("one", Some("one"))]), Some(Code::IndexAlreadyExists));
        assert_eq!(refused(&[("new", Some("films"))]), Some(Code::IndexUidIsAlias));
        assert_eq!(refused(&[("new", Some("absent"))]), Some(Code::IndexNotFound));
        assert_eq!(refused(&[("new", Some("new"))]), Some(Code::IndexNotFound));
        assert_eq!(refused(&[("new", None)]), Some(Code::AliasNotFound));
        assert_eq!(refused(&[("films", Some("two")), ("new", None)]), Some(Code::AliasNotFound), "all or none");
    }
}
