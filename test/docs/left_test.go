// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// passing lists the resources whose objects the server writes all the time by itself.
var passing = []string{"events", "leases"}

// state maps the name of each object in a cluster and of each file in a working directory to
// its content.
type state map[string]string

// look returns the current state. It fails while the set of served resources changes.
func look(ctx context.Context, c *cluster.Cluster, dir string) (state, error) {
	s := state{}
	if err := s.addFiles(dir); err != nil {
		return nil, err
	}
	return s, s.addObjects(ctx, c)
}

func (s state) addFiles(dir string) error {
	return fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		// .kube-granular is a symbolic link to the cluster's own directory, so WalkDir does not
		// enter it.
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, path))
		s["file "+path] = fmt.Sprintf("%x", sha256.Sum256(content))
		return err
	})
}

func (s state) addObjects(ctx context.Context, c *cluster.Cluster) error {
	config, err := c.Config("admin")
	if err != nil {
		return err
	}
	config.WarningHandler = rest.NoWarnings{}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	lists, err := disco.ServerPreferredResources()
	if err != nil {
		return err
	}
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists) {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return err
		}
		for _, resource := range list.APIResources {
			if slices.Contains(passing, resource.Name) {
				continue
			}
			s["resource "+gv.WithResource(resource.Name).String()] = ""
			found, err := client.Resource(gv.WithResource(resource.Name)).List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			for _, object := range found.Items {
				if err := s.addObject(resource.Name, object); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// addObject adds an object, without the metadata that every write changes.
func (s state) addObject(resource string, object unstructured.Unstructured) error {
	name := strings.TrimPrefix(object.GetNamespace()+"/"+object.GetName(), "/")
	object.SetManagedFields(nil)
	object.SetResourceVersion("")
	object.SetGeneration(0)
	text, err := object.MarshalJSON()
	s[fmt.Sprintf("%s %s", resource, name)] = string(text)
	return err
}

// nothingLeft waits until the state equals before and no command of the reader runs. The server
// and the controller of tenants need a moment to react to a deletion.
func nothingLeft(t *testing.T, c *cluster.Cluster, r *reader, before state) {
	t.Helper()
	var difference string
	done := func() bool {
		after, err := look(t.Context(), c, r.dir)
		if err != nil {
			difference = err.Error()
			return false
		}
		difference = cmp.Diff(before, after)
		if running := r.running(); len(running) > 0 {
			difference += fmt.Sprintf("still running: %s\n", running)
		}
		return difference == ""
	}
	t.Cleanup(func() {
		if difference != "" {
			t.Errorf("not as before (-before +after):\n%s", difference)
		}
	})
	harness.Until(t, "all is as it was", done)
}
