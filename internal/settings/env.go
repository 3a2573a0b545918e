package settings

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Declared reads the managed settings that a container declares, and refuses what can't be managed: a key taken from valueFrom or
// given twice, and a value that the runtime would not accept.
func Declared(container *corev1.Container) (Settings, error) {
	var s Settings
	seen := map[string]bool{}
	for _, env := range container.Env {
		if env.Name != EnvGOGC && env.Name != EnvGOMEMLIMIT {
			continue
		}
		if seen[env.Name] {
			return Settings{}, fmt.Errorf("container %q sets %s twice: remove one of the entries", container.Name, env.Name)
		}
		seen[env.Name] = true
		if env.ValueFrom != nil {
			return Settings{}, fmt.Errorf("container %q takes %s from valueFrom, which gopacer can't see: write a plain value, or none", container.Name, env.Name)
		}
		if err := s.set(env.Name, env.Value); err != nil {
			return Settings{}, fmt.Errorf("container %q: %w", container.Name, err)
		}
	}
	return s, nil
}

// Apply returns the environment with the managed keys set as s says: a key that is there keeps its place, a new one goes to the
// end, a key that s does not set is removed, as is a second entry for one key. The input is not changed.
func (s Settings) Apply(env []corev1.EnvVar) []corev1.EnvVar {
	pending := s.Entries()
	var out []corev1.EnvVar
	for _, variable := range env {
		if variable.Name != EnvGOGC && variable.Name != EnvGOMEMLIMIT {
			out = append(out, variable)
			continue
		}
		i := slices.IndexFunc(pending, func(entry Entry) bool { return entry.Name == variable.Name })
		if i >= 0 {
			out = append(out, corev1.EnvVar{Name: pending[i].Name, Value: pending[i].Value})
			pending = slices.Delete(pending, i, i+1)
		}
	}
	for _, entry := range pending {
		out = append(out, corev1.EnvVar{Name: entry.Name, Value: entry.Value})
	}
	return out
}
