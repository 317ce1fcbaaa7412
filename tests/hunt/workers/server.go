package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	webhooks "sigs.k8s.io/cluster-api/core/webhooks/admission"
)

// server does what an API server does and the fake client does not: uids, times, generations, and webhooks that fill in.
func (w *world) server() interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			w.stamp(obj)
			w.moved, w.rested = true, false
			return c.Create(ctx, obj, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			return w.counted(ctx, c, obj, func() error { return c.Update(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return w.counted(ctx, c, obj, func() error { return c.Patch(ctx, obj, patch, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return w.counted(ctx, c, obj, func() error { return c.Delete(ctx, obj, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return w.counted(ctx, c, obj, func() error { return c.SubResource(sub).Patch(ctx, obj, patch, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			target := obj.(interface {
				metav1.Object
				GetAPIVersion() string
				GetKind() string
			})
			u := &unstructured.Unstructured{}
			u.SetAPIVersion(target.GetAPIVersion())
			u.SetKind(target.GetKind())
			u.SetName(target.GetName())
			u.SetNamespace(target.GetNamespace())
			err := w.counted(ctx, c, u, func() error { return c.Apply(ctx, obj, opts...) })
			if err == nil {
				target.SetUID(u.GetUID())
				target.SetCreationTimestamp(u.GetCreationTimestamp())
				target.SetResourceVersion(u.GetResourceVersion())
				target.SetGeneration(u.GetGeneration())
			}
			return err
		},
	}
}

// stamp gives a new object what the server gives it; each comes a second after the one before.
func (w *world) stamp(obj client.Object) {
	obj.SetUID(types.UID(fmt.Sprintf("uid-%s-%d", obj.GetName(), w.clock.Unix())))
	w.clock = w.clock.Add(time.Second)
	obj.SetCreationTimestamp(metav1.NewTime(w.clock))
	obj.SetGeneration(1)
}

// counted writes, and sets what the server itself sets of an object that is new or whose spec became another one.
func (w *world) counted(ctx context.Context, c client.Client, obj client.Object, write func() error) error {
	kind, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return err
	}
	key := client.ObjectKeyFromObject(obj)
	before, after := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	before.SetGroupVersionKind(kind)
	after.SetGroupVersionKind(kind)
	missing := c.Get(ctx, key, before) != nil
	if err := write(); err != nil {
		return err
	}
	if c.Get(ctx, key, after) != nil {
		w.moved, w.rested, w.deleted = true, false, true
		return nil
	}
	if missing || !same(before.Object, after.Object) {
		w.moved, w.rested = true, false
	}
	switch {
	case missing:
		w.stamp(after)
		if err := filledIn(ctx, after, nil); err != nil {
			return err
		}
	case !reflect.DeepEqual(before.Object["spec"], after.Object["spec"]) || (before.GetDeletionTimestamp() == nil) != (after.GetDeletionTimestamp() == nil):
		after.SetGeneration(before.GetGeneration() + 1)
	default:
		if _, ok := obj.(*unstructured.Unstructured); ok {
			obj.SetUID(after.GetUID())
			obj.SetCreationTimestamp(after.GetCreationTimestamp())
			obj.SetGeneration(after.GetGeneration())
			obj.SetResourceVersion(after.GetResourceVersion())
		}
		return nil
	}
	if err := c.Update(ctx, after); err != nil {
		return err
	}
	obj.SetUID(after.GetUID())
	obj.SetCreationTimestamp(after.GetCreationTimestamp())
	obj.SetGeneration(after.GetGeneration())
	obj.SetResourceVersion(after.GetResourceVersion())
	return nil
}

// same compares two versions of an object without what every write changes.
func same(before, after object) bool {
	meta := func(one object) object {
		m := maps.Clone(one["metadata"].(object))
		delete(m, "resourceVersion")
		delete(m, "managedFields")
		return m
	}
	return reflect.DeepEqual(before["spec"], after["spec"]) && reflect.DeepEqual(before["status"], after["status"]) && reflect.DeepEqual(meta(before), meta(after))
}

// Cluster API's own webhooks.
var (
	groupHook   = &webhooks.MachineDeployment{}
	setHook     = &webhooks.MachineSet{}
	checkHook   = &webhooks.MachineHealthCheck{}
	machineHook = &webhooks.Machine{}
)

func init() {
	private(groupHook, "decoder", admission.NewDecoder(scheme()))
	private(setHook, "decoder", admission.NewDecoder(scheme()))
}

// filledIn lets the webhooks fill in an object and refuse it.
func filledIn(ctx context.Context, one, old *unstructured.Unstructured) error {
	switch one.GetKind() {
	case "MachineDeployment":
		return admit(ctx, one, old, &clusterv1.MachineDeployment{}, &clusterv1.MachineDeployment{}, groupHook)
	case "MachineSet":
		return admit(ctx, one, old, &clusterv1.MachineSet{}, &clusterv1.MachineSet{}, setHook)
	case "MachineHealthCheck":
		return admit(ctx, one, old, &clusterv1.MachineHealthCheck{}, &clusterv1.MachineHealthCheck{}, checkHook)
	case "Machine":
		return admit(ctx, one, old, &clusterv1.Machine{}, &clusterv1.Machine{}, machineHook)
	}
	return nil
}

// hook is a webhook that fills in and refuses.
type hook[T client.Object] interface {
	Default(ctx context.Context, obj T) error
	ValidateCreate(ctx context.Context, obj T) (admission.Warnings, error)
	ValidateUpdate(ctx context.Context, before, after T) (admission.Warnings, error)
}

func admit[T client.Object](ctx context.Context, one, old *unstructured.Unstructured, into, before T, by hook[T]) error {
	raw, err := one.MarshalJSON()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Create}}
	if old != nil {
		if request.OldObject.Raw, err = old.MarshalJSON(); err != nil {
			return err
		}
		request.Operation = admissionv1.Update
		if err := json.Unmarshal(request.OldObject.Raw, before); err != nil {
			return err
		}
	}
	if err := by.Default(admission.NewContextWithRequest(ctx, request), into); err != nil {
		return err
	}
	if old == nil {
		_, err = by.ValidateCreate(ctx, into)
	} else {
		_, err = by.ValidateUpdate(ctx, before, into)
	}
	if err != nil {
		return err
	}
	kind := one.GroupVersionKind()
	one.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(into)
	one.SetGroupVersionKind(kind)
	return err
}
