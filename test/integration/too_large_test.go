// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/harness"
)

// TestTooLargeWithManagedFields tests an object that is too large for etcd only because of its
// managed fields. Upstream then tries again and drops the managed fields. The server must
// verify this second attempt as well, and refuse a caller that may not write managed fields.
// The test finds the size of such an object by bisection.
//
// Attack: data that is so large that upstream drops the managed fields
// Answer: 403, `metadata`
// Was: got through
func TestTooLargeWithManagedFields(t *testing.T) {
	s := onStage(t)
	for _, way := range []string{"PUT", "merge"} {
		t.Run(way, func(t *testing.T) {
			path := edge(t, s)
			live := s.MustSend(t, http.MethodGet, path, "", nil).Object(t)
			meta := harness.Metadata(t, live)
			if meta["managedFields"] == nil {
				t.Fatal("the object has no managed fields to begin with")
			}
			method, contentType, body := http.MethodPatch, harness.ContentTypes["merge"], any(`{"metadata":{"labels":{"a.example.com/x":"1"}}}`)
			if way == "PUT" {
				method, contentType = http.MethodPut, harness.ContentTypes["json"]
				meta["labels"] = map[string]any{"a.example.com/x": "1"}
				body = live
			}
			send := func(user string) harness.Answer {
				return s.Send(t, user, method, path+"?fieldManager="+strings.Repeat("m", 100), contentType, body)
			}
			nobody := fmt.Sprintf("nobody-%d", harness.Unique())
			s.Callers.AddCaller(nobody, "granular")
			if a := send(nobody); a.Code != http.StatusForbidden || !strings.Contains(a.Message(), "cannot change .metadata.labels[a.example.com/x]") {
				t.Errorf("without the label: got %s", a)
			}
			s.Twins(t, path, "cannot change .metadata.managedFields", []string{"granular:metadata", "granular:label(a.example.com)", "granular"}, send)
			now := harness.Metadata(t, s.MustSend(t, http.MethodGet, path, "", nil).Object(t))
			if now["managedFields"] != nil {
				t.Error("managed fields were kept, so there was no second attempt")
			}
			if fmt.Sprint(now["labels"]) != "map[a.example.com/x:1]" {
				t.Errorf("the labels are %v", now["labels"])
			}
		})
	}
}

// edge returns the path of a stored object that still has its managed fields, and that would
// lose them if it were a little larger.
func edge(t *testing.T, s *harness.Server) string {
	t.Helper()
	const names = 1600
	name := fmt.Sprintf("large-%d", harness.Unique())
	path := "/api/v1/namespaces/default/configmaps/" + name
	object := func(filler int) map[string]any {
		data := map[string]any{"filler": strings.Repeat("x", filler)}
		for i := range names {
			// Each key is stored twice: in the data and in the managed fields.
			data[fmt.Sprintf("%0200d", i)] = ""
		}
		return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name},
			"data": data}
	}
	// An object that has lost its managed fields does not get them back, so each try creates it
	// again.
	kept := func(filler int) bool {
		s.Send(t, "", http.MethodDelete, path, "", nil)
		a := s.MustSend(t, http.MethodPost, strings.TrimSuffix(path, "/"+name), harness.ContentTypes["json"], object(filler))
		return harness.Metadata(t, a.Object(t))["managedFields"] != nil
	}
	low, high := 0, 1<<20
	if !kept(low) || kept(high-100) {
		t.Fatal("the size limit is outside of the sizes that the test tries")
	}
	for high-low > 40 {
		if middle := (low + high) / 2; kept(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	if !kept(low) {
		t.Fatal("an object of the same size has lost its managed fields at the second try")
	}
	return path
}
