// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package closedcluster

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// write is one change of an account of the system, from the audit log.
type write struct{ user, verb, resource, message string }

// expected are the refusals of upstream's own that a cluster's life has, whatever is closed.
var expected = []string{"because it is being terminated", "exceeded quota"}

// writes returns what accounts of the system wrote since an event was logged: what was done, and what was refused other
// than as expected. It returns the number of events too, for the next call.
func writes(t *testing.T, log string, since int) (done, refused []write, events int) {
	t.Helper()
	file, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<22)
	for ; lines.Scan(); events++ {
		var event auditv1.Event
		if events < since || json.Unmarshal(lines.Bytes(), &event) != nil || event.ResponseStatus == nil || event.ObjectRef == nil {
			continue
		}
		user := event.User.Username
		if event.ImpersonatedUser != nil {
			user = event.ImpersonatedUser.Username
		}
		if !strings.HasPrefix(user, "system:") {
			continue
		}
		w := write{strings.TrimPrefix(user, "system:serviceaccount:kube-system:"), event.Verb, event.ObjectRef.Resource, event.ResponseStatus.Message}
		if w.resource += "." + event.ObjectRef.APIGroup; event.ObjectRef.Subresource != "" {
			w.resource += "/" + event.ObjectRef.Subresource
		}
		switch {
		case event.ResponseStatus.Code < http.StatusBadRequest:
			done = append(done, w)
		case event.ResponseStatus.Code == http.StatusForbidden && !contains(expected, w.message):
			refused = append(refused, w)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return done, refused, events
}

func contains(parts []string, text string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}
