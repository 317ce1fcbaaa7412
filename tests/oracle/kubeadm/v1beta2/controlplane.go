package v1beta2

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/capi"
)

type controlPlane struct {
	*reconcilers
	names    []string
	machines map[string]*clusterv1.Machine
	configs  map[string]*bootstrapv1.KubeadmConfig
	infra    map[string]*unstructured.Unstructured
	before   map[string]map[string]any
}

// controlPlane makes three objects for the Machine that kubeadm init made and for one that joined.
func (c *reconcilers) controlPlane(_ string, stored map[string]any) (walker.Observer, error) {
	kcp := &controlplanev1.KubeadmControlPlane{}
	if err := walker.FromMap(stored, kcp); err != nil {
		return nil, err
	}
	o := &controlPlane{
		reconcilers: c, machines: map[string]*clusterv1.Machine{}, configs: map[string]*bootstrapv1.KubeadmConfig{},
		infra: map[string]*unstructured.Unstructured{}, before: map[string]map[string]any{},
	}
	for _, name := range []string{"demo-init", "demo-join"} {
		if err := o.make(kcp, name, name == "demo-join"); err != nil {
			return nil, err
		}
	}
	for _, name := range o.names {
		desired, err := o.desired(kcp, name)
		if err != nil {
			return nil, err
		}
		o.before[name] = desired
	}
	return o, nil
}

func (o *controlPlane) make(kcp *controlplanev1.KubeadmControlPlane, name string, join bool) error {
	machine, err := o.calls.ControlPlaneMachine(o.client, kcp, o.cluster, "fd-a", nil)
	if err != nil {
		return err
	}
	config, err := o.calls.Config(kcp, o.cluster, join, name)
	if err != nil {
		return err
	}
	infra, err := o.calls.InfraMachine(o.client, kcp, o.cluster, name)
	if err != nil {
		return err
	}
	machine.TypeMeta = metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine"}
	machine.Name, machine.UID, machine.CreationTimestamp = name, types.UID("uid-"+name), moment(capi.Machines)
	machine.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{APIGroup: bootstrapv1.GroupVersion.Group, Kind: "KubeadmConfig", Name: name}
	machine.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: capi.InfraGroup, Kind: infra.GetKind(), Name: name}
	machine.Status.CertificatesExpiryDate = moment(capi.Expiry)
	config.TypeMeta = metav1.TypeMeta{APIVersion: bootstrapv1.GroupVersion.String(), Kind: "KubeadmConfig"}
	config.UID = types.UID("uid-config-" + name)
	if join {
		discover(&config.Spec)
	}
	made, configured := &clusterv1.Machine{}, &bootstrapv1.KubeadmConfig{}
	if err := o.server.Made(machine, made); err != nil {
		return err
	}
	if err := o.server.Made(config, configured); err != nil {
		return err
	}
	o.names = append(o.names, name)
	o.machines[name], o.configs[name], o.infra[name] = made, configured, infra
	return nil
}

// discover fills what the bootstrap controller writes into the configuration of a Machine that
// joins (reconcileDiscovery).
func discover(spec *bootstrapv1.KubeadmConfigSpec) {
	discovery := &spec.JoinConfiguration.Discovery
	if discovery.File.IsDefined() {
		return
	}
	token := &discovery.BootstrapToken
	if len(token.CACertHashes) == 0 {
		token.CACertHashes = []string{"sha256:0000000000000000000000000000000000000000000000000000000000000001"}
	}
	if token.APIServerEndpoint == "" {
		token.APIServerEndpoint = "10.0.0.100:6443"
	}
	if token.Token == "" {
		token.Token = "xxxxxx.0123456789abcdef"
	}
}

// desired is what syncMachines would apply to a Machine and to the objects beside it.
func (o *controlPlane) desired(kcp *controlplanev1.KubeadmControlPlane, name string) (map[string]any, error) {
	machine, err := o.calls.ControlPlaneMachine(o.client, kcp, o.cluster, o.machines[name].Spec.FailureDomain, o.machines[name])
	if err != nil {
		return nil, err
	}
	labels, annotations := o.calls.ControlPlaneMetadata(kcp, o.cluster.Name)
	metadata := map[string]any{"labels": labels, "annotations": annotations}
	return walker.ToMap(map[string]any{
		"machine":         machine,
		"bootstrapConfig": map[string]any{"metadata": metadata},
		"infraMachine":    map[string]any{"metadata": metadata},
	}), nil
}

func (o *controlPlane) Objects() walker.Objects {
	objects := walker.Objects{Cluster: clusterMap(o.cluster)}
	for _, name := range o.names {
		objects.Machines = append(objects.Machines, walker.MachineObjects{
			Machine: walker.ToMap(o.machines[name]), BootstrapConfig: walker.ToMap(o.configs[name]), InfraMachine: o.infra[name].Object,
		})
	}
	return objects
}

func (o *controlPlane) Observe(stored map[string]any) walker.Observation {
	kcp := &controlplanev1.KubeadmControlPlane{}
	if err := walker.FromMap(stored, kcp); err != nil {
		return walker.Observation{Error: err.Error()}
	}
	answer := walker.Observation{Why: map[string][]string{}}
	for _, name := range o.names {
		upToDate, messages, err := o.upToDate(kcp, name)
		if err != nil {
			return walker.Observation{Error: err.Error()}
		}
		if !upToDate {
			answer.Outdated = append(answer.Outdated, name)
			answer.Why[name] = messages
		}
		desired, err := o.desired(kcp, name)
		if err != nil {
			return walker.Observation{Error: err.Error()}
		}
		for _, path := range walker.Differences(o.before[name], desired) {
			answer.Propagated = append(answer.Propagated, name+": "+path)
		}
	}
	return answer
}

// upToDate gives the comparison copies: it normalises its arguments in place.
func (o *controlPlane) upToDate(kcp *controlplanev1.KubeadmControlPlane, name string) (ok bool, messages []string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	configs := map[string]*bootstrapv1.KubeadmConfig{}
	for key, config := range o.configs {
		configs[key] = config.DeepCopy()
	}
	return o.calls.UpToDate(o.client, o.cluster, o.machines[name].DeepCopy(), kcp.DeepCopy(), &o.now, o.infra, configs)
}
