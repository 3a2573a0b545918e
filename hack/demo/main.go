// Demo shows on a real cluster what gopacer does: it proposes a better setting for a running service, proves it on a few
// pods and promotes it; then it tries a setting that hurts, and reverts it by itself. Every figure is measured on the way.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// cleanUpLimit is for what is taken away at the end, also after an interrupt.
const cleanUpLimit = 4 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second interrupt ends the program at once.
	context.AfterFunc(ctx, stop)
	err := run(ctx)
	switch {
	case err == nil:
	case errors.Is(err, errDeclined):
		fmt.Fprintf(os.Stderr, "\n%v\n", err)
		os.Exit(1)
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "\nthe demonstration was interrupted")
		os.Exit(130)
	default:
		fmt.Fprintf(os.Stderr, "\nthe demonstration failed: %v\n", err)
		os.Exit(1)
	}
}

// run plays the demonstration and takes everything away again, whatever came of it.
func run(ctx context.Context) (err error) {
	chosen, err := readChoices(os.LookupEnv)
	if err != nil {
		return err
	}
	output := newTimeline(os.Stdout, isTerminal(os.Stdout), time.Now)
	place, err := chosen.venue(ctx, output)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil && ctx.Err() == nil && place.opened() {
			err = fmt.Errorf("%w\n\n%s", err, place.nextStep(context.WithoutCancel(ctx), chosen.keep))
		}
		err = errors.Join(err, leave(ctx, output, place, chosen.keep))
	}()
	if err := place.open(ctx); err != nil {
		return err
	}
	played, err := newShow(ctx, output, place)
	if err != nil {
		return err
	}
	return played.play(ctx)
}

// leave takes away what the demonstration brought, or says how to look at it.
func leave(ctx context.Context, output *timeline, place *venue, keep bool) error {
	if keep && place.opened() {
		output.text(place.howToLook())
		return nil
	}
	// What is taken down must be taken down also when the demonstration was interrupted.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpLimit)
	defer cancel()
	output.waiting("taking away what the demonstration brought")
	if err := place.close(ctx); err != nil {
		return fmt.Errorf("take away what the demonstration brought: %w\nby hand: %s", err, place.byHand)
	}
	if place.opened() {
		output.say("end", "%s", place.closed)
	}
	return nil
}
