package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/yaml"
)

type chartRequest struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Chart is the absolute path of a chart's folder.
	Chart string `json:"chart"`
}

type chartAnswer struct {
	URL      string `json:"url"`
	Revision string `json:"revision"`
}

// serveCharts serves the folder of packed charts on a free port until the context ends, and returns its URL.
func serveCharts(ctx context.Context, dir string) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: http.FileServer(http.Dir(dir))}
	go func() { _ = server.Serve(listener) }()
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	return "http://" + listener.Addr().String(), nil
}

// publish does source-controller's part: helm-controller reads only the status of the OCIRepository that it is told of.
func (b *bench) publish(ctx context.Context, request chartRequest) (chartAnswer, error) {
	if b.charts == "" {
		return chartAnswer{}, errors.New("this bench runs without Flux and serves no charts")
	}
	packed, version, err := pack(request.Chart)
	if err != nil {
		return chartAnswer{}, fmt.Errorf("pack the chart %s: %w", request.Chart, err)
	}
	sum := sha256.Sum256(packed)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	file := fmt.Sprintf("%s-%s-%s.tgz", request.Name, version, digest[7:19])
	if err := os.WriteFile(filepath.Join(b.out, chartFolder, file), packed, 0o644); err != nil {
		return chartAnswer{}, err
	}
	result := chartAnswer{URL: b.charts + "/" + file, Revision: version + "@" + digest}
	source := &unstructured.Unstructured{}
	source.SetAPIVersion("source.toolkit.fluxcd.io/v1")
	source.SetKind("OCIRepository")
	source.SetNamespace(request.Namespace)
	source.SetName(request.Name)
	if _, err := controllerutil.CreateOrUpdate(ctx, b.client, source, func() error {
		return unstructured.SetNestedMap(source.Object, map[string]any{
			"interval": "1h",
			"url":      "oci://bench.invalid/" + request.Name,
			"ref":      map[string]any{"tag": version},
		}, "spec")
	}); err != nil {
		return chartAnswer{}, err
	}
	before := source.DeepCopy()
	source.Object["status"] = readyStatus(source.GetGeneration(), file, digest, result, time.Now().UTC().Format(time.RFC3339))
	return result, b.client.Status().Patch(ctx, source, client.MergeFrom(before))
}

func readyStatus(generation int64, file, digest string, chart chartAnswer, now string) map[string]any {
	return map[string]any{
		"observedGeneration": generation,
		"artifact": map[string]any{
			"url": chart.URL, "path": file, "digest": digest, "revision": chart.Revision, "lastUpdateTime": now,
		},
		"conditions": []any{map[string]any{
			"type": "Ready", "status": "True", "reason": "Succeeded", "message": "published by the bench",
			"observedGeneration": generation, "lastTransitionTime": now,
		}},
	}
}

// pack makes the archive of a chart's folder, the same bytes for the same files, and reads the chart's version.
func pack(dir string) (packed []byte, version string, err error) {
	raw, err := os.ReadFile(filepath.Join(dir, "Chart.yaml"))
	if err != nil {
		return nil, "", err
	}
	var chart struct{ Name, Version string }
	if err := yaml.Unmarshal(raw, &chart); err != nil {
		return nil, "", err
	}
	var buffer bytes.Buffer
	zipped := gzip.NewWriter(&buffer)
	archive := tar.NewWriter(zipped)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		header := tar.Header{Name: filepath.ToSlash(filepath.Join(chart.Name, inside)), Mode: 0o644, Size: int64(len(content))}
		if err := archive.WriteHeader(&header); err != nil {
			return err
		}
		_, err = archive.Write(content)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	if err := archive.Close(); err != nil {
		return nil, "", err
	}
	if err := zipped.Close(); err != nil {
		return nil, "", err
	}
	return buffer.Bytes(), chart.Version, nil
}
