package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// longestName is how long a pod's name, and a label's value, may be. A pod's name may be longer, but it is the pod's host name too,
// which Linux bounds to 63 (k8s.io/apiserver/pkg/storage/names keeps generated names to the same).
const longestName = 63

// PodName is the name of the one pod that takes a slot: what the API server would generate, with the slot's id in the place of
// its random end. Two pods can't have one name, so a slot is taken once at most, however many webhook replicas grant it.
func PodName(generateName, slotID string) string {
	if longest := max(longestName-len(slotID), 0); len(generateName) > longest {
		generateName = generateName[:longest]
	}
	return generateName + slotID
}

// PolicyLabel is the value of the label that names a policy on a pod. A policy's name may be longer than a label's value; a pod with such
// a label would be refused, so the name then ends in a digest.
func PolicyLabel(policyName string) string {
	if len(policyName) <= longestName {
		return policyName
	}
	sum := sha256.Sum256([]byte(policyName))
	digest := hex.EncodeToString(sum[:5])
	return strings.TrimRight(policyName[:longestName-len(digest)-1], ".-") + "-" + digest
}
