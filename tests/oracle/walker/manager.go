package walker

import (
	"context"
	"net/http"
	"os/exec"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// hookServer is a webhook server that listens nowhere and keeps the handlers by their paths.
type hookServer struct{ handlers map[string]http.Handler }

func (*hookServer) NeedLeaderElection() bool               { return false }
func (s *hookServer) Register(path string, h http.Handler) { s.handlers[path] = h }
func (*hookServer) Start(context.Context) error            { return nil }
func (*hookServer) StartedChecker() healthz.Checker {
	return func(*http.Request) error { return nil }
}
func (*hookServer) WebhookMux() *http.ServeMux { return nil }

var _ webhook.Server = &hookServer{}

// NewManager makes a manager that is never started: webhooks register with it as they do in the
// provider's own main function, and the returned map then holds their handlers.
func NewManager(scheme *runtime.Scheme, c client.Client) (ctrl.Manager, map[string]http.Handler, error) {
	server := &hookServer{handlers: map[string]http.Handler{}}
	mgr, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{
		Scheme:        scheme,
		WebhookServer: server,
		Metrics:       metricsserver.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
			return c.RESTMapper(), nil
		},
		NewClient: func(*rest.Config, client.Options) (client.Client, error) { return c, nil },
	})
	return mgr, server.handlers, err
}

// ModuleDir is the folder of a module that the main module requires.
func ModuleDir(module string) (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	return strings.TrimSpace(string(out)), err
}

// ModuleVersion is the version of a module that the main module requires.
func ModuleVersion(module string) (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", module).Output()
	return strings.TrimSpace(string(out)), err
}
