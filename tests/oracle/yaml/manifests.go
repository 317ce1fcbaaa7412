package main

import "strings"

const controlPlane = `# Source: cluster/templates/control-plane.yaml
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: RKE2ControlPlane
metadata:
  name: mgmt-cp
  namespace: "sylva-system"
  labels: {cluster.x-k8s.io/cluster-name: mgmt, app.kubernetes.io/managed-by: Helm}
  annotations:
    helm.sh/resource-policy: keep
    checksum/config: 0e2712
spec:
  replicas: 3
  version: v1.31.5+rke2r1
  rolloutStrategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: 1
  nodeDrainTimeout: 10m
  serverConfig:
    cni: calico
    tlsSan: [ "55.55.55.55", mgmt.example.org ]
  files:
  - path: /var/lib/rancher/rke2/server/manifests/rke2-calico-config.yaml
    owner: root:root
    permissions: "0644"
    content: |
      apiVersion: helm.cattle.io/v1
      kind: HelmChartConfig
      spec:
        valuesContent: |-
          installation:
            calicoNetwork:
              nodeAddressAutodetectionV4:
                canReach: 55.55.55.55
  - path: /etc/rancher/hook.sh
    permissions: '0755'
    content: "#!/bin/sh\n\tip=\"55.55.55.55\"\nexit 0  \n"
  preRKE2Commands:
    - sysctl -w net.ipv4.ip_forward=1   # routing
    - >-
      echo one
      two
    -  'echo it''s done'
  agentConfig:
    kubelet:
      extraArgs:
      - max-pods=150
      - "feature-gates=A=true,B=false"
    nodeAnnotations: {}
`

const kubeadm = `apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: demo-cp, namespace: default, annotations: {postrenderer.helm.sh/postrender-filename: 'demo/templates/a.yaml'}}
spec:
  version: 1.30
  replicas: 0x3
  machineTemplate:
    nodeDrainTimeout: 0s
    infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerMachineTemplate, name: "demo-cp-1a2b"}
  kubeadmConfigSpec:
    clusterConfiguration:
      apiServer:
        extraArgs: {cloud-provider: external, "audit-log-maxage": "30", oidc-issuer-url: https://login.example.org:8443/x?y=z}
        certSANs:
        - localhost
        - 127.0.0.1
        - ::1
    initConfiguration:
      nodeRegistration: &reg
        name: '{{ ds.meta_data.hostname }}'
        kubeletExtraArgs:
          eviction-hard: 'nodefs.available<0%,imagefs.available<0%'
          node-labels: on=off
    joinConfiguration:
      nodeRegistration:
        <<: *reg
        taints: []
    users:
    - name: capi
      sudo: ALL=(ALL) NOPASSWD:ALL
      lockPassword: no
      sshAuthorizedKeys:
      - ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFake user@host
    ntp: {enabled: yes, servers: [0.pool.ntp.org, 1.pool.ntp.org]}
    mounts:
    - - LABEL=etcd_disk
      - /var/lib/etcd
    preKubeadmCommands:
    - hostnamectl set-hostname "{{ ds.meta_data.hostname }}"
    - echo "::1         ipv6-localhost ipv6-loopback localhost6" >/etc/hosts
    - |
      cat <<EOF > /etc/x
      a: [1, 2]
      EOF
`

const machines = `---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata:
    name: md-0
    labels:
        "cluster.x-k8s.io/cluster-name": demo
        empty:
        number: 1e3
spec:
    clusterName: demo
    replicas: 05
    selector: {matchLabels: null}
    strategy: {rollingUpdate: {maxSurge: 25%, maxUnavailable: 0}}
    template:
        spec:
            bootstrap: {dataSecretName: ''}
            failureDomain: nova
            version: "v1.30.4"
            nodeDeletionTimeout: 1:30
            providerID:
`

// manifests: real shapes, and each with one line taken out, indented, or cut, so that errors are recorded too.
func manifests() (out []string) {
	for _, m := range []string{controlPlane, kubeadm, machines} {
		out = append(out, m, strings.ReplaceAll(m, "\n", "\r\n"), strings.TrimSuffix(m, "\n"), strings.ReplaceAll(m, "  ", "   "), strings.ReplaceAll(m, "'", "\""))
		lines := strings.SplitAfter(m, "\n")
		for i := range lines {
			without := strings.Join(lines[:i], "") + strings.Join(lines[i+1:], "")
			deeper := strings.Join(lines[:i], "") + "  " + strings.Join(lines[i:], "")
			cut := strings.Join(lines[:i], "") + lines[i][:len(lines[i])/2]
			out = append(out, without, deeper, cut)
		}
	}
	return out
}

func streams() []string {
	return []string{"", "\n", "a: 1\n", "---\na: 1\n", "a: 1\n---\nb: 2\n", "---\na: 1\n---\nb: 2\n---\n", "---\n---\n---\na: 1\n", "a: 1\n---\n---\nb: 2\n", "# c\n---\na: 1\n", "---\n# Source: x/templates/a.yaml\na: 1\n---\n# Source: x/templates/b.yaml\n# only a comment\n---\n# Source: x/templates/c.yaml\nb: 2\n", "a: 1\n--- # c\nb: 2\n", "a: 1\n---   \nb: 2\n", "a: 1\n---\t\nb: 2\n", "a: 1\n---# c\nb: 2\n", "---# c\na: 1\n", "a: 1\n---b: 2\n", "---a: 1\n", "--- a: 1\n", "--- {a: 1}\n", "--- !!map\na: 1\n", "----\na: 1\n", "a: 1\n----\nb: 2\n", "a: 1\n --- \nb: 2\n", "a: 1\n---\r\nb: 2\r\n", "a: 1\r\n---\r\nb: 2\r\n", "\ufeffa: 1\n---\n\ufeffb: 2\n", "a: |\n  x\n---\nb: 2\n", "a: |\n  ---\n  x\n---\nb: 2\n", "a: \"x\n---\ny\"\n", "a: 'x\n---\ny'\n", "a: 1\n...\n---\nb: 2\n", "a: 1\n---\n!!\n", "%YAML 1.1\n---\na: 1\n", "a: 1\n---\n%YAML 1.1\n---\nb: 2\n", "{\"a\": 1}\n---\n{\"b\": 2}\n", "null\n---\na: 1\n", "a: 1\n---\n- b\n---\nc\n", "a: &x 1\n---\nb: *x\n", "a: 1\n---\na: [\n---\nb: 2\n", "a: 1\n\n\n---\n\n\nb: 2\n\n", controlPlane + "---\n" + kubeadm + machines, machines + "---\n" + machines}
}
