//! What files, variables, programs and web servers give.

use super::*;
use crate::tree::json;

fn policy(from: Value) -> Policy {
    let value = json!({"apiVersion": "rollgate.dev/v1alpha1", "kind": "Policy",
        "lateValues": [{"name": "vip", "from": from}, {"name": "other", "from": [{"env": "OTHER"}]}]});
    crate::policy::parse("p", value.to_string().as_bytes()).expect("a policy")
}

/// What the sources of one late value give, in a folder and with variables.
async fn read(from: Value, folder: &Path, env: &[(&str, &str)]) -> Vec<SourceReading> {
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    local(&policy(from), &BTreeSet::from(["vip".to_owned()]), folder, &env).await
}

#[tokio::test]
async fn files_and_variables_are_read_for_the_asked_values_only() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("vip.txt"), "\n 10.0.3.7 \n").expect("a file");
    let from = json!([{"file": "none.txt"}, {"file": "vip.txt"}, {"env": "VIP"}, {"env": "UNSET"}]);
    let readings = read(from, folder.path(), &[("VIP", "10.0.3.8\n"), ("OTHER", "x")]).await;
    let found: Vec<_> =
        readings.into_iter().map(|reading| (reading.place, reading.source, reading.found, reading.unread)).collect();
    let expected = [
        (0, "file none.txt", None),
        (1, "file vip.txt", Some("10.0.3.7")),
        (2, "env VIP", Some("10.0.3.8")),
        (3, "env UNSET", None),
    ]
    .map(|(place, source, found)| (place, source.to_owned(), found.map(str::to_owned), None));
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_value_is_picked_out_of_yaml_json_and_variables() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [
        ("a.yaml", "outputs:\n  vip: 10.0.3.7\n  port: 6443\n"),
        ("a.json", "{\"outputs\": {\"vip\": \"10.0.3.7\"}}"),
        ("a.env", "# comment\nexport VIP=\"10.0.3.7\"\nOTHER=x # why\n"),
        ("broken.yaml", "a: {"),
    ] {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    for (file, path, expected) in [
        ("a.yaml", "$.outputs.vip", Ok(Some("10.0.3.7"))),
        ("a.yaml", "$.outputs.port", Ok(Some("6443"))),
        ("a.json", "$.outputs.vip", Ok(Some("10.0.3.7"))),
        ("a.env", "VIP", Ok(Some("10.0.3.7"))),
        ("a.env", "OTHER", Ok(Some("x"))),
        ("a.yaml", "$.outputs.fip", Ok(None)),
        ("a.yaml", "$.outputs", Err("finds a map")),
        ("broken.yaml", "$.a", Err("neither YAML nor JSON")),
        ("none.yaml", "$.a", Ok(None)),
    ] {
        let reading = read(json!([{"file": file, "path": path}]), folder.path(), &[]).await.remove(0);
        match expected {
            Ok(found) => assert_eq!((reading.found.as_deref(), reading.unread), (found, None), "{file} {path}"),
            Err(why) => assert!(reading.unread.expect("a complaint").contains(why), "{file} {path}"),
        }
    }
    let reading = read(json!([{"file": "a.yaml", "path": "$.outputs.fip"}]), folder.path(), &[]).await.remove(0);
    assert_eq!(reading.gap, Some(Gap::KeyMissing(vec!["vip".to_owned(), "port".to_owned()])));
}

#[tokio::test]
async fn what_is_no_file_or_too_large_is_doubt() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("large"), vec![b'x'; 65 * 1024]).expect("a file");
    for file in [".", "large", "/dev/zero"] {
        assert!(read(json!([{"file": file}]), folder.path(), &[]).await[0].unread.is_some(), "{file}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_program_runs_only_where_it_is_allowed_and_within_its_limits() {
    let folder = tempfile::tempdir().expect("a folder");
    let shell = |script: &str| json!([{"exec": ["sh", "-c", script]}]);
    let refused = read(shell("echo 10.0.3.7"), folder.path(), &[]).await.remove(0);
    assert!(refused.unread.expect("refused").contains("set ROLLGATE_ALLOW_SOURCES=exec"));
    let allowed = [("ROLLGATE_ALLOW_SOURCES", "http, exec")];
    let found = read(shell("echo 10.0.3.7"), folder.path(), &allowed).await.remove(0);
    assert_eq!((found.found.as_deref(), found.source.as_str()), (Some("10.0.3.7"), "exec sh"));
    assert_eq!(read(shell("true"), folder.path(), &allowed).await[0].found, None);
    for (script, why) in
        [("echo x; exit 3", "exit status: 3"), ("yes", "more than 65536 bytes"), ("printf '\\377'", "not text")]
    {
        let unread = read(shell(script), folder.path(), &allowed).await.remove(0).unread.expect(script);
        assert!(unread.contains(why), "{script}: {unread}");
    }
}

/// A web server that answers one request.
fn server(answer: &'static str) -> String {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        if let Ok((mut stream, _)) = listener.accept() {
            let mut request = [0; 4096];
            drop(stream.read(&mut request).and_then(|_| stream.write_all(answer.as_bytes())));
        }
    });
    format!("http://{address}/vip?token=hunter2")
}

#[tokio::test]
async fn a_web_server_is_asked_only_where_that_is_allowed() {
    let folder = tempfile::tempdir().expect("a folder");
    let allowed = [("ROLLGATE_ALLOW_SOURCES", "http")];
    let refused = read(json!([{"http": {"url": "http://127.0.0.1:1/"}}]), folder.path(), &[]).await.remove(0);
    assert!(refused.unread.expect("refused").contains("set ROLLGATE_ALLOW_SOURCES=http"));
    let url = server("HTTP/1.1 200 OK\r\ncontent-length: 19\r\nconnection: close\r\n\r\n{\"vip\": \"10.0.3.7\"}");
    let found = read(json!([{"http": {"url": url}, "path": "$.vip"}]), folder.path(), &allowed).await.remove(0);
    assert_eq!((found.found.as_deref(), found.unread), (Some("10.0.3.7"), None));
    assert!(!found.source.contains("hunter2"), "{}", found.source);
    let url = server("HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno");
    let gone = read(json!([{"http": {"url": url}}]), folder.path(), &allowed).await.remove(0);
    assert_eq!((gone.found, gone.unread), (None, None));
    let url = server("HTTP/1.1 500 Oh\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno");
    let broken = read(json!([{"http": {"url": url}}]), folder.path(), &allowed).await.remove(0);
    assert_eq!(broken.unread.as_deref(), Some("it answers 500"));
}
