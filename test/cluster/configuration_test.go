package cluster

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/gopacer/gopacer/test/cluster/programs"
)

func testFacts(t *testing.T) facts {
	t.Helper()
	l := layout{root: t.TempDir()}
	if err := l.createFolders(); err != nil {
		t.Fatal(err)
	}
	return facts{layout: l, Snapshotter: "overlayfs", NetworkPlugins: "/plugins", Runtime: "/runtime", ScrapeInterval: "1s"}
}

func TestConfigurationsAreWellFormed(t *testing.T) {
	f := testFacts(t)
	for name := range f.configurations() {
		content, err := f.render(name)
		if err != nil {
			t.Errorf("render(%s) = %v", name, err)
			continue
		}
		var parsed map[string]any
		switch {
		case strings.HasSuffix(name, ".yaml"):
			err = yaml.UnmarshalStrict(content, &parsed)
		case strings.HasSuffix(name, ".conflist"):
			err = json.Unmarshal(content, &parsed)
		}
		if err != nil {
			t.Errorf("%s does not parse: %v\n%s", name, err, content)
		}
	}
}

// Whatever a component writes must be in the cluster's folder, or down could not remove it.
func TestConfigurationsNameNoOtherPlaces(t *testing.T) {
	f := testFacts(t)
	elsewhere := regexp.MustCompile(`["' =]/(var|run|etc|opt|usr|tmp|root|home)\b`)
	for name := range f.configurations() {
		content, err := f.render(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(strings.ReplaceAll(string(content), f.root, "")) {
			if elsewhere.MatchString(line) {
				t.Errorf("%s names a place outside the cluster's folder: %s", name, line)
			}
		}
	}
}

// TestPrometheusScrapesContainers holds that the kubelet is scraped where it listens, and of its metrics only a few are kept.
func TestPrometheusScrapesContainers(t *testing.T) {
	content, err := testFacts(t).render("prometheus.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var parsed struct {
		Jobs []struct {
			Name    string                       `json:"job_name"`
			Path    string                       `json:"metrics_path"`
			Static  []struct{ Targets []string } `json:"static_configs"`
			Relabel []struct {
				Labels        []string `json:"source_labels"`
				Regex, Action string
			} `json:"metric_relabel_configs"`
		} `json:"scrape_configs"`
	}
	if err := yaml.Unmarshal(content, &parsed); err != nil {
		t.Fatal(err)
	}
	job := parsed.Jobs[len(parsed.Jobs)-1]
	if job.Name != "cadvisor" || job.Path != "/metrics/cadvisor" || job.Static[0].Targets[0] != "10.210.0.1:10250" {
		t.Errorf("the last job is %+v, want one for the kubelet's cAdvisor", job)
	}
	kept := regexp.MustCompile("^(?:" + job.Relabel[0].Regex + ")$")
	for metric, want := range map[string]bool{
		"container_cpu_cfs_periods_total": true, "container_cpu_cfs_throttled_periods_total": true, "container_memory_working_set_bytes": true,
		"container_oom_events_total": true, "container_fs_reads_total": false, "container_memory_rss": false,
	} {
		if got := kept.MatchString(metric); got != want || job.Relabel[0].Action != "keep" {
			t.Errorf("%s is kept: %t, want %t", metric, got, want)
		}
	}
}

func TestCertificatesAreTrustedByTheirAuthorityAlone(t *testing.T) {
	l := testFacts(t).layout
	if err := l.writeCertificates(); err != nil {
		t.Fatal(err)
	}
	for _, wanted := range identities() {
		for _, authority := range []string{clusterAuthority, etcdAuthority, proxyAuthority} {
			pool := x509.NewCertPool()
			pool.AddCert(readCertificate(t, l.Certificate(authority)))
			certificate := readCertificate(t, l.Certificate(wanted.name))
			_, err := certificate.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
			if trusted := err == nil; trusted != (authority == wanted.authority) {
				t.Errorf("%s is trusted by %s: %v (%v)", wanted.name, authority, trusted, err)
			}
			for _, host := range wanted.hosts {
				if err := certificate.VerifyHostname(host); err != nil {
					t.Errorf("%s is not good for %s: %v", wanted.name, host, err)
				}
			}
		}
	}
}

func TestSecretsAreForRootOnly(t *testing.T) {
	l := testFacts(t).layout
	if err := l.writeCertificates(); err != nil {
		t.Fatal(err)
	}
	if err := l.writeKubeconfigs(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{l.Key("admin"), l.Key("service-account"), l.Kubeconfig(), l.KubeconfigOf(Kubelet)} {
		description, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if description.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s can be read by others: %s", path, description.Mode())
		}
	}
	configuration, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if configuration.Host != "https://10.210.0.1:6443" {
		t.Errorf("the kubeconfig names %s", configuration.Host)
	}
}

func TestEveryComponentIsComplete(t *testing.T) {
	l := layout{root: "/folder"}
	paths := programs.Paths{}
	for _, name := range programs.All() {
		paths[name] = "/programs/" + name
	}
	for _, name := range Components() {
		c, err := l.component(name, paths)
		if err != nil {
			t.Fatal(err)
		}
		// The path shows whose process it is; what is left after a crash is found by it.
		if c.program != "/programs/"+name || !strings.Contains(strings.Join(c.arguments, " "), "/folder/") {
			t.Errorf("component %s = %s %q, want its program and the cluster's folder in its arguments", name, c.program, c.arguments)
		}
	}
	if _, err := l.component("kubectl", paths); err == nil {
		t.Error("kubectl is taken for a component")
	}
}

func TestListenersAreOnTheClustersAddresses(t *testing.T) {
	seen := map[netip.AddrPort]bool{}
	for _, address := range listeners() {
		if seen[address] {
			t.Errorf("%s is there twice", address)
		}
		seen[address] = true
		if !address.Addr().IsLoopback() && address.Addr() != hostAddress {
			t.Errorf("%s would be reachable from elsewhere", address)
		}
	}
	if !podNetwork.Contains(hostAddress) || !serviceNetwork.Contains(prometheusService) || podNetwork.Overlaps(serviceNetwork) {
		t.Error("the networks do not fit together")
	}
}

func TestRecordSurvives(t *testing.T) {
	l := testFacts(t).layout
	want := record{BootID: "boot", Complete: true, Programs: programs.Paths{Etcd: "/etcd"}, ScrapeInterval: "2s"}
	if err := l.writeRecord(want); err != nil {
		t.Fatal(err)
	}
	got, err := l.readRecord()
	if err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("readRecord() (-want +got):\n%s", difference)
	}
}

func readCertificate(t *testing.T, path string) *x509.Certificate {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(content)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}
