#!/usr/bin/env bash
# Records what real Helms keep of a release: `testdata/records/record.sh` (needs the bench: make bench).
# Each file is the object of one revision as the API server holds it, without managed fields.
set -euo pipefail
cd "$(dirname "$0")"
bin=$(../../tests/bench/build.sh --bin-dir)
out=$(mktemp -d)
"$bin/bench" up --api-only --keep --bin-dir "$bin" --out "$out" >"$out/ready" 2>"$out/log" &
bench=$!
trap 'kill $bench; wait $bench || true; rm -rf "$out"' EXIT
until [ -s "$out/ready" ]; do kill -0 $bench; sleep 0.2; done
export KUBECONFIG="$out/kubeconfig" HELM_CACHE_HOME="$out/h" HELM_CONFIG_HOME="$out/h" HELM_DATA_HOME="$out/h" HELM_PLUGINS="$out/h"
chart=../../tests/e2e/charts/kubeadm
for helm in helm3 helm4; do
  for driver in secret configmap; do
    namespace="$helm-$driver"
    run() { HELM_DRIVER=$driver "$bin/$helm" "$@" --namespace "$namespace" >/dev/null; }
    "$bin/kubectl" create namespace "$namespace" >/dev/null
    run install demo $chart
    run upgrade demo $chart --set vip=10.0.3.7
    "$bin/kubectl" get "$driver" -n "$namespace" -l owner=helm -o json >"$namespace.json"
  done
done
