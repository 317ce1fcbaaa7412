#!/bin/sh
# Writes src/schema/builtin.jsonl.gz from the CRDs in the Go modules of the providers. What a later module says about a kind
# and version takes the place of what an earlier one says: CAPRKE2 0.21 is the last one that serves v1alpha1.
#
# Where the module proxy does not have one of them, CRDS names a folder with a checkout of it in `NAME@VERSION`, NAME being
# the last word of the module.
set -eu
cd "$(dirname "$0")"
set --
for module in \
	sigs.k8s.io/cluster-api@v1.14.0 \
	sigs.k8s.io/cluster-api/test@v1.14.0 \
	github.com/rancher/cluster-api-provider-rke2@v0.21.0 \
	github.com/rancher/cluster-api-provider-rke2@v0.25.0 \
	github.com/metal3-io/cluster-api-provider-metal3@v1.13.2 \
	github.com/metal3-io/baremetal-operator@v0.13.2 \
	sigs.k8s.io/cluster-api-provider-openstack@v0.11.3 \
	sigs.k8s.io/cluster-api-provider-vsphere@v1.14.0 \
	sigs.k8s.io/cluster-api-provider-aws/v2@v2.13.0 \
	sigs.k8s.io/cluster-api-provider-azure@v1.26.0 \
	sigs.k8s.io/cluster-api-provider-gcp@v1.13.1 \
	sigs.k8s.io/cluster-api-provider-cloudstack@v0.6.1 \
	github.com/siderolabs/cluster-api-bootstrap-provider-talos@v0.6.7; do
	folder="${CRDS:-/nowhere}/${module##*/}"
	if ! [ -d "$folder" ]; then
		folder=$(GOFLAGS=-mod=mod go mod download -json "$module" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
	fi
	for bases in $(find "$folder" -type d -path '*crd*/bases' | sort); do
		set -- "$@" "$bases"
	done
done
go run . "$@" | gzip -9n >../../../src/schema/builtin.jsonl.gz
