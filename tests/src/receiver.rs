//! Small HTTP servers that behave as badly as a test wants: they answer, fail, redirect or stall, and remember.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver as Channel, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Behavior for a request; `Answer(200)` for those after the last one of the script.
pub(crate) enum Behaviour {
    Answer(u16),
    /// With headers, a line each, and a body.
    Say(u16, &'static str, String),
    Redirect(String),
    /// Sends the same as `Say` with status 200, in chunks of one letter.
    Drip(&'static str, String),
    /// Says that more would come, and leaves.
    BreakOff(&'static str, String),
    /// Leaves at the end of the body, whose length it does not say.
    Leave(&'static str, String),
    /// Never answers.
    Stall,
}

impl Behaviour {
    fn answer(self) -> Option<(Vec<u8>, Then)> {
        let stay = |reply: Reply| Some((reply.into_bytes(), Then::Stay));
        let head = |headers: &str, more: &str| format!("HTTP/1.1 200 X\r\n{headers}{more}\r\n\r\n");
        match self {
            Behaviour::Answer(status) => stay(Reply::new(status, "")),
            Behaviour::Say(status, headers, body) => {
                stay(Reply { status, headers: headers.to_owned(), body: body.into() })
            }
            Behaviour::Redirect(to) => {
                stay(Reply { status: 307, headers: format!("Location: {to}\r\n"), body: Vec::new() })
            }
            Behaviour::Drip(headers, body) => {
                let chunks: String = body.chars().map(|char| format!("{:x}\r\n{char}\r\n", char.len_utf8())).collect();
                let head = head(headers, "Transfer-Encoding: chunked");
                Some((format!("{head}{chunks}0\r\n\r\n").into_bytes(), Then::Stay))
            }
            Behaviour::BreakOff(headers, body) => {
                let head = head(headers, &format!("Content-Length: {}", body.len() + 1));
                Some(((head + &body).into_bytes(), Then::Leave))
            }
            Behaviour::Leave(headers, body) => {
                Some(((head(headers, "Connection: close") + &body).into_bytes(), Then::Leave))
            }
            Behaviour::Stall => {
                // Longer than any test.
                std::thread::sleep(Duration::from_secs(600));
                None
            }
        }
    }
}

/// Longer than any request takes to come from a busy machine, shorter than all attempts of a webhook that stalls.
const PATIENCE: Duration = Duration::from_secs(120);

/// A request as it came.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("a text")
    }
}

/// An answer to a request.
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// A line each.
    pub(crate) headers: String,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Reply {
        Reply { status, headers: String::new(), body: body.into() }
    }

    fn into_bytes(self) -> Vec<u8> {
        let Reply { status, headers, body } = self;
        let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
        [head.as_bytes(), &body].concat()
    }
}

/// Listens as long as the tests run, and answers each request by `answer`, which closes the connection by `None`.
/// Connections have a thread each. Returns the origin.
pub(crate) fn answering(answer: impl Fn(Received) -> Option<Reply> + Send + Sync + 'static) -> String {
    listening(move |request| answer(request).map(|reply| (reply.into_bytes(), Then::Stay)))
}

/// Action on a connection after a response.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    Stay,
    Leave,
}

/// Listens like [`answering`], for responses as bytes.
fn listening(answer: impl Fn(Received) -> Option<(Vec<u8>, Then)> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let origin = format!("http://{}", listener.local_addr().expect("a bound address"));
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || serve(stream, &*answer));
        }
    });
    origin
}

fn serve(mut stream: TcpStream, answer: impl Fn(Received) -> Option<(Vec<u8>, Then)>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let (bytes, then) = answer(read(&mut reader)?)?;
        stream.write_all(&bytes).ok()?;
        if then == Then::Leave {
            return None;
        }
    }
}

pub(crate) struct Receiver {
    pub(crate) url: String,
    received: Channel<Received>,
}

impl Receiver {
    pub(crate) fn start(script: impl IntoIterator<Item = Behaviour>) -> Receiver {
        let script: Mutex<VecDeque<Behaviour>> = Mutex::new(script.into_iter().collect());
        let (sender, received) = channel();
        let origin = listening(move |request| {
            let behaviour = script.lock().expect("no panic").pop_front().unwrap_or(Behaviour::Answer(200));
            // The test may be over.
            let _ = sender.send(request);
            behaviour.answer()
        });
        Receiver { url: format!("{origin}/hook"), received }
    }

    /// The next request, in the order of arrival.
    #[track_caller]
    pub(crate) fn next(&self) -> Received {
        self.received.recv_timeout(PATIENCE).expect("a request")
    }

    /// Expects silence.
    #[track_caller]
    pub(crate) fn nothing_more(&self) {
        if let Ok(received) = self.received.recv_timeout(Duration::from_millis(300)) {
            panic!("one request too many: {received:?}");
        }
    }
}

/// The next request of a connection.
fn read(reader: &mut BufReader<TcpStream>) -> Option<Received> {
    let line = |reader: &mut BufReader<TcpStream>| {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|&length| length > 0).map(|_| line.trim_end().to_owned())
    };
    let first = line(reader)?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = Vec::new();
    loop {
        let header = line(reader)?;
        let Some((name, value)) = header.split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let find = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let mut body = Vec::new();
    if let Some(length) = find("content-length") {
        body.resize(length.parse().ok()?, 0);
        reader.read_exact(&mut body).ok()?;
    } else if find("transfer-encoding").is_some() {
        loop {
            let length = usize::from_str_radix(&line(reader)?, 16).ok()?;
            let start = body.len();
            body.resize(start + length, 0);
            reader.read_exact(&mut body[start..]).ok()?;
            line(reader)?;
            if length == 0 {
                break;
            }
        }
    }
    Some(Received { method, path, headers, body })
}
