// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// ReasonAnnotation is the server's own: by which binding a request may go on.
const ReasonAnnotation = "authorization.k8s.io/reason"

// Annotations finds what we wrote into the event of a request in an audit log, and why the
// request was let through. It returns nil if the event is not there yet.
func Annotations(t *testing.T, log, uri string) map[string]string {
	t.Helper()
	file, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event auditv1.Event
		if json.Unmarshal(lines.Bytes(), &event) != nil || event.RequestURI != uri || event.Stage != auditv1.StageResponseComplete {
			continue
		}
		ours := map[string]string{}
		for key, value := range event.Annotations {
			if strings.HasPrefix(key, "granular.") || key == ReasonAnnotation {
				ours[key] = value
			}
		}
		return ours
	}
	return nil
}
