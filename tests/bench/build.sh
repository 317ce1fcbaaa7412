#!/usr/bin/env bash
# Builds the programs of the bench, each from its own Go module in modules/, into a cache outside the clone.
#
#   tests/bench/build.sh                  everything
#   tests/bench/build.sh helm3 helm4      only these
#   tests/bench/build.sh --bin-dir        where they lie; builds nothing
#   tests/bench/build.sh --list           the names that can be built
#
# A program is built again only when its module (go.mod, go.sum, own sources) or its line in the table below changed.
# The folder of --bin-dir carries a hash over all of them, so that clones at different versions do not disturb each other.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rollgate-bench
export CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-mod=readonly GOWORK=off

# name | module folder | what | Go module whose version is shown | variable that holds the version
#   what = a package to build, or config:FOLDER to copy a provider's CRDs and webhook manifests out of that Go module.
table='
helm3             | helm3             | helm.sh/helm/v3/cmd/helm              | helm.sh/helm/v3                    | helm.sh/helm/v3/internal/version.version
helm4             | helm4             | helm.sh/helm/v4/cmd/helm              | helm.sh/helm/v4                    | helm.sh/helm/v4/internal/version.version
etcd              | etcd              | .                                     | go.etcd.io/etcd/server/v3          |
kube-apiserver    | kubernetes        | ./apiserver                           | k8s.io/kubernetes                  | k8s.io/component-base/version.gitVersion
kubectl           | kubernetes        | k8s.io/kubernetes/cmd/kubectl         | k8s.io/kubernetes                  | k8s.io/component-base/version.gitVersion
bench             | starter           | .                                     |                                    |
core              | capi              | sigs.k8s.io/cluster-api/core          | sigs.k8s.io/cluster-api            |
bootstrap         | capi              | sigs.k8s.io/cluster-api/bootstrap/kubeadm    | sigs.k8s.io/cluster-api     |
controlplane      | capi              | sigs.k8s.io/cluster-api/controlplane/kubeadm | sigs.k8s.io/cluster-api     |
capd              | capi              | ./capd                                | sigs.k8s.io/cluster-api/test       |
rke2-bootstrap    | rke2              | github.com/rancher/cluster-api-provider-rke2/bootstrap    | github.com/rancher/cluster-api-provider-rke2 |
rke2-controlplane | rke2              | github.com/rancher/cluster-api-provider-rke2/controlplane | github.com/rancher/cluster-api-provider-rke2 |
helm-controller   | helm-controller   | github.com/fluxcd/helm-controller     | github.com/fluxcd/helm-controller  |
source-controller | source-controller | github.com/fluxcd/source-controller   | github.com/fluxcd/source-controller |
dyff              | dyff              | github.com/homeport/dyff/cmd/dyff     | github.com/homeport/dyff           |
helmfile          | helmfile          | github.com/helmfile/helmfile          | github.com/helmfile/helmfile          | go.szostok.io/version.version
kustomize         | kustomize         | sigs.k8s.io/kustomize/kustomize/v5    | sigs.k8s.io/kustomize/kustomize/v5 |
config-core              | capi              | config:core/config                   | sigs.k8s.io/cluster-api            |
config-bootstrap         | capi              | config:bootstrap/kubeadm/config      | sigs.k8s.io/cluster-api            |
config-controlplane      | capi              | config:controlplane/kubeadm/config   | sigs.k8s.io/cluster-api            |
config-clusterctl        | capi              | config:cmd/clusterctl/config         | sigs.k8s.io/cluster-api            |
config-capd              | capi              | config:infrastructure/docker/config  | sigs.k8s.io/cluster-api/test       |
config-rke2-bootstrap    | rke2              | config:bootstrap/config              | github.com/rancher/cluster-api-provider-rke2 |
config-rke2-controlplane | rke2              | config:controlplane/config           | github.com/rancher/cluster-api-provider-rke2 |
config-helm-controller   | helm-controller   | config:config                        | github.com/fluxcd/helm-controller  |
config-source            | source-controller | config:config                        | github.com/fluxcd/source-controller |
'

# Prints the fields of the table's line for a name, one per line.
row() {
  awk -F'|' -v name="$1" '{ for (i = 1; i <= NF; i++) gsub(/^[ \t]+|[ \t]+$/, "", $i) }
    $1 == name { for (i = 1; i <= 5; i++) print $i; found = 1 } END { exit !found }' <<<"$table"
}

names() { awk -F'|' 'NF > 1 { gsub(/[ \t]/, "", $1); print $1 }' <<<"$table"; }

# The key of one program: its module, its line, and the kind of machine.
key() {
  local fields; fields=$(row "$1")
  local module; module=$(sed -n 2p <<<"$fields")
  { uname -sm; printf '%s\n' "$fields"
    cd "$here/modules/$module" && find . -type f \( -name '*.go' -o -name 'go.mod' -o -name 'go.sum' \) -print0 | sort -z | xargs -0 sha256sum
  } | sha256sum | cut -c1-16
}

# The folder of the whole set: depends on every key, whether or not the program is built yet.
set_dir() {
  local all; all=$(for name in $(names); do key "$name"; done | sha256sum | cut -c1-16)
  echo "$cache/$all"
}

# Copies a provider's CRDs, and its webhook manifests where it has any, out of the module cache, and notes the version.
copy_config() { # module of version folder target
  local dir; dir=$(cd "$here/modules/$1" && go mod download -json "$2@$3" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
  local config=$dir/$4
  mkdir -p "$5/webhooks"
  cp "$config"/crd/bases/*.yaml "$5/"
  [ ! -f "$config/webhook/manifests.yaml" ] || cp "$config/webhook/manifests.yaml" "$5/webhooks/"
  chmod -R u+w "$5"
  echo "$3" > "$5/version"
}

compile() { # module package version variable target
  local flags="-s -w"
  [ -z "$4" ] || flags="$flags -X $4=$3"
  (cd "$here/modules/$1" && nice -n 10 go build -trimpath -buildvcs=false -ldflags "$flags" -o "$5" "$2")
}

# Makes one entry in a folder of its own, which is moved into place whole: nobody sees half of it.
make_entry() { # name module what of version variable target
  local partial=$7.partial.$$
  rm -rf "$partial" && mkdir -p "$partial"
  case $3 in
    config:*) copy_config "$2" "$4" "$5" "${3#config:}" "$partial/$1" ;;
    *) compile "$2" "$3" "$5" "$6" "$partial/$1" ;;
  esac
  rm -rf "$7" && mv "$partial" "$7"
}

build() { # name
  local name=$1 fields; mapfile -t fields < <(row "$name")
  local module=${fields[1]} what=${fields[2]} of=${fields[3]} variable=${fields[4]} version=""
  if [ -n "$of" ]; then
    version=$(awk -v m="$of" '$1 == "require" { $1 = $2; $2 = $3 } $1 == m && $2 ~ /^v/ { print $2; exit }' "$here/modules/$module/go.mod")
  fi
  local entry="$cache/store/$name-$(key "$name")" place=bin link=$name
  case $what in config:*) place=config link=${name#config-} ;; esac
  mkdir -p "$cache/store" "$set/$place"
  local said="kept $name${version:+ $version}" began=$SECONDS
  if [ ! -d "$entry" ]; then
    # Two builds at once would do the same work twice; where there is no flock, they merely do.
    exec 9>"$cache/store/.$name.lock"
    if command -v flock >/dev/null; then flock 9; fi
    if [ ! -d "$entry" ]; then
      make_entry "$name" "$module" "$what" "$of" "$version" "$variable" "$entry"
      said="built $name${version:+ $version} in $((SECONDS - began)) s"
    fi
    exec 9>&-
  fi
  ln -sfn "$entry/$name" "$set/$place/$link"
  echo "$said"
}

set=$(set_dir)
case ${1:-} in
  --bin-dir) echo "$set/bin"; exit ;;
  --list) names; exit ;;
  -*) echo "build.sh: unknown option $1 (known: --bin-dir, --list)" >&2; exit 2 ;;
esac

command -v go >/dev/null || { echo "build.sh: go is not on PATH; the bench needs Go 1.26 or newer" >&2; exit 2; }
wanted=("$@")
[ $# -gt 0 ] || mapfile -t wanted < <(names)
for name in "${wanted[@]}"; do
  row "$name" >/dev/null || { echo "build.sh: no program is called $name; the names are: $(names | tr '\n' ' ')" >&2; exit 2; }
done
for name in "${wanted[@]}"; do build "$name"; done
