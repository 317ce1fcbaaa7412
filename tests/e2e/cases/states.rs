//! Changes to a cluster in which work waits: each case first brings the cluster into its state, then lets go what waits, or
//! does something else that must not.

use super::Edit::{Copy, Remove, Set, Unset};
use super::{Case, after};

/// Changes of the kubeadm cluster in a state.
pub(crate) const CASES: &[Case] = &[
    after(
        "paused cluster with a new version of workers: unpaused",
        &[Set("cluster", "/spec/paused", "true"), Set("md", "/spec/template/spec/version", r#""v1.34.1""#)],
        &[Unset("cluster", "/spec/paused")],
    ),
    after(
        "paused cluster: unpaused with nothing waiting",
        &[Set("cluster", "/spec/paused", "true")],
        &[Unset("cluster", "/spec/paused")],
    ),
    after(
        "paused cluster: new version of workers",
        &[Set("cluster", "/spec/paused", "true")],
        &[Set("md", "/spec/template/spec/version", r#""v1.34.1""#)],
    ),
    after(
        "paused cluster: more workers",
        &[Set("cluster", "/spec/paused", "true")],
        &[Set("md", "/spec/replicas", "2")],
    ),
    after(
        "control plane paused by annotation with a changed file: annotation removed",
        &[
            Set("kcp", "/metadata/annotations", r#"{"cluster.x-k8s.io/paused": "true"}"#),
            Set("kcp", "/spec/kubeadmConfigSpec/files/0/content", r#""changed\n""#),
        ],
        &[Unset("kcp", "/metadata/annotations")],
    ),
    after(
        "workers name a template that is missing: it arrives",
        &[Set("md", "/spec/template/spec/infrastructureRef/name", r#""workers-b""#)],
        &[Copy("template", "arrived")],
    ),
    after(
        "workers name a bootstrap template that is missing: it arrives",
        &[Set("md", "/spec/template/spec/bootstrap/configRef/name", r#""workers-b""#)],
        &[Copy("config", "arrived")],
    ),
    after(
        "control plane names a template that is missing: it arrives",
        &[Set("kcp", "/spec/machineTemplate/spec/infrastructureRef/name", r#""cp-b""#)],
        &[Copy("cp-template", "arrived")],
    ),
    after(
        "workers ahead of the control plane: preflight checks skipped",
        &[Set("md", "/spec/template/spec/version", r#""v1.35.0""#)],
        &[Set("md", "/metadata/annotations", r#"{"machineset.cluster.x-k8s.io/skip-preflight-checks": "All"}"#)],
    ),
    after("workers ahead of the control plane", &[], &[Set("md", "/spec/template/spec/version", r#""v1.35.0""#)]),
    after(
        "annotation to remediate, watched by a health check",
        &[],
        &[Set("md", "/spec/template/metadata/annotations", r#"{"cluster.x-k8s.io/remediate-machine": ""}"#)],
    ),
    after(
        "annotation to remediate, watched by nobody",
        &[Remove("mhc")],
        &[Set("md", "/spec/template/metadata/annotations", r#"{"cluster.x-k8s.io/remediate-machine": ""}"#)],
    ),
    after(
        "no health check: one over ready Nodes",
        &[Remove("mhc")],
        &[Set(
            "mhc",
            "/spec/checks/unhealthyNodeConditions",
            r#"[{"type": "Ready", "status": "False", "timeoutSeconds": 1}]"#,
        )],
    ),
    after(
        "health check by label: the label comes, and calls ready Nodes unhealthy",
        &[
            Set("mhc", "/spec/selector", r#"{"matchLabels": {"watched": "yes"}}"#),
            Set(
                "mhc",
                "/spec/checks/unhealthyNodeConditions",
                r#"[{"type": "Ready", "status": "True", "timeoutSeconds": 1}]"#,
            ),
        ],
        &[Set("md", "/spec/template/metadata/labels/watched", r#""yes""#)],
    ),
    after(
        "label that is a boolean",
        &[],
        &[Set("config", "/metadata/labels", r#"{"on": true}"#), Set("md", "/spec/replicas", "2")],
    ),
];
