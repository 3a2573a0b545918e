package machine

import "golang.org/x/sys/unix"

func unmount(point string) error {
	if err := unix.Unmount(point, unix.UMOUNT_NOFOLLOW); err == nil {
		return nil
	}
	return unix.Unmount(point, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
}

// isOverlay says whether the folder lies on an overlay file system, on which no other overlay
// can be mounted.
func isOverlay(folder string) bool {
	var description unix.Statfs_t
	return unix.Statfs(folder, &description) == nil && description.Type == unix.OVERLAYFS_SUPER_MAGIC
}

// freeBytes returns the space that is free on the folder's file system.
func freeBytes(folder string) (uint64, error) {
	var description unix.Statfs_t
	if err := unix.Statfs(folder, &description); err != nil {
		return 0, err
	}
	return description.Bavail * uint64(description.Bsize), nil
}
