# The tools that generate, build and check. Each is pinned by a module of its own under hack/tools and built once for each
# state of that module, outside the clone; a built tool is never out of date, for its folder has the state in its name.

tool_state = $(shell cat $(1) | git hash-object --stdin | cut -c 1-12)
TOOLS := $(GOPACER_CACHE)/tools/$(call tool_state,hack/tools/go.mod hack/tools/go.sum)
LINT_TOOLS := $(GOPACER_CACHE)/tools/$(call tool_state,hack/tools/lint/go.mod hack/tools/lint/go.sum)

CONTROLLER_GEN := $(TOOLS)/controller-gen
KUSTOMIZE := $(TOOLS)/kustomize
GOLANGCI_LINT := $(LINT_TOOLS)/golangci-lint

$(CONTROLLER_GEN):
	go -C hack/tools build -o $@ sigs.k8s.io/controller-tools/cmd/controller-gen

$(KUSTOMIZE):
	go -C hack/tools build -o $@ sigs.k8s.io/kustomize/kustomize/v5

$(GOLANGCI_LINT):
	@echo "building golangci-lint; this takes minutes, once"
	go -C hack/tools/lint build -o $@ sigs.k8s.io/kube-api-linter/cmd/golangci-lint-kube-api-linter

.PHONY: tools
tools: $(CONTROLLER_GEN) $(KUSTOMIZE) $(GOLANGCI_LINT) ## Build all tools ahead of their use.
