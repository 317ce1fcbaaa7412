package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	chartFolder = "charts"
	logFolder   = "logs"
	// fluxProgram runs HelmReleases; its sources are played by publish.
	fluxProgram = "helm-controller"
	// startPatience is long because a cold machine reads a gigabyte of programs first.
	startPatience = 2 * time.Minute
	stopPatience  = 10 * time.Second
)

type options struct {
	apiOnly, withoutFlux, keep bool
	out, bin                   string
}

// bench is a running management cluster.
type bench struct {
	options
	env        *envtest.Environment
	config     *rest.Config
	client     client.Client
	kubeconfig string
	charts     string // URL of the chart server
	ports      ports
	processes  []*process
	users      sync.Mutex
	claimed    bool // the out folder is this bench's
}

// ready is the line on stdout.
type ready struct {
	Kubeconfig string `json:"kubeconfig"`
	BinDir     string `json:"binDir"`
	Out        string `json:"out"`
	Logs       string `json:"logs"`
	Charts     string `json:"charts,omitempty"`
	Pid        int    `json:"pid"`
	// Seconds from the start to this line.
	Seconds float64 `json:"seconds"`
}

// up starts a bench and returns when it has stopped.
func up(o options) (err error) {
	began := time.Now()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	if !o.keep {
		followParent(cancel)
	}
	b := &bench{options: o}
	defer func() {
		if stopErr := b.stop(); err == nil {
			err = stopErr
		}
	}()
	if err := b.prepareFolders(); err != nil {
		return err
	}
	control, err := b.claim()
	if err != nil {
		return err
	}
	defer control.Close()
	b.claimed = true
	line, err := b.start(ctx, control)
	if ctx.Err() != nil {
		return nil // Asked to stop while starting.
	}
	if err != nil {
		return err
	}
	line.Seconds = math.Round(100*time.Since(began).Seconds()) / 100
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		return err
	}
	return b.watch(ctx)
}

func (b *bench) start(ctx context.Context, control net.Listener) (*ready, error) {
	line := &ready{BinDir: b.bin, Out: b.out, Logs: filepath.Join(b.out, logFolder), Pid: os.Getpid()}
	if err := b.startAPI(); err != nil {
		return nil, err
	}
	line.Kubeconfig = b.kubeconfig
	b.serveControl(ctx, control)
	if b.apiOnly {
		return line, b.installTypes(ctx, providers(), onlyStorageVersion)
	}
	managers := providers()
	if err := b.install(ctx, managers); err != nil {
		return nil, err
	}
	for _, manager := range managers {
		if err := b.startManager(manager); err != nil {
			return nil, err
		}
	}
	if !b.withoutFlux {
		var err error
		if b.charts, err = serveCharts(ctx, filepath.Join(b.out, chartFolder)); err != nil {
			return nil, err
		}
		line.Charts = b.charts
		if err := b.startFlux(); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for _, p := range b.processes {
		if err := p.waitReady(ctx); err != nil {
			return nil, err
		}
	}
	return line, nil
}

// prepareFolders makes the out folder; whatever the programs take for temporary goes there too, so that nothing stays
// elsewhere even if they are killed.
func (b *bench) prepareFolders() (err error) {
	if b.bin, err = filepath.Abs(b.bin); err != nil {
		return err
	}
	if b.out == "" {
		if b.out, err = os.MkdirTemp("", "rollgate-bench-"); err != nil {
			return err
		}
	}
	if b.out, err = filepath.Abs(b.out); err != nil {
		return err
	}
	tmp := filepath.Join(b.out, "tmp")
	for _, dir := range []string{logFolder, chartFolder, "tmp", "guarded", "data"} {
		if err := os.MkdirAll(filepath.Join(b.out, dir), 0o755); err != nil {
			return err
		}
	}
	return os.Setenv("TMPDIR", tmp)
}

// startAPI starts etcd and the API server through links to the starter (see guard).
func (b *bench) startAPI() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Setenv(guardBinDir, b.bin); err != nil {
		return err
	}
	linked := func(name string) (string, *os.File, error) {
		if _, err := os.Stat(filepath.Join(b.bin, name)); err != nil {
			return "", nil, fmt.Errorf("%w; run tests/bench/build.sh %s", err, name)
		}
		link := filepath.Join(b.out, "guarded", name)
		_ = os.Remove(link)
		if err := os.Symlink(self, link); err != nil {
			return "", nil, err
		}
		log, err := os.Create(filepath.Join(b.out, logFolder, name+".log"))
		return link, log, err
	}
	b.env = &envtest.Environment{ControlPlaneStartTimeout: startPatience, ControlPlaneStopTimeout: stopPatience}
	etcd, server := &envtest.Etcd{DataDir: filepath.Join(b.out, "data")}, b.env.ControlPlane.GetAPIServer()
	b.env.ControlPlane.Etcd = etcd
	path, log, err := linked("etcd")
	if err != nil {
		return err
	}
	etcd.Path, etcd.Out, etcd.Err = path, log, log
	if path, log, err = linked("kube-apiserver"); err != nil {
		return err
	}
	server.Path, server.Out, server.Err = path, log, log
	// A port of its own: who starts the API server again finds it free.
	port, err := b.ports.take()
	if err != nil {
		return err
	}
	server.SecureServing.ListenAddr = envtest.ListenAddr{Address: "127.0.0.1", Port: strconv.Itoa(port)}
	if b.config, err = b.env.Start(); err != nil {
		return fmt.Errorf("start the API server (logs in %s): %w", filepath.Join(b.out, logFolder), err)
	}
	if b.client, err = client.New(b.config, client.Options{}); err != nil {
		return err
	}
	b.kubeconfig = filepath.Join(b.out, "kubeconfig")
	return b.writeKubeconfig(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, b.kubeconfig)
}

// install writes the webhook configurations of managers that are about to start, and all CRDs.
func (b *bench) install(ctx context.Context, managers []*provider) error {
	for _, manager := range managers {
		var err error
		if manager.webhookPort, err = b.ports.take(); err != nil {
			return err
		}
		if manager.healthPort, err = b.ports.take(); err != nil {
			return err
		}
		if manager.name == capdProgram {
			first, last, err := b.ports.takeBlock()
			if err != nil {
				return err
			}
			manager.args = []string{fmt.Sprintf("--first-workload-port=%d", first), fmt.Sprintf("--last-workload-port=%d", last)}
		}
		if err := manager.installWebhooks(b.config, b.configDir()); err != nil {
			return err
		}
	}
	return b.installTypes(ctx, managers, (*provider).convertByWebhook)
}

// installTypes installs the CRDs of everything, and the inventory of providers. With prepare each CRD of a provider
// gets what depends on whether its manager runs.
func (b *bench) installTypes(ctx context.Context, managers []*provider, prepare func(*provider, *apiextensionsv1.CustomResourceDefinition)) error {
	all, err := readCRDs(filepath.Join(b.configDir(), "clusterctl"))
	if err != nil {
		return err
	}
	for _, manager := range managers {
		crds, err := readCRDs(filepath.Join(b.configDir(), manager.name))
		if err != nil {
			return err
		}
		for _, crd := range crds {
			manager.mark(crd)
			prepare(manager, crd)
		}
		all = append(all, crds...)
	}
	if !b.withoutFlux {
		for _, dir := range []string{fluxProgram, "source"} {
			crds, err := readCRDs(filepath.Join(b.configDir(), dir))
			if err != nil {
				return err
			}
			all = append(all, crds...)
		}
	}
	if err := b.installCRDs(all); err != nil {
		return err
	}
	namespace := &corev1.Namespace{}
	namespace.Name = managerNamespace
	if err := b.client.Create(ctx, namespace); err != nil {
		return err
	}
	for _, manager := range managers {
		entry, err := manager.inventoryEntry(b.configDir())
		if err != nil {
			return err
		}
		if err := b.client.Create(ctx, entry); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) installCRDs(crds []*apiextensionsv1.CustomResourceDefinition) error {
	_, err := envtest.InstallCRDs(b.config, envtest.CRDInstallOptions{CRDs: crds, MaxTime: startPatience, PollInterval: 50 * time.Millisecond})
	return err
}

// configDir holds the CRDs and webhook manifests, beside the folder of the programs.
func (b *bench) configDir() string { return filepath.Join(filepath.Dir(b.bin), "config") }

// managerNamespace is where the managers believe they run.
const managerNamespace = "capi-system"

func (b *bench) startManager(manager *provider) error {
	return b.startProcess(manager.name, manager.arguments(b.kubeconfig), []string{
		"POD_NAME=" + manager.name, "POD_NAMESPACE=" + managerNamespace, "POD_UID=" + manager.name, "POD_IP=127.0.0.1",
	}, manager.healthPort)
}

func (b *bench) startFlux() error {
	port, err := b.ports.take()
	if err != nil {
		return err
	}
	return b.startProcess(fluxProgram, []string{
		"--watch-all-namespaces", "--events-addr=", "--metrics-addr=127.0.0.1:0", fmt.Sprintf("--health-addr=127.0.0.1:%d", port),
	}, []string{"KUBECONFIG=" + b.kubeconfig, "RUNTIME_NAMESPACE=" + managerNamespace}, port)
}

func (b *bench) startProcess(name string, args, env []string, healthPort int) error {
	p, err := start(name, filepath.Join(b.bin, name), filepath.Join(b.out, logFolder, name+".log"), args, env,
		fmt.Sprintf("http://127.0.0.1:%d/readyz", healthPort))
	if err != nil {
		return err
	}
	b.processes = append(b.processes, p)
	return nil
}

// watch returns when the bench is asked to stop, or with an error when a manager ends: a bench that lacks one would
// give wrong answers.
func (b *bench) watch(ctx context.Context) error {
	died := make(chan *process, len(b.processes))
	for _, p := range b.processes {
		go func() {
			<-p.ended
			died <- p
		}()
	}
	select {
	case <-ctx.Done():
		return nil
	case p := <-died:
		return p.failure()
	}
}

// stop ends everything; logs and kubeconfig stay.
func (b *bench) stop() error {
	if !b.claimed {
		return nil
	}
	stopAll(b.processes, stopPatience)
	var err error
	if b.env != nil {
		err = b.env.Stop()
	}
	for _, dir := range []string{"tmp", "guarded", "data"} {
		_ = os.RemoveAll(filepath.Join(b.out, dir))
	}
	return err
}

// followParent stops the bench when the process that started it is gone, or closes the pipe that is its stdin.
func followParent(stop context.CancelFunc) {
	parent := os.Getppid()
	go func() {
		for os.Getppid() == parent {
			time.Sleep(200 * time.Millisecond)
		}
		stop()
	}()
	if info, err := os.Stdin.Stat(); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		go func() {
			buffer := make([]byte, 64)
			for {
				if _, err := os.Stdin.Read(buffer); err != nil {
					stop()
					return
				}
			}
		}()
	}
}
