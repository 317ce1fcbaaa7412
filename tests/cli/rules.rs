//! Rules of a user: in the policy, in a pack beside it, looked through, explained.

use super::{MACHINE_DEPLOYMENT, Program};

const PACK: &str = "pack: ours
provider: cluster-api
source: the storage team
kinds: [{group: cluster.x-k8s.io, kind: MachineDeployment}]
rules:
  - {id: ours/drain, paths: [spec.template.spec.nodeDrainTimeout], effect: rollout, because: Ask the storage team.}
";

fn program(pack: &str) -> Program {
    let program = Program::new();
    program.file("live.yaml", MACHINE_DEPLOYMENT);
    program.file("new.yaml", &MACHINE_DEPLOYMENT.replace("5m0s", "9m0s"));
    program.file("pack.yaml", pack);
    program
}

#[test]
fn a_pack_makes_the_verdict_stricter_and_is_named() {
    let program = program(PACK);
    let plan = ["plan", "new.yaml", "--live", "live.yaml", "--policy", "none"];
    assert_eq!(program.run(&plan, b"").code, Some(0));
    let ran = program.run(&[&plan[..], &["--pack", "pack.yaml"]].concat(), b"");
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("Ask the storage team. [ours/drain]"), "{}", ran.stdout);
    assert!(ran.stdout.contains("policy built-in, pack.yaml"), "{}", ran.stdout);
}

#[test]
fn the_rule_of_a_pack_is_explained() {
    let ran = program(PACK).run(&["explain", "ours/drain", "--pack", "pack.yaml"], b"");
    assert!(ran.code == Some(0) && ran.stdout.contains("the storage team"), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_pack_is_looked_through() {
    let ran = program(PACK).run(&["explain", "--check-pack", "pack.yaml"], b"");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "pack.yaml: 1 rules, nothing is wrong with them\n"));
    let ran =
        program(&PACK.replace("effect: rollout", "effect: none")).run(&["explain", "--check-pack", "pack.yaml"], b"");
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("pack.yaml: rules[0].effect: ours/drain: the effect none makes nothing stricter"),
        "{}",
        ran.stderr
    );
    assert!(ran.stdout.is_empty());
}

#[test]
fn a_broken_pack_stops_the_plan() {
    let program = program(&PACK.replace("paths:", "path:"));
    let ran = program.run(&["plan", "new.yaml", "--live", "live.yaml", "--policy", "none", "--pack", "pack.yaml"], b"");
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("pack.yaml: rules[0].path: there is no such field here; did you mean `paths`?"),
        "{}",
        ran.stderr
    );
    assert!(ran.stdout.is_empty());
}
