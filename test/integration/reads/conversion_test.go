// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"bytes"
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/test/integration/harness"
)

// crates has two versions, and a webhook that converts between them.
const crates = `{
	"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "crates.reads.example.com"},
	"spec": {"group": "reads.example.com", "scope": "Namespaced", "names": {"kind": "Crate", "plural": "crates", "singular": "crate"},
		"conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "URL", "caBundle": "CA"}}},
		"versions": [
			{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}},
			{"name": "v2", "served": true, "storage": false, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}`

// quoting is a conversion webhook that fails once broken is set. It then quotes the object, once as the
// message of a failed conversion and once as an object that can't be used.
type quoting struct {
	http.Handler
	broken atomic.Bool
	calls  atomic.Int64
}

func (q *quoting) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !q.broken.Load() {
		q.Handler.ServeHTTP(w, req)
		return
	}
	harness.Review(w, req, func(review *apiextensionsv1.ConversionReview) error {
		text, err := json.Marshal(review.Request.Objects)
		if err != nil {
			return err
		}
		review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{
			Status: metav1.StatusFailure, Message: string(text), Reason: metav1.StatusReasonNotFound}}
		if q.calls.Add(1)%2 == 0 {
			review.Response.Result = metav1.Status{Status: metav1.StatusSuccess}
			review.Response.ConvertedObjects = review.Request.Objects // which have the wrong version
		}
		review.Request = nil
		return nil
	})
}

// TestConversionFails breaks the webhook that converts a custom resource, in all reads of metadata in the
// version that is not stored, and in watches that are open. The administrator sees the webhook's message,
// so it is there.
//
// Attack: a caller with readmetadata alone reads objects that a webhook fails to convert, so that the error quotes the object, or a
// watch sends what it could not convert
// Answer: a general 500, or an error event without data
func TestConversionFails(t *testing.T) {
	webhook := &quoting{Handler: harness.ConversionWebhook(func(map[string]any, string) {})}
	server := harness.ServeWebhook(t, webhook)
	ca, err := json.Marshal(harness.CABundle(server))
	if err != nil {
		t.Fatal(err)
	}
	text := bytes.ReplaceAll([]byte(crates), []byte(`"CA"`), ca)
	harness.Define(t, on, "crates.reads.example.com", string(bytes.ReplaceAll(text, []byte("URL"), []byte(server.URL))))
	t.Cleanup(func() { // else the server tries for ever to call the webhook
		_, _, _ = harness.Request(on, harness.Admin, http.MethodDelete, harness.Definitions+"/crates.reads.example.com", "", "")
	})
	const v1, v2 = "/apis/reads.example.com/v1/namespaces/default/crates", "/apis/reads.example.com/v2/namespaces/default/crates"
	harness.WaitServed(t, on, v1)
	harness.WaitServed(t, on, v2)
	allow(t, "converter", rule("reads.example.com", "crates", "readmetadata"))
	client := harness.Administrator(t, on)
	put := func(name string) {
		harness.Create(t, client, v1, `{"apiVersion": "reads.example.com/v1", "kind": "Crate", "metadata": {"name": "`+name+`"}, "spec": {"`+marker+`": "`+marker+`"}}`)
	}
	put("first")
	reader, administrator, one := as(t, "converter"), as(t, ""), as1("application/json", "PartialObjectMetadata")
	for path, accept := range map[string]string{v2: listed, v2 + "/first": one} {
		if answer := reader.get(t, path, accept); answer.Code != http.StatusOK || !bytes.Contains(answer.Body, []byte("first")) || shows(answer.Body) {
			t.Errorf("before: %s: %v", path, answer)
		}
	}
	const follow = "?watch=1&resourceVersion=0&timeoutSeconds=5"
	opened := make(chan harness.Answer, 2)
	for _, accept := range []string{one, kubectl} {
		go func() { opened <- reader.get(t, v2+follow, accept) }()
	}
	webhook.broken.Store(true)
	put("second")
	quoted := false
	group := sync.WaitGroup{}
	for range 4 { // the webhook fails in two ways
		for path, accepts := range map[string][]string{v2: {listed, kubectl}, v2 + "/first": {one, kubectl}, v2 + "?limit=1": {listed}, v2 + "/second": {one},
			v2 + "?watch=1&timeoutSeconds=1": {one, kubectl}, v2 + "?resourceVersion=0": {listed}} {
			for _, accept := range accepts {
				group.Go(func() {
					if answer := reader.get(t, path, accept); shows(answer.Body) {
						t.Errorf("%s as %s shows data: %v", path, accept, answer)
					}
				})
			}
		}
		group.Wait()
		quoted = quoted || shows(administrator.get(t, v2+"/second", "").Body)
	}
	if !quoted {
		t.Error("the webhook's message, with the marker, reaches not even the administrator")
	}
	for range 2 {
		if answer := <-opened; shows(answer.Body) {
			t.Errorf("an open watch shows data: %v", answer)
		}
	}
}

// TestCorrupt stores what can't be decoded. The error of the administrator quotes it.
//
// Attack: a caller with readmetadata alone reads an object that can't be decoded, so that the error quotes it
// Answer: a general 500
func TestCorrupt(t *testing.T) {
	const key, path = "/registry/configmaps/default/corrupt", "/api/v1/namespaces/default/configmaps"
	client := storage(t)
	if _, err := client.Put(t.Context(), key, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"corrupt"},"data":["`+marker+`"],"immutable":"`+marker+`"}`); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := client.Delete(t.Context(), key); err != nil {
			t.Error(err)
		}
	}()
	allow(t, "corrupt-reader", rule("", "configmaps", "readmetadata"))
	reader, one := as(t, "corrupt-reader"), as1("application/json", "PartialObjectMetadata")
	for _, accept := range []string{one, kubectl, as1("application/vnd.kubernetes.protobuf", "PartialObjectMetadata")} {
		if answer := reader.get(t, path+"/corrupt", accept); answer.Code != http.StatusInternalServerError || shows(answer.Body) {
			t.Errorf("%v", answer)
		}
	}
	for _, query := range []string{"?limit=500", "?resourceVersion=0", "?fieldSelector=metadata.name%3Dcorrupt", "?watch=1&timeoutSeconds=1"} {
		accept := listed
		if query[1] == 'w' {
			accept = one
		}
		if answer := reader.get(t, path+query, accept); shows(answer.Body) {
			t.Errorf("%s: %v", query, answer)
		}
	}
}
