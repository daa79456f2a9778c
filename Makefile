# All tasks of this project. `make` lists them.
# Requires Node 18 or newer with npm; the Node version of olap-warden is installed in ~/.cache/olap-warden.

SHELL := /bin/bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Command prefix: puts the project's Node first in the PATH.
NODE := node_home="$$(tools/install.sh node)" && PATH="$$node_home/bin:$$PATH"
BIN := node_modules/.bin
INSTALLED := node_modules/.installed-$(shell cksum package-lock.json | cut -d' ' -f1)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z][a-z0-9-]*:.*## / { printf "  \033[1mmake %-18s\033[0m %s\n", $$1, $$2 } /^##@/ { printf "\n%s\n", substr($$0, 5) }' $(MAKEFILE_LIST)

##@ Use
.PHONY: run requirements break mend doctor
run: requirements deps web ## start olap-warden and a sample Pinot on this machine (PORT, METRICS_PORT, DATA_DIR, OLAP_CONTROLLER=URL)
	@$(NODE) && exec node tools/dev/run.ts

# Before minutes of work: a wrong variable, a port in use, a missing Java.
requirements:
	@$(NODE) && exec node tools/dev/requirements.ts

break: ## disable a server of the sample cluster of `make run`, so that its health report is red (PORT, DATA_DIR as for make run)
	@$(NODE) && exec node tools/dev/break.ts break

mend: ## enable the servers of the sample cluster again
	@$(NODE) && exec node tools/dev/break.ts mend

doctor: ## check the requirements of `make run` and `make test` on this machine
	@$(NODE) && exec node tools/dev/doctor.ts

##@ Test
.PHONY: test test-unit test-integration test-e2e test-new-machine
test: deps ## lint, verify and all tests, on real parts
	@$(NODE) && exec node tools/dev/test.ts

test-unit: deps ## the tests that require only Node, without the slow ones (less than a minute; ALL=1: with them; ONLY=path: all of these)
	@$(NODE) $(BIN)/vitest run --project unit $(if $(ALL)$(ONLY),,--tags-filter='!slow') $(ONLY)

test-integration: deps ## the tests with a real kube-apiserver, Pinot and object stores (ONLY=path; builds only their parts; KUBERNETES=1.36; TEST_CONTROLLER=URL)
	@$(NODE) && node tools/dev/parts.ts --for integration $(ONLY)
	@$(if $(KUBERNETES),tools/install.sh kubernetes $(KUBERNETES) >/dev/null)
	@$(NODE) $(BIN)/vitest run --project integration $(ONLY)

test-e2e: deps web ## the tests of whole programs (ONLY=path; builds only their parts)
	@$(NODE) && node tools/dev/parts.ts --for e2e $(ONLY)
	@$(NODE) $(BIN)/vitest run --project e2e $(ONLY)

test-new-machine: deps ## make run and make test-unit in a clone of the last commit, with an empty home and empty caches (three to five minutes)
	@$(NODE) $(BIN)/vitest run --project new-machine

.PHONY: fuzz-sql
TEXTS ?= 120000
PLANS ?= 60000
fuzz-sql: deps ## random SQL texts through the SQL check, and the parsers and planners of five versions of Pinot (TEXTS=number, PLANS=number, SEED=number)
	@tools/install.sh pinot-parsers >/dev/null
	@$(NODE) && SQL_TEXTS=$(TEXTS) SQL_PLANS=$(PLANS) SQL_SEED=$(SEED) $(BIN)/vitest run --project integration test/integration/engine
	@$(NODE) && SQL_TEXTS=$(TEXTS) $(BIN)/vitest run --project unit test/unit/access/sql/row-conditions.test.ts

.PHONY: test-races
RACE_TESTS := test/integration/rbac/races.test.ts test/integration/rbac/kill.test.ts
test-races: deps ## 1,000 races of each kind between deletions and references, and 150 gateways killed during writes
	@$(NODE) && node tools/dev/parts.ts --for integration $(RACE_TESTS)
	@$(NODE) && RACES=1000 KILLS=100 $(BIN)/vitest run --project integration $(RACE_TESTS)

.PHONY: test-security
test-security: deps ## the tests that SECURITY.md names, npm audit, and the list of shipped packages (UPDATE=1 writes docs/access-by-role.md)
	@$(NODE) && node tools/dev/supply-chain.ts && UPDATE=$(UPDATE) exec node tools/dev/suite.ts SECURITY.md test/security

.PHONY: test-faults
FAULT_SECONDS ?= 10
test-faults: deps ## faults of the Kubernetes API, object store, disk, engine, own processes and clients under load, about ten minutes (ALL=1: every test of test/guarantees.md; UPDATE=1 writes its figures)
	@$(NODE) && UPDATE=$(UPDATE) FAULT_SECONDS=$(FAULT_SECONDS) exec node tools/dev/suite.ts $(if $(ALL),test/guarantees.md,-) test/faults

.PHONY: test-history soak mutate
WRITES ?= 10000
test-history: deps ## WRITES=10000 random writes through three gateways and kubectl with faults; then compares stored objects, decisions and tokens (SEED=number)
	@$(NODE) && node tools/dev/parts.ts --for integration test/faults/history
	@$(NODE) && WRITES=$(WRITES) SEED=$(SEED) exec $(BIN)/vitest run --project integration test/faults/history.integration.test.ts

MINUTES ?= 10
soak: deps ## mixed load on operator and gateway for MINUTES=10; memory, sockets, timers, watches and stored results must end where they began
	@$(NODE) && node tools/dev/parts.ts --for integration test/soak
	@$(NODE) && MINUTES=$(MINUTES) exec $(BIN)/vitest run --project integration test/soak

mutate: deps ## change one operator at a time in a copy and run the unit tests; prints the changes that no test notices, fails if more than 6 % survive (COUNT=300 SEED=1 ONLY=path)
	@$(NODE) && COUNT=$(COUNT) SEED=$(SEED) ONLY=$(ONLY) exec node tools/dev/mutate.ts

.PHONY: test-superset
test-superset: deps ## a real Apache Superset connects through the gateway and draws a chart (first time 800 MB from PyPI; not part of make test)
	@$(NODE) && node tools/dev/parts.ts sample && SUPERSET=1 exec $(BIN)/vitest run --project integration test/integration/clients/superset

.PHONY: fuzz-input
INPUTS ?= 100000
fuzz-input: deps ## 100,000 inputs each of JSON, SRNs, policies, URLs, forwarding headers, YAML and records; 4,000 to 30,000 each of kubeconfigs, certificates and responses of engine and buckets (INPUTS=number; FAST_CHECK_SEED=number)
	@$(NODE) && INPUTS=$(INPUTS) $(BIN)/vitest run --project unit --testTimeout=0 test/security/bad-

.PHONY: fuzz-http
fuzz-http: deps ## 20,000 raw requests against a gateway process (SEED=number repeats a run; FROM=number CASES=number for some)
	@$(NODE) && exec node test/fuzz/http/main.ts

.PHONY: fuzz-access
fuzz-access: deps ## 20,000 walks of random administrators (STORE=memory|folder|kubernetes; SEED=number WALKS=number PARALLEL=number)
	@$(NODE) && exec node test/fuzz/access/main.ts

.PHONY: parts
parts: ## build or download the real parts for the tests (first time: about half an hour; says which are missing)
	@$(NODE) && exec node tools/dev/parts.ts

##@ Change
.PHONY: lint format generate verify web screenshots lint-chart bench docs package image release
lint: deps ## rules, types and format
	@$(NODE) && $(BIN)/oxlint --type-aware --deny-warnings && $(BIN)/tsc --noEmit && $(BIN)/tsc --noEmit -p web && $(BIN)/oxfmt --check

format: deps ## format every file
	@$(NODE) $(BIN)/oxfmt

generate: deps ## update the generated files: CRDs, chart files, docs, OpenAPI, dashboard types
	@$(NODE) node tools/generate.ts

verify: deps ## fail if a generated file is out of date
	@$(NODE) node tools/generate.ts --check
	@$(NODE) node tools/generate/install-manifest.ts --check

web: deps ## build the dashboard into web/dist
	@$(NODE) node web/build.ts

screenshots: deps web ## update the images of the dashboard in docs/images
	@$(NODE) && node tools/dev/parts.ts sample && SCREENSHOTS=docs/images $(BIN)/vitest run --project e2e test/e2e/dashboard-quality.test.ts

lint-chart: deps ## run helm lint, kubeconform and helm-unittest on all tested combinations of values, and kube-score
	@$(NODE) node tools/helm/lint.ts

bench: deps ## run the benchmarks, also of comparable programs (ONLY=decisions,…; FULL=1, QUICK=1, PROFILE=1, BENCH_CONTROLLER=URL)
	@$(NODE) && ONLY=$(ONLY) FULL=$(FULL) QUICK=$(QUICK) PROFILE=$(PROFILE) BENCH_CONTROLLER=$(BENCH_CONTROLLER) exec node bench/main.ts

docs: deps ## write the documents as HTML, with a search, to build/site
	@$(NODE) && exec node tools/site/build.ts build/site

package: deps web ## write the npm package, which contains its dependencies, to build
	@$(NODE) && node tools/package/build.ts build/package && npm pack --silent --pack-destination build ./build/package

IMAGE ?= ghcr.io/olap-warden/olap-warden:$(shell sed -n 's/.*"version": "\(.*\)".*/\1/p' package.json)
ARCHITECTURES ?= amd64,arm64
image: deps ## build the container image (IMAGE=name:tag) with docker, podman or buildah, otherwise for ARCHITECTURES=amd64,arm64 as build/image.tar
	@for tool in docker podman buildah; do \
	  if $$tool info >/dev/null 2>&1; then exec $$tool build -f Containerfile -t $(IMAGE) .; fi; \
	done; \
	mkdir -p build && $(NODE) && node web/build.ts && exec node tools/image/oci-archive.ts build/image.tar $(IMAGE) $(ARCHITECTURES)

release: deps web ## set VERSION=, commit and tag it, and write its files to build/release (SIGNING_KEY=file, ARCHITECTURES=amd64,arm64)
	@$(NODE) && ARCHITECTURES=$(ARCHITECTURES) exec node tools/release/release.ts $(VERSION)

##@ Kubernetes (cluster of the current kubectl context, namespace olap)
.PHONY: manifests install deploy undeploy
manifests: generate ## generate manifests/install.yaml from the chart
	@$(NODE) node tools/generate/install-manifest.ts

install: ## apply the custom resource definitions
	kubectl apply --server-side -f crds/
	kubectl wait --for=condition=Established --timeout=60s -f crds/

deploy: ## apply namespace, definitions, operator and gateway
	kubectl apply --server-side -k manifests/

# The namespace and the definitions do not have this label: deleting them would delete the custom resources.
undeploy: ## delete operator and gateway; keep namespace, custom resources and definitions
	kubectl delete --ignore-not-found -f manifests/install.yaml -l app.kubernetes.io/instance=olap-warden

##@ Housekeeping
.PHONY: deps clean clean-data
deps: $(INSTALLED) ## install the npm packages of package-lock.json

# `npm ci` empties node_modules, so skip it when node_modules matches the lock file.
$(INSTALLED): package-lock.json
	@tools/install.sh node >/dev/null
	@$(NODE) node tools/dev/dependencies.ts 2>/dev/null || { \
	  command -v npm >/dev/null || { echo 'error: `npm` is not installed; install Node 18 or newer with npm (https://nodejs.org/)' >&2; exit 1; }; \
	  echo 'installing npm packages' >&2; npm ci --ignore-scripts --no-audit --no-fund --loglevel=error || { \
	    echo 'error: npm did not install the packages: see its message above. If it has no connection: `npm config get registry` prints the address that must be reachable; HTTPS_PROXY names a proxy' >&2; exit 1; }; }
	@rm -f node_modules/.installed-*
	@touch $@

clean: ## delete build output (keeps the shared cache and ./data)
	rm -rf node_modules web/dist test-results build

clean-data: ## delete ./data of `make run`: resources, tokens, the sample cluster
	rm -rf data
