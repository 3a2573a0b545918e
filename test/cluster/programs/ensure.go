package programs

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Paths tells where each program is.
type Paths map[string]string

// job is what is to be built of one module.
type job struct {
	module  module
	source  string
	target  string
	missing []program
	tools   toolchain
}

// Ensure returns where the named programs are, and first builds those that the cache lacks, one
// module after the other. What it does and how long it will take goes to output.
func Ensure(ctx context.Context, output io.Writer, names ...string) (Paths, error) {
	cache, err := CacheDirectory()
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(cache, "programs")
	paths, jobs, err := plan(ctx, folder, names)
	if err != nil || len(jobs) == 0 {
		return paths, err
	}
	release, err := lock(ctx, folder, output)
	if err != nil {
		return nil, err
	}
	defer release()
	// While this process waited for the lock, another may have built what was missing.
	paths, jobs, err = plan(ctx, folder, names)
	if err != nil || len(jobs) == 0 {
		return paths, err
	}
	if err := buildAll(ctx, jobs, folder, output); err != nil {
		return nil, err
	}
	return paths, nil
}

// Missing returns which of the named programs the cache lacks.
func Missing(ctx context.Context, names ...string) ([]string, error) {
	cache, err := CacheDirectory()
	if err != nil {
		return nil, err
	}
	_, jobs, err := plan(ctx, filepath.Join(cache, "programs"), names)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, j := range jobs {
		for _, p := range j.missing {
			missing = append(missing, p.name)
		}
	}
	return missing, nil
}

// plan finds out where each program belongs in the cache, and which are not there yet.
func plan(ctx context.Context, folder string, names []string) (Paths, []job, error) {
	repository, err := Repository()
	if err != nil {
		return nil, nil, err
	}
	selected, err := selectPrograms(names)
	if err != nil {
		return nil, nil, err
	}
	paths, jobs := Paths{}, []job(nil)
	for _, m := range modules {
		if len(selected[m.name]) == 0 {
			continue
		}
		j, err := planModule(ctx, m, filepath.Join(repository, modulesFolder, m.name), folder)
		if err != nil {
			return nil, nil, err
		}
		for _, p := range selected[m.name] {
			paths[p.name] = filepath.Join(j.target, p.name)
			present, err := exists(paths[p.name])
			if err != nil {
				return nil, nil, fmt.Errorf("look for %s in the cache: %w", p.name, err)
			}
			if !present {
				j.missing = append(j.missing, p)
			}
		}
		if len(j.missing) > 0 {
			jobs = append(jobs, j)
		}
	}
	return paths, jobs, nil
}

func planModule(ctx context.Context, m module, source, folder string) (job, error) {
	tools, err := readToolchain(ctx, source)
	if err != nil {
		return job{}, err
	}
	name, err := key(m, source, tools)
	if err != nil {
		return job{}, err
	}
	return job{module: m, source: source, target: filepath.Join(folder, name), tools: tools}, nil
}

func buildAll(ctx context.Context, jobs []job, folder string, output io.Writer) error {
	report := newProgress(output, time.Now)
	for _, j := range jobs {
		report.note("looking what there is to compile for " + j.module.name + "; the first time, its modules are fetched")
		total, stale, err := countPackages(ctx, j)
		if err != nil {
			return err
		}
		report.expect(j.module.name, stale, predict(j.module, len(j.missing), total, stale))
	}
	for _, j := range jobs {
		report.begin(j.module.name)
		if err := build(ctx, j, folder, report); err != nil {
			return err
		}
		report.end()
	}
	return nil
}

// build compiles into a folder of its own and then moves each program to its place, so that a
// program in the cache is always whole.
func build(ctx context.Context, j job, folder string, report *progress) error {
	workplace, err := os.MkdirTemp(folder, ".building-"+j.module.name+"-")
	if err != nil {
		return fmt.Errorf("create a folder to build %s in: %w", j.module.name, err)
	}
	defer func() { _ = os.RemoveAll(workplace) }()
	if err := compile(ctx, j, workplace, report); err != nil {
		return err
	}
	if err := os.MkdirAll(j.target, 0o755); err != nil {
		return fmt.Errorf("create the cache folder of %s: %w", j.module.name, err)
	}
	for _, p := range j.missing {
		if err := os.Rename(filepath.Join(workplace, p.outputName()), filepath.Join(j.target, p.name)); err != nil {
			return fmt.Errorf("put %s into the cache: %w", p.name, err)
		}
	}
	return nil
}
