//! A model that the tests run themselves.

use super::*;
use crate::receiver::{Received, Reply, answering};

/// Knows cats from dogs.
pub(crate) struct Model {
    pub(super) url: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Texts that came since they were last looked at.
    texts: Mutex<Vec<String>>,
    manner: Mutex<Manner>,
    changed: Condvar,
}

/// Behavior of the model; `None` is the correct behavior.
#[derive(Default)]
pub(crate) struct Manner {
    /// Answers this status to everything.
    pub(crate) status: Option<u16>,
    /// Refuses requests with a text that holds this word.
    pub(crate) refuses: Option<&'static str>,
    /// Number of dimensions of its vectors, instead of two.
    pub(crate) dimensions: Option<usize>,
    /// Leaves requests with a text that holds this word waiting until that changes.
    pub(crate) holds: Option<&'static str>,
}

impl Model {
    pub(crate) fn start() -> Model {
        let shared = Arc::new(Shared::default());
        let of_server = Arc::clone(&shared);
        let url = format!("{}/embed", answering(move |request| answer(&request, &of_server)));
        Model { url, shared }
    }

    pub(crate) fn be(&self, manner: Manner) {
        *self.shared.manner.lock().expect("no thread panicked") = manner;
        self.shared.changed.notify_all();
    }

    pub(super) fn fail(&self, status: u16) {
        self.be(Manner { status: Some(status), ..Manner::default() });
    }

    /// The texts that came since the last call, sorted.
    pub(crate) fn take_texts(&self) -> Vec<String> {
        let mut texts = std::mem::take(&mut *self.shared.texts.lock().expect("no thread panicked"));
        texts.sort_unstable();
        texts
    }

    pub(crate) fn configuration(&self) -> Value {
        json!({
            "source": "rest", "url": self.url, "apiKey": "a-long-and-secret-key", "dimensions": 2,
            "documentTemplate": "{{ doc.text }}",
            "request": {"input": ["{{text}}", "{{..}}"]}, "response": {"vectors": ["{{embedding}}", "{{..}}"]}
        })
    }
}

fn answer(request: &Received, shared: &Shared) -> Option<Reply> {
    let body: Value = serde_json::from_slice(&request.body).ok()?;
    // Of a fragment, whatever its `text` says.
    let text = |input: &Value| input.as_str().or_else(|| input["text"].as_str()).map(str::to_owned);
    let texts: Vec<String> = body["input"].as_array()?.iter().map(text).collect::<Option<_>>()?;
    shared.texts.lock().expect("no thread panicked").extend(texts.iter().cloned());
    let holds = |word: Option<&str>| word.is_some_and(|word| texts.iter().any(|text| text.contains(word)));
    let manner = shared.manner.lock().expect("no thread panicked");
    let manner = shared.changed.wait_while(manner, |manner| holds(manner.holds)).expect("no thread panicked");
    let status = manner.status.unwrap_or(if holds(manner.refuses) { 400 } else { 200 });
    let dimensions = manner.dimensions.unwrap_or(2);
    drop(manner);
    let vector = |text: &String| {
        let counts = |word: &str| if text.contains(word) { 1.0 } else { 0.1 };
        let mut numbers = vec![counts("cat") + counts("kitten"), counts("dog") + counts("puppy")];
        numbers.resize(dimensions, 0.5);
        json!(numbers)
    };
    let body = json!({ "vectors": texts.iter().map(vector).collect::<Vec<_>>() }).to_string();
    Some(Reply::new(status, body))
}
