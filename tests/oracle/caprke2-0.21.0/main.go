// Command oracle records how CAPRKE2 0.21 answers changes of its objects: its webhooks and
// rke2.ControlPlane.MachinesNeedingRollout.
package main

import (
	"context"

	"github.com/rancher/cluster-api-provider-rke2/controlplane/recorder"
	"github.com/rancher/cluster-api-provider-rke2/pkg/rke2"
	"sigs.k8s.io/cluster-api/util/collections"
)

func main() {
	recorder.Main(func(owner *rke2.ControlPlane) collections.Machines {
		return owner.MachinesNeedingRollout(context.Background())
	}, nil)
}
