package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var secretName = types.NamespacedName{Namespace: "gopacer-system", Name: certificateSecret}

func secretWith(data map[string]string) *corev1.Secret {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: secretName.Namespace, Name: secretName.Name}, Data: map[string][]byte{}}
	for name, value := range data {
		secret.Data[name] = []byte(value)
	}
	return secret
}

func filesIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found[entry.Name()] = string(content)
		if info, err := entry.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", entry.Name(), info.Mode(), err)
		}
	}
	return found
}

// TestCertificateFiles follows a Secret through an installation and a renewal.
func TestCertificateFiles(t *testing.T) {
	reader := fake.NewClientBuilder().Build()
	files := &certificateFiles{reader: reader, secret: secretName, folder: t.TempDir()}
	ctx := t.Context()
	if complete, err := files.copy(ctx); complete || !apierrors.IsNotFound(err) {
		t.Errorf("without a Secret: %t, %v", complete, err)
	}
	secret := secretWith(nil)
	if err := reader.Create(ctx, secret); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		data     map[string]string
		complete bool
		want     map[string]string
	}{
		{nil, false, map[string]string{}},
		{map[string]string{"tls.crt": "certificate"}, false, map[string]string{}},
		{map[string]string{"tls.crt": "certificate", "tls.key": "key", "ca.key": "secret"}, true, map[string]string{"tls.crt": "certificate", "tls.key": "key"}},
		{map[string]string{"tls.crt": "certificate", "tls.key": "key"}, true, map[string]string{"tls.crt": "certificate", "tls.key": "key"}},
		{map[string]string{"tls.crt": "renewed", "tls.key": "other"}, true, map[string]string{"tls.crt": "renewed", "tls.key": "other"}},
	} {
		secret.Data = secretWith(step.data).Data
		if err := reader.Update(ctx, secret); err != nil {
			t.Fatal(err)
		}
		complete, err := files.copy(ctx)
		if err != nil || complete != step.complete {
			t.Errorf("%v: %t, %v", step.data, complete, err)
		}
		got := filesIn(t, files.folder)
		if len(got) != len(step.want) {
			t.Errorf("%v makes %v", step.data, got)
		}
		for name, content := range step.want {
			if got[name] != content {
				t.Errorf("%s holds %q, want %q", name, got[name], content)
			}
		}
	}
}

// TestCertificateFilesUnchanged: what is the same is not written, since every write makes the server load its certificate anew.
func TestCertificateFilesUnchanged(t *testing.T) {
	secret := secretWith(map[string]string{"tls.crt": "certificate", "tls.key": "key"})
	files := &certificateFiles{reader: fake.NewClientBuilder().WithObjects(secret).Build(), secret: secretName, folder: t.TempDir()}
	inode := func() os.FileInfo {
		if complete, err := files.copy(t.Context()); err != nil || !complete {
			t.Fatalf("%t, %v", complete, err)
		}
		info, err := os.Stat(filepath.Join(files.folder, "tls.crt"))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	if first, second := inode(), inode(); !os.SameFile(first, second) {
		t.Error("the file was written again")
	}
}

func TestCertificateFilesErrors(t *testing.T) {
	broken := errors.New("no API server")
	reader := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return broken
		},
	})
	files := &certificateFiles{reader: reader, secret: secretName, folder: t.TempDir()}
	if _, err := files.copy(t.Context()); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	secret := secretWith(map[string]string{"tls.crt": "certificate", "tls.key": "key"})
	files = &certificateFiles{
		reader: fake.NewClientBuilder().WithObjects(secret).Build(), secret: secretName, folder: filepath.Join(t.TempDir(), "missing"),
	}
	if complete, err := files.copy(t.Context()); complete || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%t, %v", complete, err)
	}
}

// TestCertificateFilesStop: it ends with the manager, also while there is nothing to copy.
func TestCertificateFilesStop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	reader := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			cancel()
			return context.Canceled
		},
	})
	files := &certificateFiles{reader: reader, secret: secretName, folder: t.TempDir()}
	if err := files.Start(ctx); err != nil || files.NeedLeaderElection() {
		t.Errorf("%v, leader election %t", err, files.NeedLeaderElection())
	}
}
