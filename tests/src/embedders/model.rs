//! A model that the tests run themselves.

use super::*;

/// Knows cats from dogs.
pub(crate) struct Model {
    pub(super) url: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// That came since they were last looked at.
    texts: Mutex<Vec<String>>,
    manner: Mutex<Manner>,
    changed: Condvar,
}

/// How it answers; `None` is how it should.
#[derive(Default)]
pub(super) struct Manner {
    /// Answers this status to everything.
    pub(super) status: Option<u16>,
    /// Refuses requests with a text that holds this word.
    pub(super) refuses: Option<&'static str>,
    /// Its vectors have so many numbers, not two.
    pub(super) dimensions: Option<usize>,
    /// Leaves requests with a text that holds this word waiting until that changes.
    pub(super) holds: Option<&'static str>,
}

impl Model {
    pub(crate) fn start() -> Model {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}/embed", listener.local_addr().expect("a bound address"));
        let shared = Arc::new(Shared::default());
        let of_server = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&of_server);
                std::thread::spawn(move || answer(&stream, &shared));
            }
        });
        Model { url, shared }
    }

    pub(super) fn be(&self, manner: Manner) {
        *self.shared.manner.lock().expect("no thread panicked") = manner;
        self.shared.changed.notify_all();
    }

    pub(super) fn fail(&self, status: u16) {
        self.be(Manner { status: Some(status), ..Manner::default() });
    }

    /// The texts that came since the last call, sorted.
    pub(super) fn take_texts(&self) -> Vec<String> {
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

fn answer(stream: &TcpStream, shared: &Shared) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body: Value = serde_json::from_slice(&body).ok()?;
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
    let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let mut stream = stream;
    stream.write_all((head + &body).as_bytes()).ok()
}
