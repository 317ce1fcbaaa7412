package written

import (
	"reflect"
	"strings"

	"rollgate.dev/oracle/walker"
)

// frame is an object with what it lacks to be valid, down to the specs of templates; every other value stays whole.
func frame(kind string, object map[string]any) map[string]any {
	if object == nil {
		return nil
	}
	framed := walker.ToMap(object)
	spec := frames[kind]
	if own, is := strings.CutSuffix(kind, "Template"); is && spec == nil {
		spec = map[string]any{"template": map[string]any{"spec": frames[own]}}
	}
	fill(framed, walker.ToMap(map[string]any{"spec": spec}))
	return framed
}

// fill adds what is missing. Go's types write a reference and a text also where they say nothing.
func fill(object, frame map[string]any) {
	for key, value := range frame {
		have, is := object[key]
		if !is || have == "" || have == nil || reflect.DeepEqual(have, map[string]any{}) {
			object[key] = value
			continue
		}
		inner, isMap := have.(map[string]any)
		outer, _ := value.(map[string]any)
		if isMap && outer != nil {
			fill(inner, outer)
		}
	}
}

// frames are what the specs of objects cannot do without; their templates hold the same.
var frames = map[string]map[string]any{
	"AWSCluster":       {"region": "eu-west-1"},
	"AWSMachine":       {"instanceType": "m5.large"},
	"OpenStackCluster": {"identityRef": map[string]any{"name": "demo", "cloudName": "demo"}},
	"OpenStackMachine": {"flavor": "small", "image": map[string]any{"filter": map[string]any{"name": "demo"}}},
	"RKE2ControlPlane": {
		"version": "v1.31.4+rke2r1", "replicas": int64(1),
		"machineTemplate": map[string]any{"infrastructureRef": map[string]any{
			"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DockerMachineTemplate", "name": "demo",
		}},
		"rolloutStrategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(1)}},
	},
	"VSphereMachine": {
		"className": "small", "imageName": "demo", "storageClass": "demo", // of the supervisor
		"template": "demo", "network": map[string]any{"devices": []any{map[string]any{"networkName": "demo", "dhcp4": true}}},
	},
}
