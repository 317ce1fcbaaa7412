package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// socketName lies in the out folder; through it `bench user` and `bench publish` reach the running bench.
const socketName = "control.sock"

// maxSocketPath is what the kernel takes for a Unix socket.
const maxSocketPath = 107

type userRequest struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups"`
}

type userAnswer struct {
	Kubeconfig string `json:"kubeconfig"`
}

// claim makes the out folder this bench's own: it opens the socket, unless another bench answers there.
func (b *bench) claim() (net.Listener, error) {
	path := filepath.Join(b.out, socketName)
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the path of the out folder %s is too long for a socket in it (at most %d bytes)", b.out, maxSocketPath-len(socketName)-1)
	}
	if other, err := net.Dial("unix", path); err == nil {
		other.Close()
		return nil, fmt.Errorf("a bench runs in %s already", b.out)
	}
	_ = os.Remove(path) // What a killed bench left.
	return net.Listen("unix", path)
}

// serveControl answers until the context ends.
func (b *bench) serveControl(ctx context.Context, listener net.Listener) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /users", answer(b.addUser))
	mux.HandleFunc("POST /charts", answer(b.publish))
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(listener) }()
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
}

// addUser makes a client certificate, signed by the CA that the API server trusts.
func (b *bench) addUser(_ context.Context, request userRequest) (userAnswer, error) {
	if request.Name == "" || strings.ContainsAny(request.Name, "/\x00") {
		return userAnswer{}, fmt.Errorf("%q cannot be the name of a user here", request.Name)
	}
	path := filepath.Join(b.out, "users", request.Name+".kubeconfig")
	return userAnswer{path}, b.writeKubeconfig(envtest.User{Name: request.Name, Groups: request.Groups}, path)
}

func (b *bench) writeKubeconfig(user envtest.User, path string) error {
	b.users.Lock()
	defer b.users.Unlock()
	certified, err := b.env.AddUser(user, nil)
	if err != nil {
		return fmt.Errorf("make the user %s: %w", user.Name, err)
	}
	kubeconfig, err := certified.KubeConfig()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, kubeconfig, 0o600)
}

// answer makes an HTTP handler of a function: JSON in, JSON or the text of an error out.
func answer[Request, Answer any](handle func(context.Context, Request) (Answer, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var request Request
		err := json.NewDecoder(r.Body).Decode(&request)
		var result Answer
		if err == nil {
			result, err = handle(r.Context(), request)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(result)
	}
}

// call sends a request to the bench that runs in the out folder.
func call(ctx context.Context, out, path string, request, result any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(out, socketName))
	}}}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://bench"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := client.Do(post)
	if err != nil {
		return fmt.Errorf("no bench answers in %s: %w", out, err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", bytes.TrimSpace(content))
	}
	return json.Unmarshal(content, result)
}
