// Command oracle records how Cluster API 1.9 answers changes of its objects: its webhooks,
// KubeadmControlPlane's internal.UpToDate and MachineDeployment's mdutil.FindNewMachineSet.
package main

import (
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder/v1beta1"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder/v1beta1/uptodate"
)

func main() { v1beta1.Main(uptodate.Calls()) }
