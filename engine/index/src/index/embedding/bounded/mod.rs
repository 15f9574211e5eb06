//! Liquid inside limits: what a template may cost is bounded before it is parsed, while it is parsed and while it renders.
//!
//! The language is that of `liquid-core` with the filters and most tags of `liquid-lib`; `tablerow` and `ifchanged` are refused. What
//! those do without a bound is done by tags of our own ([`loops`], [`blocks`]), and everything else runs behind a [`Meter`]: see decision 0038.

mod blocks;
mod filters;
mod loops;
mod meter;
mod scope;
mod source;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

use liquid_core::model::ObjectView;
use liquid_core::runtime::{RuntimeBuilder, Template};
use liquid_core::{Language, Renderable, Runtime};

use super::cut;
use super::error::TemplateError;
use super::limit::TemplateLimit;
pub(super) use meter::Allowance;
pub use meter::work_bytes;
use meter::{Meter, Output};
use scope::Root;

/// Longest template, in bytes of its text.
pub(super) const SOURCE_BYTES_MAX: usize = 64 << 10;
/// Deepest blocks inside of blocks.
const NESTING_MAX: usize = 64;
/// Most steps of what is rendered for one input: a tag, a filter, a variable, a piece of text is one, a pass of a loop one for each 128 bytes
/// of the template besides.
const STEPS_MAX: u64 = 1_000_000;
/// Most bytes that are read and made for one input. For large documents more: see [`DOCUMENT_FACTOR`].
const WORK_BYTES_MAX: u64 = 16 << 20;
/// Factor by which the size of a document raises its allowance above [`WORK_BYTES_MAX`].
const DOCUMENT_FACTOR: u64 = 16;
/// Longest text that is made for one input where nothing cuts it.
const OUTPUT_BYTES_MAX: usize = 16 << 20;
/// Longest message that is passed on; the library quotes what it was given.
const MESSAGE_BYTES_MAX: usize = 2_000;
/// Stack for parsing: enough for all that [`source::check`] lets through.
const PARSE_STACK_BYTES: usize = 8 << 20;
/// Stack for rendering: what is left of a thread's own stack is used if it is as much.
const RENDER_STACK_BYTES: usize = 1 << 20;
/// The stack that a rendering gets otherwise.
const RENDER_STACK_GROWN_BYTES: usize = 4 << 20;

/// Handling of text beyond a limit.
#[derive(Clone, Copy, Debug)]
pub(super) enum Keep {
    /// The first so many bytes are the text.
    First(usize),
    /// All of it, up to [`OUTPUT_BYTES_MAX`].
    All,
}

/// A template that was parsed.
pub(super) struct Program {
    template: Template,
    source_bytes: usize,
}

static LANGUAGE: LazyLock<Language> = LazyLock::new(|| {
    let mut language = Language::empty();
    blocks::register(&mut language);
    filters::register(&mut language);
    language
});

/// Runs code of the library: a panic of it is an error, e.g. for a number that no integer holds.
fn guarded<T>(work: impl FnOnce() -> Result<T, TemplateError>) -> Result<T, TemplateError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
        Err(TemplateError::Wrong(cut(text.unwrap_or("an unexpected failure"), MESSAGE_BYTES_MAX).to_owned()))
    })
}

fn shortened(error: &liquid_core::Error) -> String {
    let mut message = error.to_string();
    message.truncate(cut(&message, MESSAGE_BYTES_MAX).len());
    message
}

impl Program {
    /// Parses `source`. Costs time proportional to its length.
    ///
    /// # Errors
    /// What is wrong with it, or which limit it passes.
    pub(super) fn parse(source: &str) -> Result<Program, TemplateError> {
        source::check(source).map_err(TemplateError::Limit)?;
        let parse = || {
            blocks::nesting::begin();
            let elements = liquid_core::parser::parse(source, &LANGUAGE);
            if blocks::nesting::was_exceeded() {
                return Err(TemplateError::Limit(TemplateLimit::Nesting { most: NESTING_MAX }));
            }
            let elements = elements.map_err(|error| TemplateError::Wrong(shortened(&error)))?;
            Ok(Program { template: Template::new(elements), source_bytes: source.len() })
        };
        stacker::maybe_grow(PARSE_STACK_BYTES, PARSE_STACK_BYTES, || guarded(parse))
    }

    /// The text for `globals`, which takes of the allowance what it costs.
    ///
    /// # Errors
    /// A variable that is not there, a filter that cannot do its work, or a limit that was reached.
    pub(super) fn render(
        &self,
        globals: &dyn ObjectView,
        allowance: &Allowance,
        keep: Keep,
    ) -> Result<String, TemplateError> {
        let meter = Meter::new(allowance, self.source_bytes);
        let render = || {
            let runtime = Root::new(RuntimeBuilder::new().build(), globals, meter.clone());
            *runtime.registers().get_mut::<Meter>() = meter.clone();
            let mut output = Output::new(meter.clone(), keep);
            let rendered = self.template.render_to(&mut output, &runtime);
            match (meter.exceeded(), rendered) {
                (Some(limit), _) => Err(TemplateError::Limit(limit)),
                (None, Err(error)) => Err(TemplateError::Wrong(shortened(&error))),
                (None, Ok(())) => Ok(output.into_text()),
            }
        };
        stacker::maybe_grow(RENDER_STACK_BYTES, RENDER_STACK_GROWN_BYTES, || guarded(render))
    }
}

#[cfg(test)]
mod tests;
