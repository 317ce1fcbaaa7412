//! The API server itself stops in the middle of a read: for a moment, or for good.

use std::time::{Duration, Instant};

use crate::bench::own;
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
