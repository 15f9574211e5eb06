//! The function, inside its limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rhai::{AST, Dynamic, Engine, EvalAltResult, ParseError, Scope};
use serde_json::{Map, Value};
use thiserror::Error;

use super::value::{NotJson, to_map};

/// Longest function, in bytes of its text.
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// Most steps for one document.
const OPERATIONS_MAX: u64 = 1_000_000;
/// Most time for one document: steps are of very different length.
const TIME_MAX: Duration = Duration::from_secs(5);
/// Steps between two looks at the clock.
const STEPS_BETWEEN_LOOKS: u64 = 256;
/// Deepest calls: of the function by itself, too.
const CALL_DEPTH_MAX: usize = 64;
/// Deepest expressions, outside and inside of a `fn`.
const EXPRESSION_DEPTHS_MAX: (usize, usize) = (64, 64);
/// Longest text, in bytes, and longest list, together with all that it holds.
const STRING_BYTES_MAX: usize = 16 << 20;
const ELEMENTS_MAX: usize = 100_000;
const VARIABLES_MAX: usize = 1_000;
const FUNCTIONS_MAX: usize = 100;

/// Why a text is no function.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum FunctionError {
    /// It does not compile.
    #[error("{0}")]
    Syntax(#[from] ParseError),
    /// It has too many bytes.
    #[error("The function has {0} bytes, more than the {TEXT_BYTES_MAX} that are allowed")]
    TooLong(usize),
}

/// Why a document was not edited.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum EditionError {
    /// The function failed, or passed a limit.
    #[error("Document edition runtime error encountered while running the function: {0}")]
    Runtime(Box<EvalAltResult>),
    /// It took too long.
    #[error(
        "Document edition runtime error encountered while running the function: it took more than {} seconds for one \
         document",
        TIME_MAX.as_secs()
    )]
    TooSlow,
    /// It made something that cannot be stored.
    #[error("Document edition runtime error encountered while running the function: {0}")]
    NotJson(#[from] NotJson),
    /// It put something else in the place of the document.
    #[error("Document editions must keep documents as objects")]
    NotAnObject,
    /// Another document would be changed, or added.
    #[error("Document editions cannot modify a document's primary key")]
    PrimaryKey,
    /// The stored document is no JSON object.
    #[error("a stored document cannot be read: {0}")]
    Stored(#[from] serde_json::Error),
}

/// A compiled function and its context. Edits one document at a time.
#[derive(Debug)]
pub(crate) struct Function {
    engine: Engine,
    program: AST,
    context: Option<Dynamic>,
    deadline: Arc<Deadline>,
}

/// When the function has to be done, as time since `start`.
#[derive(Debug)]
struct Deadline {
    start: Instant,
    millis: AtomicU64,
}

impl Deadline {
    fn millis_now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn set(&self) {
        let limit = u64::try_from(TIME_MAX.as_millis()).unwrap_or(u64::MAX);
        self.millis.store(self.millis_now().saturating_add(limit), Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.millis_now() > self.millis.load(Ordering::Relaxed)
    }
}

impl Function {
    /// Compiles `text`. What it says is not run.
    pub(crate) fn new(text: &str, context: Option<&Map<String, Value>>) -> Result<Function, FunctionError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(FunctionError::TooLong(text.len()));
        }
        let deadline = Arc::new(Deadline { start: Instant::now(), millis: AtomicU64::new(u64::MAX) });
        let engine = engine(Arc::clone(&deadline));
        let program = engine.compile(text)?;
        let context = context.map(|context| Dynamic::from_map(to_map(context)));
        Ok(Function { engine, program, context, deadline })
    }

    /// What the function leaves in `doc`.
    pub(super) fn run(&self, document: rhai::Map) -> Result<Dynamic, EditionError> {
        let mut scope = Scope::new();
        if let Some(context) = &self.context {
            scope.push_constant_dynamic("context", context.clone());
        }
        scope.push("doc", document);
        self.deadline.set();
        let result = self.engine.run_ast_with_scope(&mut scope, &self.program);
        result.map_err(|error| match *error {
            EvalAltResult::ErrorTerminated(..) => EditionError::TooSlow,
            _ => EditionError::Runtime(error),
        })?;
        scope.remove("doc").ok_or(EditionError::NotAnObject)
    }
}

fn engine(deadline: Arc<Deadline>) -> Engine {
    let mut engine = Engine::new();
    let (outside, inside) = EXPRESSION_DEPTHS_MAX;
    engine
        .set_max_operations(OPERATIONS_MAX)
        .set_max_call_levels(CALL_DEPTH_MAX)
        .set_max_expr_depths(outside, inside)
        .set_max_string_size(STRING_BYTES_MAX)
        .set_max_array_size(ELEMENTS_MAX)
        .set_max_map_size(ELEMENTS_MAX)
        .set_max_variables(VARIABLES_MAX)
        .set_max_functions(FUNCTIONS_MAX)
        // Text that only exists at run time would not have been checked when the task was registered.
        .disable_symbol("eval")
        .on_progress(move |steps| {
            let is_over = steps % STEPS_BETWEEN_LOOKS == 0 && deadline.is_over();
            is_over.then_some(Dynamic::UNIT)
        })
        // The console belongs to the operator.
        .on_print(|_| {})
        .on_debug(|_, _, _| {});
    // They would hold up the queue without taking a step.
    engine.register_fn("sleep", |_: i64| -> Result<(), Box<EvalAltResult>> { Err("`sleep` is not available".into()) });
    engine.register_fn("sleep", |_: f64| -> Result<(), Box<EvalAltResult>> { Err("`sleep` is not available".into()) });
    engine
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(text: &str) -> String {
        let function = Function::new(text, None).expect("it compiles");
        function.run(rhai::Map::new()).expect_err("it fails").to_string()
    }

    #[test]
    fn nothing_runs_without_end() {
        let start = Instant::now();
        assert!(failure("loop { }").contains("Too many operations"));
        assert!(failure("fn again() { again() } again()").contains("Stack overflow"));
        assert!(failure("let s = \"x\"; loop { s += s; }").contains("Length of string too large"));
        assert!(failure("let a = [1]; loop { a += a; }").contains("Size of array"));
        assert!(failure("let a = []; a.pad(1_000_000_000_000, 7);").contains("Size of array"));
        assert!(failure("let s = \"\"; s.pad(1_000_000_000_000, 'x');").contains("Length of string"));
        assert!(failure("sleep(100)").contains("`sleep` is not available"));
        assert!(failure("sleep(100.0)").contains("`sleep` is not available"));
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn nothing_outside_is_reached() {
        for text in ["import \"x\" as x;", "eval(\"1\")"] {
            assert!(matches!(Function::new(text, None), Err(FunctionError::Syntax(_))), "{text}");
        }
        for text in ["open_file(\"/etc/passwd\")", "timestamp()", "doc.x = fetch(\"http://127.0.0.1\")"] {
            assert!(failure(text).contains("Function not found"), "{text}");
        }
    }

    #[test]
    fn texts_have_a_length() {
        let text = "/".repeat(TEXT_BYTES_MAX + 1);
        assert!(matches!(Function::new(&text, None), Err(FunctionError::TooLong(_))));
        let nested = "(".repeat(1_000);
        assert!(matches!(Function::new(&nested, None), Err(FunctionError::Syntax(_))));
    }

    #[test]
    fn the_context_cannot_be_changed() {
        let context = serde_json::json!({"a": 1});
        let function = Function::new("context.a = 2;", context.as_object()).unwrap();
        assert!(function.run(rhai::Map::new()).is_err());
        assert!(failure("context.a").contains("Variable not found"), "no context was given");
    }
}
