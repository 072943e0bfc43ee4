// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package paths

import (
	"encoding/json"
	"net/http"
	"testing"

	"kube-granular.dev/test/integration/harness"
)

// server is the running server, with the administrator's client.
type server struct {
	*harness.Client
	// turn counts the changes, so that each change writes another value.
	turn int
	// paths are the paths that discovery lists.
	paths []path
}

// send makes a request as a user, or as the administrator if user is empty.
func (s *server) send(t *testing.T, user, method, path, contentType string, body any) (int, string) {
	t.Helper()
	call := harness.Call{Method: method, Path: path, ContentType: contentType, Body: body}
	if user != "" {
		// The group system:unauthenticated avoids system:authenticated, whose members may
		// create reviews of themselves.
		call.As = harness.Impersonating(user, "system:unauthenticated")
	}
	answer, err := s.Do(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Code, string(answer.Body)
}

func (s *server) read(t *testing.T, path string, into any) {
	t.Helper()
	status, answer := s.send(t, "", http.MethodGet, path, "", nil)
	if status != http.StatusOK {
		t.Fatalf("GET %s: %d %s", path, status, answer)
	}
	if err := json.Unmarshal([]byte(answer), into); err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
}

const (
	mediaJSON  = "application/json"
	mediaMerge = "application/merge-patch+json"
	mediaApply = "application/apply-patch+yaml"
)

// apply creates or updates an object as the administrator.
func (s *server) apply(t *testing.T, path string, object map[string]any) {
	t.Helper()
	status, answer := s.send(t, "", http.MethodPatch, path+"?fieldManager=paths&force=true", mediaApply, object)
	if status >= 300 {
		t.Fatalf("apply %s: %d %s", path, status, answer)
	}
}

// grant gives a user verbs on all resources.
func (s *server) grant(t *testing.T, user string, verbs ...string) {
	t.Helper()
	const rbac = "/apis/rbac.authorization.k8s.io/v1/"
	meta := map[string]any{"name": user}
	s.apply(t, rbac+"clusterroles/"+user, map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": meta,
		"rules": []any{
			map[string]any{"apiGroups": []string{"*"}, "resources": []string{"*"}, "verbs": verbs},
			// This resource is not a path of the API. The server asks for it when the status of
			// a resource claim is written.
			map[string]any{"apiGroups": []string{"resource.k8s.io"},
				"resources": []string{"resourceclaims/binding"}, "verbs": []string{"patch", "update"}},
		},
	})
	s.apply(t, rbac+"clusterrolebindings/"+user, map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": meta,
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user},
		"subjects": []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}},
	})
}
