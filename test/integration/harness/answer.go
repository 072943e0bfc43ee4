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

// Answer is the response of a server.
type Answer struct {
	Code   int
	Body   []byte
	Header http.Header
}

func (a Answer) String() string { return fmt.Sprintf("%d %s", a.Code, a.Body) }

// Warnings returns the values of the Warning headers.
func (a Answer) Warnings() []string { return a.Header.Values("Warning") }

// Message returns the message of a Status, or the whole body if the body is no Status.
func (a Answer) Message() string {
	var status struct{ Message string }
	if yaml.Unmarshal(a.Body, &status) != nil || status.Message == "" {
		return string(a.Body)
	}
	return status.Message
}

// Object returns the decoded body.
func (a Answer) Object(t *testing.T) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := utiljson.Unmarshal(a.Body, &out); err != nil {
		t.Fatalf("%v: %s", err, a)
	}
	return out
}
