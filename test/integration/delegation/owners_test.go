// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestNewOwners checks that under a delegation a new owner need the verb delete: without it, or with a condition, no
// deletion is allowed, and the garbage collector deletes an object whose owner does not exist.
//
// Attack: under a delegation that does not allow `delete`, or has conditions, the caller has an object deleted by the garbage collector
// Answer: got through; now 403
func TestNewOwners(t *testing.T) {
	n, _ := stage(t, configMaps)
	request{as: "alice", method: "POST", path: maps(n), body: configMap("c", "x")}.want(t, 201)
	const owner = `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"none","uid":"1fd7f3a5-4bc2-4f9b-8c53-2a1c54b4f5ee"}]}}`
	patch := func(under, contentType, body string) request {
		return request{as: "bot", method: "PATCH", path: maps(n) + "/c?fieldManager=m", under: under, contentType: contentType, body: body}
	}
	applied := `{"apiVersion":"v1","kind":"ConfigMap",` + strings.Replace(owner[1:], `"metadata":{`, `"metadata":{"name":"c",`, 1)
	whole := delegation{scope: n, rules: configMaps}.by(t, "alice", "")
	updates := delegation{scope: n, rules: strings.Replace(configMaps, `"delete",`, "", 1)}.by(t, "alice", "")
	conditional := delegation{scope: n, rules: configMaps, more: `,"conditions":[{"expression":"has(object.data)"}]`}.by(t, "alice", "")
	for _, under := range []string{updates, conditional} {
		patch(under, mergePatch, `{"data":{"key":"y"}}`).want(t, 200)
		patch(under, mergePatch, owner).want(t, 403, "need the verb delete")
		patch(under, "application/strategic-merge-patch+json", owner).want(t, 403, "need the verb delete")
		patch(under, "application/apply-patch+yaml", applied).want(t, 403, "need the verb delete")
	}
	patch(whole, mergePatch, owner).want(t, 200)
	// With objectUIDs, delete is allowed for these objects.
	var stored corev1.ConfigMap
	if err := json.Unmarshal([]byte(request{as: "alice", method: "GET", path: maps(n) + "/c"}.want(t, 200).body), &stored); err != nil {
		t.Fatal(err)
	}
	chosen := delegation{scope: n, rules: configMaps, more: fmt.Sprintf(`,"objectUIDs":[%q]`, stored.UID)}.by(t, "alice", "")
	patch(chosen, mergePatch, strings.Replace(owner, "none", "another", 1)).want(t, 200)
	patch(chosen, mergePatch, owner).want(t, 200)
	// An owner that the object has, and an object that the caller creates with one.
	patch(updates, mergePatch, strings.Replace(owner, `"metadata":{`, `"metadata":{"labels":{"l":"x"},`, 1)).want(t, 200)
	patch(updates, mergePatch, `{"metadata":{"ownerReferences":null}}`).want(t, 200)
	request{as: "bot", method: "POST", path: maps(n), under: updates, body: strings.Replace(owner, `"metadata":{`, `"metadata":{"name":"owned",`, 1)}.want(t, 201)
}
