// Command oracle records how CAPRKE2 0.14 answers changes of its objects: its webhooks and
// rke2.ControlPlane.MachinesNeedingRollout.
package main

import (
	"github.com/rancher/cluster-api-provider-rke2/controlplane/recorder"
	"github.com/rancher/cluster-api-provider-rke2/pkg/rke2"
	"sigs.k8s.io/cluster-api/util/collections"

	"rollgate.dev/oracle/walker"
)

func main() {
	// 0.14 refuses gzip in files of any format.
	own := walker.Hints{"files.encoding": walker.Values("base64")}
	recorder.Main(func(owner *rke2.ControlPlane) collections.Machines {
		return owner.MachinesNeedingRollout()
	}, own)
}
