// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kube-granular.dev/test/integration/cluster"
)

// ReasonAnnotation is upstream's audit annotation with the reason of the authorization
// decision, such as the binding that allowed the request.
const ReasonAnnotation = "authorization.k8s.io/reason"

// SkippedAnnotation is the audit annotation with the webhooks that match conditions exclude.
const SkippedAnnotation = "authorization.k8s.io/webhook-skipped"

// Events returns the events of finished requests in an audit log.
func Events(t *testing.T, log string) []auditv1.Event {
	t.Helper()
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var out []auditv1.Event
	for line := range bytes.Lines(data) {
		var event auditv1.Event
		// The server may be writing the last line, so a line that is no event is none yet.
		if json.Unmarshal(line, &event) == nil && event.Stage == auditv1.StageResponseComplete {
			out = append(out, event)
		}
	}
	return out
}

// Event returns the first event of a finished request with this URI, or nil if the log has none yet.
func Event(t *testing.T, log, uri string) *auditv1.Event {
	t.Helper()
	events := Events(t, log)
	i := slices.IndexFunc(events, func(event auditv1.Event) bool { return event.RequestURI == uri })
	if i < 0 {
		return nil
	}
	return &events[i]
}

// Annotations returns audit annotations of the request with this URI: those that begin with
// granular., ReasonAnnotation and SkippedAnnotation. It returns nil if the log has no event for a finished request
// with this URI yet.
func Annotations(t *testing.T, log, uri string) map[string]string {
	t.Helper()
	event := Event(t, log, uri)
	if event == nil {
		return nil
	}
	ours := map[string]string{}
	for key, value := range event.Annotations {
		if strings.HasPrefix(key, "granular.") || key == ReasonAnnotation || key == SkippedAnnotation {
			ours[key] = value
		}
	}
	return ours
}

// Rules of audit policies: one logs the bodies of all requests and responses, the other only who changed
// what. The log of the latter stays small, so it can be read again and again.
const (
	bodies  = `{"level": "RequestResponse"}`
	changes = `{"level": "Metadata", "verbs": ["create", "update", "patch", "delete", "deletecollection"]}`
)

// LogBodies returns flags of a kube-apiserver that logs requests with their bodies, and the path of
// the log.
func LogBodies(t *testing.T) (flags []string, log string) {
	t.Helper()
	flags, log, err := auditFlags(t.TempDir(), bodies)
	if err != nil {
		t.Fatal(err)
	}
	return flags, log
}

// LogChanges returns flags of a kube-apiserver that logs changes without their bodies to a file in dir,
// and the path of the log.
func LogChanges(dir string) (flags []string, log string, err error) {
	return auditFlags(dir, changes)
}

// auditFlags returns flags of a kube-apiserver that logs what a rule of an audit policy says.
func auditFlags(dir, rule string) (flags []string, log string, err error) {
	policy, log := filepath.Join(dir, "policy.json"), filepath.Join(dir, "audit.log")
	text := `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [
		{"level": "None", "users": ["system:apiserver"]}, ` + rule + `]}`
	return []string{"--audit-policy-file=" + policy, "--audit-log-path=" + log}, log, os.WriteFile(policy, []byte(text), 0o600)
}

// AuditChain returns what `kube-granular audit chain` prints of an audit log.
func AuditChain(t *testing.T, log string, args ...string) string {
	t.Helper()
	bin, err := cluster.Bin()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "kube-granular"), append([]string{"audit", "chain", log}, args...)...).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// RulesIn returns the rules of all roles in a YAML text, in the order of the text.
func RulesIn(t *testing.T, text string) []rbacv1.PolicyRule {
	t.Helper()
	var out []rbacv1.PolicyRule
	documents := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		role := rbacv1.Role{}
		if err := documents.Decode(&role); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		out = append(out, role.Rules...)
	}
}
