package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sort"
	"unicode/utf8"
)

type header struct {
	Program string            `json:"program"`
	Go      string            `json:"go"`
	Modules map[string]string `json:"modules"`
}

// recordAll writes one file per category. A text that occurs twice is recorded once.
func recordAll(folder, sources string, times int) error {
	head, err := makeHeader(sources)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, c := range categories() {
		if err := writeCategory(folder, c, head, times, seen); err != nil {
			return err
		}
	}
	return nil
}

func writeCategory(folder string, c category, head header, times int, seen map[string]bool) error {
	file, err := os.Create(filepath.Join(folder, c.name+".jsonl"))
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(head); err != nil {
		return err
	}
	read := document
	if c.stream {
		read = stream
	}
	for _, text := range c.cases {
		if seen[text] && !c.stream {
			continue
		}
		seen[text] = true
		if utf8.ValidString(text) {
			answer(record{In: &text}, []byte(text), times, read, encoder)
		} else {
			answer(record{Base64: base64.StdEncoding.EncodeToString([]byte(text))}, []byte(text), times, read, encoder)
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return file.Close()
}

// makeHeader hashes the program's files in the order of their names: name, line feed, content, each.
func makeHeader(sources string) (header, error) {
	files, err := filepath.Glob(filepath.Join(sources, "*.go"))
	if err != nil {
		return header{}, err
	}
	files = append(files, filepath.Join(sources, "go.mod"))
	sort.Slice(files, func(i, j int) bool { return filepath.Base(files[i]) < filepath.Base(files[j]) })
	var all bytes.Buffer
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return header{}, err
		}
		all.WriteString(filepath.Base(name) + "\n")
		all.Write(data)
	}
	sum := sha256.Sum256(all.Bytes())
	head := header{Program: "sha256:" + hex.EncodeToString(sum[:]), Go: runtime.Version(), Modules: map[string]string{}}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			head.Modules[dep.Path] = dep.Version
		}
	}
	return head, nil
}
