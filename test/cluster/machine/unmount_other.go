//go:build !linux

package machine

import "errors"

// A cluster runs on Linux only. These keep the package, and what imports it, compilable elsewhere.

var errNotLinux = errors.New("only possible on Linux")

func unmount(string) error { return errNotLinux }

func isOverlay(string) bool { return false }

func freeBytes(string) (uint64, error) { return 0, errNotLinux }
