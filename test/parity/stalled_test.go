// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
)

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// resume makes the server go on with each deletion of a definition that has stalled. If a server fails to delete the objects of
// a definition, and then reads what it knew before, it looks at the definition again after five minutes, or when it changes.
func (s *server) resume(ctx context.Context) {
	c := call{method: http.MethodGet, header: http.Header{"Accept": {mediaJSON}}, user: []string{"parity", "system:masters"}}
	a, err := s.send(ctx, c, definitions, nil, nil)
	if err != nil {
		return // the request that is repeated fails too
	}
	list := apiextensionsv1.CustomResourceDefinitionList{}
	if err := json.Unmarshal(a.body, &list); err != nil {
		return
	}
	c.method = http.MethodPatch
	c.header.Set("Content-Type", mediaMerge)
	for _, d := range list.Items {
		failed := func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
			return c.Type == apiextensionsv1.Terminating && c.Reason == "InstanceDeletionFailed"
		}
		if d.DeletionTimestamp != nil && slices.ContainsFunc(d.Status.Conditions, failed) {
			body := `{"metadata": {"annotations": {"parity/resume": "` + string(uuid.NewUUID()) + `"}}}`
			_, _ = s.send(ctx, c, definitions+"/"+d.Name, []byte(body), nil) // it may be gone
		}
	}
}

// TestResume checks that no other definition is changed.
func TestResume(t *testing.T) {
	list := `{"items": [
		{"metadata": {"name": "served"}, "status": {"conditions": [{"type": "Terminating", "reason": "InstanceDeletionFailed"}]}},
		{"metadata": {"name": "deleted", "deletionTimestamp": "2026-01-01T00:00:00Z"},
			"status": {"conditions": [{"type": "Terminating", "reason": "InstanceDeletionInProgress"}]}},
		{"metadata": {"name": "stalled", "deletionTimestamp": "2026-01-01T00:00:00Z"},
			"status": {"conditions": [{"type": "Terminating", "reason": "InstanceDeletionFailed"}]}}]}`
	changed := []string{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPatch {
			changed = append(changed, r.URL.Path)
		}
		_, _ = io.WriteString(w, list)
	}))
	t.Cleanup(web.Close)
	(&server{url: web.URL, trusted: web.Client()}).resume(t.Context())
	if !slices.Equal(changed, []string{definitions + "/stalled"}) {
		t.Errorf("changed are %v", changed)
	}
}
