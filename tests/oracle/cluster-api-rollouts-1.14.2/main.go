// Command oracle records what Cluster API 1.14 answers to the tests of its own comparisons: a Machine that such a test compares
// with its owner is given an owner that it fits, and what the owner of the test changes is the case.
package main

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1beta1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1beta1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	bootstrapadmission "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks/admission"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder/watch"
	controlplaneadmission "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/admission"
	controlplaneconversion "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/conversion"
	coreadmission "sigs.k8s.io/cluster-api/core/webhooks/admission"
	coreconversion "sigs.k8s.io/cluster-api/core/webhooks/conversion"
	"sigs.k8s.io/cluster-api/feature"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/capi"
	"rollgate.dev/oracle/walker/infra"
)

const gates = "MachineTaintPropagation=true"

func main() {
	walker.Main(func() (*walker.Provider, error) {
		if err := feature.MutableGates.Set(gates); err != nil {
			return nil, err
		}
		e := &watch.Environment{}
		provider, err := infra.Build(infra.Config{
			Name: "cluster-api", Module: "sigs.k8s.io/cluster-api", Gates: gates,
			Schemes: []func(*runtime.Scheme) error{
				clusterv1.AddToScheme, clusterv1beta1.AddToScheme, bootstrapv1.AddToScheme, bootstrapv1beta1.AddToScheme,
				controlplanev1.AddToScheme, controlplanev1beta1.AddToScheme,
			},
			Setup: func(mgr ctrl.Manager, c client.Client) error {
				e.Client = c
				return setup(mgr)
			},
			CRDs:      []string{"core/config/crd/bases", "bootstrap/kubeadm/config/crd/bases", "controlplane/kubeadm/config/crd/bases"},
			Manifests: []string{"core/config/webhook/manifests.yaml", "bootstrap/kubeadm/config/webhook/manifests.yaml", "controlplane/kubeadm/config/webhook/manifests.yaml"},
		})
		if err != nil {
			return nil, err
		}
		provider.Now, e.Server = capi.Now, provider.Server
		if err := e.Now.UnmarshalQueryParameter(capi.Now); err != nil {
			return nil, err
		}
		asked, err := comparisons("../tables/cluster-api-rollouts.jsonl")
		if err != nil {
			return nil, err
		}
		all := &all{e: e, cluster: cluster(), names: map[string]int{}}
		for _, one := range asked {
			if err := all.add(one); err != nil {
				return nil, err
			}
		}
		provider.Kinds = all.kinds
		return provider, nil
	})
}

func cluster() *clusterv1.Cluster {
	cluster := &clusterv1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster"},
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default", UID: "uid-cluster"},
	}
	cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "10.0.0.100", Port: 6443}
	return cluster
}

func setup(mgr ctrl.Manager) error {
	getter := func(_ context.Context, gk schema.GroupKind) (string, error) { return gk.Group + "/v1beta1", nil }
	coreconversion.SetAPIVersionGetter(getter)
	controlplaneconversion.SetAPIVersionGetter(getter)
	for _, hook := range []interface {
		SetupWebhookWithManager(mgr ctrl.Manager) error
	}{
		&coreadmission.Machine{}, &coreadmission.MachineSet{}, &coreadmission.MachineDeployment{},
		&bootstrapadmission.KubeadmConfig{}, &controlplaneadmission.KubeadmControlPlane{},
	} {
		if err := hook.SetupWebhookWithManager(mgr); err != nil {
			return err
		}
	}
	return nil
}
