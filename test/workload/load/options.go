package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// options are the command line.
type options struct {
	rate      float64
	discovery discovery
	targets   []string
	path      string
	timeout   time.Duration
	duration  time.Duration
	inFlight  int
	listen    string
}

func parseOptions(arguments []string, output io.Writer) (options, error) {
	var read options
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	flags.SetOutput(output)
	rate := flags.String("rate", "10", "requests a second, over all endpoints")
	targets := flags.String("targets", "", "host:port,… to use instead of a Service")
	flags.StringVar(&read.discovery.service, "service", "", "Service whose ready endpoints get the requests")
	flags.StringVar(&read.discovery.namespace, "namespace", "default", "the Service's namespace")
	flags.StringVar(&read.discovery.kubeconfig, "kubeconfig", "", "kubeconfig; inside a pod its service account serves")
	flags.StringVar(&read.path, "path", "/work", "path to request")
	flags.DurationVar(&read.timeout, "timeout", 5*time.Second, "give up on a request after this long")
	flags.DurationVar(&read.duration, "duration", 0, "stop after this long; 0: at SIGTERM")
	flags.IntVar(&read.inFlight, "max-in-flight", 512, "drop requests while so many are under way")
	flags.StringVar(&read.listen, "listen", ":8081", "address for metrics and the rate")
	if err := flags.Parse(arguments); err != nil {
		return options{}, fmt.Errorf("read the command line: %w", err)
	}
	if *targets != "" {
		read.targets = strings.Split(*targets, ",")
	}
	var err error
	read.rate, err = parseRate(*rate)
	return read, errors.Join(err, read.check(flags.Args()))
}

func (o options) check(rest []string) error {
	var problems []error
	refuse := func(format string, values ...any) { problems = append(problems, fmt.Errorf(format, values...)) }
	if len(rest) > 0 {
		refuse("unexpected arguments %q: give flags only", rest)
	}
	if (o.discovery.service == "") == (len(o.targets) == 0) {
		refuse("give either -service or -targets")
	}
	for _, target := range o.targets {
		if _, _, err := net.SplitHostPort(target); err != nil {
			refuse("-targets %q: write host:port, such as 127.0.0.1:8080", target)
		}
	}
	if o.timeout <= 0 {
		refuse("-timeout %v: give a time above 0", o.timeout)
	}
	if o.duration < 0 {
		refuse("-duration %v: give a time, or 0 for no end", o.duration)
	}
	if o.inFlight < 1 {
		refuse("-max-in-flight %d: give a number from 1", o.inFlight)
	}
	if !strings.HasPrefix(o.path, "/") {
		refuse("-path %q: begin it with /", o.path)
	}
	return errors.Join(problems...)
}
