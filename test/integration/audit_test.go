// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kube-granular.dev/pkg/audit"
)

// reasonAnnotation is the server's own: by which binding a request may go on.
const reasonAnnotation = "authorization.k8s.io/reason"

// TestAudit holds that from the audit log alone one can tell which permissions a
// caller used and which it lacked, and by which binding its request was let through.
func TestAudit(t *testing.T) {
	const supersafe = "system:serviceaccount:default:supersafe"
	const granted = `RBAC: allowed by RoleBinding "supersafe/default" of ClusterRole "supersafe" to ServiceAccount "supersafe/default"`
	const web = "/apis/apps/v1/namespaces/default/deployments/web"
	tests := map[string]struct {
		user, path, patch string
		status            int
		want              map[string]string
	}{
		"covered": {supersafe, web, `{"metadata":{"labels":{"super.safe.com/audited":"1"},"annotations":{"super.safe.com/audited":"1"}}}`, http.StatusOK, map[string]string{
			audit.MarkedAnnotation:      "true",
			audit.PermissionsAnnotation: "granular:annotation(super.safe.com) granular:label(super.safe.com)",
			reasonAnnotation:            granted,
		}},
		"not covered": {supersafe, web, `{"metadata":{"labels":{"super.safe.com/audited":"2"}},"spec":{"replicas":9}}`, http.StatusForbidden, map[string]string{
			audit.MarkedAnnotation:  "true",
			audit.MissingAnnotation: "granular:specification granular:replicas",
			reasonAnnotation:        granted,
		}},
		"an ordinary caller": {"admin-like", web, `{"metadata":{"labels":{"audited":"3"}}}`, http.StatusForbidden, map[string]string{
			reasonAnnotation: "",
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			path := tc.path + "?fieldManager=audit-" + strings.ReplaceAll(name, " ", "-")
			status, answer, err := request(on, tc.user, http.MethodPatch, path, contentTypes["merge"], tc.patch)
			if err != nil {
				t.Fatal(err)
			}
			if status != tc.status {
				t.Fatalf("%d %s", status, answer)
			}
			var got map[string]string
			err = wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
				got = annotations(t, path)
				return got != nil, nil
			})
			if err != nil {
				t.Fatalf("there is no audit event of %s: %v", path, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// annotations finds what we wrote into the audit event of a request, and why it was let
// through, or nil if the event is not there yet.
func annotations(t *testing.T, uri string) map[string]string {
	t.Helper()
	file, err := os.Open(auditLog)
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
			if strings.HasPrefix(key, "granular.") || key == reasonAnnotation {
				ours[key] = value
			}
		}
		return ours
	}
	return nil
}
