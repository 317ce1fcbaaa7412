package main

import (
	"context"
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// key names an object of a release.
func key(one object) string { return text(one, "kind") + "/" + name(one) }

func keyed(objects []object) map[string]object {
	found := map[string]object{}
	for _, one := range objects {
		found[key(one)] = one
	}
	return found
}

// write does what the host does with a release, and gives the first refusal: Helm 3 patches with what differs from the
// last release and deletes what is left over; `kubectl replace` puts each object in the place of the live one.
func (w *world) write(base, next []object, replaces bool) error {
	past := keyed(base)
	for _, one := range next {
		if err := w.put(past[key(one)], one, replaces); err != nil {
			return fmt.Errorf("%s: %w", key(one), err)
		}
	}
	present := keyed(next)
	for _, one := range base {
		if present[key(one)] == nil && !replaces {
			if err := client.IgnoreNotFound(w.Delete(context.Background(), &unstructured.Unstructured{Object: runtime.DeepCopyJSON(one)})); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *world) put(past, next object, replaces bool) error {
	ctx := context.Background()
	live := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(next)}
	wanted := live.DeepCopy()
	err := w.Get(ctx, client.ObjectKeyFromObject(live), live)
	if apierrors.IsNotFound(err) && !replaces {
		if err := filledIn(ctx, wanted, nil); err != nil {
			return err
		}
		return w.Create(ctx, wanted)
	}
	if err != nil {
		return err
	}
	if replaces {
		wanted.SetUID(live.GetUID())
		wanted.SetCreationTimestamp(live.GetCreationTimestamp())
		wanted.SetDeletionTimestamp(live.GetDeletionTimestamp())
		wanted.SetGeneration(live.GetGeneration())
		wanted.SetResourceVersion(live.GetResourceVersion())
		wanted.SetManagedFields(live.GetManagedFields())
		if status, ok := live.Object["status"]; ok {
			wanted.Object["status"] = status
		}
	} else if wanted.Object, err = patched(past, next, live.Object); err != nil {
		return err
	}
	if err := filledIn(ctx, wanted, live); err != nil {
		return err
	}
	return w.Update(ctx, wanted)
}

// patched merges what differs between two releases into the live object.
func patched(past, next, live object) (object, error) {
	if past == nil {
		past = next
	}
	sides := make([][]byte, 3)
	for i, side := range []object{past, next, live} {
		raw, err := json.Marshal(side)
		if err != nil {
			return nil, err
		}
		sides[i] = raw
	}
	patch, err := jsonpatch.CreateMergePatch(sides[0], sides[1])
	if err != nil {
		return nil, err
	}
	merged, err := jsonpatch.MergePatch(sides[2], patch)
	if err != nil {
		return nil, err
	}
	into := &unstructured.Unstructured{}
	err = into.UnmarshalJSON(merged)
	return into.Object, err
}
