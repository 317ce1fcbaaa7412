#!/bin/sh
# Makes src/schema/crds.json anew from the CRDs of each provider version that stands in it; with names behind it (rke2@0.26.0) only from those,
# which is how a new version is added.
#
# The Go modules of the providers have their CRDs. Where the module proxy does not serve one (a provider with a module path of its own, a
# version without a checksum), CRDS names a folder with a checkout of its tag in NAME@VERSION. Four were read from their newest candidate:
# baremetal-operator 0.14.0 (rc.0), metal3 1.14.0 (rc.0), openstack 0.15.0 (beta.0), vsphere 1.17.0 (rc.2).
set -eu
cd "$(dirname "$0")/../.."

module() {
	case $1 in
	aws) echo sigs.k8s.io/cluster-api-provider-aws/v2 ;;
	baremetal-operator | metal3) echo "github.com/metal3-io/$([ "$1" = metal3 ] && echo cluster-api-provider-)$1" ;;
	ck8s) echo github.com/canonical/cluster-api-k8s ;;
	cluster-api) echo sigs.k8s.io/cluster-api ;;
	docker) echo sigs.k8s.io/cluster-api/test ;;
	hetzner) echo github.com/syself/cluster-api-provider-hetzner ;;
	ionoscloud | proxmox) echo "github.com/ionos-cloud/cluster-api-provider-$1" ;;
	k0smotron) echo github.com/k0sproject/k0smotron ;;
	kamaji) echo github.com/clastix/cluster-api-control-plane-provider-kamaji ;;
	nutanix) echo github.com/nutanix-cloud-native/cluster-api-provider-nutanix ;;
	outscale) echo github.com/outscale/cluster-api-provider-outscale ;;
	rke2) echo github.com/rancher/cluster-api-provider-rke2 ;;
	tinkerbell) echo github.com/tinkerbell/cluster-api-provider-tinkerbell ;;
	microk8s | talos) ;; # Two repositories, one for each side: only by a checkout of both.
	openshift) ;; # The module proxy does not serve it: only by a checkout.
	*) echo "sigs.k8s.io/cluster-api-provider-$1" ;;
	esac
}

[ $# -gt 0 ] || set -- $(sed -n 's/^"\([a-z0-9-]*@[0-9.]*\)": .*/\1/p' src/schema/crds.json)
told=
for name in "$@"; do
	folder="${CRDS:-/nowhere}/$name"
	path=$(module "${name%@*}")
	if ! [ -d "$folder" ] && [ -n "$path" ]; then
		folder=$(GOFLAGS=-mod=mod go mod download -json "$path@v${name#*@}" 2>/dev/null | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
	fi
	if [ -d "$folder" ]; then
		told="$told $name=$folder"
	else
		echo "$name stays as it is: no module, and no folder of it in CRDS" >&2
	fi
done
ROLLGATE_CRDS=$told cargo test --locked --test schemas -- --ignored
