// Package oci writes a static program as a container image with one layer, in an archive that
// `ctr images import`, `docker load`, `podman load` and `kind load image-archive` read. It needs
// neither Docker nor a registry.
package oci

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// NonRoot is the user and group that images run as.
const NonRoot = "65532:65532"

// Image is a program and how it is run in a container.
type Image struct {
	// Name is what the image is called where it is imported, such as localhost/gopacer:dev.
	Name string
	// Program is the name of the program in the image, where it is the entry point.
	Program string
	// Binary is the file with the statically linked program.
	Binary string
	// Architecture is the one that the program was built for, as Go names it.
	Architecture string
	// User is NonRoot where it is empty.
	User string
}

// Write writes the image's archive. The same binary gives the same archive, byte by byte.
func (i Image) Write(destination io.Writer) error {
	built, err := i.build()
	if err != nil {
		return fmt.Errorf("make an image of %s: %w", i.Binary, err)
	}
	if err := writeArchive(destination, i.Name, built); err != nil {
		return fmt.Errorf("write the archive of image %s: %w", i.Name, err)
	}
	return nil
}

// WriteFile writes the image's archive to a file.
func (i Image) WriteFile(name string) error {
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("create the archive of image %s: %w", i.Name, err)
	}
	if err := i.Write(file); err != nil {
		_ = file.Close()
		return err
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("write the archive of image %s: %w", i.Name, err)
	}
	return nil
}

func (i Image) build() (v1.Image, error) {
	layer, err := i.layer()
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{Layer: layer, MediaType: types.OCILayer})
	if err != nil {
		return nil, fmt.Errorf("add the layer: %w", err)
	}
	configuration, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	configuration = configuration.DeepCopy()
	configuration.OS = "linux"
	configuration.Architecture = i.Architecture
	configuration.Created = v1.Time{Time: time.Unix(0, 0).UTC()}
	configuration.Config.Entrypoint = []string{i.path()}
	configuration.Config.WorkingDir = "/"
	configuration.Config.User = i.User
	if i.User == "" {
		configuration.Config.User = NonRoot
	}
	return mutate.ConfigFile(image, configuration)
}

// path is where the program is in the image.
func (i Image) path() string { return path.Join("/", i.Program) }

// layer has the program alone.
func (i Image) layer() (v1.Layer, error) {
	binary, err := os.ReadFile(i.Binary)
	if err != nil {
		return nil, err
	}
	var content bytes.Buffer
	archive := tar.NewWriter(&content)
	if err := addFile(archive, i.path()[1:], 0o755, binary); err != nil {
		return nil, err
	}
	if err := archive.Close(); err != nil {
		return nil, fmt.Errorf("finish the layer: %w", err)
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
}

// addFile adds a file without owner or time, so that archives can be compared.
func addFile(archive *tar.Writer, name string, mode int64, content []byte) error {
	header := &tar.Header{Name: name, Mode: mode, Size: int64(len(content)), ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
	if err := archive.WriteHeader(header); err != nil {
		return fmt.Errorf("add %s to the archive: %w", name, err)
	}
	if _, err := archive.Write(content); err != nil {
		return fmt.Errorf("add %s to the archive: %w", name, err)
	}
	return nil
}
