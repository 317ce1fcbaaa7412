package main

import (
	"context"
	"reflect"
	"strings"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	_ "sigs.k8s.io/cluster-api/core/reconcilers/machine" // for setUpToDateCondition
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
)

// A Machine with this annotation does not come up.
const stuck = "hunt/stuck"

// machines stands for the controllers of Machines, of their infrastructure and of their bootstrap: Machines come up and go away at once.
func (w *world) machines(ctx context.Context) {
	cluster := &clusterv1.Cluster{}
	if w.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "demo"}, cluster) != nil {
		return
	}
	list := &clusterv1.MachineList{}
	must(w.List(ctx, list))
	if w.deleted {
		w.deleted = false
		w.collect(ctx)
	}
	for i := range list.Items {
		machine := &list.Items[i]
		if annotations.IsPaused(cluster, machine) {
			continue
		}
		if machine.DeletionTimestamp.IsZero() {
			w.lives(ctx, cluster, machine)
		} else {
			w.goes(ctx, machine)
		}
	}
}

func hangs(machine *clusterv1.Machine) bool {
	for key := range machine.Annotations {
		if strings.HasPrefix(key, clusterv1.PreDrainDeleteHookAnnotationPrefix) {
			return true
		}
	}
	return false
}

func (w *world) goes(ctx context.Context, machine *clusterv1.Machine) {
	if hangs(machine) {
		return
	}
	for _, kind := range []int{2, 4} {
		part := &unstructured.Unstructured{}
		part.SetGroupVersionKind(loose[kind])
		part.SetNamespace(namespace)
		part.SetName(machine.Spec.InfrastructureRef.Name)
		if kind == 4 {
			part.SetName(machine.Spec.Bootstrap.ConfigRef.Name)
		}
		_ = w.Delete(ctx, part)
	}
	_ = w.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: machine.Name}})
	before := machine.DeepCopy()
	controllerutil.RemoveFinalizer(machine, clusterv1.MachineFinalizer)
	must(client.IgnoreNotFound(w.Patch(ctx, machine, client.MergeFrom(before))))
}

func (w *world) lives(ctx context.Context, cluster *clusterv1.Cluster, machine *clusterv1.Machine) {
	before := machine.DeepCopy()
	controllerutil.AddFinalizer(machine, clusterv1.MachineFinalizer)
	if machine.Labels == nil {
		machine.Labels = map[string]string{}
	}
	machine.Labels[clusterv1.ClusterNameLabel] = machine.Spec.ClusterName
	if metav1.GetControllerOf(machine) == nil && !util.HasOwner(machine.OwnerReferences, clusterv1.GroupVersion.String(), []string{"Cluster"}) {
		machine.OwnerReferences = util.EnsureOwnerRef(machine.OwnerReferences, metav1.OwnerReference{
			APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: cluster.Name, UID: cluster.UID})
	}
	if !reflect.DeepEqual(before, machine) {
		must(w.Patch(ctx, machine, client.MergeFrom(before)))
	}
	w.own(ctx, machine, loose[2].Kind, machine.Spec.InfrastructureRef.Name)
	w.own(ctx, machine, loose[4].Kind, machine.Spec.Bootstrap.ConfigRef.Name)
	set, group := w.owners(ctx, machine)
	if _, waits := machine.Annotations[stuck]; waits && !machine.Status.NodeRef.IsDefined() {
		before = machine.DeepCopy()
		if setUpToDateCondition(ctx, machine, set, group); !reflect.DeepEqual(before, machine) {
			must(w.Status().Patch(ctx, machine, client.MergeFrom(before)))
		}
		return
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: machine.Name}}
	if w.Get(ctx, client.ObjectKeyFromObject(node), node) != nil && !machine.Status.NodeRef.IsDefined() {
		must(w.Create(ctx, node))
	}
	before = machine.DeepCopy()
	machine.Status.NodeRef.Name = machine.Name
	machine.Status.Phase = string(clusterv1.MachinePhaseRunning)
	machine.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	machine.Status.Initialization.BootstrapDataSecretCreated = ptr.To(true)
	well := !conditions.IsFalse(machine, clusterv1.MachineHealthCheckSucceededCondition) && !conditions.IsFalse(machine, clusterv1.MachineOwnerRemediatedCondition)
	for _, kind := range []string{clusterv1.MachineInfrastructureReadyCondition, clusterv1.MachineBootstrapConfigReadyCondition,
		clusterv1.MachineNodeHealthyCondition, clusterv1.MachineReadyCondition, clusterv1.MachineAvailableCondition} {
		status := metav1.ConditionTrue
		if !well && (kind == clusterv1.MachineReadyCondition || kind == clusterv1.MachineAvailableCondition) {
			status = metav1.ConditionFalse
		}
		conditions.Set(machine, metav1.Condition{Type: kind, Status: status, Reason: "Hunt", LastTransitionTime: metav1.NewTime(machine.CreationTimestamp.Time)})
	}
	setUpToDateCondition(ctx, machine, set, group)
	if !reflect.DeepEqual(before, machine) {
		must(w.Status().Patch(ctx, machine, client.MergeFrom(before)))
	}
}

// own gives what was cloned for a Machine to it.
func (w *world) own(ctx context.Context, machine *clusterv1.Machine, kind, called string) {
	for _, each := range loose {
		if each.Kind != kind || called == "" {
			continue
		}
		part := &unstructured.Unstructured{}
		part.SetGroupVersionKind(each)
		if w.Get(ctx, client.ObjectKey{Namespace: namespace, Name: called}, part) != nil || metav1.GetControllerOf(part) != nil {
			continue
		}
		part.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(machine, clusterv1.GroupVersion.WithKind("Machine"))})
		must(w.Update(ctx, part))
	}
}

// owners gives the MachineSet of a Machine and its MachineDeployment.
func (w *world) owners(ctx context.Context, machine *clusterv1.Machine) (*clusterv1.MachineSet, *clusterv1.MachineDeployment) {
	set, group := &clusterv1.MachineSet{}, &clusterv1.MachineDeployment{}
	owner := metav1.GetControllerOf(machine)
	if owner == nil || w.Get(ctx, client.ObjectKey{Namespace: namespace, Name: owner.Name}, set) != nil {
		return nil, nil
	}
	if owner = metav1.GetControllerOf(set); owner == nil || w.Get(ctx, client.ObjectKey{Namespace: namespace, Name: owner.Name}, group) != nil {
		return set, nil
	}
	return set, group
}

// collect deletes what is left over from owners that are gone, as the garbage collector does.
func (w *world) collect(ctx context.Context) {
	there := map[string]bool{}
	all := w.dump(false)
	for _, one := range all {
		there[text(one, "metadata", "uid")] = true
	}
	for _, one := range all {
		u := &unstructured.Unstructured{Object: one}
		left := len(u.GetOwnerReferences()) > 0 && u.GetDeletionTimestamp() == nil
		for _, owner := range u.GetOwnerReferences() {
			left = left && !there[string(owner.UID)]
		}
		if left {
			_ = w.Delete(ctx, u)
		}
	}
}

// What the controller of Machines says of a Machine and its template.
//
//go:linkname setUpToDateCondition sigs.k8s.io/cluster-api/core/reconcilers/machine.setUpToDateCondition
func setUpToDateCondition(ctx context.Context, machine *clusterv1.Machine, set *clusterv1.MachineSet, group *clusterv1.MachineDeployment)
