package v1beta2

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder/watch"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/capi"
)

type controlPlane struct {
	*reconcilers
	*watch.Environment
	watch.Machines[*clusterv1.Machine, *bootstrapv1.KubeadmConfig]
}

// controlPlane makes three objects for the Machine that kubeadm init made and for one that joined.
func (c *reconcilers) controlPlane(e *watch.Environment, stored map[string]any) (walker.Observer, error) {
	kcp := &controlplanev1.KubeadmControlPlane{}
	if err := walker.FromMap(stored, kcp); err != nil {
		return nil, err
	}
	o := &controlPlane{reconcilers: c, Environment: e}
	o.Cluster = c.cluster
	err := o.Make(func(name string, join bool) (*clusterv1.Machine, *bootstrapv1.KubeadmConfig, *unstructured.Unstructured, error) {
		return o.machine(kcp, name, join)
	})
	if err != nil {
		return nil, err
	}
	return watch.Observe(kcp, o)
}

func (o *controlPlane) machine(kcp *controlplanev1.KubeadmControlPlane, name string, join bool) (*clusterv1.Machine, *bootstrapv1.KubeadmConfig, *unstructured.Unstructured, error) {
	machine, err := o.calls.ControlPlaneMachine(o.Client, kcp, o.cluster, "fd-a", nil)
	if err != nil {
		return nil, nil, nil, err
	}
	config, err := o.calls.Config(kcp, o.cluster, join, name)
	if err != nil {
		return nil, nil, nil, err
	}
	infra, err := o.calls.InfraMachine(o.Client, kcp, o.cluster, name)
	if err != nil {
		return nil, nil, nil, err
	}
	watch.Age(machine, clusterv1.GroupVersion.WithKind("Machine"), name, "uid-"+name)
	machine.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{APIGroup: bootstrapv1.GroupVersion.Group, Kind: "KubeadmConfig", Name: name}
	machine.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: capi.InfraGroup, Kind: infra.GetKind(), Name: name}
	machine.Status.CertificatesExpiryDate = watch.Expiry()
	watch.Identify(config, bootstrapv1.GroupVersion.WithKind("KubeadmConfig"), name, "uid-config-"+name)
	if discovery := &config.Spec.JoinConfiguration.Discovery; join && !discovery.File.IsDefined() {
		token := &discovery.BootstrapToken
		watch.Discover(&token.CACertHashes, &token.APIServerEndpoint, &token.Token)
	}
	made, configured := &clusterv1.Machine{}, &bootstrapv1.KubeadmConfig{}
	if err := o.Server.Made(machine, made); err != nil {
		return nil, nil, nil, err
	}
	return made, configured, infra, o.Server.Made(config, configured)
}

// Desired is what syncMachines would apply to a Machine and to the objects beside it.
func (o *controlPlane) Desired(kcp *controlplanev1.KubeadmControlPlane, name string) (map[string]any, error) {
	existing := o.Machines.Machines[name]
	machine, err := o.calls.ControlPlaneMachine(o.Client, kcp, o.cluster, existing.Spec.FailureDomain, existing)
	if err != nil {
		return nil, err
	}
	labels, annotations := o.calls.ControlPlaneMetadata(kcp, o.cluster.Name)
	return watch.Applied(machine, labels, annotations), nil
}

// UpToDate gives the comparison copies: it normalises its arguments in place.
func (o *controlPlane) UpToDate(kcp *controlplanev1.KubeadmControlPlane, name string) (bool, []string, error) {
	machine := o.Machines.Machines[name].DeepCopy()
	return o.calls.UpToDate(o.Client, o.cluster, machine, kcp.DeepCopy(), &o.Now, o.Infra, o.Configs())
}
