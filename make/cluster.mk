# A real Kubernetes cluster on this machine; see `go run ./hack/cluster`.

.PHONY: cluster-up
cluster-up: ## Start a Kubernetes cluster with Prometheus on this machine (Linux, root).
	go run ./hack/cluster up

.PHONY: cluster-down
cluster-down: ## Stop the cluster and leave nothing of it behind.
	go run ./hack/cluster down

.PHONY: cluster-status
cluster-status: ## Say what runs in the cluster, where it is reached and how it is used.
	go run ./hack/cluster status
