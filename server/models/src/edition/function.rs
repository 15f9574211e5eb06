//! The function, inside its limits.

use std::fmt::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lamina_base::memory::held_by_thread;
use lamina_engine::index::embedding::cut;
use rhai::{AST, Dynamic, Engine, EvalAltResult, ParseError, Scope};
use serde_json::{Map, Value};
use thiserror::Error;

use super::texts;
use super::value::{NotJson, to_map};

/// Longest function, in bytes of its text.
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// Most steps for one document.
const OPERATIONS_MAX: u64 = 1_000_000;
/// Most time for one document: steps are of very different length.
const TIME_MAX: Duration = Duration::from_secs(5);
/// Steps between two looks at the clock.
const STEPS_BETWEEN_LOOKS: u64 = 64;
/// Most bytes that the values of a function hold together; a document and the context allow [`BYTES_FACTOR`] times their own
/// size more. It also bounds how deeply values can be nested, and with that the stack.
const BYTES_MAX: i64 = 8 << 20;
const BYTES_FACTOR: i64 = 16;
/// Longest message of an error: a function may throw anything.
const MESSAGE_BYTES_MAX: usize = 1_000;
/// Deepest calls: of the function by itself, too.
const CALL_DEPTH_MAX: usize = 64;
/// Deepest expressions, outside and inside of a `fn`.
const EXPRESSION_DEPTHS_MAX: (usize, usize) = (64, 64);
/// Longest text, in bytes.
const STRING_BYTES_MAX: usize = 16 << 20;
/// Stack for the compiler, whose recursion the depth of expressions bounds.
const COMPILER_STACK_BYTES: usize = 4 << 20;
const VARIABLES_MAX: usize = 1_000;
const FUNCTIONS_MAX: usize = 100;

/// Reason why a text is not a valid function.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FunctionError {
    /// The function does not compile.
    #[error("{0}")]
    Syntax(#[from] ParseError),
    /// The function has too many bytes.
    #[error("The function has {0} bytes, more than the {TEXT_BYTES_MAX} that are allowed")]
    TooLong(usize),
}

/// Reason why a document was not edited.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EditionError {
    /// The function failed, or passed a limit.
    #[error("Document edition runtime error encountered while running the function: {0}")]
    Runtime(String),
    /// The values of the function need too much memory.
    #[error(
        "Document edition runtime error encountered while running the function: its values hold more than the {0} bytes \
         that are allowed for this document"
    )]
    TooLarge(i64),
    /// Values that hold on to themselves are never freed.
    #[error(
        "Document edition runtime error encountered while running the function: it leaves values that hold on to \
         themselves, more than the {BYTES_MAX} bytes that are allowed"
    )]
    Leaks,
    /// The function took too long.
    #[error(
        "Document edition runtime error encountered while running the function: it took more than {} seconds for one \
         document",
        TIME_MAX.as_secs()
    )]
    TooSlow,
    /// The function made something that cannot be stored.
    #[error("Document edition runtime error encountered while running the function: {0}")]
    NotJson(#[from] NotJson),
    /// The function put something else in the place of the document.
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
pub struct Function {
    engine: Engine,
    program: AST,
    context: Option<Dynamic>,
    context_bytes: usize,
    deadline: Arc<Deadline>,
    /// Bytes that were not freed after a document.
    leaked_bytes: AtomicI64,
}

/// Deadline of the function, as time since `start`, and the memory that its thread may hold until then.
#[derive(Debug)]
struct Deadline {
    start: Instant,
    millis: AtomicU64,
    held_max: AtomicI64,
    time_max: Duration,
}

impl Deadline {
    fn millis_now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn set(&self, bytes: i64) {
        let limit = u64::try_from(self.time_max.as_millis()).unwrap_or(u64::MAX);
        self.millis.store(self.millis_now().saturating_add(limit), Ordering::Relaxed);
        self.held_max.store(held_by_thread().saturating_add(bytes), Ordering::Relaxed);
    }

    fn is_too_large(&self) -> bool {
        held_by_thread() > self.held_max.load(Ordering::Relaxed)
    }

    fn is_over(&self) -> bool {
        self.millis_now() > self.millis.load(Ordering::Relaxed)
    }
}

impl Function {
    /// Compiles `text`. What it says is not run.
    pub fn new(text: &str, context: Option<&Map<String, Value>>) -> Result<Function, FunctionError> {
        Function::within(TIME_MAX, text, context)
    }

    fn within(time_max: Duration, text: &str, context: Option<&Map<String, Value>>) -> Result<Function, FunctionError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(FunctionError::TooLong(text.len()));
        }
        let deadline = Arc::new(Deadline {
            start: Instant::now(),
            millis: AtomicU64::new(u64::MAX),
            held_max: AtomicI64::new(i64::MAX),
            time_max,
        });
        let engine = engine(Arc::clone(&deadline));
        let program = stacker::maybe_grow(COMPILER_STACK_BYTES, COMPILER_STACK_BYTES, || engine.compile(text))?;
        let context_bytes = context.map_or(0, |context| serde_json::to_string(context).map_or(0, |text| text.len()));
        let context = context.map(|context| Dynamic::from_map(to_map(context)));
        Ok(Function { engine, program, context, context_bytes, deadline, leaked_bytes: AtomicI64::new(0) })
    }

    /// So many bytes were not freed after a document.
    ///
    /// # Errors
    /// When they are too many.
    pub(super) fn leaves(&self, bytes: i64) -> Result<(), EditionError> {
        let leaked = self.leaked_bytes.fetch_add(bytes.max(0), Ordering::Relaxed).saturating_add(bytes);
        if leaked > BYTES_MAX { Err(EditionError::Leaks) } else { Ok(()) }
    }

    /// Runs the function and returns the `doc` that it leaves. The document has `document_bytes` bytes as JSON.
    pub(super) fn run(&self, document: rhai::Map, document_bytes: usize) -> Result<Dynamic, EditionError> {
        let mut scope = Scope::new();
        if let Some(context) = &self.context {
            scope.push_constant_dynamic("context", context.clone());
        }
        scope.push("doc", document);
        let bytes = i64::try_from(document_bytes.saturating_add(self.context_bytes)).unwrap_or(i64::MAX);
        let bytes = BYTES_MAX.saturating_add(bytes.saturating_mul(BYTES_FACTOR));
        self.deadline.set(bytes);
        let result = self.engine.run_ast_with_scope(&mut scope, &self.program);
        result.map_err(|error| match &*error {
            EvalAltResult::ErrorTerminated(token, _) if token.is_unit() => EditionError::TooSlow,
            EvalAltResult::ErrorTerminated(..) => EditionError::TooLarge(bytes),
            other => EditionError::Runtime(message(other)),
        })?;
        if self.deadline.is_too_large() {
            return Err(EditionError::TooLarge(bytes));
        }
        scope.remove("doc").ok_or(EditionError::NotAnObject)
    }
}

/// The beginning of what is to be said about an error: what was thrown may be any value.
fn message(error: &EvalAltResult) -> String {
    struct Beginning(String);
    impl fmt::Write for Beginning {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            let room = MESSAGE_BYTES_MAX - self.0.len();
            let kept = cut(text, room);
            self.0.push_str(kept);
            if kept.len() < text.len() { Err(fmt::Error) } else { Ok(()) }
        }
    }
    let mut beginning = Beginning(String::new());
    if write!(beginning, "{error}").is_err() {
        beginning.0.push('…');
    }
    beginning.0
}

fn engine(deadline: Arc<Deadline>) -> Engine {
    let mut engine = Engine::new();
    let (outside, inside) = EXPRESSION_DEPTHS_MAX;
    engine
        .set_max_operations(OPERATIONS_MAX)
        .set_max_call_levels(CALL_DEPTH_MAX)
        .set_max_expr_depths(outside, inside)
        .set_max_string_size(STRING_BYTES_MAX)
        .set_max_array_size(texts::ELEMENTS_MAX)
        .set_max_map_size(texts::ELEMENTS_MAX)
        .set_max_variables(VARIABLES_MAX)
        .set_max_functions(FUNCTIONS_MAX)
        // Text that only exists at run time would not have been checked when the task was registered.
        .disable_symbol("eval")
        .on_progress(move |steps| {
            if deadline.is_too_large() {
                return Some(Dynamic::TRUE);
            }
            let is_over = steps % STEPS_BETWEEN_LOOKS == 0 && deadline.is_over();
            is_over.then_some(Dynamic::UNIT)
        })
        // The console belongs to the operator.
        .on_print(|_| {})
        .on_debug(|_, _, _| {});
    texts::register(&mut engine);
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
        let run = || function.run(rhai::Map::new(), 2).map(drop).expect_err("it fails").to_string();
        super::super::on_a_thread(run).expect("no panic")
    }

    #[test]
    fn nothing_runs_without_end() {
        let start = Instant::now();
        assert!(failure("loop { }").contains("Too many operations"));
        assert!(failure("fn again() { again() } again()").contains("Stack overflow"));
        assert!(failure("let s = \"x\"; loop { s += s; }").contains("bytes that are allowed"));
        assert!(failure("let a = [1]; loop { a += a; }").contains("Size of array"));
        assert!(failure("let a = []; a.pad(1_000_000_000_000, 7);").contains("Size of array"));
        assert!(failure("let s = \"\"; s.pad(1_000_000_000_000, 'x');").contains("Length of string"));
        assert!(failure("sleep(100)").contains("`sleep` is not available"));
        assert!(failure("sleep(100.0)").contains("`sleep` is not available"));
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    /// With what is said of them.
    const ATTACKS: [(&str, &str); 22] = [
        ("let a = #{}; for i in 0..100_000 { a = #{x: a}; } doc.x = a;", ""),
        ("let a = #{}; for i in 0..2_000 { a = #{x: a}; } doc.x = a;", "nested more than"),
        ("let a = []; for i in 0..2_000 { a = [a]; } doc.x = a;", "nested more than"),
        ("let h = [[]]; for i in 0..100_000 { h.push([h.remove(0)]); } doc.x = h;", ""),
        ("let a = []; for i in 0..5_000 { a = [a]; } throw a;", ""),
        ("let a = []; for i in 0..2_000 { a = [a]; } doc.x = `${a}`; throw 1;", ""),
        ("fn f(x) {} let h = [()]; loop { h.push(Fn(\"f\").curry(h.remove(0))); }", ""),
        (
            "fn f(x) {} let h = [()]; for i in 0..60_000 { h.push(Fn(\"f\").curry(h.remove(0))); } throw h.to_debug();",
            "",
        ),
        ("let f = || 1; loop { let g = f; f = || g; }", ""),
        ("let a = #{}; for i in 0..2_000 { let b = a; let f = || b; a = #{f: f}; } doc.x = a;", "cannot be kept"),
        ("fn g() { loop { this = #{x: this}; } } let a = #{}; a.g();", ""),
        ("fn g() { loop { this = [this]; } } let a = []; a.g();", ""),
        ("let t = \"x\"; t.pad(9_000_000, 'x'); let all = []; for i in 0..900 { all.push(t + i); }", "bytes"),
        (
            "let t = \"x\"; t.pad(1_000_000, 'x'); fn f(x) {} let all = []; for i in 0..900 { all.push(Fn(\"f\").curry(t + i)); }",
            "bytes that are allowed",
        ),
        ("let t = \"x\"; t.pad(100_000, 'x'); let u = t; for i in 0..9 { u.replace(\"x\", t); }", "Length of string"),
        ("let t = \"x\"; t.pad(100_000, 'x'); t.replace('x', t);", "Length of string"),
        ("let t = \"x\"; t.pad(4_000_000, 'x'); doc.x = t.split(\"\");", "Size of array"),
        ("let t = \"x\"; t.pad(4_000_000, ' '); doc.x = t.split(' ');", "Size of array"),
        ("let t = \"x\"; t.pad(4_000_000, 'x'); doc.x = t.to_chars();", "Size of array"),
        ("let t = \"[\"; t.pad(3_000_000, '['); doc.x = parse_json(t);", "Length of string"),
        ("let a = [1]; a.pad(99_000, [1, 2, 3, 4, 5, 6, 7, 8, 9]);", "Size of array"),
        ("let t = \"x\"; t.pad(5_000_000, 'x'); throw t;", "x…"),
    ];

    #[test]
    fn hostile_functions_end_with_a_word_on_the_limit() {
        for (text, words) in ATTACKS {
            let begun = Instant::now();
            // Those that any limit may end are not waited for as long as a server waits.
            let time_max = if words.is_empty() { TIME_MAX / 10 } else { TIME_MAX };
            let function = Function::within(time_max, text, None).expect("it compiles");
            let document = super::super::Document { line: b"{\"id\":1}", primary_key: "id" };
            let edit = || document.edit(&function).map_err(|error| error.to_string());
            let edited = super::super::on_a_thread(edit).unwrap_or_else(|error| panic!("{text}: {error}"));
            let message = edited.expect_err(text);
            assert!(message.contains(words), "{text}: {message}");
            assert!(message.len() < 2_000, "{text}");
            assert!(begun.elapsed() < Duration::from_secs(20), "{text}: {:?}", begun.elapsed());
        }
    }

    #[test]
    fn values_that_hold_on_to_themselves_are_not_left_without_end() {
        let text = "let a = #{t: \"x\"}; a.t.pad(100_000, 'x'); let f = || a; a.f = f;";
        let function = Function::new(text, None).expect("it compiles");
        let document = super::super::Document { line: b"{\"id\":1}", primary_key: "id" };
        let edit = || (0..10_000).find_map(|_| document.edit(&function).err());
        let failure = super::super::on_a_thread(edit).expect("no panic").map(|error| error.to_string());
        assert!(failure.as_ref().is_none_or(|failure| failure.contains("hold on to themselves")), "{failure:?}");
        assert!(failure.is_some());
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
        assert!(function.run(rhai::Map::new(), 2).is_err());
        assert!(failure("context.a").contains("Variable not found"), "no context was given");
    }
}
