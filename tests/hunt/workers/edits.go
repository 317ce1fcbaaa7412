package main

import (
	"fmt"
	"math/rand"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// walk is a cluster, its release and the chance that leads on from there.
type walk struct {
	*rand.Rand
	world    *world
	release  []object
	past     [][]object
	folder   string
	finished bool
}

func pick[T any](w *walk, of ...T) T { return of[w.Intn(len(of))] }

func set(one object, value any, path ...string) {
	if value == nil {
		unstructured.RemoveNestedField(one, path...)
		return
	}
	if unstructured.SetNestedField(one, value, path...) != nil {
		unstructured.RemoveNestedField(one, path[0])
	}
}

// one picks an object of some kinds.
func (w *walk) one(objects []object, kinds ...string) object {
	var found []object
	for _, each := range objects {
		if slices.Contains(kinds, text(each, "kind")) {
			found = append(found, each)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[w.Intn(len(found))]
}

// maybe is a value, or none.
func (w *walk) maybe(value any) any {
	if w.Intn(3) == 0 {
		return nil
	}
	return value
}

// Annotations that the controllers read.
var told = []string{clusterv1.PausedAnnotation, "cluster.x-k8s.io/skip-remediation", clusterv1.RemediateMachineAnnotation,
	clusterv1.DeleteMachineAnnotation, stuck, clusterv1.DisableMachineCreateAnnotation}

// edit changes a release, and says what kind of change it was.
func (w *walk) edit(next []object) (string, []object) {
	group := w.one(next, "MachineDeployment", "MachineSet")
	check := w.one(next, "MachineHealthCheck")
	switch n := w.Intn(100); {
	case n < 14 && group != nil:
		set(group, int64(w.Intn(5)), "spec", "replicas")
		return "replicas", next
	case n < 34 && group != nil:
		return "template", w.template(next, group)
	case n < 44:
		return "paused", w.pause(next)
	case n < 52 && group != nil && text(group, "kind") == "MachineDeployment":
		return "strategy", w.strategy(next, group)
	case n < 60 && group != nil:
		return "labels", w.labels(next, group)
	case n < 72:
		return "health check", w.check(next, check)
	case n < 78 && group != nil:
		set(group, w.maybe(""), "spec", "template", "metadata", "annotations", pick(w, told...))
		return "marks", next
	case n < 83 && group != nil:
		mark := pick(w, "machineset.cluster.x-k8s.io/skip-preflight-checks", clusterv1.DisableMachineCreateAnnotation, clusterv1.PausedAnnotation, "machinedeployment.clusters.x-k8s.io/revision")
		value := "All"
		if mark == "machinedeployment.clusters.x-k8s.io/revision" {
			value = pick(w, "1", "2", "7")
		}
		set(group, w.maybe(value), "metadata", "annotations", mark)
		return "annotations", next
	case n < 89:
		return "removed", w.remove(next)
	case n < 94 && len(w.past) > 0:
		return "rollback", copied(w.past[w.Intn(len(w.past))])
	case n < 98 && group != nil:
		w.refused(group)
		return "refused", next
	}
	return "nothing", next
}

func (w *walk) template(next []object, group object) []object {
	spec := func(value any, path ...string) { set(group, value, append([]string{"spec", "template"}, path...)...) }
	switch w.Intn(12) {
	case 0, 1:
		spec(pick(w, "one", "two", "two", "lost"), "spec", "infrastructureRef", "name")
	case 2:
		spec(pick(w, "one", "two", "lost"), "spec", "bootstrap", "configRef", "name")
	case 3, 4:
		spec(pick(w, "v1.33.0", "v1.34.0", "v1.34.1", "1.33.0", "v1.35.0"), "spec", "version")
	case 5:
		spec(w.maybe(pick(w, "gold", "silver")), "metadata", "labels", "tier")
	case 6:
		spec(w.maybe("x"), "metadata", "annotations", "note")
	case 7:
		spec(w.maybe(pick(w, "a", "b")), "spec", "failureDomain")
	case 8:
		spec(w.maybe(int64(w.Intn(3)*30)), "spec", "deletion", "nodeDrainTimeoutSeconds")
	case 9:
		spec(w.maybe(int64(w.Intn(2))), "spec", "minReadySeconds")
	case 10:
		spec(w.maybe([]any{object{"key": "k.example.com/a", "value": "b", "effect": "NoSchedule", "propagation": pick(w, "Always", "OnInitialization")}}), "spec", "taints")
	default:
		spec(w.maybe([]any{object{"conditionType": "Extra"}}), "spec", "readinessGates")
	}
	if w.Intn(4) == 0 {
		set(group, int64(w.Intn(5)), "spec", "replicas")
	}
	return next
}

func (w *walk) pause(next []object) []object {
	switch one := w.one(next, "Cluster", "MachineDeployment", "MachineSet", "MachineHealthCheck"); {
	case one == nil:
	case text(one, "kind") == "Cluster" && w.Intn(4) > 0:
		set(one, w.maybe(true), "spec", "paused")
	case text(one, "kind") == "MachineDeployment" && w.Intn(2) == 0:
		set(one, w.maybe(true), "spec", "paused")
	default:
		set(one, w.maybe(""), "metadata", "annotations", clusterv1.PausedAnnotation)
	}
	return next
}

func (w *walk) strategy(next []object, group object) []object {
	switch w.Intn(8) {
	case 0, 1:
		set(group, object{"type": pick(w, "OnDelete", "RollingUpdate")}, "spec", "rollout", "strategy")
	case 2:
		amounts := object{"maxSurge": pick[any](w, int64(1), int64(2), "50%", int64(0)), "maxUnavailable": pick[any](w, int64(0), int64(1), "50%", int64(3))}
		set(group, object{"type": "RollingUpdate", "rollingUpdate": amounts}, "spec", "rollout", "strategy")
	case 3, 4:
		when := pick(w, "2020-01-01T00:00:00Z", w.world.clock.Add(time.Second).UTC().Format(time.RFC3339), "2099-01-01T00:00:00Z")
		set(group, w.maybe(when), "spec", "rollout", "after")
	case 5:
		set(group, w.maybe(pick[any](w, int64(0), int64(1), "50%")), "spec", "remediation", "maxInFlight")
	case 6:
		set(group, w.maybe(pick(w, "Oldest", "Newest", "Random")), "spec", "deletion", "order")
	default:
		set(group, w.maybe(pick(w, "{{ .machineSet.name }}-x-{{ .random }}")), "spec", "machineNaming", "template")
	}
	return next
}

// labels moves what a group selects and what it gives its Machines.
func (w *walk) labels(next []object, group object) []object {
	pool := pick(w, "pool-a", "pool-b", "pool-c", "other")
	switch w.Intn(5) {
	case 0:
		set(group, pool, "spec", "selector", "matchLabels", "pool")
	case 1:
		set(group, pool, "spec", "template", "metadata", "labels", "pool")
	case 2:
		value := w.maybe("x")
		set(group, value, "spec", "selector", "matchLabels", "more")
		set(group, value, "spec", "template", "metadata", "labels", "more")
	default:
		set(group, pool, "spec", "selector", "matchLabels", "pool")
		set(group, pool, "spec", "template", "metadata", "labels", "pool")
	}
	return next
}

func (w *walk) check(next []object, one object) []object {
	if one == nil || w.Intn(6) == 0 {
		pool := pick(w, "pool-a", "pool-b", "pool-c")
		if keyed(next)["MachineHealthCheck/check-"+pool] == nil {
			next = append(next, check(pool))
		}
		return next
	}
	sick := func(field string, value any) {
		set(one, []any{func() object {
			condition := object{"type": "Sick", "status": "True", "timeoutSeconds": int64(0)}
			condition[field] = value
			return condition
		}()}, "spec", "checks", "unhealthyMachineConditions")
	}
	switch w.Intn(8) {
	case 0:
		set(one, w.maybe(pick[any](w, int64(0), int64(1), "40%", "100%")), "spec", "remediation", "triggerIf", "unhealthyLessThanOrEqualTo")
	case 1:
		set(one, w.maybe(pick(w, "[1-2]", "[0-1]", "[3-5]")), "spec", "remediation", "triggerIf", "unhealthyInRange")
	case 2:
		sick("timeoutSeconds", pick(w, int64(0), int64(60), int64(100000)))
	case 3:
		sick("type", pick(w, "Sick", "Other"))
	case 4:
		sick("status", pick(w, "True", "False"))
	case 5:
		set(one, pick(w, "pool-a", "pool-b", "pool-c"), "spec", "selector", "matchLabels", "pool")
	case 6:
		set(one, pick(w, int64(0), int64(30), int64(600), int64(999999)), "spec", "checks", "nodeStartupTimeoutSeconds")
	default:
		set(one, w.maybe(""), "metadata", "annotations", clusterv1.PausedAnnotation)
	}
	return next
}

func (w *walk) remove(next []object) []object {
	one := w.one(next, "MachineDeployment", "MachineSet", "MachineHealthCheck", "DevMachineTemplate", "KubeadmConfigTemplate")
	if one == nil || w.Intn(3) == 0 {
		pool := pick(w, "pool-a", "pool-b", "pool-c")
		all := keyed(next)
		for _, back := range []object{workers("MachineDeployment", pool, w.Intn(3)), machineTemplate(pick(w, "one", "two", "lost")), configTemplate(pick(w, "one", "two", "lost"))} {
			if all[key(back)] == nil && (text(back, "kind") != "MachineDeployment" || all["MachineSet/"+pool] == nil) {
				next = append(next, back)
			}
		}
		return next
	}
	return slices.DeleteFunc(next, func(each object) bool { return key(each) == key(one) })
}

// refused writes what the webhooks do not take.
func (w *walk) refused(group object) {
	kinds := 5
	if text(group, "kind") != "MachineDeployment" {
		kinds = 4
	}
	switch w.Intn(kinds) {
	case 0:
		set(group, "1.x", "spec", "template", "spec", "version")
	case 1:
		set(group, "elsewhere", "spec", "clusterName")
	case 2:
		set(group, "Nothing", "metadata", "annotations", "machineset.cluster.x-k8s.io/skip-preflight-checks")
	case 3:
		set(group, nil, "spec", "template", "spec", "bootstrap", "configRef")
	default:
		set(group, fmt.Sprint(w.Intn(3), " %"), "spec", "rollout", "strategy", "rollingUpdate", "maxSurge")
	}
}

// trimmed leaves out maps that hold nothing, which no schema takes.
func trimmed(objects []object) []object {
	for _, one := range objects {
		empty(one["spec"].(object))
	}
	return objects
}

func empty(one object) {
	for key, value := range one {
		if inner, ok := value.(object); ok {
			if empty(inner); len(inner) == 0 && key != "inMemory" {
				delete(one, key)
			}
		}
	}
}
