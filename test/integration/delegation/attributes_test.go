// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"kube-granular.dev/api/selection"
)

const (
	clusterAttributes = "/apis/authority.kube-granular.dev/v1alpha1/clusterprotectedattributes"
	bypass            = `{"apiGroups":["authority.kube-granular.dev"],"resources":["protectedattributes"],"verbs":["bypass"]}`
)

// TestProtectedLabelUnderDelegations checks who may write a protected label under a delegation: a
// delegate of a policy that holds the verb bypass itself, as upstream's controllers do. The role of
// the delegator does not help a delegate, and a delegation that a user created does not preserve
// the exemption.
//
// Attack: a delegate writes a protected label that its delegator may write, under a stamp, and under a delegation that the delegator created
// Answer: 403: a delegation holds no role
// Attack: a controller with `bypass` writes a protected label under a delegation that a user created
// Answer: 403; 201 under the stamp of a policy
func TestProtectedLabelUnderDelegations(t *testing.T) {
	const secrets = `{"apiGroups":[""],"resources":["secrets"],"verbs":["create"]}`
	n, _ := stage(t, configMaps+","+secrets)
	key := fmt.Sprintf("l-%d", unique.Add(1))
	role := fmt.Sprintf("holder-%d", unique.Add(1))
	apply(t,
		rbacPath+"clusterroles", fmt.Sprintf(`{"metadata":{"name":%q}}`, role),
		rbacPath+"clusterrolebindings", fmt.Sprintf(`{"metadata":{"name":%[1]q},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":%[1]q},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"alice"}]}`, role),
		clusterAttributes, fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"attributeKind":"Label","attributeName":%q,"roleRef":{"kind":"ClusterRole","name":%q}}}`, key, key, role))
	t.Cleanup(func() {
		if got, err := (request{as: "root", method: "DELETE", path: clusterAttributes + "/" + key}).do(context.Background()); err != nil || got.status != http.StatusOK {
			t.Errorf("%s, %v", got, err)
		}
	})
	_, stamp := policy{namespace: n, rules: secrets}.made(t)
	labelled := func(name string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"labels":{%q:"x"}}}`, name, key)
	}
	dry := "/api/v1/namespaces/" + n + "/secrets?dryRun=All"
	request{as: "alice", method: "POST", path: dry, body: labelled("a")}.eventually(t, 201)
	byPolicy := request{as: "alice", method: "POST", path: maps(n), body: labelled("a")}.want(t, 201).annotations(t)[stamp]
	byAlice := delegation{scope: n, rules: secrets}.by(t, "alice", "")
	for _, under := range []string{byPolicy, byAlice} {
		request{as: "bot", method: "POST", path: dry, body: `{"metadata":{"name":"b"}}`, under: under}.want(t, 201)
		request{as: "bot", method: "POST", path: dry, body: labelled("b"), under: under}.want(t, 403, key, role)
	}
	everywhere(t, "bot", bypass)
	request{as: "bot", method: "POST", path: dry, body: labelled("b"), under: byPolicy}.want(t, 201)
	request{as: "bot", method: "POST", path: dry, body: labelled("b"), under: byAlice}.want(t, 403, key, role)
	request{as: "other", method: "POST", path: dry, body: labelled("b"), under: byPolicy}.want(t, 403)
}

// TestStampsAreNotProtected checks that no attribute protects stamps: only the server writes them,
// so whoever updates an object without its stamp would be refused.
//
// Attack: protecting the annotations in which the server stores stamps, so that nobody can update the objects
// Answer: 422
func TestStampsAreNotProtected(t *testing.T) {
	for i, key := range []string{"configmaps" + selection.StampSuffix + "/*", "deployments.apps" + selection.StampSuffix + "/p"} {
		request{as: "root", method: "POST", path: clusterAttributes, body: fmt.Sprintf(`{"metadata":{"name":"stamps-%d"},"spec":{"attributeKind":"Annotation","attributeName":%q}}`, i, key)}.want(t, 422, "only the API server writes annotations")
	}
}
