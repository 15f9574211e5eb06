//! Load on a running server over HTTP: latency without the cost of a client, throughput, and processor time per request.
//!
//! `cargo run --release -p lamina-benches --bin http_load -- 127.0.0.1:7700 KEY requests.ndjson [options]`
//!
//! Each line of the file is a request: `{"kind": "one_word", "path": "/indexes/films/search", "body": {"q": "dog"}}`;
//! `scripts/make-requests.py` makes such a file from a corpus. Connections are kept alive and ask one request after the other.
//!
//! * `--connections N` (default 1), `--seconds S` (default 10; without it one pass over the file).
//! * `--rate R`: requests fall due R times a second, whether the server keeps up or not, and latency counts from when a request
//!   was due. So a stall delays all requests that fell due meanwhile (no coordinated omission). Without it, each
//!   connection asks as fast as it is answered.
//! * `--by-kind`: one kind after the other, which gives processor time per kind.
//! * `--pid P`: the server's process, for its processor time.
//! * `--each FILE`: a line for each request: milliseconds since the start, kind, latency. `scripts/tails.py` draws them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The unit of the times in `/proc/PID/stat`: 100 a second on Linux.
const TICK_MS: f64 = 10.0;
const USAGE: &str = "usage: http_load ADDRESS KEY REQUESTS.ndjson [--connections N] [--seconds S] [--rate R] [--by-kind] [--pid P] [--each FILE]";

struct Options {
    address: String,
    key: String,
    file: String,
    connections: usize,
    seconds: Option<f64>,
    rate: Option<f64>,
    by_kind: bool,
    pid: Option<u32>,
    each: Option<String>,
}

impl Options {
    fn read() -> Result<Self> {
        let mut arguments = std::env::args().skip(1);
        let mut next = || arguments.next().ok_or(USAGE);
        let (address, key, file) = (next()?, next()?, next()?);
        let mut options = Self {
            address,
            key,
            file,
            connections: 1,
            seconds: None,
            rate: None,
            by_kind: false,
            pid: None,
            each: None,
        };
        while let Some(name) = arguments.next() {
            if name == "--by-kind" {
                options.by_kind = true;
                continue;
            }
            let value = arguments.next().ok_or(USAGE)?;
            match name.as_str() {
                "--connections" => options.connections = value.parse::<usize>()?.max(1),
                "--seconds" => options.seconds = Some(value.parse()?),
                "--rate" => options.rate = Some(value.parse()?),
                "--pid" => options.pid = Some(value.parse()?),
                "--each" => options.each = Some(value),
                _ => return Err(USAGE.into()),
            }
        }
        Ok(options)
    }
}

/// A request as it goes over the wire.
struct Request {
    kind: String,
    bytes: Vec<u8>,
}

fn requests(options: &Options) -> Result<Vec<Request>> {
    let mut requests = Vec::new();
    for line in std::fs::read_to_string(&options.file)?.lines() {
        let line: serde_json::Value = serde_json::from_str(line)?;
        let (Some(kind), Some(path)) = (line["kind"].as_str(), line["path"].as_str()) else {
            return Err("each line has a `kind` and a `path`".into());
        };
        let body = line.get("body").map(ToString::to_string);
        let method = if body.is_some() { "POST" } else { "GET" };
        let body = body.unwrap_or_default();
        let (host, key, length) = (&options.address, &options.key, body.len());
        let bytes = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        requests.push(Request { kind: kind.to_owned(), bytes: bytes.into_bytes() });
    }
    if requests.is_empty() { Err(format!("{}: no requests", options.file).into()) } else { Ok(requests) }
}

struct Connection(BufReader<TcpStream>);

impl Connection {
    fn open(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(Self(BufReader::with_capacity(64 << 10, stream)))
    }

    fn ask(&mut self, request: &Request, body: &mut Vec<u8>) -> Result<()> {
        self.0.get_mut().write_all(&request.bytes)?;
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        let status = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let (mut length, mut is_chunked) = (0, false);
        loop {
            line.clear();
            self.0.read_line(&mut line)?;
            let header = line.trim_end().to_ascii_lowercase();
            match header.split_once(": ") {
                Some(("content-length", value)) => length = value.parse()?,
                Some(("transfer-encoding", value)) => is_chunked = value == "chunked",
                Some(_) => {}
                None if header.is_empty() => break,
                None => return Err(format!("not a header: {header}").into()),
            }
        }
        body.clear();
        if is_chunked {
            self.chunks(body)?;
        } else {
            body.resize(length, 0);
            self.0.read_exact(body)?;
        }
        if status.starts_with('2') {
            Ok(())
        } else {
            Err(format!("{status}: {}", String::from_utf8_lossy(body)).into())
        }
    }

    fn chunks(&mut self, body: &mut Vec<u8>) -> Result<()> {
        let mut line = String::new();
        loop {
            line.clear();
            self.0.read_line(&mut line)?;
            let length = usize::from_str_radix(line.trim_end(), 16)?;
            let start = body.len();
            body.resize(start + length + 2, 0);
            self.0.read_exact(&mut body[start..])?;
            body.truncate(start + length);
            if length == 0 {
                return Ok(());
            }
        }
    }
}

/// A request that was answered.
struct Answered {
    kind: usize,
    /// Milliseconds since the start.
    at: f64,
    /// Milliseconds.
    latency: f64,
}

/// Observations of one connection.
type Seen = Vec<Answered>;

/// Asks `requests` from `connections` connections, and returns what they saw and the seconds it took.
fn run(options: &Options, requests: &[(usize, &Request)]) -> Result<(Seen, f64)> {
    let next = AtomicUsize::new(0);
    let start = Instant::now();
    let worker = || -> Result<Seen> {
        let mut connection = Connection::open(&options.address)?;
        let (mut seen, mut body) = (Vec::new(), Vec::new());
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let due = options.rate.map(|rate| start + Duration::from_secs_f64(number as f64 / rate));
            if let Some(due) = due {
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
            let is_over = match options.seconds {
                Some(seconds) => start.elapsed().as_secs_f64() >= seconds,
                None => number >= requests.len(),
            };
            if is_over {
                return Ok(seen);
            }
            let (kind, request) = requests[number % requests.len()];
            let asked = due.unwrap_or_else(Instant::now);
            connection.ask(request, &mut body)?;
            let latency = asked.elapsed().as_secs_f64() * 1e3;
            seen.push(Answered { kind, at: asked.duration_since(start).as_secs_f64() * 1e3, latency });
        }
    };
    let seen = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..options.connections).map(|_| scope.spawn(worker)).collect();
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.join().expect("a connection does not panic")?);
        }
        Result::Ok(all)
    })?;
    Ok((seen, start.elapsed().as_secs_f64()))
}

/// Processor milliseconds that the process has used.
fn processor_ms(pid: Option<u32>) -> Result<f64> {
    let Some(pid) = pid else { return Ok(f64::NAN) };
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    Ok((fields[11].parse::<f64>()? + fields[12].parse::<f64>()?) * TICK_MS)
}

fn print(name: &str, mut times: Vec<f64>, seconds: f64, processor: f64) {
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() as f64 * share) as usize).min(times.len() - 1)];
    let count = times.len();
    println!(
        "{name:20} {count:8} {:9.0} {:8.3} {:8.3} {:8.3} {:8.3} {:8.3}",
        count as f64 / seconds,
        at(0.5),
        at(0.9),
        at(0.99),
        times[count - 1],
        processor / count as f64
    );
}

fn main() -> Result<()> {
    let options = Options::read()?;
    let requests = requests(&options)?;
    let mut kinds: BTreeMap<&str, Vec<&Request>> = BTreeMap::new();
    for request in &requests {
        kinds.entry(&request.kind).or_default().push(request);
    }
    println!("kind                    count  requests/s  p50 ms   p90 ms   p99 ms   max ms   CPU ms");
    let names: Vec<&str> = kinds.keys().copied().collect();
    let kind_of = |request: &Request| names.binary_search(&request.kind.as_str()).expect("a kind of the file");
    if options.by_kind {
        for (number, name) in names.iter().enumerate() {
            let of_kind: Vec<(usize, &Request)> = kinds[name].iter().map(|request| (number, *request)).collect();
            let before = processor_ms(options.pid)?;
            let (seen, seconds) = run(&options, &of_kind)?;
            let processor = processor_ms(options.pid)? - before;
            print(name, seen.iter().map(|one| one.latency).collect(), seconds, processor);
        }
        return Ok(());
    }
    let numbered: Vec<(usize, &Request)> = requests.iter().map(|request| (kind_of(request), request)).collect();
    let before = processor_ms(options.pid)?;
    let (seen, seconds) = run(&options, &numbered)?;
    let processor = processor_ms(options.pid)? - before;
    if let Some(file) = &options.each {
        let line = |one: &Answered| format!("{:.1} {} {:.3}\n", one.at, names[one.kind], one.latency);
        std::fs::write(file, seen.iter().map(line).collect::<String>())?;
    }
    for (number, name) in names.iter().enumerate() {
        let times: Vec<f64> = seen.iter().filter(|one| one.kind == number).map(|one| one.latency).collect();
        if !times.is_empty() && names.len() > 1 {
            print(name, times, seconds, f64::NAN);
        }
    }
    if !seen.is_empty() {
        print("all", seen.iter().map(|one| one.latency).collect(), seconds, processor);
    }
    Ok(())
}
