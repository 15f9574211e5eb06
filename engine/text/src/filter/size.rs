//! How large a filter may be.

use super::{CONDITIONS_MAX, FilterError, FilterErrorKind, VALUES_MAX};

/// Size of what has been read of a filter so far, over all texts of its JSON form.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    conditions: usize,
    values: usize,
}

impl Size {
    /// One more condition.
    ///
    /// # Errors
    /// When these are too many.
    pub(super) fn add_condition(&mut self) -> Result<(), FilterError> {
        self.conditions += 1;
        if self.conditions > CONDITIONS_MAX {
            Err(FilterError::unplaced(FilterErrorKind::ConditionLimit))
        } else {
            Ok(())
        }
    }

    /// One more value of a list, or corner of a polygon.
    ///
    /// # Errors
    /// When these are too many.
    pub(super) fn add_value(&mut self) -> Result<(), FilterError> {
        self.values += 1;
        if self.values > VALUES_MAX { Err(FilterError::unplaced(FilterErrorKind::ValueLimit)) } else { Ok(()) }
    }
}
