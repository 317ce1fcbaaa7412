// Command bench runs a whole Cluster API management cluster on this machine: etcd, the API server, the CRDs with their
// conversion webhooks, the controllers and Flux's helm-controller, all of them built by ../../build.sh.
//
// Nothing it starts outlives it: every process dies with the starter, however the starter ends.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

const usage = `usage:
  bench up [--api-only] [--without-flux] [--out DIR] [--bin-dir DIR] [--keep]
  bench user --out DIR [--group GROUP]... NAME
  bench publish --out DIR --namespace NS --name NAME CHART

up       starts a bench and stays; one line of JSON on stdout when it is ready
user     makes a client certificate for a user and prints the path of a kubeconfig; what the user may do is up to RBAC
publish  packs a chart folder, serves it, and makes the OCIRepository that a HelmRelease's chartRef can name
`

func main() {
	// A child is killed when the thread that started it ends, and the main thread ends last.
	runtime.LockOSThread()
	if name := filepath.Base(os.Args[0]); name == "etcd" || name == "kube-apiserver" {
		fail(guard(name))
	}
	ctrllog.SetLogger(logr.Discard())
	if len(os.Args) < 2 {
		fail(errors.New(usage))
	}
	switch command, args := os.Args[1], os.Args[2:]; command {
	case "up":
		fail(runUp(args))
	case "user":
		fail(runUser(args))
	case "publish":
		fail(runPublish(args))
	default:
		fail(fmt.Errorf("unknown command %q\n%s", command, usage))
	}
}

func fail(err error) {
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func runUp(args []string) error {
	var o options
	flags := newFlags("up")
	flags.BoolVar(&o.apiOnly, "api-only", false, "only the API server and the CRDs, each at its storage version: no controllers, no webhooks, no conversion")
	flags.BoolVar(&o.withoutFlux, "without-flux", false, "do not start helm-controller")
	flags.BoolVar(&o.keep, "keep", false, "stay when the parent process ends or stdin closes")
	flags.StringVar(&o.out, "out", "", "folder for kubeconfig, logs and data (default: a new one in the temporary folder)")
	flags.StringVar(&o.bin, "bin-dir", defaultBinDir(), "folder of the built programs; config/ lies beside it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("up takes no argument, but got %q", flags.Args())
	}
	return up(o)
}

func runUser(args []string) error {
	var groups list
	flags := newFlags("user")
	out := flags.String("out", "", "folder of the running bench")
	flags.Var(&groups, "group", "a group of the user (repeatable)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *out == "" || flags.NArg() != 1 {
		return errors.New("user needs --out DIR and one NAME")
	}
	var answer userAnswer
	if err := call(context.Background(), *out, "/users", userRequest{Name: flags.Arg(0), Groups: groups}, &answer); err != nil {
		return err
	}
	fmt.Println(answer.Kubeconfig)
	return nil
}

func runPublish(args []string) error {
	var request chartRequest
	flags := newFlags("publish")
	out := flags.String("out", "", "folder of the running bench")
	flags.StringVar(&request.Namespace, "namespace", "default", "namespace of the OCIRepository")
	flags.StringVar(&request.Name, "name", "", "name of the OCIRepository")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *out == "" || request.Name == "" || flags.NArg() != 1 {
		return errors.New("publish needs --out DIR, --name NAME and one CHART (a folder)")
	}
	chart, err := filepath.Abs(flags.Arg(0))
	if err != nil {
		return err
	}
	request.Chart = chart
	var answer chartAnswer
	if err := call(context.Background(), *out, "/charts", request, &answer); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(answer)
}

func newFlags(command string) *flag.FlagSet {
	return flag.NewFlagSet("bench "+command, flag.ContinueOnError)
}

// defaultBinDir is the folder through which the starter was called, links not followed: the other programs lie there.
func defaultBinDir() string {
	if dir := os.Getenv("ROLLGATE_BENCH_BIN"); dir != "" {
		return dir
	}
	return filepath.Dir(os.Args[0])
}

// list is a flag that may be given more than once.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}
