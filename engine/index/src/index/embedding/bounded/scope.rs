//! Where a rendering finds its variables.

use std::cell::RefCell;
use std::collections::BTreeSet;

use liquid_core::model::{KString, KStringCow, KStringRef, Object, ObjectView, ScalarCow, ValueView, find, try_find};
use liquid_core::runtime::{PartialStore, Registers};
use liquid_core::{Result, Runtime, Value, ValueCow};

use super::meter::Meter;

/// The outermost variables: what the template assigns, then what it was given, then its counters.
pub(super) struct Root<'g, R> {
    base: R,
    globals: &'g dyn ObjectView,
    assigned: RefCell<Object>,
    meter: Meter,
}

impl<'g, R: Runtime> Root<'g, R> {
    /// `base` holds counters and registers, and refuses names that nothing has.
    pub(super) fn new(base: R, globals: &'g dyn ObjectView, meter: Meter) -> Root<'g, R> {
        Root { base, globals, assigned: RefCell::default(), meter }
    }

    /// Copies a value, because an assigned one may change while it is held.
    fn copy(&self, found: ValueCow<'_>) -> Result<Value> {
        self.meter.value(found.as_view())?;
        Ok(found.into_owned())
    }
}

impl<R: Runtime> Runtime for Root<'_, R> {
    fn partials(&self) -> &dyn PartialStore {
        self.base.partials()
    }

    fn name(&self) -> Option<KStringRef<'_>> {
        self.base.name()
    }

    fn roots(&self) -> BTreeSet<KStringCow<'_>> {
        let mut roots = self.base.roots();
        roots.extend(self.globals.keys());
        roots
    }

    fn try_get(&self, path: &[ScalarCow<'_>]) -> Option<ValueCow<'_>> {
        self.meter.step().ok()?;
        let key = path.first()?.to_kstr();
        let assigned = self.assigned.borrow();
        if assigned.contains_key(key.as_str()) {
            self.copy(try_find(&*assigned, path)?).ok().map(ValueCow::Owned)
        } else if self.globals.contains_key(key.as_str()) {
            try_find(self.globals.as_value(), path)
        } else {
            self.base.try_get(path)
        }
    }

    fn get(&self, path: &[ScalarCow<'_>]) -> Result<ValueCow<'_>> {
        self.meter.step()?;
        let key = path.first().map(|key| key.to_kstr()).unwrap_or_default();
        let assigned = self.assigned.borrow();
        if assigned.contains_key(key.as_str()) {
            self.copy(find(&*assigned, path)?).map(ValueCow::Owned)
        } else if self.globals.contains_key(key.as_str()) {
            let found = find(self.globals.as_value(), path)?;
            self.meter.value(found.as_view())?;
            Ok(found)
        } else {
            self.base.get(path)
        }
    }

    fn set_global(&self, name: KString, value: Value) -> Option<Value> {
        self.assigned.borrow_mut().insert(name, value)
    }

    fn set_index(&self, name: KString, value: Value) -> Option<Value> {
        self.base.set_index(name, value)
    }

    fn get_index<'a>(&'a self, name: &str) -> Option<ValueCow<'a>> {
        self.base.get_index(name)
    }

    fn registers(&self) -> &Registers {
        self.base.registers()
    }
}

/// Variables of a loop, in front of all others.
pub(super) struct Scope<'p, O> {
    parent: &'p dyn Runtime,
    variables: O,
    meter: Meter,
}

impl<'p, O: ObjectView> Scope<'p, O> {
    pub(super) fn new(parent: &'p dyn Runtime, variables: O, meter: Meter) -> Scope<'p, O> {
        Scope { parent, variables, meter }
    }
}

impl<O: ObjectView> Runtime for Scope<'_, O> {
    fn partials(&self) -> &dyn PartialStore {
        self.parent.partials()
    }

    fn name(&self) -> Option<KStringRef<'_>> {
        self.parent.name()
    }

    fn roots(&self) -> BTreeSet<KStringCow<'_>> {
        let mut roots = self.parent.roots();
        roots.extend(self.variables.keys());
        roots
    }

    fn try_get(&self, path: &[ScalarCow<'_>]) -> Option<ValueCow<'_>> {
        let key = path.first()?.to_kstr();
        if !self.variables.contains_key(key.as_str()) {
            return self.parent.try_get(path);
        }
        self.meter.step().ok()?;
        try_find(self.variables.as_value(), path)
    }

    fn get(&self, path: &[ScalarCow<'_>]) -> Result<ValueCow<'_>> {
        let key = path.first().map(|key| key.to_kstr()).unwrap_or_default();
        if !self.variables.contains_key(key.as_str()) {
            return self.parent.get(path);
        }
        self.meter.step()?;
        let found = find(self.variables.as_value(), path)?;
        self.meter.value(found.as_view())?;
        Ok(found)
    }

    fn set_global(&self, name: KString, value: Value) -> Option<Value> {
        self.parent.set_global(name, value)
    }

    fn set_index(&self, name: KString, value: Value) -> Option<Value> {
        self.parent.set_index(name, value)
    }

    fn get_index<'a>(&'a self, name: &str) -> Option<ValueCow<'a>> {
        self.parent.get_index(name)
    }

    fn registers(&self) -> &Registers {
        self.parent.registers()
    }
}
