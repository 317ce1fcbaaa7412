// Package tables turns what a provider's own tests asked its webhooks into kinds for the walker: an object that a test began
// with becomes a base, and what it then wrote a case of it. The answers are not taken from the tests. They are what the steps
// of an API server give for the same two objects, with schemas, defaults and conversions around the webhook.
package tables

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	"rollgate.dev/oracle/walker"
)

// asked is one call of a webhook by a test: a line of a file that capture.sh writes.
type asked struct {
	// Test is the name of the test function.
	Test       string `json:"test"`
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	// Old is missing where the test made a new object.
	Old map[string]any `json:"old,omitempty"`
	New map[string]any `json:"new"`
}

// Kinds gives the kinds of a file, one for each base; only are the names of those that are wanted, all where there are none. Bases
// that the server refuses are left out; how many, it prints.
func Kinds(file string, server *walker.Server, only ...string) ([]walker.Kind, error) {
	lines, err := read(file)
	if err != nil {
		return nil, err
	}
	b := &builder{server: server, taken: map[string]map[string]any{}, names: map[string]int{}}
	wanted := map[string]bool{}
	for _, name := range only {
		wanted[name] = true
	}
	for _, group := range byTest(lines) {
		if len(only) == 0 || wanted[group[0].Kind] {
			b.test(group)
		}
	}
	fmt.Printf("%d bases, %d cases, %d objects whose own base the server does not take\n", len(b.kinds), b.cases, b.lost)
	return b.kinds, nil
}

func read(file string) ([]asked, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var lines []asked
	scanner := bufio.NewScanner(f)
	scanner.Buffer(nil, 1<<24)
	for scanner.Scan() {
		one := asked{}
		if err := json.Unmarshal(scanner.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		lines = append(lines, one)
	}
	return lines, scanner.Err()
}

// byTest keeps the order of the file.
func byTest(lines []asked) [][]asked {
	var groups [][]asked
	at := map[string]int{}
	for _, one := range lines {
		key := one.Kind + " " + one.APIVersion + " " + one.Test
		if _, known := at[key]; !known {
			at[key] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[key]] = append(groups[at[key]], one)
	}
	return groups
}

type builder struct {
	server *walker.Server
	kinds  []walker.Kind
	// taken is an object that the server took, by kind and version: a base for tests that have none.
	taken map[string]map[string]any
	names map[string]int
	cases int
	lost  int
}

// test makes the bases of one test: the old objects that it names, and for the objects that it made anew the first one that the
// server takes, of which the others are then changes. Each object is tried as it is and with what it lacks to be valid.
func (b *builder) test(lines []asked) {
	group, version, _ := strings.Cut(lines[0].APIVersion, "/")
	crd := b.server.CRD(group, lines[0].Kind)
	if crd == nil || crd.Versions[version] == nil || !crd.Versions[version].Served {
		return
	}
	var news []map[string]any
	var first map[string]any
	type change struct{ old, new map[string]any }
	var changes []change
	for _, one := range lines {
		if hasClass(one.Old) || hasClass(one.New) {
			continue
		}
		for _, object := range variants(one.Kind, one.APIVersion, one.New) {
			news = append(news, object)
			if first == nil && b.takes(object) {
				first = object
			}
		}
		if one.Old == nil || reflect.DeepEqual(one.Old, one.New) {
			continue
		}
		olds, news := variants(one.Kind, one.APIVersion, one.Old), variants(one.Kind, one.APIVersion, one.New)
		for i := range olds {
			changes = append(changes, change{olds[i], news[i]})
		}
	}
	kind := lines[0].Kind + " " + lines[0].APIVersion
	if first == nil {
		first = b.taken[kind]
	}
	b.taken[kind] = first
	for _, object := range news {
		if first != nil && !reflect.DeepEqual(first, object) {
			changes = append(changes, change{first, object})
		}
	}
	var order []map[string]any
	of := map[string][]map[string]any{}
	seen := map[string]bool{}
	for _, one := range changes {
		if !b.takes(one.old) {
			if b.lost++; first == nil {
				continue
			}
			one.old = first
		}
		key := text(one.old)
		if of[key] == nil {
			order = append(order, one.old)
		}
		if !seen[key+text(one.new)] {
			seen[key+text(one.new)] = true
			of[key] = append(of[key], one.new)
		}
	}
	for _, base := range order {
		b.base(group, lines[0], version, base, of[text(base)])
	}
}

// base adds one base with its cases.
func (b *builder) base(group string, one asked, version string, base map[string]any, news []map[string]any) {
	name := one.Test
	if b.names[one.Kind+version+name]++; b.names[one.Kind+version+name] > 1 {
		name = fmt.Sprintf("%s-%d", name, b.names[one.Kind+version+name])
	}
	b.cases += len(news)
	b.kinds = append(b.kinds, walker.Kind{
		Group: group, Kind: one.Kind, Versions: []string{version},
		Bases: []walker.Base{{Name: name, NoWalk: true, Prepare: func(_ string, obj map[string]any) {
			for key, value := range copied(base) {
				obj[key] = value
			}
		}}},
		Pairs: func(string, map[string]any) []walker.Case {
			var cases []walker.Case
			for i, object := range news {
				cases = append(cases, walker.Many(fmt.Sprint(i+1), Patch(base, object)...))
			}
			return cases
		},
	})
}

// hasClass says whether a Cluster names a class, which the server looks for and which is not there.
func hasClass(object map[string]any) bool {
	spec, _ := object["spec"].(map[string]any)
	return spec["topology"] != nil
}

// takes says whether the server takes a new object.
func (b *builder) takes(object map[string]any) bool {
	_, rejection := b.server.Create(object)
	return rejection == nil
}

// variants are an object as a test has it, and with what it lacks to be valid.
func variants(kind, apiVersion string, object map[string]any) []map[string]any {
	plain := copied(object)
	plain["apiVersion"], plain["kind"] = apiVersion, kind
	metadata, _ := plain["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	plain["metadata"] = metadata
	for _, gone := range []string{"creationTimestamp", "managedFields", "resourceVersion", "uid", "generation", "ownerReferences"} {
		delete(metadata, gone)
	}
	if metadata["name"] = "demo"; metadata["namespace"] == nil {
		metadata["namespace"] = "default"
	}
	delete(plain, "status")
	framed := copied(plain)
	fill(framed, frame(kind, apiVersion))
	return []map[string]any{plain, framed}
}

// fill adds what is missing, down to the specs of templates; every other value stays whole. Go's types of v1beta1 write a reference
// and a name also where they say nothing.
func fill(object, frame map[string]any) {
	for key, value := range frame {
		have, is := object[key]
		nothing := key == "infrastructureRef" && reflect.DeepEqual(have, map[string]any{}) || key == "clusterName" && have == ""
		if !is || nothing {
			object[key] = value
			continue
		}
		inner, isMap := have.(map[string]any)
		outer, _ := value.(map[string]any)
		if isMap && outer != nil && (key == "spec" || key == "template" || key == "machineTemplate") {
			fill(inner, outer)
		}
	}
}

// frame is what an object of a kind cannot do without.
func frame(kind, apiVersion string) map[string]any {
	ref := func(group, kind string) map[string]any {
		if strings.HasSuffix(apiVersion, "/v1beta1") {
			return map[string]any{"apiVersion": group + "/v1beta1", "kind": kind, "name": "demo"}
		}
		return map[string]any{"apiGroup": group, "kind": kind, "name": "demo"}
	}
	const infra = "infrastructure.cluster.x-k8s.io"
	machine := func(kind string) map[string]any {
		return map[string]any{
			"clusterName": "demo", "infrastructureRef": ref(infra, kind),
			"bootstrap": map[string]any{"configRef": ref("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate")},
		}
	}
	template := func() map[string]any {
		return map[string]any{"clusterName": "demo", "template": map[string]any{"spec": machine("DockerMachineTemplate")}}
	}
	selector := map[string]any{"matchLabels": map[string]any{"example.com/a": "b"}}
	spec := map[string]any{}
	switch kind {
	case "Machine":
		spec = machine("DockerMachine")
	case "MachineSet", "MachineDeployment":
		spec = template()
		spec["selector"] = map[string]any{}
	case "MachinePool":
		spec = template()
	case "MachineHealthCheck":
		spec = map[string]any{"clusterName": "demo", "selector": selector}
	case "ClusterResourceSet":
		spec = map[string]any{"clusterSelector": selector, "resources": []any{map[string]any{"kind": "Secret", "name": "demo"}}}
	case "KubeadmControlPlane":
		ref := ref(infra, "DockerMachineTemplate")
		at := map[string]any{"infrastructureRef": ref}
		if !strings.HasSuffix(apiVersion, "/v1beta1") {
			at = map[string]any{"spec": at}
		}
		spec = map[string]any{"version": "v1.31.4", "machineTemplate": at, "kubeadmConfigSpec": map[string]any{"clusterConfiguration": map[string]any{}}}
	}
	return map[string]any{"spec": spec}
}

// Patch makes one object of another; lists are whole values.
func Patch(old, new map[string]any) []walker.Op {
	ops := []walker.Op{}
	patch("", old, new, &ops)
	return ops
}

func patch(at string, old, new map[string]any, ops *[]walker.Op) {
	for _, key := range keys(old, new) {
		place := at + "/" + strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
		before, was := old[key]
		after, is := new[key]
		left, isMap := before.(map[string]any)
		right, both := after.(map[string]any)
		switch {
		case !is:
			*ops = append(*ops, walker.Remove(place))
		case was && isMap && both && len(left) > 0:
			patch(place, left, right, ops)
		case !was || !reflect.DeepEqual(before, after):
			*ops = append(*ops, walker.Set(place, after))
		}
	}
}

func keys(sides ...map[string]any) []string {
	all := map[string]bool{}
	for _, side := range sides {
		for key := range side {
			all[key] = true
		}
	}
	var sorted []string
	for key := range all {
		sorted = append(sorted, key)
	}
	sort.Strings(sorted)
	return sorted
}

func text(object map[string]any) string {
	raw, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func copied(object map[string]any) map[string]any { return walker.Decode([]byte(text(object))) }
