//! The API server itself stops in the middle of a read: for a moment, for a restart, or for good.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::bench::{Bench, Restarted, own};
use crate::login::{kubeconfig, write};
use crate::look::{Verdict, look, verdict};
use crate::matrix::post_render;

/// Time that `post_render` gives the read, and what closing may take on a busy machine.
const DEADLINE: Duration = Duration::from_secs(6);
const LATE: Duration = Duration::from_secs(1);

#[test]
fn an_api_server_that_stands_still_is_waited_for_and_one_that_dies_is_a_doubt() {
    let Some(bench) = own("killed") else { return };
    let stream = bench.rendered();
    // Asked while it stands still, the read is surely under way when the server comes to life or dies.
    let during = |signals: [&str; 2]| {
        bench.signal(signals[0]);
        std::thread::scope(|scope| {
            let run = scope.spawn(|| {
                let start = Instant::now();
                (post_render(&bench, &bench.kubeconfig, &stream), start.elapsed())
            });
            std::thread::sleep(Duration::from_millis(800));
            bench.signal(signals[1]);
            run.join().expect("it ran")
        })
    };
    let ((code, out, err), _) = during(["-STOP", "-CONT"]);
    assert_eq!((code, out.as_str()), (Some(0), stream.as_str()), "{err}");
    let ((code, out, err), time) = during(["-STOP", "-KILL"]);
    assert_eq!((code, out.as_str()), (Some(4), ""), "{err}");
    assert!(time < DEADLINE + LATE, "{time:?}");
}

/// So many bytes of answers have come through when the server is killed: the list of groups and some of the kinds.
const UNDER_WAY: usize = 24_000;

#[test]
fn an_api_server_that_is_killed_and_started_again_is_waited_for() {
    let Some(bench) = own("restarted") else { return };
    let stream = bench.rendered();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let clean = look(&stream, &bench.kubeconfig, Duration::from_secs(60)).await;
        let relay = Relay { bench: &bench, passed: AtomicUsize::new(0), again: Mutex::new(None) };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let mut config = kubeconfig(&bench);
        let cluster = &mut config["clusters"][0]["cluster"];
        let port = listener.local_addr().expect("an address").port();
        let before = cluster["server"].as_str().expect("an address").to_owned();
        cluster["server"] = format!("https://127.0.0.1:{port}").into();
        let file = write(&bench, "relayed", &config);
        let server = before.trim_start_matches("https://");
        let found = tokio::select! {
            found = look(&stream, &file, Duration::from_secs(90)) => found,
            () = relay.serve(&listener, server) => unreachable!("it serves until the read ends"),
        };
        assert!(relay.again.lock().expect("not poisoned").is_some(), "the server was killed in the middle");
        assert_eq!(verdict(&clean, &found), Verdict::Right, "{:?}", found.world.unread);
    });
}

/// Passes bytes on, and has the server restarted when enough of them have come back.
struct Relay<'b> {
    bench: &'b Bench,
    passed: AtomicUsize,
    again: Mutex<Option<Restarted>>,
}

impl Relay<'_> {
    async fn serve(&self, listener: &TcpListener, server: &str) {
        let mut open = futures_util::stream::FuturesUnordered::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => open.push(self.pass(accepted.expect("a connection").0, server)),
                Some(_) = futures_util::StreamExt::next(&mut open), if !open.is_empty() => {}
            }
        }
    }

    async fn pass(&self, mut client: TcpStream, server: &str) -> std::io::Result<()> {
        let mut server = TcpStream::connect(server).await?;
        // Where nobody listens, a socket that happens to get the same port connects with itself, and keeps the port.
        if server.local_addr()? == server.peer_addr()? {
            return Err(std::io::ErrorKind::ConnectionRefused.into());
        }
        let ((mut from_client, mut to_client), (mut from_server, mut to_server)) = (client.split(), server.split());
        let back = async {
            let mut bytes = [0; 2048];
            loop {
                let read = from_server.read(&mut bytes).await?;
                let before = self.passed.fetch_add(read, Ordering::SeqCst);
                if before < UNDER_WAY && before + read >= UNDER_WAY {
                    *self.again.lock().expect("not poisoned") = Some(self.bench.restart());
                }
                if read == 0 {
                    return Ok(());
                }
                to_client.write_all(&bytes[..read]).await?;
            }
        };
        tokio::select! {
            done = tokio::io::copy(&mut from_client, &mut to_server) => done.map(drop),
            done = back => done,
        }
    }
}
