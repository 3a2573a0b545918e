package oci

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func testImage(t *testing.T) Image {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "built")
	if err := os.WriteFile(binary, []byte("not really a program"), 0o700); err != nil {
		t.Fatal(err)
	}
	return Image{Name: "localhost/example:dev", Program: "example", Binary: binary, Architecture: "arm64"}
}

func archive(t *testing.T, image Image) []byte {
	t.Helper()
	var content bytes.Buffer
	if err := image.Write(&content); err != nil {
		t.Fatal(err)
	}
	return content.Bytes()
}

func TestArchiveIsAnImageLayout(t *testing.T) {
	folder := t.TempDir()
	extract(t, archive(t, testImage(t)), folder)
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Errorf("the layout is not valid: %v", err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if name := manifest.Manifests[0].Annotations["io.containerd.image.name"]; name != "localhost/example:dev" {
		t.Errorf("the image would be imported as %q", name)
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	checkImage(t, image)
}

func TestArchiveIsOneOfDocker(t *testing.T) {
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := testImage(t).WriteFile(path); err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(image); err != nil {
		t.Errorf("the image is not valid: %v", err)
	}
	checkImage(t, image)
}

func TestTheSameBinaryGivesTheSameArchive(t *testing.T) {
	image := testImage(t)
	first := archive(t, image)
	later := image
	later.Binary = filepath.Join(t.TempDir(), "elsewhere")
	content, err := os.ReadFile(image.Binary)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(later.Binary, content, 0o755); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, archive(t, later)) {
		t.Error("the archives differ")
	}
}

func TestBuild(t *testing.T) {
	out := filepath.Join(t.TempDir(), "new", "pause.tar")
	build := Build{Package: "github.com/gopacer/gopacer/test/cluster/pause", Name: "localhost/pause:dev", Out: out}
	if err := build.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(out, nil)
	if err != nil {
		t.Fatal(err)
	}
	configuration, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if configuration.Config.Entrypoint[0] != "/pause" {
		t.Errorf("entry point = %q, want the package's name", configuration.Config.Entrypoint)
	}
	entries, err := os.ReadDir(filepath.Dir(out))
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v, want the archive alone", entries, err)
	}
	for name, wrong := range map[string]Build{
		"no package":      {Name: "a", Out: out},
		"unknown package": {Package: "example.invalid/nothing", Name: "a", Out: out},
	} {
		if err := wrong.Run(t.Context()); err == nil {
			t.Errorf("%s: Run() has no error", name)
		}
	}
}

func checkImage(t *testing.T, image v1.Image) {
	t.Helper()
	configuration, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal([]any{configuration.OS, configuration.Architecture, configuration.Config.User, configuration.Config.Entrypoint})
	if err != nil {
		t.Fatal(err)
	}
	if want := `["linux","arm64","65532:65532",["/example"]]`; string(got) != want {
		t.Errorf("configuration = %s, want %s", got, want)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("layers = %v, %v, want one", layers, err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = content.Close() }()
	header, err := tar.NewReader(content).Next()
	if err != nil || header.Name != "example" || header.Mode != 0o755 {
		t.Errorf("the layer starts with %v, %v, want the program", header, err)
	}
}

func extract(t *testing.T, content []byte, folder string) {
	t.Helper()
	archive := tar.NewReader(bytes.NewReader(content))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, header.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
