#!/bin/sh
# Writes testdata/hosts/reprint.jsonl.gz: what kyaml makes of 1,500 seeded folded texts.
set -eu
cd "$(dirname "$0")"
go run . | gzip -9n >../../../testdata/hosts/reprint.jsonl.gz
