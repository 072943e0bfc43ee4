// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"kube-granular.dev/pkg/audit"
	"kube-granular.dev/test/integration/harness"
)

var listed = as1("application/json", "PartialObjectMetadataList")

// TestSelectors checks that no field outside of the metadata can be guessed by a selector.
//
// Attack: a caller with readmetadata alone guesses the type of a Secret, or a selectable field of a custom resource, by field
// selectors
// Answer: 400 before anything is read
func TestSelectors(t *testing.T) {
	harness.Define(t, on, "certificates.example.com", definition)
	harness.WaitServed(t, on, "/apis/example.com/v1/certificates")
	allow(t, "selector", rule("", "secrets", "readmetadata"), rule("", "pods", "readmetadata"), rule("example.com", "certificates", "readmetadata"))
	reader := as(t, "selector")
	for path, want := range map[string]int{
		"/api/v1/secrets?fieldSelector=metadata.name%3Da":                   http.StatusOK,
		"/api/v1/secrets?fieldSelector=metadata.namespace%21%3Da":           http.StatusOK,
		"/api/v1/secrets?labelSelector=a%3Db":                               http.StatusOK,
		"/api/v1/secrets?fieldSelector=type%3DOpaque":                       http.StatusBadRequest,
		"/api/v1/secrets?fieldSelector=metadata.name%3Da%2Ctype%3DOpaque":   http.StatusBadRequest,
		"/api/v1/pods?fieldSelector=spec.nodeName%3Da":                      http.StatusBadRequest,
		"/api/v1/pods?fieldSelector=status.phase%21%3DRunning":              http.StatusBadRequest,
		"/apis/example.com/v1/certificates?fieldSelector=.spec.expires%3Da": http.StatusBadRequest,
		"/apis/example.com/v1/certificates?fieldSelector=metadata.name%3Da": http.StatusOK,
	} {
		if answer := reader.get(t, path, listed); answer.Code != want {
			t.Errorf("%s: %v, wanted %d", path, answer, want)
		}
		if answer := reader.get(t, path+"&watch=1&timeoutSeconds=1", as1("application/json", "PartialObjectMetadata")); answer.Code != want {
			t.Errorf("watch of %s: %v, wanted %d", path, answer, want)
		}
	}
}

// TestNames checks that a rule about one name covers that object, and no list.
func TestNames(t *testing.T) {
	makeSecret(t, "named")
	makeSecret(t, "unnamed")
	allow(t, "namer", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"named"}, Verbs: []string{"readmetadata"}},
		rule("", "configmaps", "readmetadata"))
	reader, one := as(t, "namer"), as1("application/json", "PartialObjectMetadata")
	for path, want := range map[string]int{
		"/api/v1/namespaces/default/secrets/named":                                                        http.StatusOK,
		"/api/v1/namespaces/default/secrets/unnamed":                                                      http.StatusForbidden,
		"/api/v1/namespaces/default/secrets?watch=1&timeoutSeconds=1":                                     http.StatusForbidden,
		"/api/v1/namespaces/default/secrets?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dnamed": http.StatusOK,
	} {
		if answer := reader.get(t, path, one); answer.Code != want {
			t.Errorf("%s: %v, wanted %d", path, answer, want)
		}
	}
}

// TestAggregated checks that the server forbids to read from another server, in its own words.
func TestAggregated(t *testing.T) {
	client := harness.Administrator(t, on)
	harness.Create(t, client, "/apis/apiregistration.k8s.io/v1/apiservices", `{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": {"name": "v1.elsewhere.example.com"}, "spec": {"group": "elsewhere.example.com", "version": "v1",
		"groupPriorityMinimum": 1, "versionPriority": 1, "insecureSkipTLSVerify": true, "service": {"namespace": "default", "name": "nobody"}}}`)
	allow(t, "aggregated", rule("elsewhere.example.com", "things", "readmetadata"))
	administrator, reader, stranger := as(t, ""), as(t, "aggregated"), as(t, "stranger")
	const path = "/apis/elsewhere.example.com/v1/things"
	harness.Until(t, "the aggregator proxies", func() bool { return administrator.get(t, path, listed).Code == http.StatusServiceUnavailable })
	answer, other := reader.get(t, path, listed), stranger.get(t, path, listed)
	if answer.Code != http.StatusForbidden || !bytes.Equal(answer.Body, bytes.ReplaceAll(other.Body, []byte("stranger"), []byte("aggregated"))) {
		t.Errorf("%v, and a stranger gets %v", answer, other)
	}
}

// TestReviews checks that access reviews do not say that such a user may get or list.
func TestReviews(t *testing.T) {
	allow(t, "reviewed", rule("", "secrets", "readmetadata"))
	client, err := kubernetes.NewForConfig(impersonating(t, "reviewed"))
	if err != nil {
		t.Fatal(err)
	}
	for verb, want := range map[string]bool{"get": false, "list": false, "watch": false, "readmetadata": true, "granular": false, "update": false} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Resource: "secrets"}}}
		answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		if err != nil || answer.Status.Allowed != want {
			t.Errorf("%s: %v, %v", verb, answer, err)
		}
	}
	rules, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "default"}}, metav1.CreateOptions{})
	if err != nil || !strings.Contains(rules.Status.String(), "readmetadata") {
		t.Errorf("%v, %v", rules, err)
	}
}

// TestGrants checks who can grant the verb: who holds it, or get, list and watch together.
func TestGrants(t *testing.T) {
	for name, tc := range map[string]struct {
		held []string
		can  bool
	}{
		"the-verb":   {[]string{"readmetadata"}, true},
		"all-reads":  {[]string{"get", "list", "watch"}, true},
		"two-reads":  {[]string{"get", "list"}, false},
		"all-writes": {[]string{"update", "patch", "create"}, false},
	} {
		user := "grants-" + name
		allow(t, user, rule("", "secrets", tc.held...), rule("rbac.authorization.k8s.io", "clusterroles", "create"))
		client, err := kubernetes.NewForConfig(impersonating(t, user))
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "granted-by-" + name},
			Rules: []rbacv1.PolicyRule{rule("", "secrets", "readmetadata")}}, metav1.CreateOptions{})
		if tc.can && err != nil || !tc.can && !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWrites checks that a write of a holder of readmetadata is answered as without the verb.
func TestWrites(t *testing.T) {
	makeSecret(t, "written")
	allow(t, "writer", rule("", "secrets", "readmetadata"))
	const path = "/api/v1/namespaces/default/secrets/written"
	for _, method := range []string{"PATCH", "PUT", "DELETE", "POST"} {
		for _, accept := range []string{listed, as1("application/json", "PartialObjectMetadata")} {
			answer, err := as(t, "").Do(t.Context(), harness.Call{As: harness.Impersonating("writer"), Method: method, Path: path, Accept: accept,
				ContentType: "application/merge-patch+json", Body: `{"metadata":{"labels":{"a":"b"}}}`})
			if err != nil || answer.Code == http.StatusOK || shows(answer.Body) {
				t.Errorf("%s: %v, %v", method, answer, err)
			}
		}
	}
}

// TestGranularWrites checks that a granular write shows its caller no more because of readmetadata, which is
// no get.
func TestGranularWrites(t *testing.T) {
	makeSecret(t, "labelled")
	allow(t, "label-writer", rule("", "secrets", "granular", "granular:labels"))
	allow(t, "label-reader", rule("", "secrets", "granular", "granular:labels", "readmetadata"))
	const path = "/api/v1/namespaces/default/secrets/labelled?dryRun=All"
	for _, accept := range []string{"application/json", oneForm, kubectl} {
		patch := func(user string) harness.Answer {
			answer, err := as(t, "").Do(t.Context(), harness.Call{As: harness.Impersonating(user), Method: "PATCH", Path: path, Accept: accept,
				ContentType: "application/merge-patch+json", Body: `{"metadata":{"labels":{"a":"b"}}}`})
			if err != nil || answer.Code != http.StatusOK || shows(answer.Body) {
				t.Errorf("%s: %v, %v", user, answer, err)
			}
			return answer
		}
		if with, without := patch("label-reader"), patch("label-writer"); !bytes.Equal(with.Body, without.Body) {
			t.Errorf("%s: with readmetadata %v, and without %v", accept, with, without)
		}
	}
	// Upstream's error about a patch of another kind quotes the object.
	for _, contentType := range []string{"application/merge-patch+json", "application/strategic-merge-patch+json"} {
		answer, err := as(t, "").Do(t.Context(), harness.Call{As: harness.Impersonating("label-reader"), Method: "PATCH", Path: path, ContentType: contentType,
			Body: `{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"labels":{"a":"b"}}}`})
		if err != nil || shows(answer.Body) {
			t.Errorf("%s of another kind: %v, %v", contentType, answer, err)
		}
	}
}

// TestWrittenBack checks that what a caller read as metadata, and writes back, deletes nothing of others: lists are
// complete, and metadata is no object of the resource.
//
// Attack: a caller that reads metadata alone, and may write, writes back what it read, so that data and the annotations and
// finalizers of others are lost
// Answer: 400 or 422 for the metadata as an object; a patch with its lists changes nothing
func TestWrittenBack(t *testing.T) {
	client := makeSecret(t, "written-back")
	secret, err := client.CoreV1().Secrets("default").Get(t.Context(), "written-back", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	secret.Finalizers = []string{"example.com/a", "example.com/b"}
	secret.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: "a", UID: "a"}, {APIVersion: "v1", Kind: "Namespace", Name: "b", UID: "b"}}
	if secret, err = client.CoreV1().Secrets("default").Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the finalizers would keep it
		_, _ = client.CoreV1().Secrets("default").Patch(context.Background(), secret.Name, apitypes.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	})
	allow(t, "back-writer", rule("", "secrets", "readmetadata", "update", "patch"))
	const path = "/api/v1/namespaces/default/secrets/written-back"
	read := as(t, "back-writer").get(t, path, oneForm)
	if read.Code != http.StatusOK || shows(read.Body) {
		t.Fatal(read)
	}
	metadata := harness.Metadata(t, read.Object(t))
	delete(metadata, "resourceVersion")
	for name, call := range map[string]harness.Call{
		"as an object":         {Method: "PUT", ContentType: "application/json", Body: read.Body},
		"as a patch":           {Method: "PATCH", ContentType: "application/merge-patch+json", Body: read.Body},
		"its metadata, merged": {Method: "PATCH", ContentType: "application/merge-patch+json", Body: map[string]any{"metadata": metadata}},
	} {
		call.As, call.Path = harness.Impersonating("back-writer"), path
		answer, err := as(t, "").Do(t.Context(), call)
		if merged := name == "its metadata, merged"; err != nil || (answer.Code == http.StatusOK) != merged || !merged && answer.Code/100 != 4 {
			t.Errorf("%s: %v, %v", name, answer, err)
		}
		after, err := client.CoreV1().Secrets("default").Get(t.Context(), secret.Name, metav1.GetOptions{})
		if err != nil || !apiequality.Semantic.DeepEqual(after, secret) {
			t.Errorf("%s: the Secret is %v, %v", name, after, err)
		}
	}
}

// TestAudit checks that the log says that only metadata was read, and has no data.
func TestAudit(t *testing.T) {
	client := harness.Administrator(t, on)
	allow(t, "audited", rule("", "configmaps", "readmetadata"))
	_, err := client.CoreV1().ConfigMaps("kube-public").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "audited"}, Data: map[string]string{marker: marker}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const path = "/api/v1/namespaces/kube-public/configmaps?limit=500"
	if answer := as(t, "audited").get(t, path, listed); answer.Code != http.StatusOK {
		t.Fatal(answer)
	}
	if got := harness.Annotations(t, auditLog, path)[audit.MetadataOnlyAnnotation]; got != "true" {
		t.Errorf("the annotation is %q", got)
	}
	text, err := os.ReadFile(auditLog)
	if err != nil {
		t.Fatal(err)
	}
	if shows(text) || !strings.Contains(string(text), "PartialObjectMetadataList") {
		t.Errorf("the log has data, or no answer: %s", text)
	}
}
