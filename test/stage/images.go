package stage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gopacer/gopacer/test/cluster"
	"github.com/gopacer/gopacer/test/cluster/programs"
	"github.com/gopacer/gopacer/test/oci"
)

// Archive is an image in a file.
type Archive struct {
	// Name is what pods call the image. Its tag follows from the program, so that a Deployment rolls out when the program
	// has changed, and only then.
	Name string
	// Path is the file.
	Path string
}

// Images are all that a stage needs.
type Images struct {
	Operator, Workload, Load Archive
}

// BuildImages builds the three images into out/images, with one line about each to out.
func BuildImages(ctx context.Context, out io.Writer) (Images, error) {
	var images Images
	for _, build := range []struct {
		name, packagePath string
		archive           *Archive
	}{
		{"gopacer", "./cmd/gopacer", &images.Operator},
		{"gopacer-workload", "./test/workload/service", &images.Workload},
		{"gopacer-load", "./test/workload/load", &images.Load},
	} {
		began := time.Now()
		archive, err := buildImage(ctx, build.name, build.packagePath)
		if err != nil {
			return Images{}, err
		}
		*build.archive = archive
		fmt.Fprintf(out, "image %s (%.1f s)\n", archive.Name, time.Since(began).Seconds())
	}
	return images, nil
}

func buildImage(ctx context.Context, name, packagePath string) (Archive, error) {
	repository, err := programs.Repository()
	if err != nil {
		return Archive{}, fmt.Errorf("build an image: %w", err)
	}
	folder := filepath.Join(repository, "out", "images")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return Archive{}, fmt.Errorf("create the folder for images: %w", err)
	}
	workplace, err := os.MkdirTemp(folder, name+"-")
	if err != nil {
		return Archive{}, fmt.Errorf("create a folder to build %s in: %w", packagePath, err)
	}
	defer func() { _ = os.RemoveAll(workplace) }()
	binary := filepath.Join(workplace, "program")
	build := oci.Build{Package: packagePath, Folder: repository, Architecture: runtime.GOARCH}
	if err := build.Compile(ctx, binary); err != nil {
		return Archive{}, err
	}
	tag, err := digest(binary)
	if err != nil {
		return Archive{}, err
	}
	archive := Archive{Name: "localhost/" + name + ":" + tag, Path: filepath.Join(folder, name+".tar")}
	image := oci.Image{Name: archive.Name, Program: path.Base(packagePath), Binary: binary, Architecture: runtime.GOARCH}
	part := filepath.Join(workplace, "image.tar")
	if err := image.WriteFile(part); err != nil {
		return Archive{}, err
	}
	// Two tests that build at once each leave a whole archive behind.
	if err := os.Rename(part, archive.Path); err != nil {
		return Archive{}, fmt.Errorf("put the archive into place: %w", err)
	}
	return archive, nil
}

// digest is the start of a file's SHA-256, long enough for a tag that a person may have to read.
func digest(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("read a program to name its image: %w", err)
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", fmt.Errorf("read a program to name its image: %w", err)
	}
	return hex.EncodeToString(hash.Sum(nil))[:12], nil
}

// Load imports the images into the cluster, where pods find them by their names.
func Load(ctx context.Context, c *cluster.Cluster, images Images) error {
	for _, archive := range []Archive{images.Operator, images.Workload, images.Load} {
		if err := c.LoadImage(ctx, archive.Path); err != nil {
			return err
		}
	}
	return nil
}
