// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"bufio"
	"errors"
	"io"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// events returns what the audit log of a server says of the requests of the tee, by the identifier of the request and the
// stage.
func (s *server) events(t *testing.T) map[string]map[string]any {
	t.Helper()
	file, err := os.Open(s.auditLog)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	out, lines := map[string]map[string]any{}, bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		value, err := decode(mediaJSON, line)
		if err != nil {
			t.Fatal(err)
		}
		event := value.(map[string]any)
		annotations, _ := event["annotations"].(map[string]any)
		maps.DeleteFunc(annotations, func(key string, _ any) bool {
			return strings.HasPrefix(key, "apiserver.latency.k8s.io/") // those of a slow request
		})
		// RBAC finds bindings in no order, and two roles of everybody allow some paths.
		if reason, ok := annotations["authorization.k8s.io/reason"].(string); ok {
			annotations["authorization.k8s.io/reason"] = strings.ReplaceAll(reason, "system:public-info-viewer", "system:discovery")
		}
		if len(annotations) == 0 {
			delete(event, "annotations")
		}
		out[event["auditID"].(string)+" "+event["stage"].(string)] = event
	}
}

// compareAudit checks that all servers logged the same of each request that the tee compared. Answers that a read got before
// the last one are not compared either. equal has the identifiers of the others.
func compareAudit(t *testing.T, servers []*server, equal map[string]bool) {
	t.Helper()
	leader := servers[0].events(t)
	for _, s := range servers[1:] {
		compared, different := 0, 0
		for id, event := range s.events(t) {
			request, _, _ := strings.Cut(id, " ")
			if !equal[request] {
				continue
			}
			other, ok := leader[id]
			if !ok {
				t.Errorf("%s logs a stage that the leader does not log: %v", s.name, event["requestURI"])
				continue
			}
			compared++
			if diff := cmp.Diff(normalise(other, ""), normalise(event, "")); diff != "" {
				if different++; different <= 10 {
					t.Errorf("%s logs another event:\n%s", s.name, diff)
				}
			}
		}
		t.Logf("%s: %d events are compared, %d differ", s.name, compared, different)
		if compared == 0 || compared < len(equal) {
			t.Errorf("%s and the leader log %d events of %d requests", s.name, compared, len(equal))
		}
	}
}
