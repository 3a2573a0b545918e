package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// validity is that of all certificates; a test cluster does not live that long.
const validity = 365 * 24 * time.Hour

// identity is a certificate that the cluster needs.
type identity struct {
	name         string
	authority    string
	commonName   string
	organization string
	// hosts makes it a server's certificate: its names and addresses.
	hosts []string
}

// etcd has an authority of its own: a certificate that is good for the API must not be good for
// the storage below it. So has the API server as a proxy, which speaks for its users.
const (
	clusterAuthority = "ca"
	etcdAuthority    = "etcd-ca"
	proxyAuthority   = "front-proxy-ca"
	proxyClient      = "front-proxy-client"
)

func identities() []identity {
	host, administrators := hostAddress.String(), "system:masters"
	return []identity{
		{name: "etcd-server", authority: etcdAuthority, commonName: "etcd", hosts: []string{host}},
		{name: proxyClient, authority: proxyAuthority, commonName: proxyClient},
		{name: "etcd-client", authority: etcdAuthority, commonName: "kube-apiserver"},
		{name: "kube-apiserver", authority: clusterAuthority, commonName: "kube-apiserver", hosts: []string{
			host, kubernetesService.String(), "127.0.0.1", "localhost",
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		}},
		{name: "kubelet-server", authority: clusterAuthority, commonName: nodeName, hosts: []string{host, nodeName}},
		{name: "kubelet-client", authority: clusterAuthority, commonName: "kube-apiserver-kubelet-client", organization: administrators},
		{name: "admin", authority: clusterAuthority, commonName: "kubernetes-admin", organization: administrators},
		{name: "kube-controller-manager", authority: clusterAuthority, commonName: "system:kube-controller-manager"},
		{name: "kube-scheduler", authority: clusterAuthority, commonName: "system:kube-scheduler"},
		{name: "kube-proxy", authority: clusterAuthority, commonName: "system:kube-proxy"},
		{name: "kubelet", authority: clusterAuthority, commonName: "system:node:" + nodeName, organization: "system:nodes"},
		{name: "prometheus", authority: clusterAuthority, commonName: prometheusUser},
	}
}

// writeCertificates makes the authorities, the certificates, and the key that signs the tokens
// of service accounts.
func (l layout) writeCertificates() error {
	authorities := map[string]*authority{}
	for _, name := range []string{clusterAuthority, etcdAuthority, proxyAuthority} {
		created, err := newAuthority(name)
		if err != nil {
			return err
		}
		authorities[name] = created
		if err := l.writePair(name, created.certificate.Raw, created.key); err != nil {
			return err
		}
	}
	for _, wanted := range identities() {
		certificate, key, err := authorities[wanted.authority].issue(wanted)
		if err != nil {
			return err
		}
		if err := l.writePair(wanted.name, certificate, key); err != nil {
			return err
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the key for service accounts: %w", err)
	}
	return l.writeKey("service-account", key)
}

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(name string) (*authority, error) {
	template, err := newTemplate(pkix.Name{CommonName: name})
	if err != nil {
		return nil, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of authority %s: %w", name, err)
	}
	content, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("make the certificate of authority %s: %w", name, err)
	}
	certificate, err := x509.ParseCertificate(content)
	if err != nil {
		return nil, fmt.Errorf("read the certificate of authority %s: %w", name, err)
	}
	return &authority{certificate: certificate, key: key}, nil
}

func (a *authority) issue(wanted identity) ([]byte, *ecdsa.PrivateKey, error) {
	subject := pkix.Name{CommonName: wanted.commonName}
	if wanted.organization != "" {
		subject.Organization = []string{wanted.organization}
	}
	template, err := newTemplate(subject)
	if err != nil {
		return nil, nil, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	for _, host := range wanted.hosts {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
		if address := net.ParseIP(host); address != nil {
			template.IPAddresses = append(template.IPAddresses, address)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make the key of %s: %w", wanted.name, err)
	}
	content, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return nil, nil, fmt.Errorf("make the certificate of %s: %w", wanted.name, err)
	}
	return content, key, nil
}

func newTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		// An hour back, for clocks that are set while the cluster starts.
		NotBefore: now.Add(-time.Hour),
		NotAfter:  now.Add(validity),
	}, nil
}

func (l layout) writePair(name string, certificate []byte, key *ecdsa.PrivateKey) error {
	content := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	if err := os.WriteFile(l.Certificate(name), content, 0o600); err != nil {
		return fmt.Errorf("write the certificate of %s: %w", name, err)
	}
	return l.writeKey(name, key)
}

func (l layout) writeKey(name string, key *ecdsa.PrivateKey) error {
	content, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode the key of %s: %w", name, err)
	}
	encoded := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: content})
	if err := os.WriteFile(l.Key(name), encoded, 0o600); err != nil {
		return fmt.Errorf("write the key of %s: %w", name, err)
	}
	return nil
}
