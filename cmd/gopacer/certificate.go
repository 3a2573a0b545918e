package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// waitForCertificate is the wait until the rotator has filled the Secret, or an error is over.
	waitForCertificate = time.Second
	// certificatePoll is how soon a renewed certificate is served. It is renewed weeks before it ends.
	certificatePoll = time.Minute
)

// certificateFiles keeps the webhook's certificate as files, which is how the server wants it. A Secret mounted as a volume would do
// the same, but the kubelet brings a Secret that was empty at first up to 90 seconds later (its sync period), and until then no pod
// would get its settings.
type certificateFiles struct {
	reader client.Reader
	secret types.NamespacedName
	folder string
}

// NeedLeaderElection is false: every replica serves.
func (c *certificateFiles) NeedLeaderElection() bool { return false }

// Start copies until the context ends.
func (c *certificateFiles) Start(ctx context.Context) error {
	failing := false
	for {
		complete, err := c.copy(ctx)
		if err != nil && ctx.Err() == nil && !failing {
			logf.FromContext(ctx).Error(err, "Copy the webhook's certificate; trying on")
		}
		failing = err != nil
		pause := waitForCertificate
		if complete {
			pause = certificatePoll
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// copy writes what has changed, and says whether the certificate is there. The key comes first: the server watches the certificate.
func (c *certificateFiles) copy(ctx context.Context) (complete bool, err error) {
	var secret corev1.Secret
	if err := c.reader.Get(ctx, c.secret, &secret); err != nil {
		if apierrors.IsNotFound(err) {
			return false, fmt.Errorf("secret %s is missing: apply config/webhook again: %w", c.secret, err)
		}
		return false, fmt.Errorf("get secret %s: %w", c.secret, err)
	}
	for _, name := range []string{corev1.TLSPrivateKeyKey, corev1.TLSCertKey} {
		if len(secret.Data[name]) == 0 {
			return false, nil // the rotator has not filled it yet
		}
		if err := writeFile(filepath.Join(c.folder, name), secret.Data[name]); err != nil {
			return false, err
		}
	}
	return true, nil
}

func writeFile(path string, content []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		return fmt.Errorf("write the webhook's certificate: %w", err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("write the webhook's certificate: %w", err)
	}
	return nil
}
