// What the recorders of CAPRKE2 share. Their own go.mod files say in which versions; the path lets them call what lies in
// the internal packages of the control plane provider.
module github.com/rancher/cluster-api-provider-rke2/controlplane/recorder

go 1.21
