// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"net/http"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// Answer is what the server said.
type Answer struct {
	Code   int
	Body   []byte
	Header http.Header
}

func (a Answer) String() string { return fmt.Sprintf("%d %s", a.Code, a.Body) }

// Warnings are those beside the body.
func (a Answer) Warnings() []string { return a.Header.Values("Warning") }

// Message is that of a Status, or the whole body.
func (a Answer) Message() string {
	var status struct{ Message string }
	if yaml.Unmarshal(a.Body, &status) != nil || status.Message == "" {
		return string(a.Body)
	}
	return status.Message
}

// Object is the body, decoded.
func (a Answer) Object(t *testing.T) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := utiljson.Unmarshal(a.Body, &out); err != nil {
		t.Fatalf("%v: %s", err, a)
	}
	return out
}
