//! The fleets of this bench on a real API server (without controllers), beside `kubectl diff`.

use crate::cost::cost;
use crate::file::{ADDRESSES, Fleet};
use crate::fill::fill;
use crate::{Smaller, rollgate, sizes, starter};

/// Fills an API server with the fleet and plans against it. Says so where the bench is not built.
pub(crate) fn measure(fleet: &Fleet, smaller: &mut Smaller) {
    let bin = match starter::find(&["kubectl"]) {
        Ok(bin) => bin,
        Err(missing) => {
            println!("skipped: online, because {missing} (make bench)");
            return;
        }
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut server = starter::start(&bin, folder.path(), &["--api-only"]);
    fill(&server.kubeconfig, fleet.layout, fleet.clusters, ADDRESSES.0);
    let (new, old) = (fleet.new.display().to_string(), fleet.old.display().to_string());
    let args = ["plan", &new, "--base", &old, "--policy", "none", "-o", "json", "--host", "helm3"];
    let cluster = [("KUBECONFIG", server.kubeconfig.as_path())];
    let plan = cost(3, &rollgate(), &args, None, &cluster);
    smaller.row("plan online", fleet, plan, None);
    let most = sizes("ROLLGATE_FLEET_DIFF", &[100]).into_iter().max().unwrap_or_default();
    if fleet.clusters <= most {
        let peer = cost(1, &bin.join("kubectl"), &["diff", "-f", &new], None, &cluster);
        smaller.row("kubectl diff", fleet, peer, Some(peer.time.as_secs_f64() / plan.time.as_secs_f64()));
    }
    drop(server.process.stdin.take());
    server.process.wait().expect("the bench ends");
}
