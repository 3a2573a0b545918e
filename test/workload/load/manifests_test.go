package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// apply creates the objects of one manifest.
func apply(t *testing.T, cluster client.Client, name string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "manifests", name))
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), len(content))
	for {
		object := new(unstructured.Unstructured)
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("read %s: %v", name, err)
		}
		if err := cluster.Create(t.Context(), object); err != nil {
			t.Fatalf("create %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}
