// Package written records what the tests of a provider's webhooks write, as `tables` makes bases and cases of it, and beside it
// each object as a new one. An object is tried as a test has it, and with what it lacks to be valid.
package written

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"rollgate.dev/oracle/tables"
	"rollgate.dev/oracle/walker"
)

// line is a line of a file that capture.sh writes.
type line struct {
	Test       string         `json:"test"`
	Kind       string         `json:"kind"`
	APIVersion string         `json:"apiVersion"`
	Old        map[string]any `json:"old,omitempty"`
	New        map[string]any `json:"new"`
}

// Main records the file of a provider; only are the names of the kinds that are wanted, all where there are none.
func Main(file string, build func() (*walker.Provider, error), only ...string) {
	m := &maker{seen: map[string]bool{}}
	walker.Main(func() (*walker.Provider, error) {
		provider, err := build()
		if err != nil {
			return nil, err
		}
		provider.Kinds, err = m.kinds(file, provider.Server, only)
		return provider, err
	})
	if err := m.write(flag.Lookup("out").Value.String()); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

// kinds gives the kinds of a file, with its framed lines beside those that a test wrote, and makes their objects.
func (m *maker) kinds(file string, server *walker.Server, only []string) ([]walker.Kind, error) {
	lines, err := read(file)
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, kind := range only {
		wanted[kind] = true
	}
	framed, err := os.CreateTemp("", "framed")
	if err != nil {
		return nil, err
	}
	defer os.Remove(framed.Name())
	encoder := json.NewEncoder(framed)
	for _, one := range lines {
		if len(only) > 0 && !wanted[one.Kind] {
			continue
		}
		whole := one
		whole.Old, whole.New = frame(one.Kind, one.Old), frame(one.Kind, one.New)
		for _, one := range []line{one, whole} {
			if err := encoder.Encode(one); err != nil {
				return nil, err
			}
			m.make(server, one)
		}
	}
	if err := framed.Close(); err != nil {
		return nil, err
	}
	return tables.Kinds(framed.Name(), server)
}

func read(file string) ([]line, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var lines []line
	scanner := bufio.NewScanner(f)
	scanner.Buffer(nil, 1<<24)
	for scanner.Scan() {
		one := line{}
		if err := json.Unmarshal(scanner.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		lines = append(lines, one)
	}
	return lines, scanner.Err()
}
