package walker

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// NewClient is a cluster in memory. It holds the given objects; every object that is read as
// unstructured and every CRD's metadata exists as well, unless its name (for CRDs: the kind's
// plural) holds "missing". labels are the contract labels of a CRD, by its API group.
func NewClient(scheme *runtime.Scheme, labels func(group string) map[string]string, objects ...client.Object) client.Client {
	get := func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
		switch typed := obj.(type) {
		case *metav1.PartialObjectMetadata:
			if typed.Kind == "CustomResourceDefinition" {
				return crdMetadata(typed, key, labels)
			}
		case *unstructured.Unstructured:
			err := c.Get(ctx, key, obj, opts...)
			if err == nil || !apierrors.IsNotFound(err) && !runtime.IsNotRegisteredError(err) {
				return err
			}
			return template(typed, key)
		case *corev1.Namespace, *corev1.ConfigMap:
			typed.SetName(key.Name)
			return nil
		}
		return c.Get(ctx, key, obj, opts...)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithInterceptorFuncs(interceptor.Funcs{Get: get}).Build()
}

func crdMetadata(crd *metav1.PartialObjectMetadata, key client.ObjectKey, labels func(string) map[string]string) error {
	plural, group, _ := strings.Cut(key.Name, ".")
	if strings.Contains(plural, "missing") {
		return apierrors.NewNotFound(schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}, key.Name)
	}
	crd.Name = key.Name
	crd.Labels = labels(group)
	return nil
}

func template(obj *unstructured.Unstructured, key client.ObjectKey) error {
	gvk := obj.GroupVersionKind()
	if strings.Contains(key.Name, "missing") {
		return apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: strings.ToLower(gvk.Kind)}, key.Name)
	}
	obj.Object = map[string]any{
		"apiVersion": gvk.GroupVersion().String(),
		"kind":       gvk.Kind,
		"metadata":   map[string]any{"name": key.Name, "namespace": key.Namespace, "uid": "uid-" + key.Name},
		"spec":       map[string]any{"template": map[string]any{"spec": map[string]any{"image": "image-a"}}},
	}
	return nil
}
