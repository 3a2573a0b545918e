package machine

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
)

// Mount is one line of /proc/self/mountinfo.
type Mount struct {
	Point      string
	Filesystem string
	// Options are those of the file system itself; for control groups they name the controllers.
	Options []string
}

// Mounts returns all mounts that this process sees, in the order in which they were made.
func Mounts() ([]Mount, error) {
	content, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("read the mounts: %w", err)
	}
	return parseMounts(string(content))
}

func parseMounts(content string) ([]Mount, error) {
	const pointField, filesystemField, optionsField = 4, 0, 2
	var mounts []Mount
	for line := range strings.Lines(content) {
		// A dash ends the optional fields, of which there can be any number.
		before, after, found := strings.Cut(line, " - ")
		place, kind := strings.Fields(before), strings.Fields(after)
		if !found || len(place) <= pointField || len(kind) <= optionsField {
			return nil, fmt.Errorf("parse mount %q: too few fields", strings.TrimSpace(line))
		}
		mounts = append(mounts, Mount{
			Point:      unescape(place[pointField]),
			Filesystem: kind[filesystemField],
			Options:    strings.Split(kind[optionsField], ","),
		})
	}
	return mounts, nil
}

// unescape restores the characters that the kernel writes as octal numbers.
func unescape(text string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(text)
}

// MountsBelow returns the mount points at and below the folder, deepest first.
func MountsBelow(folder string) ([]string, error) {
	mounts, err := Mounts()
	if err != nil {
		return nil, err
	}
	return below(mounts, folder), nil
}

func below(mounts []Mount, folder string) []string {
	var points []string
	for _, mount := range mounts {
		if mount.Point == folder || strings.HasPrefix(mount.Point, strings.TrimSuffix(folder, "/")+"/") {
			points = append(points, mount.Point)
		}
	}
	// Of two mounts on one point the later lies on top, and equal points stay in that order.
	slices.Reverse(points)
	slices.SortStableFunc(points, func(a, b string) int {
		return cmp.Compare(strings.Count(b, "/"), strings.Count(a, "/"))
	})
	return points
}

// Unmount removes all mounts at and below the folder. One that is still in use is detached: it
// disappears from the file tree now, and for good when its last user ends.
func Unmount(folder string) error {
	points, err := MountsBelow(folder)
	if err != nil {
		return err
	}
	var failures []error
	for _, point := range points {
		if err := unmount(point); err != nil && !errors.Is(err, syscall.EINVAL) {
			failures = append(failures, fmt.Errorf("unmount %s: %w", point, err))
		}
	}
	return errors.Join(failures...)
}

// Snapshotter returns the way in which containerd can keep images in the folder: overlay file
// systems, or plain copies where the folder itself is on an overlay.
func Snapshotter(folder string) string {
	if isOverlay(folder) {
		return "native"
	}
	return "overlayfs"
}
