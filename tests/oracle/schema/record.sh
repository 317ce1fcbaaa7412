#!/bin/sh
# Writes src/schema/builtin.jsonl.gz from the CRDs in the Go modules of the providers.
set -eu
cd "$(dirname "$0")"
set --
for module in \
	sigs.k8s.io/cluster-api@v1.14.0 \
	sigs.k8s.io/cluster-api/test@v1.14.0 \
	github.com/rancher/cluster-api-provider-rke2@v0.21.0 \
	sigs.k8s.io/cluster-api-provider-openstack@v0.11.3 \
	sigs.k8s.io/cluster-api-provider-vsphere@v1.14.0 \
	sigs.k8s.io/cluster-api-provider-aws/v2@v2.13.0; do
	folder=$(GOFLAGS=-mod=mod go mod download -json "$module" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
	for bases in $(find "$folder" -type d -path '*crd/bases'); do
		set -- "$@" "$bases"
	done
done
go run . "$@" | gzip -9n >../../../src/schema/builtin.jsonl.gz
