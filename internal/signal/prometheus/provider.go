// Package prometheus asks Prometheus, or whatever speaks its query API, for the signals of a target's pods.
package prometheus

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v2"
)

const (
	defaultScrapeInterval = model.Duration(15 * time.Second)
	minScrapeInterval     = model.Duration(time.Second)
	defaultTimeout        = model.Duration(10 * time.Second)
	// maxTimeout keeps one slow Prometheus from holding up a reconciler for longer than the API server would wait for a request.
	maxTimeout = model.Duration(time.Minute)
)

// providerName is the form that the API demands of spec.metrics.provider.
var providerName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// quotedValue is how yaml repeats a value that it can't use. It may be a secret at the wrong place, and the message ends up in a log.
var quotedValue = regexp.MustCompile("`[^`]*`")

// Provider is one Prometheus in the manager's configuration.
type Provider struct {
	// Name is what policies call it in spec.metrics.provider.
	Name string `yaml:"name"`
	// Address is its URL without /api/v1, for example http://prometheus.monitoring:9090.
	Address string `yaml:"address"`
	// ScrapeInterval at which it scrapes the targets; 15s by default. Coverage and age of samples are judged by it.
	ScrapeInterval model.Duration `yaml:"scrapeInterval"`
	// Timeout of one query; 10s by default.
	Timeout model.Duration `yaml:"timeout"`
	// HTTPConfig has the form of Prometheus' own http_config: tls_config, authorization, basic_auth, oauth2, http_headers, proxy_url.
	// Secrets come from files only.
	HTTPConfig config.HTTPClientConfig `yaml:"httpConfig"`
}

// UnmarshalYAML puts in the defaults first, among them that redirects are followed.
func (p *Provider) UnmarshalYAML(unmarshal func(any) error) error {
	type plain Provider
	*p = Provider{ScrapeInterval: defaultScrapeInterval, Timeout: defaultTimeout, HTTPConfig: config.DefaultHTTPClientConfig}
	return unmarshal((*plain)(p))
}

// Configuration is the manager's configuration file.
type Configuration struct {
	Providers []Provider `yaml:"providers"`
	// Trials is what internal/fleet reads.
	Trials any `yaml:"trials"`
}

// Load reads the manager's configuration file and gives the providers in it. Relative names of files in it start at its folder.
func Load(path string) ([]Provider, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the Prometheus providers: %w", err)
	}
	providers, err := Parse(content)
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", path, err)
	}
	for i := range providers {
		providers[i].HTTPConfig.SetDirectory(filepath.Dir(path))
	}
	return providers, nil
}

// Parse reads the manager's configuration and gives the providers in it.
func Parse(content []byte) ([]Provider, error) {
	var configuration Configuration
	if err := yaml.UnmarshalStrict(content, &configuration); err != nil {
		return nil, fmt.Errorf("read a YAML object with a list \"providers\", each with name, address, scrapeInterval, timeout, httpConfig: %s",
			quotedValue.ReplaceAllString(err.Error(), "`…`"))
	}
	providers := configuration.Providers
	if len(providers) == 0 {
		return nil, errors.New("the list of Prometheus providers is empty: add one with a name and an address")
	}
	seen := make(map[string]bool, len(providers))
	for i, provider := range providers {
		if err := provider.validate(); err != nil {
			return nil, fmt.Errorf("Prometheus provider %d (name %q): %w", i+1, provider.Name, err)
		}
		if seen[provider.Name] {
			return nil, fmt.Errorf("Prometheus provider %d: the name %q is taken by an earlier one", i+1, provider.Name)
		}
		seen[provider.Name] = true
	}
	return providers, nil
}

func (p Provider) validate() error {
	if !providerName.MatchString(p.Name) {
		return errors.New("name: give it one of at most 63 lower-case letters, digits and dashes, such as default")
	}
	if err := validateAddress(p.Address); err != nil {
		return fmt.Errorf("address: %w", err)
	}
	if p.ScrapeInterval < minScrapeInterval {
		return fmt.Errorf("scrapeInterval: %s is shorter than %s", p.ScrapeInterval, minScrapeInterval)
	}
	if p.Timeout <= 0 || p.Timeout > maxTimeout {
		return fmt.Errorf("timeout: %s does not lie between 1ms and %s", p.Timeout, maxTimeout)
	}
	if field := inlineSecret(p.HTTPConfig); field != "" {
		return fmt.Errorf("httpConfig: %s holds a secret: put it into a file and name that in %s_file", field, field)
	}
	if err := p.HTTPConfig.Validate(); err != nil {
		return fmt.Errorf("httpConfig: %w", err)
	}
	return nil
}

// validateAddress leaves the address out of its messages where it may hold a password.
func validateAddress(address string) error {
	if address == "" {
		return errors.New("it is empty: give the URL of Prometheus, such as http://prometheus.monitoring:9090")
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return errors.New("it is not a URL: write it like http://prometheus.monitoring:9090")
	}
	switch {
	case parsed.User != nil:
		return errors.New("it holds credentials: put them into files and name those in httpConfig")
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return fmt.Errorf("%q does not start with http:// or https://", address)
	case parsed.Hostname() == "":
		return fmt.Errorf("%q names no host", address)
	case parsed.RawQuery != "" || parsed.ForceQuery || parsed.Fragment != "":
		return fmt.Errorf("%q has a query or a fragment: give the URL up to, and without, /api/v1", address)
	}
	return nil
}

// inlineSecret names the first field that holds a secret itself. The configuration is a ConfigMap, which more people may read than a
// Secret; and a file is read anew when it changes.
func inlineSecret(c config.HTTPClientConfig) string {
	switch {
	case c.BearerToken != "":
		return "bearer_token"
	case c.BasicAuth != nil && c.BasicAuth.Password != "":
		return "password"
	case c.Authorization != nil && c.Authorization.Credentials != "":
		return "credentials"
	case c.TLSConfig.Key != "":
		return "key"
	}
	if field := inlineOAuthSecret(c.OAuth2); field != "" {
		return field
	}
	if c.HTTPHeaders != nil {
		for name, header := range c.HTTPHeaders.Headers {
			if len(header.Secrets) > 0 {
				return "http_headers: " + name + ": secrets"
			}
		}
	}
	return ""
}

func inlineOAuthSecret(oauth *config.OAuth2) string {
	switch {
	case oauth == nil:
		return ""
	case oauth.ClientSecret != "":
		return "client_secret"
	case oauth.ClientCertificateKey != "":
		return "client_certificate_key"
	case oauth.TLSConfig.Key != "":
		return "key"
	}
	return ""
}
