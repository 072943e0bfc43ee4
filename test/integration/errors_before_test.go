// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/harness"
)

// TestErrorsBeforeTheGate checks that a caller without permissions gets the same answer whatever validation or admission finds
// in the object that it would make.
//
// Attack: a caller holds granular and no permission, and finds the length of a Secret or the bounds of an autoscaler by the code
// of the answer
// Was: 422 in place of 403 where validation fails, without its text
// Answer: 403 for its own change in each case
// Held by: TestErrorsBeforeVerify
func TestErrorsBeforeTheGate(t *testing.T) {
	s := onStage(t)
	secret, _ := s.CreateObject(t, `{apiVersion: v1, kind: Secret, metadata: {name: measured}, stringData: {password: hunter2}}`)
	scaler, _ := s.CreateObject(t, `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: measured},
  spec: {maxReplicas: 7, minReplicas: 1, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}}}`)
	padded := func(size int) string {
		return fmt.Sprintf(`{"data":{"pad":"%s"}}`, base64.StdEncoding.EncodeToString(make([]byte, size)))
	}
	const limit = 1 << 20
	for i, tc := range []struct {
		name   string
		grants []string
		path   string
		bodies []string
		codes  []int
	}{
		{"a secret", []string{"granular"}, secret, []string{padded(1), padded(limit - 8), padded(limit)}, []int{403, 403, 403}},
		{"a secret, with get", []string{"granular", "get"}, secret, []string{padded(1), padded(limit - 8), padded(limit)}, []int{403, 403, 422}},
		{"a secret, with the permission", []string{"granular", "granular:data"}, secret, []string{padded(limit)}, []int{422}},
		{"an autoscaler", []string{"granular"}, scaler, []string{`{"spec":{"minReplicas":7}}`, `{"spec":{"minReplicas":8}}`}, []int{403, 403}},
		{"an autoscaler, with update", []string{"patch"}, scaler, []string{`{"spec":{"minReplicas":8}}`}, []int{422}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			user := fmt.Sprintf("measuring-%d", i)
			s.Callers.AddCaller(user, tc.grants...)
			for j, body := range tc.bodies {
				a := s.Send(t, user, http.MethodPatch, tc.path, harness.ContentTypes["merge"], body)
				if a.Code != tc.codes[j] || a.Code == http.StatusForbidden && !strings.Contains(a.Message(), "cannot change") {
					t.Errorf("%d: %s", j, a)
				}
			}
		})
	}
}
