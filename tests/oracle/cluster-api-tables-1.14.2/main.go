// Command oracle records how Cluster API 1.14 answers what the tests of its own webhooks write.
package main

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1beta1 "sigs.k8s.io/cluster-api/api/addons/v1beta1"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1beta1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1beta1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1alpha1 "sigs.k8s.io/cluster-api/api/ipam/v1alpha1"
	ipamv1beta1 "sigs.k8s.io/cluster-api/api/ipam/v1beta1"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	runtimev1alpha1 "sigs.k8s.io/cluster-api/api/runtime/v1alpha1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	bootstrapadmission "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks/admission"
	controlplaneadmission "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/admission"
	controlplaneconversion "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/conversion"
	coreadmission "sigs.k8s.io/cluster-api/core/webhooks/admission"
	coreconversion "sigs.k8s.io/cluster-api/core/webhooks/conversion"
	"sigs.k8s.io/cluster-api/feature"

	"rollgate.dev/oracle/tables"
	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/infra"
)

const gates = "ClusterTopology=true,MachineTaintPropagation=true,RuntimeSDK=true"

func main() {
	walker.Main(func() (*walker.Provider, error) {
		if err := feature.MutableGates.Set(gates); err != nil {
			return nil, err
		}
		provider, err := infra.Build(infra.Config{
			Name: "cluster-api", Module: "sigs.k8s.io/cluster-api", Gates: gates,
			Schemes: []func(*runtime.Scheme) error{
				clusterv1.AddToScheme, clusterv1beta1.AddToScheme, addonsv1.AddToScheme, addonsv1beta1.AddToScheme,
				bootstrapv1.AddToScheme, bootstrapv1beta1.AddToScheme, controlplanev1.AddToScheme, controlplanev1beta1.AddToScheme,
				ipamv1.AddToScheme, ipamv1alpha1.AddToScheme, ipamv1beta1.AddToScheme, runtimev1.AddToScheme, runtimev1alpha1.AddToScheme,
			},
			Setup:     setup,
			CRDs:      []string{"core/config/crd/bases", "bootstrap/kubeadm/config/crd/bases", "controlplane/kubeadm/config/crd/bases"},
			Manifests: []string{"core/config/webhook/manifests.yaml", "bootstrap/kubeadm/config/webhook/manifests.yaml", "controlplane/kubeadm/config/webhook/manifests.yaml"},
		})
		if err != nil {
			return nil, err
		}
		provider.Kinds, err = tables.Kinds("../tables/cluster-api.jsonl", provider.Server)
		return provider, err
	})
}

func setup(mgr ctrl.Manager, c client.Client) error {
	getter := func(_ context.Context, gk schema.GroupKind) (string, error) { return gk.Group + "/v1beta1", nil }
	coreconversion.SetAPIVersionGetter(getter)
	controlplaneconversion.SetAPIVersionGetter(getter)
	for _, hook := range []interface {
		SetupWebhookWithManager(mgr ctrl.Manager) error
	}{
		&coreadmission.ClusterClass{Client: tables.Alone(c)}, &coreadmission.Cluster{Client: c}, &coreadmission.Machine{},
		&coreadmission.MachineSet{}, &coreadmission.MachineDeployment{}, &coreadmission.MachineDrainRule{},
		&coreadmission.MachinePool{}, &coreadmission.ClusterResourceSet{}, &coreadmission.ClusterResourceSetBinding{},
		&coreadmission.MachineHealthCheck{}, &coreadmission.ExtensionConfig{}, &coreadmission.IPAddress{Client: c}, &coreadmission.IPAddressClaim{},
		&bootstrapadmission.KubeadmConfig{}, &bootstrapadmission.KubeadmConfigTemplate{},
		&controlplaneadmission.KubeadmControlPlane{}, &controlplaneadmission.KubeadmControlPlaneTemplate{},
	} {
		if err := hook.SetupWebhookWithManager(mgr); err != nil {
			return err
		}
	}
	return nil
}
