// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// Twins calls do twice, which must send the same request as the given user. The first user has all
// grants except grants[0]. The request must be refused with a message that contains says, and the
// object at path must stay the same. The second user has all grants, and the request must succeed.
// Twins returns the second response.
func (s *Server) Twins(t *testing.T, path, says string, grants []string, do func(user string) Answer) Answer {
	t.Helper()
	n := Unique()
	refused, allowed := fmt.Sprintf("refused-%d", n), fmt.Sprintf("allowed-%d", n)
	s.Callers.AddCaller(refused, grants[1:]...)
	s.Callers.AddCaller(allowed, grants...)
	before := s.Send(t, "", http.MethodGet, path, "", nil)
	if a := do(refused); a.Code != http.StatusForbidden || !strings.Contains(a.Message(), says) {
		t.Errorf("without %s: got %s\nwanted 403 and %q", grants[0], a, says)
	}
	if after := s.Send(t, "", http.MethodGet, path, "", nil); before.Code != after.Code || !reflect.DeepEqual(stored(t, before), stored(t, after)) {
		t.Errorf("it was refused and stored:\n%s\n%s", before, after)
	}
	a := do(allowed)
	if a.Code >= 300 {
		t.Errorf("with all of %q: got %s", grants, a)
	}
	return a
}

// stored returns the object in an answer. For a list it removes the resourceVersion, which
// changes with every write to the storage, even by the server itself.
func stored(t *testing.T, a Answer) map[string]any {
	t.Helper()
	object := a.Object(t)
	if _, list := object["items"]; list {
		delete(Metadata(t, object), "resourceVersion")
	}
	return object
}
