//! Counts what a rendering costs, and ends it.

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use liquid_core::model::{Value, ValueView};
use liquid_core::{Error, Result, Runtime};

use super::super::limit::TemplateLimit;
use super::{DOCUMENT_FACTOR, Keep, OUTPUT_BYTES_MAX, STEPS_MAX, WORK_BYTES_MAX};

/// Bytes of a pass of a loop that are one step: even if the whole template is the loop and made of the shortest tags.
const BYTES_PER_STEP: usize = 128;
/// Cost of a value besides its text, in bytes.
const VALUE_BYTES: u64 = 32;

/// Limit on the total cost of the renderings for one input. All templates that are rendered for a document share it.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Allowance(Rc<Counters>);

/// Shared by everything that takes part in a rendering; one that was not set up allows nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Meter {
    counters: Rc<Counters>,
    steps_of_pass: u64,
}

#[derive(Debug, Default)]
struct Counters {
    steps_max: u64,
    steps_left: Cell<u64>,
    bytes_max: u64,
    bytes_left: Cell<u64>,
    output_left: Cell<usize>,
    exceeded: Cell<Option<Exceeded>>,
}

#[derive(Clone, Copy, Debug)]
enum Exceeded {
    Steps,
    Bytes,
    Output,
}

/// Bytes that may be read and made for an input of so many.
pub fn work_bytes(input_bytes: usize) -> u64 {
    WORK_BYTES_MAX.saturating_add((input_bytes as u64).saturating_mul(DOCUMENT_FACTOR))
}

impl Allowance {
    /// For what is made from `input_bytes` bytes.
    pub(in super::super) fn for_input(input_bytes: usize) -> Allowance {
        Allowance::of_bytes(work_bytes(input_bytes))
    }

    /// The same, of which at most `bytes` may be read and made.
    pub(in super::super) fn within(self, bytes: u64) -> Allowance {
        Allowance::of_bytes(self.0.bytes_max.min(bytes))
    }

    fn of_bytes(bytes: u64) -> Allowance {
        Allowance(Rc::new(Counters {
            steps_max: STEPS_MAX,
            steps_left: Cell::new(STEPS_MAX),
            bytes_max: bytes,
            bytes_left: Cell::new(bytes),
            output_left: Cell::new(OUTPUT_BYTES_MAX),
            exceeded: Cell::new(None),
        }))
    }
}

impl Meter {
    /// Creates the meter of a template of `source_bytes` bytes.
    pub(super) fn new(allowance: &Allowance, source_bytes: usize) -> Meter {
        let steps_of_pass = 1 + (source_bytes / BYTES_PER_STEP) as u64;
        Meter { counters: Rc::clone(&allowance.0), steps_of_pass }
    }

    /// Returns the meter of the rendering that `runtime` belongs to.
    pub(super) fn of(runtime: &dyn Runtime) -> Meter {
        runtime.registers().get_mut::<Meter>().clone()
    }

    /// The limit that was reached.
    pub(super) fn exceeded(&self) -> Option<TemplateLimit> {
        let counters = &self.counters;
        Some(match counters.exceeded.get()? {
            Exceeded::Steps => TemplateLimit::Steps { most: counters.steps_max },
            Exceeded::Bytes => TemplateLimit::Work { most: counters.bytes_max },
            Exceeded::Output => TemplateLimit::Output { most: OUTPUT_BYTES_MAX },
        })
    }

    fn stop<T>(&self, exceeded: Exceeded) -> Result<T> {
        self.counters.exceeded.set(Some(exceeded));
        Err(Error::with_msg("the template passes a limit"))
    }

    /// One step.
    pub(super) fn step(&self) -> Result<()> {
        self.steps(1)
    }

    /// One pass of a loop.
    pub(super) fn pass(&self) -> Result<()> {
        self.steps(self.steps_of_pass)
    }

    fn steps(&self, count: u64) -> Result<()> {
        let left = &self.counters.steps_left;
        match left.get().checked_sub(count) {
            Some(rest) if self.counters.exceeded.get().is_none() => left.set(rest),
            _ => return self.stop(Exceeded::Steps),
        }
        Ok(())
    }

    /// So many bytes are read or made.
    pub(super) fn bytes(&self, count: u64) -> Result<()> {
        match self.counters.bytes_left.get().checked_sub(count) {
            Some(rest) => self.counters.bytes_left.set(rest),
            None => return self.stop(Exceeded::Bytes),
        }
        Ok(())
    }

    /// So many bytes of text are kept.
    fn output(&self, count: usize) -> Result<()> {
        match self.counters.output_left.get().checked_sub(count) {
            Some(rest) => self.counters.output_left.set(rest),
            None => return self.stop(Exceeded::Output),
        }
        Ok(())
    }

    /// A value is read or made, with all that it holds.
    pub(super) fn value(&self, value: &dyn ValueView) -> Result<u64> {
        let bytes = self.weight(value);
        self.bytes(bytes)?;
        Ok(bytes)
    }

    /// Bytes of a value with all that it holds, or more than are left.
    pub(super) fn weight(&self, value: &dyn ValueView) -> u64 {
        let mut bytes = 0;
        weigh(value, self.counters.bytes_left.get(), &mut bytes);
        bytes
    }

    /// More than there may be.
    pub(super) fn is_beyond(&self, bytes: u64) -> bool {
        bytes > self.counters.bytes_left.get()
    }
}

/// Adds the size of a value to `bytes`. Recurses as deep as documents are nested, which is bounded.
fn weigh(value: &dyn ValueView, most: u64, bytes: &mut u64) {
    *bytes = bytes.saturating_add(VALUE_BYTES);
    if *bytes > most {
        return;
    }
    if let Some(array) = value.as_array() {
        array.values().for_each(|value| {
            if *bytes <= most {
                weigh(value, most, bytes);
            }
        });
    } else if let Some(object) = value.as_object() {
        object.iter().for_each(|(name, value)| {
            if *bytes <= most {
                *bytes = bytes.saturating_add(name.len() as u64);
                weigh(value, most, bytes);
            }
        });
    } else if value.type_name() == "string" {
        *bytes = bytes.saturating_add(value.to_kstr().len() as u64);
    }
}

/// Destination of a rendering.
#[derive(Debug)]
pub(super) struct Output {
    meter: Meter,
    bytes: Vec<u8>,
    keep: Keep,
}

impl Output {
    pub(super) fn new(meter: Meter, keep: Keep) -> Output {
        Output { meter, bytes: Vec::new(), keep }
    }

    /// Returns the written text up to the last whole character that is kept.
    pub(super) fn into_text(self) -> String {
        let mut bytes = self.bytes;
        if let Err(error) = std::str::from_utf8(&bytes) {
            bytes.truncate(error.valid_up_to());
        }
        String::from_utf8(bytes).unwrap_or_default()
    }

    /// The same as a value.
    pub(super) fn into_value(self) -> Value {
        Value::scalar(self.into_text())
    }
}

impl io::Write for Output {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let pay = || {
            self.meter.step()?;
            self.meter.bytes(piece.len() as u64)?;
            match self.keep {
                Keep::All => self.meter.output(piece.len()),
                Keep::First(_) => Ok(()),
            }
        };
        pay().map_err(io::Error::other)?;
        let kept = match self.keep {
            Keep::First(most) => piece.len().min(most.saturating_sub(self.bytes.len())),
            Keep::All => piece.len(),
        };
        self.bytes.extend_from_slice(&piece[..kept]);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
