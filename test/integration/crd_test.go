// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"

	"kube-granular.dev/test/integration/cluster"
)

const (
	crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	// admin impersonates nobody.
	admin = ""
)

// TestTriggerSelfDestruct is KEP-3617's story 2, on a custom resource in two versions:
// a field that ordinary users must not set, which is granted to one group.
func TestTriggerSelfDestruct(t *testing.T) {
	webhook := httptest.NewTLSServer(renaming(map[string]string{
		"path": "route", "triggerSelfDestructOnSecurityBreach": "selfDestruct",
	}))
	// The scripts run in parallel, and end after this function does.
	t.Cleanup(webhook.Close)
	text, err := os.ReadFile(filepath.Join("testdata", "crd", "robots.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw})
	define(t, on, "robots.factory.example.com", strings.NewReplacer(
		"WEBHOOK_URL", webhook.URL, "WEBHOOK_CA", base64.StdEncoding.EncodeToString(ca)).Replace(string(text)))
	served(t, on, "/apis/factory.example.com/v1/robots")
	served(t, on, "/apis/factory.example.com/v2/robots")
	runScripts(t, on, "trigger_self_destruct.txtar")
}

// TestCRDExtensions holds that the extensions of a definition survive whatever
// happens to it, decide about requests, and are judged when they are written.
func TestCRDExtensions(t *testing.T) {
	runScripts(t, on, "crd_extensions.txtar")
}

// TestCRDScale holds that an excluded permission can't be got around by the scale.
func TestCRDScale(t *testing.T) {
	runScripts(t, on, "crd_scale.txtar")
}

// define applies a definition as the administrator and waits for it to be established.
func define(t *testing.T, c *cluster.Cluster, name, text string) {
	t.Helper()
	status, answer, err := request(c, admin, http.MethodPatch, crds+"/"+name+"?fieldManager=test&force=true", contentTypes["apply"], text)
	if err != nil || status >= 300 {
		t.Fatalf("%s: %d %s %v", name, status, answer, err)
	}
	until(t, "established", func() bool {
		_, answer, err := request(c, admin, http.MethodGet, crds+"/"+name, "", "")
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

// served waits until a resource is.
func served(t *testing.T, c *cluster.Cluster, path string) {
	t.Helper()
	until(t, path, func() bool {
		status, _, err := request(c, admin, http.MethodGet, path, "", "")
		return err == nil && status == http.StatusOK
	})
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return done(), nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// renaming is a conversion webhook between v1 and v2 that renames fields of spec.
func renaming(names map[string]string) http.Handler {
	back := map[string]string{}
	for v1, v2 := range names {
		back[v2] = v1
	}
	return converting(func(object map[string]any, to string) {
		rename := names
		if to == "v1" {
			rename = back
		}
		if spec, ok := object["spec"].(map[string]any); ok {
			for from, to := range rename {
				if value, ok := spec[from]; ok {
					spec[to] = value
					delete(spec, from)
				}
			}
		}
	})
}

// converting is a conversion webhook. move makes an object one of another version, whose
// name it is given.
func converting(move func(object map[string]any, to string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		review := &apiextensionsv1.ConversionReview{}
		if err := json.NewDecoder(req.Body).Decode(review); err != nil || review.Request == nil {
			http.Error(w, "not a review", http.StatusBadRequest)
			return
		}
		review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
		_, to, _ := strings.Cut(review.Request.DesiredAPIVersion, "/")
		for _, raw := range review.Request.Objects {
			object := &unstructured.Unstructured{}
			if err := json.Unmarshal(raw.Raw, &object.Object); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			if object.GetAPIVersion() != review.Request.DesiredAPIVersion {
				move(object.Object, to)
			}
			object.SetAPIVersion(review.Request.DesiredAPIVersion)
			review.Response.ConvertedObjects = append(review.Response.ConvertedObjects, runtime.RawExtension{Object: object})
		}
		review.Request = nil
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(review); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
}

// grantTo gives a user a role of its own in the default namespace.
func grantTo(t *testing.T, c *cluster.Cluster, user, group, resource string, verbs ...string) {
	t.Helper()
	quoted, err := json.Marshal(verbs)
	if err != nil {
		t.Fatal(err)
	}
	for path, body := range map[string]string{
		"roles":        fmt.Sprintf(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":%q},"rules":[{"apiGroups":[%q],"resources":[%q],"verbs":%s}]}`, user, group, resource, quoted),
		"rolebindings": fmt.Sprintf(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":%[1]q},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":%[1]q},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":%[1]q}]}`, user),
	} {
		status, answer, err := request(c, admin, http.MethodPatch, "/apis/rbac.authorization.k8s.io/v1/namespaces/default/"+path+"/"+user+"?fieldManager=test", contentTypes["apply"], body)
		if err != nil || status >= 300 {
			t.Fatalf("%s %s: %d %s %v", path, user, status, answer, err)
		}
	}
}
