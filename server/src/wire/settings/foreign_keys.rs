//! One entry of `foreignKeys`.

use lamina_engine::index::settings::ForeignKey;

use crate::error::ApiResult;
use crate::wire::json::At;

pub(super) fn read(at: At<'_>) -> ApiResult<ForeignKey> {
    let (mut foreign_index_uid, mut field_name) = (None, None);
    at.fields(&["foreignIndexUid", "fieldName"], |name, field| {
        match name {
            "foreignIndexUid" => foreign_index_uid = Some(field.index_uid()?),
            _ => field_name = Some(field.string()?),
        }
        Ok(())
    })?;
    Ok(ForeignKey {
        foreign_index_uid: foreign_index_uid.ok_or_else(|| at.missing_field("foreignIndexUid"))?,
        field_name: field_name.ok_or_else(|| at.missing_field("fieldName"))?,
    })
}
