# Everything that a person or a machine does with this project. `make` alone lists it.
# Works with any Node from 18 on: the Node that olap-warden needs is installed beside it, under ~/.cache/olap-warden.

SHELL := /bin/bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# In front of a command: finds the project's own Node first.
NODE := node_home="$$(tools/install.sh node)" && PATH="$$node_home/bin:$$PATH"
BIN := node_modules/.bin
INSTALLED := node_modules/.installed-$(shell cksum package-lock.json | cut -d' ' -f1)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z][a-z0-9-]*:.*## / { printf "  \033[1mmake %-18s\033[0m %s\n", $$1, $$2 } /^##@/ { printf "\n%s\n", substr($$0, 5) }' $(MAKEFILE_LIST)

##@ Use
.PHONY: run
run: deps web ## olap-warden and a sample Pinot on this machine (PORT, METRICS_PORT, DATA_DIR, OLAP_CONTROLLER=URL)
	@$(NODE) && exec node tools/dev/run.ts

##@ Test
.PHONY: test test-unit test-integration test-e2e
test: deps ## everything: lint, verify, and all tests on real parts
	@$(NODE) && exec node tools/dev/test.ts

test-unit: deps ## the tests that need Node alone (about a minute)
	@$(NODE) $(BIN)/vitest run --project unit

test-integration: deps parts ## the tests on a real kube-apiserver, Pinot and object stores (ONLY=path for some; TEST_CONTROLLER=URL)
	@$(NODE) $(BIN)/vitest run --project integration $(ONLY)

test-e2e: deps parts web ## the tests that run whole programs (ONLY=path for some)
	@$(NODE) $(BIN)/vitest run --project e2e $(ONLY)

.PHONY: parts parts-built parts-pinot
parts: ## build or fetch the real parts that tests need (first time: about half an hour)
	@$(MAKE) -j2 parts-built parts-pinot

parts-built:
	@for part in kubernetes helm s3 gcs; do tools/install.sh $$part >/dev/null || exit 1; done
	@$(NODE) && node tools/dev/node-parts.ts

parts-pinot:
	@tools/install.sh sample >/dev/null

##@ Change
.PHONY: lint format generate verify web screenshots lint-chart bench image
lint: deps ## rules, types and format
	@$(NODE) && $(BIN)/oxlint --type-aware --deny-warnings && $(BIN)/tsc --noEmit && $(BIN)/tsc --noEmit -p web && $(BIN)/oxfmt --check

format: deps ## format every file
	@$(NODE) $(BIN)/oxfmt

generate: deps ## write what is generated: crds/, manifests, OpenAPI
	@$(NODE) node tools/generate.ts

verify: deps ## fail when something generated is out of date
	@$(NODE) node tools/generate.ts --check
	@$(NODE) node tools/generate/install-manifest.ts --check

web: deps ## build the dashboard into web/dist
	@$(NODE) node web/build.ts

screenshots: deps parts-pinot web ## the pictures of the dashboard in docs/images
	@$(NODE) && SCREENSHOTS=docs/images $(BIN)/vitest run --project e2e test/e2e/dashboard-quality.test.ts

lint-chart: deps ## helm lint, kubeconform and helm-unittest on every combination of the chart's switches that matters
	@$(NODE) node tools/helm/lint.ts

bench: deps ## measure, beside what does the same (ONLY=decisions,…)
	@$(NODE) node bench/main.ts $(ONLY)

IMAGE ?= ghcr.io/olap-warden/olap-warden:$(shell sed -n 's/.*"version": "\(.*\)".*/\1/p' package.json)
image: deps ## the container image (IMAGE=name:tag) by docker, podman or buildah; without any of them as build/image.tar
	@for tool in docker podman buildah; do \
	  if $$tool info >/dev/null 2>&1; then exec $$tool build -f Containerfile -t $(IMAGE) .; fi; \
	done; \
	mkdir -p build && $(NODE) && node web/build.ts && exec node tools/image/oci-archive.ts build/image.tar $(IMAGE)

##@ Kubernetes (the cluster of the current kubectl context; namespace olap)
.PHONY: manifests install deploy undeploy
manifests: generate ## write manifests/install.yaml, from the chart
	@$(NODE) node tools/generate/install-manifest.ts

install: ## apply the custom resource definitions
	kubectl apply --server-side -f crds/
	kubectl wait --for=condition=Established --timeout=60s -f crds/

deploy: ## apply everything: namespace, definitions, operator, gateway
	kubectl apply --server-side -k manifests/

# Without the namespace and the definitions, which carry no such label: their end would be that of the custom resources.
undeploy: ## remove the operator and the gateway; namespace, custom resources and their definitions stay
	kubectl delete --ignore-not-found -f manifests/install.yaml -l app.kubernetes.io/instance=olap-warden

##@ Housekeeping
.PHONY: deps clean clean-data
deps: $(INSTALLED) ## install the npm packages of package-lock.json

# `npm ci` empties node_modules; that is spared when it holds just what the lock file names already.
$(INSTALLED): package-lock.json
	@tools/install.sh node >/dev/null
	@$(NODE) node tools/dev/dependencies.ts 2>/dev/null || { \
	  command -v npm >/dev/null || { echo 'error: `npm` is not installed; install Node 18 or newer with npm (https://nodejs.org/)' >&2; exit 1; }; \
	  echo 'installing npm packages' >&2; npm ci --ignore-scripts --no-audit --no-fund --loglevel=error; }
	@rm -f node_modules/.installed-*
	@touch $@

clean: ## remove what was built here (the shared cache and ./data stay)
	rm -rf node_modules web/dist test-results build

clean-data: ## remove what `make run` keeps in ./data: roles, tokens, the sample cluster
	rm -rf data
