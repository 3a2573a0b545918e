package prometheus

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
)

func TestParse(t *testing.T) {
	got, err := Parse([]byte(`providers:
- name: default
  address: http://prometheus.monitoring:9090
- name: tenant-a
  address: https://mimir.example/prometheus
  scrapeInterval: 30s
  timeout: 5s
  httpConfig:
    basic_auth:
      username: gopacer
      password_file: /etc/secret/password
    tls_config:
      ca_file: ca.pem
    http_headers:
      X-Scope-OrgID:
        values: [a]
`))
	if err != nil {
		t.Fatal(err)
	}
	tenant := config.DefaultHTTPClientConfig
	tenant.BasicAuth = &config.BasicAuth{Username: "gopacer", PasswordFile: "/etc/secret/password"}
	tenant.TLSConfig = config.TLSConfig{CAFile: "ca.pem"}
	tenant.HTTPHeaders = &config.Headers{Headers: map[string]config.Header{"X-Scope-OrgID": {Values: []string{"a"}}}}
	want := []Provider{
		{Name: "default", Address: "http://prometheus.monitoring:9090", ScrapeInterval: model.Duration(15 * time.Second),
			Timeout: model.Duration(10 * time.Second), HTTPConfig: config.DefaultHTTPClientConfig},
		{Name: "tenant-a", Address: "https://mimir.example/prometheus", ScrapeInterval: model.Duration(30 * time.Second),
			Timeout: model.Duration(5 * time.Second), HTTPConfig: tenant},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(config.ProxyConfig{})); diff != "" {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	const valid = "- name: default\n  address: http://prometheus:9090\n"
	for name, tc := range map[string]struct{ content, word string }{
		"nothing":             {"", "empty"},
		"no list":             {"  name: default", "list"},
		"no YAML":             {"- {", "list"},
		"unknown field":       {valid + "  scrapeinterval: 15s\n", "scrapeinterval"},
		"unknown HTTP field":  {valid + "  httpConfig: {tls: {}}\n", "tls"},
		"no name":             {"- address: http://prometheus:9090", "name"},
		"name of other form":  {"- {name: Default, address: 'http://prometheus:9090'}", "name"},
		"name twice":          {valid + valid, "taken"},
		"no address":          {"- name: default", "address"},
		"address no URL":      {"- {name: default, address: 'http://[::1'}", "address"},
		"address no scheme":   {"- {name: default, address: 'prometheus:9090'}", "http://"},
		"address no host":     {"- {name: default, address: 'http://'}", "host"},
		"address with query":  {"- {name: default, address: 'http://prometheus:9090?a=b'}", "query"},
		"address with secret": {"- {name: default, address: 'http://me:hunter2@prometheus:9090'}", "credentials"},
		"scrape too often":    {valid + "  scrapeInterval: 999ms\n", "scrapeInterval"},
		"scrape never":        {valid + "  scrapeInterval: 0s\n", "scrapeInterval"},
		"interval no number":  {valid + "  scrapeInterval: soon\n", "soon"},
		"no timeout":          {valid + "  timeout: 0s\n", "timeout"},
		"long timeout":        {valid + "  timeout: 1h\n", "timeout"},
		"secret in place":     {valid + "  httpConfig: {basic_auth: {username: me, password: hunter2}}\n", "password_file"},
		"token in place":      {valid + "  httpConfig: {authorization: {credentials: hunter2}}\n", "credentials_file"},
		"old token in place":  {valid + "  httpConfig: {bearer_token: hunter2}\n", "credentials"},
		"client secret":       {valid + "  httpConfig: {oauth2: {client_id: me, token_url: 'http://x', client_secret: hunter2}}\n", "client_secret_file"},
		"key in place":        {valid + "  httpConfig: {tls_config: {cert_file: x, key: hunter2}}\n", "key_file"},
		"header in place":     {valid + "  httpConfig: {http_headers: {X-Key: {secrets: [hunter2]}}}\n", "X-Key"},
		"secret misplaced":    {valid + "  httpConfig: {basic_auth: hunter2}\n", "line 4"},
		"two authorizations":  {valid + "  httpConfig: {basic_auth: {username: me}, authorization: {credentials_file: x}}\n", "httpConfig"},
	} {
		t.Run(name, func(t *testing.T) {
			providers, err := Parse([]byte("providers:\n" + tc.content))
			if err == nil {
				t.Fatalf("parsed as %v", providers)
			}
			if !strings.Contains(err.Error(), tc.word) {
				t.Errorf("error %q does not name %q", err, tc.word)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %q tells a secret", err)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "providers.yaml")
	content := "providers:\n- name: default\n  address: http://prometheus:9090\n  httpConfig: {authorization: {credentials_file: token}}\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	providers, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := providers[0].HTTPConfig.Authorization.CredentialsFile, filepath.Join(folder, "token"); got != want {
		t.Errorf("token from %s, want %s", got, want)
	}
	if _, err := Load(filepath.Join(folder, "missing.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want one that says that the file is missing", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("providers:\n- name: default\n  address: http://prometheus:9090\n"))
	f.Add([]byte("providers:\n- name: a\n  address: https://a/b\n  scrapeInterval: 1m\n  timeout: 1s\n  httpConfig: {follow_redirects: false}\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		providers, err := Parse(content)
		if err != nil {
			return
		}
		for _, provider := range providers {
			if provider.Name == "" || provider.ScrapeInterval < minScrapeInterval || provider.Timeout <= 0 {
				t.Errorf("accepted %+v", provider)
			}
		}
	})
}
