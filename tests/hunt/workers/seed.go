package main

import (
	"context"
	"fmt"
	"math/rand"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
)

// begun is when the first object of a cluster was made: before anything that is written to it, and so late that no Machine is missed yet.
func begun() time.Time { return time.Now().Add(-9 * time.Minute).Truncate(time.Second).UTC() }

func meta(name string) object { return object{"name": name, "namespace": namespace} }

func reference(group, kind, name string) object {
	return object{"apiGroup": group + ".cluster.x-k8s.io", "kind": kind, "name": name}
}

func made(one object) object {
	m := one["metadata"].(object)
	m["uid"] = "uid-" + name(one)
	m["creationTimestamp"] = begun().Format(time.RFC3339)
	m["generation"] = int64(1)
	return one
}

// around is what every cluster has and no release writes.
func around() []object {
	return []object{
		made(object{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevCluster", "metadata": meta("demo"), "spec": object{}}),
		made(object{"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane", "metadata": meta("cp"),
			"spec":   object{"replicas": int64(1), "version": "v1.34.0"},
			"status": object{"version": "v1.34.0", "replicas": int64(1), "upToDateReplicas": int64(1), "availableReplicas": int64(1), "readyReplicas": int64(1)}}),
	}
}

func cluster() object {
	return object{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": meta("demo"), "spec": object{
		"controlPlaneRef":   reference("controlplane", "KubeadmControlPlane", "cp"),
		"infrastructureRef": reference("infrastructure", "DevCluster", "demo"),
	}}
}

func machineTemplate(name string) object {
	return object{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevMachineTemplate", "metadata": meta(name),
		"spec": object{"template": object{"spec": object{"backend": object{"inMemory": object{}}}}}}
}

func configTemplate(name string) object {
	return object{"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfigTemplate", "metadata": meta(name),
		"spec": object{"template": object{"spec": object{"joinConfiguration": object{"nodeRegistration": object{"name": name}}}}}}
}

func workers(kind, name string, replicas int) object {
	labels := func() object { return object{"pool": name} }
	return object{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind, "metadata": meta(name), "spec": object{
		"clusterName": "demo", "replicas": int64(replicas), "selector": object{"matchLabels": labels()},
		"template": object{"metadata": object{"labels": labels()}, "spec": object{
			"clusterName": "demo", "version": "v1.34.0",
			"bootstrap":         object{"configRef": reference("bootstrap", "KubeadmConfigTemplate", "one")},
			"infrastructureRef": reference("infrastructure", "DevMachineTemplate", "one"),
		}},
	}}
}

func check(pool string) object {
	return object{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineHealthCheck", "metadata": meta("check-" + pool), "spec": object{
		"clusterName": "demo", "selector": object{"matchLabels": object{"pool": pool}},
		"checks": object{"nodeStartupTimeoutSeconds": int64(600),
			"unhealthyMachineConditions": []any{object{"type": "Sick", "status": "True", "timeoutSeconds": int64(0)}}},
	}}
}

// release is what a walk begins with: a Cluster, one to three groups of workers, perhaps checks of their health.
func release(r *rand.Rand) []object {
	objects := []object{cluster(), machineTemplate("one"), machineTemplate("two"), configTemplate("one"), configTemplate("two")}
	for i := range 1 + r.Intn(3) {
		kind := "MachineDeployment"
		if r.Intn(4) == 0 {
			kind = "MachineSet"
		}
		pool := fmt.Sprintf("pool-%c", 'a'+rune(i))
		objects = append(objects, workers(kind, pool, r.Intn(4)))
		if r.Intn(2) == 0 {
			objects = append(objects, check(pool))
		}
	}
	return objects
}

// initialized says of the Cluster that its control plane and its infrastructure are there.
func (w *world) initialized() {
	one := &clusterv1.Cluster{}
	must(w.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: "demo"}, one))
	before := one.DeepCopy()
	one.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	one.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
	for _, kind := range []string{clusterv1.ClusterInfrastructureReadyCondition, clusterv1.ClusterControlPlaneInitializedCondition, clusterv1.ClusterControlPlaneAvailableCondition} {
		conditions.Set(one, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Hunt", LastTransitionTime: metav1.NewTime(begun())})
	}
	must(w.Status().Patch(context.Background(), one, client.MergeFrom(before)))
}
