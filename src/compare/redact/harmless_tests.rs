use super::*;

#[test]
fn forms_that_no_secret_has_are_shown() {
    for word in [
        "55.55.55.55",
        "10.0.3.7",
        "10.0.0.0/24",
        "10.0.3.7:6443",
        "10.0.0.10-10.0.0.20",
        "fd00::1",
        "[fd00::1]:6443",
        "fd00::/64",
        "00:1a:4a:16:01:51",
        ":6443",
        "3",
        "-1",
        "0644",
        "25%",
        "1.5",
        "100Mi",
        "500m",
        "2G",
        "10m0s",
        "24h",
        "1h30m",
        "250ms",
        "v1.31.0",
        "1.31.4+rke2r1",
        "v1.32.0-rc.1",
        "v3.27.3-build20240423",
        "v1beta1",
        "true",
        "null",
        "NoSchedule",
        "IfNotPresent",
        "registry.k8s.io/pause:3.9",
        "docker.io/rancher/rke2-runtime:v1.31.4-rke2r1",
        "rancher/hardened-calico:v3.29.0",
        "/etc/kubernetes/manifests/kube-vip.yaml",
        "/var/lib/rancher/rke2",
        "/dev/vda1",
        "~/.bashrc",
        "/",
        "registry.example.org",
        "registry.example.org:5000",
        "https://10.0.3.7:9345",
        "https://keystone.example.org:5000/v3",
        "http://images/new.qcow2",
        "$HOME",
        "${NODE_IP}",
        "--node-ip",
        "eth0",
        "ens192",
        "bond0",
        "kube-apiserver",
        "net.ipv4.ip_forward",
        "systemctl",
        "daemon-reload",
        "&&",
        "2026-11-21T12:00:00Z",
        ".svc.cluster.local",
        "node-role.kubernetes.io/worker",
        "*.example.org",
        "unix:///run/containerd/containerd.sock",
        "NOTICE".trim_start_matches("NOTICE"),
    ] {
        assert!(is_harmless(word), "{word}");
    }
}

#[test]
fn what_could_be_a_secret_is_not() {
    for word in [
        "hunter2",
        "Tr0ub4dor&3",
        "canary07oldZq7Xw",
        "correct",
        "calvin",
        "Rancher123!",
        "kubernetes2024",
        "AdminRancher",
        "Y2FuYXJ5",
        "c2VjcmV0LXRleHQ=",
        "abcdef.0123456789abcdef",
        "monkey.dragon",
        "user:hunter2",
        "/9j/4AAQSkZJRgABAQ",
        "/etc/canary07Zq7Xw",
        "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX",
        "https://user:pw@example.org",
        "https://example.org/?token=x",
        "550e8400-e29b-41d4-a716-446655440000",
        "d3b07384d113edec49eaa6238ad5ff00",
        "12345678901234",
        "$ecret",
        "-psecret",
        "1.0-hunter2",
        "P@ssw0rd",
        "!@#$%^&*",
        "admin",
        "secret",
        "AKIAIOSFODNN7EXAMPLE",
        "ghcr.io/canary07Zq7Xw/a",
        "canary.hunter2:9x",
        "s3cr3t.example.c0m",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    ] {
        assert!(!is_harmless(word), "{word}");
    }
}

#[test]
fn plain_names_are_told_from_what_was_drawn_by_lot() {
    for name in [
        "nodeAddressAutodetectionV4",
        "m1.large",
        "eu-west-1a",
        "ubuntu-22.04-kube-v1.31.0",
        "kind:v2",
        "Standard_D4s_v3",
        "edge-1-md0-93b1d0ee5c",
        "",
    ] {
        assert!(is_plain_name(name), "{name}");
    }
    for name in
        ["canary07oldZq7Xw", "user:hunter2", "two words", "d3b07384d113edec49eaa6238ad5ff00", "p@ss", "http://u:p@h"]
    {
        assert!(!is_plain_name(name), "{name}");
    }
}

#[test]
fn what_people_choose_by_name_is_shown_and_what_is_drawn_by_lot_is_not() {
    for text in [
        "ami-0abcdef1234567890",
        "sg-903004f8",
        "/subscriptions/12345678-1234-1234-1234-123456789012/resourceGroups/rg/providers/Microsoft.Compute/images/x",
        "arn:aws:iam::123456789012:instance-profile/nodes.cluster-api-provider-aws.sigs.k8s.io",
        "ocid1.image.oc1.iad.aaaaaaaagqwnnhhcudhcrjk2vozhyk2dfkyufjmy6odrcjudtbpp5qxcnlna",
        "md5:d41d8cd98f00b204e9800998ecf8427e",
        "[datastore1] templates/ubuntu.vmdk",
        "/DC0/host/cluster1/Resources/pool",
        "PodSecurity,NodeRestriction",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHmZl1k7tq0bJ6nJpRWn3rq1w0Yyq0tJ8d2c8yX1Zq9a ops@x",
    ] {
        assert!(is_chosen(text) || is_harmless(text), "{text}");
    }
    for text in [
        "hunter2Qq7",
        "a,hunter2Qq7",
        "/hunter2Qq7/x",
        "/hunter2Qq7",
        "[a] hunter2Qq7",
        "ssh-ed25519 hunter2Qq7 x",
        "a,",
        "AKIAIOSFODNN7EXAMPLE",
        "abcdef.0123456789abcdef",
        "ami-0abcdef12345678901234",
        "aHVudGVyMnE=",
    ] {
        let shown = is_chosen(text) && !super::super::shapes::is_token(text) || is_harmless(text);
        assert!(!shown, "{text}");
    }
}
