#!/bin/sh
# Writes testdata/hosts/merge.jsonl.gz: what the API server's own code makes of 400 seeded writes.
set -eu
cd "$(dirname "$0")"
set --
for module in \
	sigs.k8s.io/cluster-api@v1.14.0 \
	github.com/rancher/cluster-api-provider-rke2@v0.21.0 \
	sigs.k8s.io/cluster-api-provider-openstack@v0.11.3 \
	sigs.k8s.io/cluster-api-provider-vsphere@v1.14.0; do
	folder=$(GOFLAGS=-mod=mod go mod download -json "$module" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
	for bases in $(find "$folder" -type d -path '*crd/bases'); do
		set -- "$@" "$bases"
	done
done
mkdir -p ../../../testdata/hosts
go run . -cases 400 "$@" | gzip -9n >../../../testdata/hosts/merge.jsonl.gz
