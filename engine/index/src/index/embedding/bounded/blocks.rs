//! Tags and blocks: each is a step, and blocks are counted as they are nested.

use std::io::Write;

use liquid_core::error::ResultLiquidExt;
use liquid_core::model::KString;
use liquid_core::{
    BlockReflection, Language, ParseBlock, ParseTag, Renderable, Result, Runtime, TagBlock, TagReflection,
    TagTokenIter, Template,
};
use liquid_lib::stdlib;

use super::Keep;
use super::loops::Loop;
use super::meter::{Meter, Output};

/// Nesting depth of the blocks of the template that this thread parses.
pub(super) mod nesting {
    use std::cell::Cell;

    use liquid_core::{Error, Result};

    use super::super::NESTING_MAX;

    thread_local! {
        static LEVEL: Cell<usize> = const { Cell::new(0) };
        static IS_EXCEEDED: Cell<bool> = const { Cell::new(false) };
    }

    /// Before a template is parsed.
    pub(in super::super) fn begin() {
        LEVEL.set(0);
        IS_EXCEEDED.set(false);
    }

    /// Reports whether the blocks of the template were nested too deep, even if a comment contains them.
    pub(in super::super) fn was_exceeded() -> bool {
        IS_EXCEEDED.get()
    }

    /// A block is being parsed as long as there is one.
    pub(super) struct Level;

    impl Level {
        pub(super) fn enter() -> Result<Level> {
            if LEVEL.get() >= NESTING_MAX {
                IS_EXCEEDED.set(true);
            }
            // The rest is not parsed any more.
            if IS_EXCEEDED.get() {
                return Err(Error::with_msg("too many blocks inside of each other"));
            }
            LEVEL.set(LEVEL.get() + 1);
            Ok(Level)
        }
    }

    impl Drop for Level {
        fn drop(&mut self) {
            LEVEL.set(LEVEL.get().saturating_sub(1));
        }
    }
}

pub(super) fn register(language: &mut Language) {
    let blocks: [Box<dyn ParseBlock>; 7] = [
        stdlib::RawBlock.into(),
        stdlib::IfBlock.into(),
        stdlib::UnlessBlock.into(),
        stdlib::CommentBlock.into(),
        stdlib::CaseBlock.into(),
        Loop.into(),
        CaptureBlock.into(),
    ];
    for block in blocks {
        language.blocks.register(block.reflection().start_tag().to_owned(), Nested(block).into());
    }
    let tags: [Box<dyn ParseTag>; 8] = [
        stdlib::AssignTag.into(),
        stdlib::BreakTag.into(),
        stdlib::ContinueTag.into(),
        stdlib::CycleTag.into(),
        stdlib::IncludeTag.into(),
        stdlib::IncrementTag.into(),
        stdlib::DecrementTag.into(),
        stdlib::RenderTag.into(),
    ];
    for tag in tags {
        language.tags.register(tag.reflection().tag().to_owned(), SteppedTag(tag).into());
    }
}

/// A block of the library or our own.
#[derive(Clone)]
struct Nested(Box<dyn ParseBlock>);

impl ParseBlock for Nested {
    fn parse(
        &self,
        arguments: TagTokenIter<'_>,
        block: TagBlock<'_, '_>,
        language: &Language,
    ) -> Result<Box<dyn Renderable>> {
        let _level = nesting::Level::enter()?;
        Ok(Box::new(Step(self.0.parse(arguments, block, language)?)))
    }

    fn reflection(&self) -> &dyn BlockReflection {
        self.0.reflection()
    }
}

/// A tag of the library.
#[derive(Clone)]
struct SteppedTag(Box<dyn ParseTag>);

impl ParseTag for SteppedTag {
    fn parse(&self, arguments: TagTokenIter<'_>, language: &Language) -> Result<Box<dyn Renderable>> {
        Ok(Box::new(Step(self.0.parse(arguments, language)?)))
    }

    fn reflection(&self) -> &dyn TagReflection {
        self.0.reflection()
    }
}

/// Renderable part that counts a step before it is rendered.
#[derive(Debug)]
struct Step(Box<dyn Renderable>);

impl Renderable for Step {
    fn render_to(&self, writer: &mut dyn Write, runtime: &dyn Runtime) -> Result<()> {
        Meter::of(runtime).step()?;
        self.0.render_to(writer, runtime)
    }
}

/// The block `capture`. That of the library keeps its text without a bound.
#[derive(Clone, Copy, Debug)]
struct CaptureBlock;

impl BlockReflection for CaptureBlock {
    fn start_tag(&self) -> &str {
        "capture"
    }

    fn end_tag(&self) -> &str {
        "endcapture"
    }

    fn description(&self) -> &str {
        ""
    }
}

impl ParseBlock for CaptureBlock {
    fn parse(
        &self,
        mut arguments: TagTokenIter<'_>,
        mut block: TagBlock<'_, '_>,
        language: &Language,
    ) -> Result<Box<dyn Renderable>> {
        let name = KString::from_ref(arguments.expect_next("Identifier expected")?.expect_identifier().into_result()?);
        arguments.expect_nothing()?;
        let trace = || format!("{{% capture {name} %}}").into();
        let inside = Template::new(block.parse_all(language).trace_with(trace)?);
        block.assert_empty();
        Ok(Box::new(Capture { name, inside }))
    }

    fn reflection(&self) -> &dyn BlockReflection {
        self
    }
}

#[derive(Debug)]
struct Capture {
    name: KString,
    inside: Template,
}

impl Renderable for Capture {
    fn render_to(&self, _: &mut dyn Write, runtime: &dyn Runtime) -> Result<()> {
        let mut captured = Output::new(Meter::of(runtime), Keep::All);
        let trace = || format!("{{% capture {} %}}", self.name).into();
        self.inside.render_to(&mut captured, runtime).trace_with(trace)?;
        runtime.set_global(self.name.clone(), captured.into_value());
        Ok(())
    }
}
