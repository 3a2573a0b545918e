##@ Proof
# Thousands of trials in a virtual cluster in which everything goes wrong, with the real reconciler and webhook; see docs/trial.md.

RUNS ?= 2000

.PHONY: simulate
simulate: ## Play trials under faults and hold them against the invariants (RUNS=2000, SEED= replays one); result in out/simulate/result.json.
	go run ./hack/simulate $(if $(SEED),-seed $(SEED),-runs $(RUNS))
