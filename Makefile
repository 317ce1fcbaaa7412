# make lint    format and lints of everything that CI looks at, the tests too that need a bench (2 minutes)
# make bench   build the programs of the bench (13 minutes on two cores the first time, seconds after)
# make e2e     build them, then run the tests against a real management cluster on this machine, and play what walks found (MINUTES=5 walks on)
#              (four tests at a time: most of their time they wait for controllers)
# make forecasts  compare forecasts with what the controllers then do, those that replace Machines too, and what hosts write
#              (20 minutes; make e2e does the quick ones of the first)
# make hunt    play seeded walks through situations of clusters and compare each forecast with what comes (MINUTES=30 SEED=1 LANES=8)
# make hunt-writes  compare forecasts of single writes with the API server's answers, without waiting for controllers (WRITES=600 SEED=1)
# make hunt-workers  the same as hunt with the controllers of workers in one process and no cluster (MINUTES=10 SEED=1 LANES=2; needs Go)
# make speed   measure what docs/speed.md says, and write its table (needs valgrind; an hour on two cores; DYFF names dyff where it
#              is not on PATH or in the bench)
# make load    measure the webhook under load as docs/serve.md says it (builds for speed first; two minutes on two cores that do nothing
#              else, and three more in front of a real API server where the bench is built; LOAD_SECONDS=5 for each figure, LOAD_CLUSTERS=1000)
# make oracle  record the controllers' own answers anew (hours; the recordings are committed)
#
# What writes anew what a test compares: ROLLGATE_BLESS=1 (scenarios, outputs of pages, schemas), ROLLGATE_WRITE=1 (rules_docs, rollouts, oracle),
# ROLLGATE_UPDATE=1 (the table of docs/reliability.md). Read the difference before you commit it.
#
# What the end-to-end tests read:
#   ROLLGATE_BENCH_BIN   folder of the bench's programs; without it they ask tests/bench/build.sh --bin-dir
#   CI                   true: a bench that is not built is a failure, not a skipped test
.DEFAULT_GOAL := help
SHELL := /bin/bash

.PHONY: help lint bench e2e forecasts hunt hunt-workers hunt-writes load oracle speed

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

lint:
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	cargo clippy --locked --features forecasts --test e2e --test faults --test hunt -- -D warnings
	cargo clippy --locked --test e2e -- -D warnings
	@# The binary of pipelines holds nothing that only the webhook and the gate use.
	cargo clippy --locked --no-default-features -- -D warnings

bench:
	tests/bench/build.sh

e2e: bench
	ROLLGATE_HUNT_MINUTES="$(or $(MINUTES),0)" ROLLGATE_HUNT_SEED="$(or $(SEED),1)" ROLLGATE_HUNT_LANES="$(or $(LANES),5)" \
	RUST_TEST_THREADS=4 ROLLGATE_BENCH_BIN="$$(tests/bench/build.sh --bin-dir)" cargo test --locked --no-fail-fast --test e2e --test faults --test hunt -- --nocapture

forecasts: bench
	ROLLGATE_BENCH_BIN="$$(tests/bench/build.sh --bin-dir)" cargo test --locked --features forecasts --test e2e -- --nocapture forecasts what_a_host_writes

hunt: bench
	ROLLGATE_HUNT_MINUTES="$(or $(MINUTES),30)" ROLLGATE_HUNT_SEED="$(or $(SEED),1)" ROLLGATE_HUNT_LANES="$(or $(LANES),8)" \
	ROLLGATE_BENCH_BIN="$$(tests/bench/build.sh --bin-dir)" cargo test --locked --test hunt -- --nocapture no_forecast

hunt-writes: bench
	ROLLGATE_HUNT_WRITES="$(or $(WRITES),600)" ROLLGATE_HUNT_SEED="$(or $(SEED),1)" \
	ROLLGATE_BENCH_BIN="$$(tests/bench/build.sh --bin-dir)" cargo test --locked --test hunt -- --nocapture no_refusal

hunt-workers:
	cargo build --locked
	cd tests/hunt/workers && GOTOOLCHAIN=local CGO_ENABLED=0 GOGC=400 ROLLGATE_BIN="$(or $(ROLLGATE_BIN),$(CURDIR)/target/debug/rollgate)" go run -buildvcs=false . \
		-minutes "$(or $(MINUTES),10)" -seed "$(or $(SEED),1)" -lanes "$(or $(LANES),2)" -finds "$(or $(FINDS),$(CURDIR)/target/finds)"

load:
	cargo test --locked --release --test serve -- --ignored --nocapture --test-threads=1 --exact load::load online::ready

oracle:
	tests/oracle/record.sh $(ORACLE)

speed:
	DYFF="$${DYFF:-$$(command -v dyff || echo "$$(tests/bench/build.sh --bin-dir)/dyff")}" ROLLGATE_SPEED_WRITE=1 cargo bench --locked --bench speed
