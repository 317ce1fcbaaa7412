package main

import (
	"fmt"
	"sort"
	"strings"

	v3 "helm.sh/helm/v3/pkg/releaseutil"
	v4 "helm.sh/helm/v4/pkg/release/v1/util"
	"sigs.k8s.io/kustomize/kyaml/kio"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// helm3 sorts a file of a chart as Helm 3 does, prints it as `helm template` does, and builds what would be written.
func helm3(text string) (printed string, written, hooks []object, err error) {
	found, manifests, err := v3.SortManifests(map[string]string{"chart/templates/a.yaml": text}, nil, v3.InstallOrder)
	if err != nil {
		return "", nil, nil, err
	}
	var stream strings.Builder
	for _, manifest := range manifests {
		fmt.Fprintf(&stream, "---\n# Source: %s\n%s\n", manifest.Name, manifest.Content)
	}
	written, err = build(stream.String())
	if err != nil {
		return "", nil, nil, err
	}
	for _, hook := range found {
		fmt.Fprintf(&stream, "---\n# Source: %s\n%s\n", hook.Path, hook.Manifest)
		objects, err := build(hook.Manifest)
		if err != nil {
			return "", nil, nil, err
		}
		hooks = append(hooks, objects...)
	}
	// A comment before it can make another text of a document.
	if _, err := build(stream.String()); err != nil {
		return "", nil, nil, err
	}
	return stream.String(), written, hooks, nil
}

// marker is the annotation by which Helm 4 finds the file of an object again.
const marker = "postrenderer.helm.sh/postrender-filename"

// helm4 prepares a file of a chart for a post-renderer as Helm 4 does, takes the same text back, and sorts and builds it.
func helm4(text string) (handed string, written, hooks []object, err error) {
	handed, err = handOver(text)
	if err != nil {
		return "", nil, nil, err
	}
	files, err := takeBack(handed)
	if err != nil {
		return "", nil, nil, err
	}
	found, manifests, err := v4.SortManifests(files, nil, v4.InstallOrder)
	if err != nil {
		return "", nil, nil, err
	}
	var stream strings.Builder
	for _, manifest := range manifests {
		fmt.Fprintf(&stream, "---\n# Source: %s\n%s\n", manifest.Name, manifest.Content)
	}
	written, err = build(stream.String())
	if err != nil {
		return "", nil, nil, err
	}
	for _, hook := range found {
		objects, err := build(hook.Manifest)
		if err != nil {
			return "", nil, nil, err
		}
		hooks = append(hooks, objects...)
	}
	return handed, written, hooks, nil
}

// handOver is what a post-renderer gets on its standard input.
func handOver(text string) (string, error) {
	var all []*kyaml.RNode
	documents := v4.SplitManifests(text)
	keys := make([]string, 0, len(documents))
	for key := range documents {
		keys = append(keys, key)
	}
	sort.Sort(v4.BySplitManifestsOrder(keys))
	for _, key := range keys {
		nodes, err := kio.ParseAll(documents[key])
		if err != nil {
			return "", err
		}
		for _, node := range nodes {
			if err := node.PipeE(kyaml.SetAnnotation(marker, "chart/templates/a.yaml")); err != nil {
				return "", err
			}
			all = append(all, node)
		}
	}
	return kio.StringAll(all)
}

// takeBack is what Helm makes of a post-renderer's standard output.
func takeBack(text string) (map[string]string, error) {
	nodes, err := kio.ParseAll(text)
	if err != nil {
		return nil, err
	}
	grouped := map[string][]*kyaml.RNode{}
	for i, node := range nodes {
		meta, err := node.GetMeta()
		if err != nil {
			return nil, err
		}
		name := meta.Annotations[marker]
		if name == "" {
			name = fmt.Sprintf("generated-by-postrender-%d.yaml", i)
		}
		if err := node.PipeE(kyaml.ClearAnnotation(marker)); err != nil {
			return nil, err
		}
		grouped[name] = append(grouped[name], node)
	}
	files := map[string]string{}
	for name, nodes := range grouped {
		if files[name], err = kio.StringAll(nodes); err != nil {
			return nil, err
		}
	}
	return files, nil
}
