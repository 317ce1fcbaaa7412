// Command capd runs Cluster API's development infrastructure provider with its in-memory backend only.
//
// The reconcilers, the in-memory servers and the webhooks are the provider's own. Its own main always opens debug port
// 19000 and serves workload clusters from port 20000, both on every address, so that only one of it can live on a
// machine; here the ports are told and the debug port is a free one. Docker kinds have their webhooks but no controller.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/controllers/remote"
	"sigs.k8s.io/cluster-api/feature"
	"sigs.k8s.io/cluster-api/test/infrastructure/container"
	infrav1beta1 "sigs.k8s.io/cluster-api/test/infrastructure/docker/api/v1beta1"
	infrav1 "sigs.k8s.io/cluster-api/test/infrastructure/docker/api/v1beta2"
	"sigs.k8s.io/cluster-api/test/infrastructure/docker/controllers"
	"sigs.k8s.io/cluster-api/test/infrastructure/docker/webhooks"
	cloudv1 "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/cloud/api/v1alpha1"
	inmemory "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime"
	"sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

func main() {
	var o options
	// --kubeconfig comes from controller-runtime.
	flag.IntVar(&o.firstPort, "first-workload-port", 20000, "first port of the workload clusters' API servers, one a cluster, never used again")
	flag.IntVar(&o.lastPort, "last-workload-port", 30000, "last port of the workload clusters' API servers")
	flag.IntVar(&o.webhookPort, "webhook-port", 9443, "port of the webhook server")
	flag.StringVar(&o.certDir, "webhook-cert-dir", "", "folder with tls.crt and tls.key")
	flag.StringVar(&o.healthAddr, "health-addr", "127.0.0.1:0", "address of the health endpoint")
	flag.Func("feature-gates", "`A=true,B=false`; the webhooks of cluster templates ask for ClusterTopology", feature.MutableGates.Set)
	klog.InitFlags(nil)
	flag.Parse()
	ctrl.SetLogger(klog.Background())
	if err := run(ctrl.SetupSignalHandler(), o); err != nil {
		fmt.Fprintln(os.Stderr, "capd:", err)
		os.Exit(1)
	}
}

type options struct {
	certDir, healthAddr              string
	webhookPort, firstPort, lastPort int
}

func run(ctx context.Context, o options) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 100, 200
	mgr, err := newManager(config, o)
	if err != nil {
		return err
	}
	if err := addReconcilers(ctx, mgr, o); err != nil {
		return err
	}
	if err := addWebhooks(mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func newManager(config *rest.Config, o options) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	if err := register(scheme, clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, infrav1beta1.AddToScheme,
		infrav1.AddToScheme, clusterv1.AddToScheme); err != nil {
		return nil, err
	}
	ofACluster, err := labels.NewRequirement(clusterv1.ClusterNameLabel, selection.Exists, nil)
	if err != nil {
		return nil, err
	}
	return ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		HealthProbeBindAddress: o.healthAddr,
		Metrics:                metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {Label: labels.NewSelector().Add(*ofACluster)},
		}},
		Client: client.Options{Cache: &client.CacheOptions{
			DisableFor:   []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}},
			Unstructured: true,
		}},
		WebhookServer: webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: o.webhookPort, CertDir: o.certDir}),
	})
}

func addReconcilers(ctx context.Context, mgr ctrl.Manager, o options) error {
	// The reconcilers refuse to start without a container client; the in-memory backend never calls it.
	containers, err := container.NewDockerClient()
	if err != nil {
		return err
	}
	clusters, err := newClusterCache(ctx, mgr)
	if err != nil {
		return err
	}
	cloud, workloads, err := newCloud(ctx, o)
	if err != nil {
		return err
	}
	parallel := controller.Options{MaxConcurrentReconciles: 10, ReconciliationTimeout: 5 * time.Minute}
	if err := (&controllers.DevMachineReconciler{
		Client: mgr.GetClient(), ContainerRuntime: containers, ClusterCache: clusters, InMemoryManager: cloud, APIServerMux: workloads,
	}).SetupWithManager(ctx, mgr, parallel); err != nil {
		return err
	}
	if err := (&controllers.DevClusterReconciler{
		Client: mgr.GetClient(), ContainerRuntime: containers, InMemoryManager: cloud, APIServerMux: workloads,
	}).SetupWithManager(ctx, mgr, parallel); err != nil {
		return err
	}
	return (&controllers.DevMachineTemplateReconciler{
		Client: mgr.GetClient(), ContainerRuntime: containers,
	}).SetupWithManager(ctx, mgr, parallel)
}

// newClusterCache connects to the workload clusters by the kubeconfig Secrets of their namespaces.
func newClusterCache(ctx context.Context, mgr ctrl.Manager) (clustercache.ClusterCache, error) {
	secrets, err := client.New(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(),
		Cache:      &client.CacheOptions{Reader: mgr.GetCache()},
	})
	if err != nil {
		return nil, err
	}
	return clustercache.SetupWithManager(ctx, mgr, clustercache.Options{
		SecretClient: secrets,
		Client: clustercache.ClientOptions{
			QPS: 20, Burst: 30,
			UserAgent: remote.DefaultClusterAPIUserAgent("capd"),
			Cache:     clustercache.ClientCacheOptions{DisableFor: []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}}},
		},
	}, controller.Options{MaxConcurrentReconciles: 10})
}

// newCloud starts the in-memory machines and the servers that play the workload clusters' API and etcd.
func newCloud(ctx context.Context, o options) (inmemory.Manager, *server.WorkloadClustersMux, error) {
	scheme := runtime.NewScheme()
	if err := register(scheme, cloudv1.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme, rbacv1.AddToScheme,
		storagev1.AddToScheme, apiextensionsv1.AddToScheme, policyv1.AddToScheme); err != nil {
		return nil, nil, err
	}
	cloud := inmemory.NewManager(scheme)
	if err := cloud.Start(ctx); err != nil {
		return nil, nil, err
	}
	workloads, err := server.NewWorkloadClustersMux(cloud, "127.0.0.1", server.CustomPorts{
		MinPort: int32(o.firstPort), MaxPort: int32(o.lastPort), DebugPort: 0,
	})
	return cloud, workloads, err
}

func addWebhooks(mgr ctrl.Manager) error {
	for _, hook := range []interface {
		SetupWebhookWithManager(mgr ctrl.Manager) error
	}{
		&webhooks.DevCluster{}, &webhooks.DevClusterTemplate{}, &webhooks.DevMachine{}, &webhooks.DevMachineTemplate{},
		&webhooks.DockerCluster{}, &webhooks.DockerClusterTemplate{}, &webhooks.DockerMachine{}, &webhooks.DockerMachineTemplate{},
	} {
		if err := hook.SetupWebhookWithManager(mgr); err != nil {
			return err
		}
	}
	started := mgr.GetWebhookServer().StartedChecker()
	if err := mgr.AddReadyzCheck("webhook", started); err != nil {
		return err
	}
	return mgr.AddHealthzCheck("webhook", started)
}

func register(scheme *runtime.Scheme, adders ...func(*runtime.Scheme) error) error {
	for _, add := range adders {
		if err := add(scheme); err != nil {
			return err
		}
	}
	return nil
}
