// Image builds one program of this module as a container image, without Docker.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/gopacer/gopacer/test/oci"
)

func main() {
	var build oci.Build
	flag.StringVar(&build.Package, "package", "", "main package to build, such as ./cmd/gopacer")
	flag.StringVar(&build.Name, "name", "", "name of the image, such as localhost/gopacer:dev")
	flag.StringVar(&build.Out, "out", "", "archive to write")
	flag.StringVar(&build.Architecture, "arch", runtime.GOARCH, "architecture to build for")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := build.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
