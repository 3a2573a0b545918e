//go:build e2e

package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gopacer/gopacer/test/cluster"
	"github.com/gopacer/gopacer/test/oci"
)

// These tests start and crash clusters of their own, in another folder. They do not run while
// the machine has one, because a machine can have only one:
//
//	make cluster-down && go test -tags e2e -count 1 -v ./test/cluster
func TestMain(m *testing.M) {
	if os.Geteuid() != 0 {
		fmt.Println("skipped: only root can start a cluster")
		return
	}
	if content, err := os.ReadFile("/run/gopacer-cluster"); err == nil {
		fmt.Printf("skipped: the machine has a cluster in %s; make cluster-down stops it\n", bytes.TrimSpace(content))
		return
	}
	folder, err := os.MkdirTemp("/var/tmp", "gopacer-")
	if err != nil {
		panic(err)
	}
	// The folder is the cluster's own, so it must not be there when the cluster starts.
	_ = os.Remove(folder)
	_ = os.Setenv("GOPACER_CLUSTER_DIR", folder)
	os.Exit(m.Run())
}

func TestClusterRunsPods(t *testing.T) {
	before := snapshot(t)
	running := up(t)
	loadEcho(t, running)
	kubectl(t, running, "apply", "-f", "testdata/echo.yaml")
	kubectl(t, running, "rollout", "status", "deployment/echo", "--timeout=60s")
	address := strings.TrimSpace(kubectl(t, running, "get", "service", "echo", "-o", "jsonpath={.spec.clusterIP}"))

	t.Run("a Service is reached from the machine", func(t *testing.T) {
		awaitAnswer(t, "http://"+address+"/", "echo-")
	})
	t.Run("a Service is reached from a pod", func(t *testing.T) {
		awaitAnswer(t, fetch(address, "http://"+address+"/"), "echo-")
	})
	t.Run("the API is reached from a pod", func(t *testing.T) {
		awaitAnswer(t, fetch(address, "https://10.211.0.1/version"), "gitVersion")
	})
	t.Run("Prometheus is reached from a pod", func(t *testing.T) {
		awaitAnswer(t, fetch(address, "http://10.211.0.90:9090/-/ready"), "Ready")
	})
	t.Run("Prometheus scrapes pods", func(t *testing.T) {
		awaitAnswer(t, running.PrometheusURL()+"/api/v1/query?query="+url.QueryEscape("count(echo_info)"), `"3"`)
	})
	t.Run("Prometheus scrapes what the kubelet says of containers", func(t *testing.T) {
		query := `count(container_memory_working_set_bytes{namespace="default",pod=~"echo-.+",container="echo"})`
		awaitAnswer(t, running.PrometheusURL()+"/api/v1/query?query="+url.QueryEscape(query), `"3"`)
	})
	t.Run("logs are read", func(t *testing.T) {
		if logs := kubectl(t, running, "logs", "deployment/echo"); !strings.Contains(logs, "serving as echo-") {
			t.Errorf("logs = %q, want what the pod wrote", logs)
		}
	})
	t.Run("a component is stopped and started", func(t *testing.T) {
		if err := running.Stop(t.Context(), cluster.Prometheus); err != nil {
			t.Fatal(err)
		}
		if _, err := answer(t.Context(), running.PrometheusURL()+"/-/ready"); err == nil {
			t.Error("Prometheus answers after it was stopped")
		}
		if err := running.Start(t.Context(), cluster.Prometheus); err != nil {
			t.Fatal(err)
		}
		awaitAnswer(t, running.PrometheusURL()+"/-/ready", "Ready")
	})
	t.Run("up repairs what was killed, and keeps the pods", func(t *testing.T) {
		kill(t, running, cluster.Kubelet, cluster.APIServer)
		repaired := up(t)
		if pods := kubectl(t, repaired, "get", "pods", "-o", "name"); strings.Count(pods, "pod/echo-") != 3 {
			t.Errorf("pods after the repair = %q, want the three from before", pods)
		}
	})
	down(t)
	before.mustBeAll(t)
}

func TestCrashOfComponentsLeavesNothing(t *testing.T) {
	for _, components := range [][]string{
		{cluster.Kubelet},
		{cluster.Containerd},
		{cluster.Containerd, cluster.Kubelet, cluster.APIServer},
		cluster.Components(),
	} {
		t.Run(strings.Join(components, " "), func(t *testing.T) {
			before := snapshot(t)
			running := up(t)
			loadEcho(t, running)
			kubectl(t, running, "apply", "-f", "testdata/echo.yaml")
			kubectl(t, running, "rollout", "status", "deployment/echo", "--timeout=60s")
			kill(t, running, components...)
			down(t)
			before.mustBeAll(t)
		})
	}
}

func TestCrashOfUpLeavesNothing(t *testing.T) {
	program := filepath.Join(t.TempDir(), "cluster")
	if output, err := exec.Command("go", "build", "-o", program, "github.com/gopacer/gopacer/hack/cluster").CombinedOutput(); err != nil {
		t.Fatalf("build the command: %v: %s", err, output)
	}
	for _, after := range []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, time.Second, 3 * time.Second, 5 * time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			before := snapshot(t)
			ctx, cancel := context.WithTimeout(t.Context(), after)
			defer cancel()
			// The command is killed when the time is over, as with kill -9.
			output, err := exec.CommandContext(ctx, program, "up").CombinedOutput()
			if err == nil {
				t.Logf("up was done before it was killed: %s", output)
			}
			down(t)
			before.mustBeAll(t)
		})
	}
}

func TestUpAfterCrashOfUp(t *testing.T) {
	before := snapshot(t)
	first := up(t)
	record := filepath.Join(first.Directory(), "cluster.json")
	content, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	half := bytes.Replace(content, []byte(`"complete": true`), []byte(`"complete": false`), 1)
	if err := os.WriteFile(record, half, 0o600); err != nil {
		t.Fatal(err)
	}
	up(t)
	down(t)
	before.mustBeAll(t)
	if _, err := cluster.Open(t.Context()); !errors.Is(err, cluster.ErrNotRunning) {
		t.Errorf("Open() after Down() = %v, want ErrNotRunning", err)
	}
	// Nothing is there any more, and that is fine.
	down(t)
}

func up(t *testing.T) *cluster.Cluster {
	t.Helper()
	var output bytes.Buffer
	running, err := cluster.Up(t.Context(), cluster.Options{Output: &output})
	if err != nil {
		t.Fatalf("Up() = %v\n%s", err, output.String())
	}
	t.Cleanup(func() {
		// When the test has failed in the middle.
		if err := cluster.Down(context.Background()); err != nil {
			t.Errorf("Down() = %v", err)
		}
	})
	return running
}

func down(t *testing.T) {
	t.Helper()
	began := time.Now()
	if err := cluster.Down(t.Context()); err != nil {
		t.Fatalf("Down() = %v", err)
	}
	t.Logf("down took %.1f s", time.Since(began).Seconds())
}

func kill(t *testing.T, running *cluster.Cluster, components ...string) {
	t.Helper()
	for _, name := range components {
		process, found := running.Process(name)
		if !found {
			t.Fatalf("%s does not run", name)
		}
		if err := process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		// A process that is killed ends a moment later; until then it counts as one that runs.
		if err := process.AwaitEnd(t.Context(), 10*time.Second); err != nil {
			t.Fatal(err)
		}
	}
}

func loadEcho(t *testing.T, running *cluster.Cluster) {
	t.Helper()
	archive := filepath.Join(t.TempDir(), "echo.tar")
	build := oci.Build{Package: "github.com/gopacer/gopacer/test/cluster/echo", Name: "localhost/echo:dev", Out: archive}
	if err := build.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := running.LoadImage(t.Context(), archive); err != nil {
		t.Fatal(err)
	}
}

func kubectl(t *testing.T, running *cluster.Cluster, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), running.Kubectl(), append([]string{"--kubeconfig", running.Kubeconfig()}, arguments...)...)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(arguments, " "), err, output)
	}
	return string(output)
}

// fetch is the address at which a pod tells what another address answers to it.
func fetch(service, target string) string {
	return "http://" + service + "/fetch?url=" + url.QueryEscape(target)
}

func awaitAnswer(t *testing.T, address, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		content, err := answer(ctx, address)
		if err == nil && strings.Contains(content, want) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s answers %q, %v; want %q in it", address, content, err, want)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func answer(ctx context.Context, address string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 6*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	return string(content), err
}
