package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"

	"rollgate.dev/oracle/walker"
)

// comparison is what a test gave to one comparison: a line of a file that capture.sh writes.
type comparison struct {
	Test                string         `json:"test"`
	KubeadmControlPlane map[string]any `json:"KubeadmControlPlane"`
	Machine             map[string]any `json:"Machine"`
	KubeadmConfig       map[string]any `json:"KubeadmConfig"`
	Unstructured        map[string]any `json:"Unstructured"`
	MachineTemplateSpec map[string]any `json:"MachineTemplateSpec"`
	// Wanted is the template that the owner has now.
	Wanted map[string]any `json:"MachineTemplateSpec+"`
}

func comparisons(file string) ([]comparison, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []comparison
	scanner := bufio.NewScanner(f)
	scanner.Buffer(nil, 1<<24)
	for scanner.Scan() {
		one := comparison{}
		if err := json.Unmarshal(scanner.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, one)
	}
	return all, scanner.Err()
}

// framed is an owner with what it lacks to be valid, down to the specs of templates.
func framed(kind, apiVersion string, object map[string]any) map[string]any {
	owner := map[string]any{}
	if object != nil {
		owner = walker.ToMap(object)
	}
	owner["apiVersion"], owner["kind"] = apiVersion, kind
	delete(owner, "status")
	metadata, _ := owner["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	owner["metadata"] = metadata
	for _, gone := range []string{"creationTimestamp", "managedFields", "resourceVersion", "uid", "generation", "ownerReferences"} {
		delete(metadata, gone)
	}
	metadata["name"], metadata["namespace"] = "demo", "default"
	fill(owner, walker.ToMap(map[string]any{"spec": specs[kind]}))
	spec := owner["spec"].(map[string]any)
	if template, is := spec["template"].(map[string]any); is {
		spec["clusterName"] = template["spec"].(map[string]any)["clusterName"]
	}
	return owner
}

// bare takes the blocks of a kubeadm configuration away that say nothing: in Go they are values, and the server refuses them.
func bare(owner map[string]any) {
	spec := owner["spec"].(map[string]any)
	config, _ := spec["kubeadmConfigSpec"].(map[string]any)
	for _, key := range []string{"clusterConfiguration", "initConfiguration", "joinConfiguration"} {
		if block, is := config[key].(map[string]any); is && len(block) == 0 {
			delete(config, key)
		}
	}
	if len(config) == 0 {
		delete(spec, "kubeadmConfigSpec")
	}
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

func reference(group, kind string) map[string]any {
	return map[string]any{"apiGroup": group, "kind": kind, "name": "demo"}
}

// specs are what owners cannot do without.
var specs = map[string]map[string]any{
	"KubeadmControlPlane": {
		"version":         "v1.31.4",
		"machineTemplate": map[string]any{"spec": map[string]any{"infrastructureRef": reference("infrastructure.cluster.x-k8s.io", "DockerMachineTemplate")}},
	},
	"MachineDeployment": {
		"clusterName": "demo", "selector": map[string]any{},
		"template": map[string]any{"spec": map[string]any{
			"clusterName": "demo", "infrastructureRef": reference("infrastructure.cluster.x-k8s.io", "DockerMachineTemplate"),
			"bootstrap": map[string]any{"configRef": reference("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate")},
		}},
	},
}
