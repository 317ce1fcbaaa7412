package main

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
)

// act is something that happens beside the release.
func (w *walk) act() {
	all := w.world.dump(false)
	switch n := w.Intn(20); {
	case n < 11:
		if one := w.one(all, "Machine"); one != nil {
			w.machine(name(one))
		}
	case n < 16:
		if one := w.one(all, "MachineSet"); one != nil {
			w.set(name(one))
		}
	case n < 17:
		if one := w.one(all, "MachineDeployment"); one != nil {
			w.orphan(one, all)
		}
	case n < 18:
		one := w.one(all, "KubeadmControlPlane")
		w.change(one, func(u *unstructured.Unstructured) {
			set(u.Object, pick(w, "v1.33.0", "v1.34.0", "v1.35.0"), "spec", "version")
			if w.Intn(2) == 0 {
				set(u.Object, text(u.Object, "spec", "version"), "status", "version")
			}
		})
	default:
		if one := w.one(all, "MachineDeployment", "MachineHealthCheck", "MachineSet"); one != nil {
			w.change(one, func(u *unstructured.Unstructured) {
				set(u.Object, w.maybe(""), "metadata", "annotations", clusterv1.PausedAnnotation)
			})
		}
	}
}

func (w *walk) change(one object, by func(u *unstructured.Unstructured)) {
	u := &unstructured.Unstructured{Object: one}
	ctx := context.Background()
	must(w.world.Get(ctx, client.ObjectKeyFromObject(u), u))
	by(u)
	must(client.IgnoreNotFound(w.world.Update(ctx, u)))
}

func (w *walk) machine(name string) {
	ctx := context.Background()
	machine := &clusterv1.Machine{}
	must(w.world.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, machine))
	before := machine.DeepCopy()
	if machine.Annotations == nil {
		machine.Annotations = map[string]string{}
	}
	hang := clusterv1.PreDrainDeleteHookAnnotationPrefix + "/hunt"
	switch n := w.Intn(16); {
	case n < 3:
		sick := metav1.Condition{Type: "Sick", Status: pick(w, metav1.ConditionTrue, metav1.ConditionTrue, metav1.ConditionFalse), Reason: "Hunt",
			LastTransitionTime: metav1.NewTime(time.Now().Add(-10 * time.Minute).Truncate(time.Second))}
		conditions.Set(machine, sick)
		must(w.world.Status().Patch(ctx, machine, client.MergeFrom(before)))
		return
	case n < 5:
		must(w.world.Delete(ctx, machine))
		return
	case n < 7:
		machine.Annotations[hang] = ""
		must(w.world.Patch(ctx, machine, client.MergeFrom(before)))
		if w.Intn(2) == 0 {
			must(w.world.Delete(ctx, machine))
		}
		return
	case n < 8:
		delete(machine.Annotations, hang)
	case n < 10:
		machine.Labels["pool"] = pick(w, "pool-a", "pool-b", "pool-c", "other")
	case n < 11:
		delete(machine.Labels, pick(w, clusterv1.MachineDeploymentUniqueLabel, clusterv1.MachineSetNameLabel, clusterv1.MachineDeploymentNameLabel, "pool"))
	case n < 13:
		machine.OwnerReferences = nil
	default:
		mark := pick(w, told...)
		if w.Intn(3) == 0 {
			delete(machine.Annotations, mark)
		} else {
			machine.Annotations[mark] = ""
		}
	}
	must(w.world.Patch(ctx, machine, client.MergeFrom(before)))
}

func (w *walk) set(name string) {
	ctx := context.Background()
	one := &clusterv1.MachineSet{}
	must(w.world.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, one))
	before := one.DeepCopy()
	if one.Annotations == nil {
		one.Annotations = map[string]string{}
	}
	switch w.Intn(9) {
	case 0, 1:
		replicas := int32(w.Intn(4))
		one.Spec.Replicas = &replicas
	case 2:
		delete(one.Annotations, clusterv1.PausedAnnotation)
	case 3:
		one.Annotations[clusterv1.PausedAnnotation] = ""
	case 4:
		one.Annotations[clusterv1.DisableMachineCreateAnnotation] = pick(w, "true", "false")
	case 5:
		one.OwnerReferences = nil
	case 6:
		delete(one.Labels, pick(w, clusterv1.MachineDeploymentNameLabel, "pool"))
	case 7:
		one.Labels["pool"] = pick(w, "pool-a", "pool-b", "other")
	default:
		must(w.world.Delete(ctx, one))
		return
	}
	must(client.IgnoreNotFound(w.world.Patch(ctx, one, client.MergeFrom(before))))
}

// orphan deletes a MachineDeployment and leaves its MachineSets.
func (w *walk) orphan(group object, all []object) {
	for _, one := range all {
		references, _ := one["metadata"].(object)["ownerReferences"].([]any)
		for _, reference := range references {
			if text(one, "kind") == "MachineSet" && text(reference.(object), "uid") == text(group, "metadata", "uid") {
				w.change(one, func(u *unstructured.Unstructured) { u.SetOwnerReferences(nil) })
			}
		}
	}
	w.change(group, func(u *unstructured.Unstructured) { u.SetFinalizers(nil) })
	_ = w.world.Delete(context.Background(), &unstructured.Unstructured{Object: group})
}
