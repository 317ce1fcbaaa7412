// What the recorders of Cluster API share. Their own go.mod files say in which versions; the path lets them call what
// lies in the internal packages of the kubeadm control plane provider and of Cluster API.
module sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder

go 1.21
