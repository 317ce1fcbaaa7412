package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// guardBinDir tells guard where the real programs lie.
const guardBinDir = "ROLLGATE_BENCH_GUARD_BIN"

// guard turns this process into etcd or kube-apiserver, which dies with the starter even if that is killed. envtest
// starts those two itself and sets no such bond, so it is given links to the starter under their names.
func guard(name string) error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("tie %s to the bench: %w", name, err)
	}
	program := filepath.Join(os.Getenv(guardBinDir), name)
	return fmt.Errorf("run %s: %w", program, syscall.Exec(program, os.Args, os.Environ()))
}

// process is one manager with its log.
type process struct {
	name  string
	cmd   *exec.Cmd
	ready string // URL that answers 200 when it is ready
	log   string
	ended chan struct{}
	err   error // how it ended; read after ended is closed
}

// start must be called from the main thread: the child dies when the thread that started it does.
func start(name, program, log string, args, env []string, ready string) (*process, error) {
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer out.Close() // The child has its own copy.
	p := &process{name: name, cmd: exec.Command(program, args...), ready: ready, log: log, ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// waitReady returns when the manager says that it is ready, or why it will never be.
func (p *process) waitReady(ctx context.Context) error {
	for {
		if request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.ready, nil); err != nil {
			return err
		} else if answer, err := http.DefaultClient.Do(request); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-p.ended:
			return p.failure()
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready in time; its log is %s", p.name, p.log)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (p *process) failure() error {
	reason := "with success"
	if p.err != nil {
		reason = p.err.Error()
	}
	return fmt.Errorf("%s ended (%s); the end of %s:\n%s", p.name, reason, p.log, tail(p.log, 10))
}

// stopAll asks all of them to end, waits, and kills the process groups of those that stay.
func stopAll(processes []*process, patience time.Duration) {
	for _, p := range processes {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM)
	}
	deadline := time.After(patience)
	for _, p := range processes {
		select {
		case <-p.ended:
		case <-deadline:
			deadline = time.After(0)
			_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
			<-p.ended
		}
	}
}

func tail(file string, lines int) string {
	content, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// ports hands out the ports of one bench. They come from blocks below the ports that the kernel gives out by itself: one of those
// can become the near end of some connection in the moment before its user listens on it.
type ports struct {
	next, last int
	signs      []net.Listener
}

// take finds a port for a process that is about to start.
func (p *ports) take() (int, error) {
	if p.next >= p.last {
		first, last, err := p.takeBlock()
		if err != nil {
			return 0, err
		}
		p.next, p.last = first, last
	}
	p.next++
	return p.next - 1, nil
}

const (
	firstBlock = 20000
	lastBlock  = 32000
	blockSize  = 200
)

// takeBlock finds consecutive free ports and makes them this bench's own: the first stays open as the sign for other
// benches, the others are for its managers or its workload clusters.
func (p *ports) takeBlock() (first, last int, err error) {
	blocks := (lastBlock - firstBlock) / blockSize
	for _, block := range rand.Perm(blocks) {
		base := firstBlock + block*blockSize
		sign, err := net.Listen("tcp", fmt.Sprintf(":%d", base))
		if err != nil {
			continue
		}
		if free(base+1, base+blockSize-1) {
			p.signs = append(p.signs, sign)
			return base + 1, base + blockSize - 1, nil
		}
		sign.Close()
	}
	return 0, 0, fmt.Errorf("no %d consecutive free ports between %d and %d", blockSize, firstBlock, lastBlock)
}

func free(first, last int) bool {
	for port := first; port <= last; port++ {
		listener, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
		if err != nil {
			return false
		}
		listener.Close()
	}
	return true
}
