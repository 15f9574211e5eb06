//! A small HTTP server that behaves as badly as a test wants: it answers, fails, redirects or stalls, and remembers.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver as Channel, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What happens to a request; `Answer(200)` to those after the last one of the script.
pub(crate) enum Behaviour {
    Answer(u16),
    /// With headers, a line each, and a body.
    Say(u16, &'static str, String),
    Redirect(String),
    /// Never answers.
    Stall,
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

pub(crate) struct Receiver {
    pub(crate) url: String,
    received: Channel<Received>,
}

impl Receiver {
    pub(crate) fn start(script: impl IntoIterator<Item = Behaviour>) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}/hook", listener.local_addr().expect("a bound address"));
        let script: Arc<Mutex<VecDeque<Behaviour>>> = Arc::new(Mutex::new(script.into_iter().collect()));
        let (sender, received) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (script, sender) = (Arc::clone(&script), sender.clone());
                std::thread::spawn(move || serve(stream, &script, &sender));
            }
        });
        Receiver { url, received }
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

fn serve(stream: TcpStream, script: &Mutex<VecDeque<Behaviour>>, sender: &Sender<Received>) {
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    let mut stream = stream;
    while let Some(received) = read(&mut reader) {
        let behaviour = script.lock().expect("no panic").pop_front().unwrap_or(Behaviour::Answer(200));
        // The test may be over.
        let _ = sender.send(received);
        let answer = match behaviour {
            Behaviour::Answer(status) => format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n"),
            Behaviour::Say(status, headers, body) => {
                format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
            }
            Behaviour::Redirect(to) => format!("HTTP/1.1 307 X\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"),
            Behaviour::Stall => {
                std::thread::sleep(Duration::from_secs(600));
                return;
            }
        };
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// The next request of a connection.
pub(crate) fn read(reader: &mut BufReader<TcpStream>) -> Option<Received> {
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
