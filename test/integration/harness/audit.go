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

// ReasonAnnotation is upstream's audit annotation with the reason of the authorization
// decision, such as the binding that allowed the request.
const ReasonAnnotation = "authorization.k8s.io/reason"

// Annotations returns audit annotations of the request with this URI: those that begin with
// granular., and ReasonAnnotation. It returns nil if the log has no event for a finished request
// with this URI yet.
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
