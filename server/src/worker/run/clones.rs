//! Batches that make an index of the files of another one, or of those that `lamina build` has made.

use super::indexes::{already_exists, check_no_alias};
use super::record::Record;
use super::{Context, Done, failed, succeeded};
use crate::error::ApiResult;
use crate::tasks::store::IndexChange;

/// No document is read or written, whatever the size of the index.
pub(super) fn clone(context: Context<'_>, uid: &str, task: u32, new_uid: &str) -> Done {
    match try_clone(context, uid, task, new_uid) {
        Ok(done) => done,
        Err(error) => context.stored_only(&[failed(task, &error)], &[]),
    }
}

fn try_clone(context: Context<'_>, uid: &str, task: u32, new_uid: &str) -> ApiResult<Done> {
    let source = context.instance.index(uid)?;
    if context.instance.contains(new_uid) {
        return Err(already_exists(new_uid));
    }
    check_no_alias(context, new_uid)?;
    let (folder, index) = context.instance.clone_unnamed(context.store, &source, new_uid, context.live.uid)?;
    let changes = [IndexChange::Created { uid: new_uid.to_owned(), folder: folder.clone() }];
    let batch = Record::new(context.live).finish(&[succeeded(task, None)], &changes);
    Ok(Done { batch, created: vec![(folder, index)] })
}

/// The index gets links to the files, which stay where they are.
pub(super) fn attach(context: Context<'_>, uid: &str, task: u32, folder: &str) -> Done {
    match try_attach(context, uid, task, folder) {
        Ok(done) => done,
        Err(error) => context.stored_only(&[failed(task, &error)], &[]),
    }
}

fn try_attach(context: Context<'_>, uid: &str, task: u32, folder: &str) -> ApiResult<Done> {
    if context.instance.contains(uid) {
        return Err(already_exists(uid));
    }
    check_no_alias(context, uid)?;
    let (path, batch) = (context.places.attached.join(folder), context.live.uid);
    let (folder, index) = context.instance.attach_unnamed(context.store, &path, uid, batch)?;
    let changes = [IndexChange::Created { uid: uid.to_owned(), folder: folder.clone() }];
    let batch = Record::new(context.live).finish(&[succeeded(task, None)], &changes);
    Ok(Done { batch, created: vec![(folder, index)] })
}
