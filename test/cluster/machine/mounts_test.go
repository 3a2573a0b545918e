package machine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const mountinfo = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
30 22 0:26 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 master:2 - cgroup cgroup rw,cpu,cpuacct
31 22 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
40 22 0:40 / /var/lib/c/containerd rw - overlay overlay rw,lowerdir=/a
41 40 0:41 / /var/lib/c/containerd/rootfs rw - tmpfs tmpfs rw
42 22 0:42 / /var/lib/c rw - tmpfs tmpfs rw
43 22 0:43 / /var/lib/cluster rw - tmpfs tmpfs rw
44 22 0:44 / /var/lib/c/with\040space rw - tmpfs tmpfs rw
`

func TestParseMounts(t *testing.T) {
	mounts, err := parseMounts(mountinfo)
	if err != nil {
		t.Fatal(err)
	}
	want := Mount{Point: "/sys/fs/cgroup/cpu,cpuacct", Filesystem: "cgroup", Options: []string{"rw", "cpu", "cpuacct"}}
	if difference := cmp.Diff(want, mounts[1]); difference != "" {
		t.Errorf("parseMounts(): second mount (-want +got):\n%s", difference)
	}
	for _, broken := range []string{"22 1 254:0 / / rw", "22 1 - ext4 /dev/vda rw", "- - -"} {
		if _, err := parseMounts(broken); err == nil {
			t.Errorf("parseMounts(%q) has no error", broken)
		}
	}
}

func TestBelowIsDeepestFirstAndNothingBeside(t *testing.T) {
	mounts, err := parseMounts(mountinfo)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/var/lib/c/containerd/rootfs", "/var/lib/c/with space", "/var/lib/c/containerd", "/var/lib/c"}
	for _, folder := range []string{"/var/lib/c", "/var/lib/c/"} {
		got := below(mounts, folder)
		if folder == "/var/lib/c/" {
			want = want[:3]
		}
		if difference := cmp.Diff(want, got); difference != "" {
			t.Errorf("below(%s) (-want +got):\n%s", folder, difference)
		}
	}
}

func TestMissingControllers(t *testing.T) {
	mounts, err := parseMounts(mountinfo)
	if err != nil {
		t.Fatal(err)
	}
	group := Group{name: "test", hierarchies: findHierarchies(mounts[:2])}
	if difference := cmp.Diff([]string{"memory", "pids"}, group.MissingControllers("cpu", "memory", "pids")); difference != "" {
		t.Errorf("MissingControllers() (-want +got):\n%s", difference)
	}
	if _, err := group.DaemonsFile(); err == nil {
		t.Error("DaemonsFile() finds a hierarchy without version 2 and without pids")
	}
	group.hierarchies = append(group.hierarchies, hierarchy{root: "/pids", controllers: []string{"pids"}})
	if file, err := group.DaemonsFile(); err != nil || file != "/pids/test/daemons/cgroup.procs" {
		t.Errorf("DaemonsFile() = %q, %v, want it in the pids hierarchy", file, err)
	}
	group.hierarchies = append(group.hierarchies, hierarchy{root: "/unified", unified: true})
	if file, err := group.DaemonsFile(); err != nil || file != "/unified/test/daemons/cgroup.procs" {
		t.Errorf("DaemonsFile() = %q, %v, want it in version 2", file, err)
	}
}
