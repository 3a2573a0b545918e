// Cluster starts and stops a real Kubernetes cluster on this machine, for tests and for trying
// things out. `go run ./hack/cluster` lists what it can do.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gopacer/gopacer/test/cluster"
	"github.com/gopacer/gopacer/test/cluster/programs"
)

const usage = `usage: go run ./hack/cluster COMMAND

  up [-scrape-interval 1s]  start the cluster, and build its programs first where they are missing
  down                      stop it and leave nothing behind
  status                    what runs, where it is reached, how it is used
  load ARCHIVE...           import image archives, so that pods find them
  kubeconfig                print the path of the administrator's kubeconfig
  programs                  build all programs of a cluster
  assets                    build etcd and kube-apiserver, and print the folder for KUBEBUILDER_ASSETS

environment:
  GOPACER_CLUSTER_DIR       folder of the cluster (default /var/lib/gopacer-cluster)
  GOPACER_CACHE             folder of built programs (default gopacer in the user's cache)
  GOPACER_SCRAPE_INTERVAL   how often Prometheus scrapes (default 1s)
  GOPACER_INSTALL=1         install missing Debian packages; CI=true does as well
`

var commands = map[string]func(ctx context.Context, arguments []string) error{
	"up":         up,
	"down":       down,
	"status":     func(ctx context.Context, _ []string) error { return cluster.Status(ctx, os.Stdout) },
	"load":       load,
	"kubeconfig": kubeconfig,
	"programs":   buildPrograms,
	"assets":     assets,
}

func main() {
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := commands[os.Args[1]](ctx, os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
}

func up(ctx context.Context, arguments []string) error {
	options := cluster.Options{Output: os.Stderr}
	flags := flag.NewFlagSet("up", flag.ExitOnError)
	flags.DurationVar(&options.ScrapeInterval, "scrape-interval", 0, "how often Prometheus scrapes")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	running, err := cluster.Up(ctx, options)
	if err != nil {
		return err
	}
	fmt.Printf("export KUBECONFIG=%s\n", running.Kubeconfig())
	return nil
}

func down(ctx context.Context, _ []string) error {
	began := time.Now()
	if err := cluster.Down(ctx); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "the cluster is down, and nothing of it is left (%.1f s)\n", time.Since(began).Seconds())
	return nil
}

func load(ctx context.Context, archives []string) error {
	if len(archives) == 0 {
		return errors.New("load images: name at least one archive, such as out/gopacer.tar")
	}
	running, err := cluster.Open(ctx)
	if err != nil {
		return err
	}
	for _, archive := range archives {
		if err := running.LoadImage(ctx, archive); err != nil {
			return err
		}
	}
	return nil
}

func kubeconfig(ctx context.Context, _ []string) error {
	running, err := cluster.Open(ctx)
	if err != nil {
		return err
	}
	fmt.Println(running.Kubeconfig())
	return nil
}

func buildPrograms(ctx context.Context, _ []string) error {
	_, err := programs.Ensure(ctx, os.Stderr, programs.All()...)
	return err
}

func assets(ctx context.Context, _ []string) error {
	folder, err := programs.Assets(ctx, os.Stderr)
	if err != nil {
		return err
	}
	fmt.Println(folder)
	return nil
}
