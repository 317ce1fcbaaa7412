// Command oracle records how Cluster API 1.12 answers changes of its objects: its webhooks,
// KubeadmControlPlane's internal.UpToDate and MachineDeployment's mdutil.FindNewAndOldMachineSets.
package main

import (
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder/v1beta2"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder/v1beta2/desired"
)

func main() { v1beta2.Main(desired.Calls()) }
