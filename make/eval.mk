##@ Evaluation
# Simulated fleets whose truth is known, against the product's own verdicts and proposals; see docs/evaluation.md.

.PHONY: eval
eval: ## Evaluate verdicts and proposals in simulation; figures to out/eval/result.json.
	go run ./hack/eval -out out/eval/result.json
