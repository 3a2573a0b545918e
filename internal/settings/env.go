package settings

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Declared reads the managed settings that a container declares, and refuses what can't be managed: GOGC or GOMEMLIMIT taken from valueFrom or
// given twice, and a value that the runtime would not accept. A variable that is Unmanageable counts as not set.
func Declared(container *corev1.Container) (Settings, error) {
	var s Settings
	unmanageable := unmanageableIn(container.Env)
	seen := map[string]bool{}
	for _, env := range container.Env {
		if !managed(env.Name) || unmanageable[env.Name] != "" {
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

func managed(name string) bool {
	return name == EnvGOGC || name == EnvGOMEMLIMIT || optional(name)
}

// optional variables are left alone where they can't be seen. Templates often take GOMAXPROCS from a resourceFieldRef to limits.cpu, and that must
// not keep a container's collector from being tuned.
func optional(name string) bool {
	return name == EnvGOMAXPROCS || name == EnvGODEBUG
}

// Unmanageable names the variables, of GOMAXPROCS and GODEBUG, whose value can't be told from the container: taken from valueFrom, given
// twice, or made of another variable. They count as not set, and Apply leaves them alone.
func Unmanageable(container *corev1.Container) []string {
	var names []string
	for name := range unmanageableIn(container.Env) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// unmanageableIn gives the reason by name.
func unmanageableIn(env []corev1.EnvVar) map[string]string {
	reasons := map[string]string{}
	seen := map[string]bool{}
	for _, variable := range env {
		if !optional(variable.Name) {
			continue
		}
		switch {
		case seen[variable.Name]:
			reasons[variable.Name] = "is given twice"
		case variable.ValueFrom != nil:
			reasons[variable.Name] = "is taken from valueFrom"
		case strings.Contains(variable.Value, "$("): // the kubelet puts another variable's value here
			reasons[variable.Name] = "is made of another variable"
		}
		seen[variable.Name] = true
	}
	return reasons
}

// CheckAgainst refuses settings that set a variable which is Unmanageable in the container: the pod would start without it.
func (s Settings) CheckAgainst(container *corev1.Container) error {
	unmanageable := unmanageableIn(container.Env)
	for _, entry := range s.Entries() {
		if reason := unmanageable[entry.Name]; reason != "" {
			return fmt.Errorf("container %q: %s %s, so %s can't be given to it: write one plain value into the pod template, or none",
				container.Name, entry.Name, reason, entry.Value)
		}
	}
	return nil
}

// Apply returns the environment with the managed keys set as s says: a key that is there keeps its place, a new one goes to the
// end, a key that s does not set is removed, as is a second entry for one key. GODEBUG is merged by MergeGODEBUG, and removed where nothing is
// left of it; what is Unmanageable stays as it is. The input is not changed.
func (s Settings) Apply(env []corev1.EnvVar) []corev1.EnvVar {
	unmanageable := unmanageableIn(env)
	pending := slices.DeleteFunc(s.Entries(), func(entry Entry) bool { return unmanageable[entry.Name] != "" })
	var out []corev1.EnvVar
	for _, variable := range env {
		if !managed(variable.Name) || unmanageable[variable.Name] != "" {
			out = append(out, variable)
			continue
		}
		value := ""
		if i := slices.IndexFunc(pending, func(entry Entry) bool { return entry.Name == variable.Name }); i >= 0 {
			value = pending[i].Value
			pending = slices.Delete(pending, i, i+1)
		}
		if variable.Name == EnvGODEBUG {
			value = MergeGODEBUG(variable.Value, value)
		}
		if value != "" {
			out = append(out, corev1.EnvVar{Name: variable.Name, Value: value})
		}
	}
	for _, entry := range pending {
		out = append(out, corev1.EnvVar{Name: entry.Name, Value: entry.Value})
	}
	return out
}
