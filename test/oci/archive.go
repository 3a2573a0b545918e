package oci

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// nameAnnotation is where containerd looks for the name to import an image under.
const nameAnnotation = "io.containerd.image.name"

// writeArchive writes an OCI image layout, and in the same archive the manifest.json of older
// versions of `docker save`, which points to the same files.
func writeArchive(destination io.Writer, name string, image v1.Image) error {
	files, err := layoutFiles(name, image)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(destination)
	for _, f := range files {
		if err := addFile(archive, f.name, 0o644, f.content); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("finish the archive: %w", err)
	}
	return nil
}

type file struct {
	name    string
	content []byte
}

func layoutFiles(name string, image v1.Image) ([]file, error) {
	files := []file{{name: "oci-layout", content: []byte(`{"imageLayoutVersion":"1.0.0"}`)}}
	manifest, err := image.RawManifest()
	if err != nil {
		return nil, fmt.Errorf("write the manifest: %w", err)
	}
	configuration, err := image.RawConfigFile()
	if err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	layers, layerPaths, err := layerFiles(image)
	if err != nil {
		return nil, err
	}
	index, err := writeIndex(name, image)
	if err != nil {
		return nil, err
	}
	configurationName, err := image.ConfigName()
	if err != nil {
		return nil, fmt.Errorf("name the configuration: %w", err)
	}
	docker, err := json.Marshal([]dockerManifest{{Config: blobPath(configurationName), RepoTags: []string{name}, Layers: layerPaths}})
	if err != nil {
		return nil, fmt.Errorf("write manifest.json: %w", err)
	}
	digest, err := image.Digest()
	if err != nil {
		return nil, fmt.Errorf("name the manifest: %w", err)
	}
	files = append(files, file{"index.json", index}, file{"manifest.json", docker},
		file{blobPath(digest), manifest}, file{blobPath(configurationName), configuration})
	return append(files, layers...), nil
}

// dockerManifest is an element of the manifest.json of `docker save`.
type dockerManifest struct {
	Config   string
	RepoTags []string
	Layers   []string
}

func layerFiles(image v1.Image) (files []file, paths []string, err error) {
	layers, err := image.Layers()
	if err != nil {
		return nil, nil, fmt.Errorf("list the layers: %w", err)
	}
	for _, layer := range layers {
		digest, err := layer.Digest()
		if err != nil {
			return nil, nil, fmt.Errorf("name a layer: %w", err)
		}
		reader, err := layer.Compressed()
		if err != nil {
			return nil, nil, fmt.Errorf("compress a layer: %w", err)
		}
		content, err := io.ReadAll(reader)
		_ = reader.Close()
		if err != nil {
			return nil, nil, fmt.Errorf("compress a layer: %w", err)
		}
		files = append(files, file{blobPath(digest), content})
		paths = append(paths, blobPath(digest))
	}
	return files, paths, nil
}

func writeIndex(name string, image v1.Image) ([]byte, error) {
	descriptor, err := partial.Descriptor(image)
	if err != nil {
		return nil, fmt.Errorf("describe the image: %w", err)
	}
	configuration, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	descriptor.Platform = configuration.Platform()
	descriptor.Annotations = map[string]string{nameAnnotation: name}
	content, err := json.Marshal(v1.IndexManifest{
		SchemaVersion: 2,
		MediaType:     types.OCIImageIndex,
		Manifests:     []v1.Descriptor{*descriptor},
	})
	if err != nil {
		return nil, fmt.Errorf("write the index: %w", err)
	}
	return content, nil
}

func blobPath(digest v1.Hash) string { return "blobs/" + digest.Algorithm + "/" + digest.Hex }
