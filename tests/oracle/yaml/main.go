// Records how Kubernetes reads YAML.
//
// Standard input: one JSON string per line, a text each. Standard output: one line per text,
// {"in": text, "out": JSON as text} or {"in": text, "error": message}. A text that reads differently
// from run to run (Go's map order decides between keys such as 1 and "1") is left out.
//
// With -write FOLDER the categories of cases.go are recorded instead, one file each, with a header line that
// names the versions and a hash of this program.
//
// -mode document reads one document with sigs.k8s.io/yaml YAMLToJSON.
// -mode stream cuts the text first, as kubectl does, and joins the documents' JSON with line breaks.
// -base64 takes base64 instead of JSON strings, for texts that are not UTF-8; "in" becomes "base64".
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	kube "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

type record struct {
	In     *string `json:"in,omitempty"`
	Base64 string  `json:"base64,omitempty"`
	Out    *string `json:"out,omitempty"`
	Error  string  `json:"error,omitempty"`
}

func main() {
	mode := flag.String("mode", "document", "document or stream")
	encoded := flag.Bool("base64", false, "input lines are base64")
	times := flag.Int("times", 12, "how often each text is read")
	write := flag.String("write", "", "folder to write the recordings of all categories to, instead of reading standard input")
	sources := flag.String("sources", ".", "with -write: folder of this program, for the hash in the header")
	flag.Parse()
	if *write != "" {
		fatal(recordAll(*write, *sources, *times))
		return
	}
	read := document
	if *mode == "stream" {
		read = stream
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for {
		line, err := in.ReadBytes('\n')
		if text := bytes.TrimSpace(line); len(text) > 0 {
			one(text, *encoded, *times, read, encoder)
		}
		if err == io.EOF {
			return
		}
		fatal(err)
	}
}

func one(line []byte, encoded bool, times int, read func([]byte) (string, error), encoder *json.Encoder) {
	if encoded {
		text, err := base64.StdEncoding.DecodeString(string(line))
		fatal(err)
		answer(record{Base64: string(line)}, text, times, read, encoder)
		return
	}
	var text string
	fatal(json.Unmarshal(line, &text))
	answer(record{In: &text}, []byte(text), times, read, encoder)
}

func answer(r record, text []byte, times int, read func([]byte) (string, error), encoder *json.Encoder) {
	first, firstErr := read(text)
	for i := 1; i < times; i++ {
		again, err := read(text)
		if again != first || (err == nil) != (firstErr == nil) {
			fmt.Fprintf(os.Stderr, "unstable, left out: %q\n", text)
			return
		}
	}
	if firstErr != nil {
		r.Error = firstErr.Error()
	} else {
		r.Out = &first
	}
	fatal(encoder.Encode(r))
}

func document(text []byte) (out string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	data, err := yaml.YAMLToJSON(text)
	return string(data), err
}

// stream leaves out documents that read as null: kubectl skips them, and which of them its reader
// reports depends on how many separators stand in a row.
func stream(text []byte) (string, error) {
	reader := kube.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	var all bytes.Buffer
	for {
		part, err := reader.Read()
		if err == io.EOF {
			return all.String(), nil
		}
		if err != nil {
			return "", err
		}
		data, err := document(part)
		if err != nil {
			return "", err
		}
		if data != "null" {
			all.WriteString(data)
			all.WriteByte('\n')
		}
	}
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
