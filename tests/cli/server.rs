//! A small API server: HTTP/1.1 as a client of Kubernetes speaks it, answered by whatever a test puts behind it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// What a server says.
pub(super) trait Answers: Send + 'static {
    /// The status and the content for one request.
    fn answer(&mut self, method: &str, path: &str, body: &[u8]) -> (u16, Value);

    /// Sees the headers of a request before it is answered, in lower case.
    fn headers(&mut self, _: &[String]) {}
}

/// Starts a server, and gives its address.
pub(super) fn listen<A: Answers>(held: &Arc<Mutex<A>>) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let held = Arc::clone(held);
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let held = Arc::clone(&held);
            std::thread::spawn(move || drop(one(connection, &held)));
        }
    });
    address
}

/// Starts a server, and gives a kubeconfig for it.
pub(super) fn serve<A: Answers>(held: &Arc<Mutex<A>>, namespace: &str) -> String {
    let address = listen(held);
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
         contexts: [{{name: c, context: {{cluster: c, user: u, namespace: {namespace}}}}}]\n\
         clusters: [{{name: c, cluster: {{server: 'http://{address}'}}}}]\nusers: [{{name: u, user: {{}}}}]\n"
    )
}

/// The list of groups, with the one that no API server lacks.
pub(super) fn groups(more: &[&str]) -> Value {
    let group =
        |name: &&str| json!({"name": name, "versions": [{"groupVersion": format!("{name}/v1"), "version": "v1"}]});
    let all: Vec<Value> = ["apiextensions.k8s.io"].iter().chain(more).map(group).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": all})
}

/// What a real API server says of an object that is not there.
pub(super) fn missing(name: &str) -> (u16, Value) {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404,
        "metadata": {}, "details": {"name": name}, "message": format!("{name:?} not found")});
    (404, status)
}

/// What a real API server says of something that the user may not read.
pub(super) fn forbidden(path: &str) -> (u16, Value) {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403,
        "metadata": {}, "message": format!("{path} is forbidden")});
    (403, status)
}

/// Answers the requests of one connection.
fn one<A: Answers>(connection: TcpStream, held: &Mutex<A>) -> std::io::Result<()> {
    let mut reader = BufReader::new(connection.try_clone()?);
    let mut writer = connection;
    loop {
        let (mut line, mut length) = (String::new(), 0);
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut headers = Vec::new();
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            if header.trim().is_empty() {
                break;
            }
            let header = header.trim().to_lowercase();
            if let Some(text) = header.strip_prefix("content-length:") {
                length = text.trim().parse().unwrap_or(0);
            }
            headers.push(header);
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let (code, value) = {
            let mut held = held.lock().expect("no panic");
            held.headers(&headers);
            held.answer(&method, &path, &body)
        };
        let text = value.to_string();
        // One piece: the second of two waits until the first is acknowledged, which takes 40 ms.
        let head =
            format!("HTTP/1.1 {code} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", text.len());
        writer.write_all((head + &text).as_bytes())?;
    }
}
