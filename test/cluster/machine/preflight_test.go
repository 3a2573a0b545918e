package machine

import (
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseListeners(t *testing.T) {
	const content = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 00000000:192B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   2: 0100D20A:192B 0200000A:ABCD 01 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   3: 00000000000000000000000000000000:2382 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 1
   4: 0000000000000000FFFF00000100007F:2383 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 1
   5: nonsense:192B 00000000:0000 0A
`
	var got []string
	for _, address := range parseListeners(strings.NewReader(content)) {
		got = append(got, address.String())
	}
	want := []string{"127.0.0.1:8080", "0.0.0.0:6443", "[::]:9090", "127.0.0.1:9091"}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("parseListeners() (-want +got):\n%s", difference)
	}
}

func TestLackOfPortsNamesTheListener(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	taken := netip.MustParseAddrPort(listener.Addr().String())
	lacks := LackOfPorts([]netip.AddrPort{taken})
	if len(lacks) != 1 || !strings.Contains(lacks[0].String(), taken.String()) || lacks[0].Cure == "" {
		t.Errorf("LackOfPorts() = %v, want one that names %s and a cure", lacks, taken)
	}
	elsewhere := netip.AddrPortFrom(netip.MustParseAddr("10.210.0.1"), taken.Port())
	if lacks := LackOfPorts([]netip.AddrPort{elsewhere}); len(lacks) != 0 {
		t.Errorf("LackOfPorts() of the port at another address = %v, want none", lacks)
	}
}

func TestLackOfCommandsNamesPackages(t *testing.T) {
	// Without PATH only the administrator's folders are searched, and no compiler is there.
	t.Setenv("PATH", t.TempDir())
	lacks := LackOfCommands(true)
	if len(lacks) != 1 {
		t.Fatalf("LackOfCommands() = %v, want one", lacks)
	}
	if text := lacks[0].String(); !strings.Contains(text, "gcc") || !strings.Contains(text, "apt-get install -y") {
		t.Errorf("LackOfCommands() = %q, want the missing command and how to install it", text)
	}
}

func TestLackOfSpace(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux")
	}
	// The folder is not there yet; what counts is the disk that it will be on.
	folder := t.TempDir() + "/not/there/yet"
	if lacks := LackOfSpace(folder, "nothing", 1); len(lacks) != 0 {
		t.Errorf("LackOfSpace() of one byte = %v, want none", lacks)
	}
	if lacks := LackOfSpace(folder, "everything", 1<<62); len(lacks) != 1 || lacks[0].Cure == "" {
		t.Errorf("LackOfSpace() of too much = %v, want one with a cure", lacks)
	}
}

func TestLackOfRoot(t *testing.T) {
	lacks := LackOfRoot()
	if possible := runtime.GOOS == "linux" && os.Geteuid() == 0; possible != (len(lacks) == 0) {
		t.Errorf("LackOfRoot() = %v, as root on Linux: %v", lacks, possible)
	}
	for _, lack := range lacks {
		if strings.Contains(lack.String(), "\n") {
			t.Errorf("%q is more than one line", lack)
		}
	}
}
