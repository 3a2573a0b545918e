# `make help` lists the targets.

# The same settings for tests, product and cluster images, so that they share one build cache. Only a static program runs
# in an image that holds nothing else.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(filter-out -trimpath,$(shell go env GOFLAGS)) -trimpath)

# Built tools and cluster programs; outside the clone, so that a fresh clone finds them.
export GOPACER_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/gopacer

IMG ?= localhost/gopacer:dev
KUBECTL ?= kubectl
FUZZ_TIME ?= 5s

.DEFAULT_GOAL := help

include make/*.mk

##@ General

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@ / {printf "\n%s\n", substr($$0, 5)} \
		/^[a-zA-Z0-9_-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' Makefile make/*.mk

##@ Code

.PHONY: generate
generate: $(CONTROLLER_GEN) ## Generate the API's DeepCopy functions.
	$(CONTROLLER_GEN) object paths=./api/...

.PHONY: manifests
manifests: $(CONTROLLER_GEN) ## Generate the CustomResourceDefinition from the API's types.
	$(CONTROLLER_GEN) crd paths=./api/... output:crd:dir=config/crd/bases

.PHONY: fmt
fmt: ## Format the code.
	gofmt -w $(GO_FILES)

.PHONY: vet
vet: ## Look for mistakes with go vet, also in what needs a cluster.
	go vet -tags e2e ./...

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Look for mistakes with golangci-lint.
	$(GOLANGCI_LINT) run

.PHONY: lint-api
lint-api: $(GOLANGCI_LINT) ## Hold the API against the Kubernetes API conventions.
	$(GOLANGCI_LINT) run --config .golangci-kal.yaml ./api/...

# What is generated, and what only gofmt may lay out.
GENERATED := ':(glob)api/**/zz_generated*.go' config/crd/bases
GO_FILES = $(wildcard $(shell git ls-files --cached --others --exclude-standard --deduplicate '*.go'))

.PHONY: verify
verify: generate manifests ## Fail if what is committed is not what the generators and gofmt make.
	@changed="$$(git status --porcelain -- $(GENERATED))"; if [ -n "$$changed" ]; then \
		git --no-pager diff -- $(GENERATED); echo "$$changed"; \
		echo "generated files differ from what is committed: run 'make generate manifests' and commit the result"; \
		exit 1; fi
	@unformatted="$$(gofmt -l $(GO_FILES))"; if [ -n "$$unformatted" ]; then \
		echo "$$unformatted"; echo "these files are not formatted: run 'make fmt' and commit the result"; \
		exit 1; fi

##@ Tests

.PHONY: test
test: ## Run the unit tests, and the API's against a real API server.
	@assets="$${KUBEBUILDER_ASSETS:-$$(go run ./hack/cluster assets)}" && \
		KUBEBUILDER_ASSETS="$$assets" go test ./...

.PHONY: test-e2e
test-e2e: ## Run the tests on a real cluster on this machine (Linux, root).
	go test -tags e2e -count 1 -timeout 40m -v ./test/e2e/...

.PHONY: test-e2e-full
test-e2e-full: cluster-down ## Stop the cluster, test how one starts and stops, and run the long ones too.
	go run ./hack/tested out/e2e-full/result.json -tags e2e -count 1 -timeout 40m ./test/cluster \
		then -tags e2e -count 1 -timeout 90m ./test/e2e -full

.PHONY: fuzz
fuzz: ## Run every fuzz test for a few seconds (FUZZ_TIME=5s).
	@git grep -o --untracked '^func Fuzz[A-Za-z0-9_]*' -- '*_test.go' | while IFS=: read -r file name; do \
		echo "$$(dirname $$file) $${name#func }"; \
		go test -run '^$$' -fuzz "^$${name#func }\$$" -fuzztime $(FUZZ_TIME) "./$$(dirname $$file)" || exit 1; done

# The rooms that decide. A mutant that its tests let live is a decision that nobody holds.
MUTATED ?= internal/verdict internal/tuning

.PHONY: mutate
mutate: ## Change the rooms that decide, one place at a time, and fail if the tests notice less than 80 % (minutes).
	go run ./hack/mutate -min 80 -out out/mutation $(addprefix ./,$(MUTATED))

##@ Product

.PHONY: build
build: ## Build the programs into bin/.
	go build -o bin/ ./cmd/...

.PHONY: run
run: ## Run the manager on this machine, against the current kubeconfig.
	go run ./cmd/gopacer

.PHONY: image
image: ## Write the manager's image as an OCI archive into out/, without Docker (IMG=name).
	go run ./hack/image -package ./cmd/gopacer -name $(IMG) -out out/gopacer.tar

.PHONY: install
install: $(KUSTOMIZE) ## Install the CustomResourceDefinition into the current cluster.
	$(KUSTOMIZE) build config/crd | $(KUBECTL) apply --server-side -f -

.PHONY: uninstall
uninstall: $(KUSTOMIZE) ## Take it out again, and every policy with it.
	$(KUSTOMIZE) build config/crd | $(KUBECTL) delete --ignore-not-found -f -

KUSTOMIZATION ?= config/default

.PHONY: deploy
deploy: $(KUSTOMIZE) ## Install gopacer into the current cluster; KUSTOMIZATION=config/webhook-only before Kubernetes 1.36.
	$(KUSTOMIZE) build $(KUSTOMIZATION) | $(KUBECTL) apply --server-side -f -

.PHONY: undeploy
undeploy: $(KUSTOMIZE) ## Take it out again; delete the policies first, or their pods keep what they have.
	$(KUSTOMIZE) build $(KUSTOMIZATION) | $(KUBECTL) delete --ignore-not-found -f -

.PHONY: build-installer
build-installer: $(KUSTOMIZE) ## Write everything that deploy applies into out/install.yaml.
	mkdir -p out
	$(KUSTOMIZE) build $(KUSTOMIZATION) > out/install.yaml

.PHONY: demo
demo: ## Show a promotion and a revert on a real cluster on this machine (Linux, root).
	go run ./hack/demo

##@ Cluster
