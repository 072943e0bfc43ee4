// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/test/integration/cluster"
)

// PrepareCorpus prepares a server for the cases of the corpus: it installs the custom resources in
// test/corpus/crds, and creates the service account that pods need.
func PrepareCorpus(t *testing.T, s *Server) {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "test", "corpus", "crds", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s.Install(t, data)
	}
	s.Send(t, "", http.MethodPost, "/api/v1/namespaces/default/serviceaccounts", "application/json",
		`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}}`)
}

const (
	// Definitions is the path of the CustomResourceDefinitions.
	Definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	// Admin is the user name for requests that impersonate nobody.
	Admin = ""
)

// Define applies a CustomResourceDefinition as the administrator and waits until it is
// established.
func Define(t *testing.T, c *cluster.Cluster, name, text string) {
	t.Helper()
	status, answer, err := Request(c, Admin, http.MethodPatch, Definitions+"/"+name+"?fieldManager=test&force=true",
		ContentTypes["apply"], text)
	if err != nil || status >= 300 {
		t.Fatalf("%s: %d %s %v", name, status, answer, err)
	}
	Until(t, "established", func() bool {
		_, answer, err := Request(c, Admin, http.MethodGet, Definitions+"/"+name, "", "")
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err != nil || json.Unmarshal([]byte(answer), crd) != nil {
			return false
		}
		for _, condition := range crd.Status.Conditions {
			if condition.Type == apiextensionsv1.Established {
				return condition.Status == apiextensionsv1.ConditionTrue
			}
		}
		return false
	})
}

// WaitServed waits until the server serves a path.
func WaitServed(t *testing.T, c *cluster.Cluster, path string) {
	t.Helper()
	Until(t, path, func() bool {
		status, _, err := Request(c, Admin, http.MethodGet, path, "", "")
		return err == nil && status == http.StatusOK
	})
}

// Install creates a CustomResourceDefinition and returns once it is served.
func (s *Server) Install(t *testing.T, manifest []byte) {
	t.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(manifest, &crd); err != nil {
		t.Fatal(err)
	}
	if a := s.Send(t, "", http.MethodPost, Definitions, ContentTypes["yaml"], manifest); a.Code >= 300 && a.Code != http.StatusConflict {
		t.Fatal(a)
	}
	served := fmt.Sprintf("/apis/%s/%s/%s", crd.Spec.Group, crd.Spec.Versions[0].Name, crd.Spec.Names.Plural)
	Until(t, served+" is served", func() bool {
		return s.Send(t, "", http.MethodGet, served, "", nil).Code == http.StatusOK
	})
}

// define applies a file with CustomResourceDefinitions, and waits until clients find their
// resources in discovery. Schemas may be published later, and withdrawn for a moment: a script
// reads them with waitfor, or with the plugin, which waits by itself.
//
//	define FILE
func define(c *cluster.Cluster) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: define FILE")
		}
		ts.Check(ts.Exec("kubectl", "--kubeconfig", c.Kubeconfig("admin"), "apply", "--server-side", "-f", args[0]))
		config, err := c.Config("admin")
		ts.Check(err)
		client, err := discovery.NewDiscoveryClientForConfig(config)
		ts.Check(err)
		for _, document := range strings.Split(ts.ReadFile(args[0]), "\n---\n") {
			var crd apiextensionsv1.CustomResourceDefinition
			ts.Check(yaml.UnmarshalStrict([]byte(document), &crd))
			kind := schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}
			err := wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, waitTimeout, true, func(context.Context) (bool, error) {
				groups, err := restmapper.GetAPIGroupResources(client)
				if err != nil {
					return false, nil // another group may be going away
				}
				_, err = restmapper.NewDiscoveryRESTMapper(groups).RESTMapping(kind)
				return err == nil, nil
			})
			if err != nil {
				ts.Fatalf("define: %s is not in discovery: %v", kind, err)
			}
		}
	}
}
