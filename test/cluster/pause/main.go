// Pause is the first process of every pod of the test cluster. It holds the pod's namespaces
// open, and takes over processes whose parent ended.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGCHLD, syscall.SIGINT, syscall.SIGTERM)
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		reap()
	}
}

// reap collects all children that have ended: one signal can stand for several.
func reap() {
	for {
		var status syscall.WaitStatus
		if id, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil); err != nil || id <= 0 {
			return
		}
	}
}
