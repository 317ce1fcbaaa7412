#!/bin/sh
# Writes testdata/flux/values.jsonl.gz: what helm-controller's own library makes of seeded values and references.
set -eu
cd "$(dirname "$0")"
mkdir -p ../../../testdata/flux
go run . -cases 4000 | gzip -9n >../../../testdata/flux/values.jsonl.gz
