// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const (
	fieldPermissions = "/apis/authority.kube-granular.dev/v1alpha1/fieldpermissions"

	// closedAddresses is excluded from update, and namedUnready is a name for a field of update.
	closedAddresses = "granular:example.com/addresses"
	namedUnready    = "granular:example.com/unready"
)

// closeServices closes a field of services and names another one until the test ends.
func closeServices(t *testing.T) {
	t.Helper()
	apply(t, fieldPermissions, `{"metadata":{"name":"services"},"spec":{"version":"v1","mode":"Enforce","fields":[
		{"path":".spec.externalIPs","permission":"example.com/addresses","excluded":true},{"path":".spec.publishNotReadyAddresses","permission":"example.com/unready"}]}}`)
	t.Cleanup(func() {
		remove := request{as: "root", method: "DELETE", path: fieldPermissions + "/services"}
		if got, err := remove.do(context.Background()); err != nil || got.status != http.StatusOK {
			t.Errorf("%s, %v", got, err)
		}
	})
}

// onServices returns a rule with verbs on services.
func onServices(verbs ...string) string {
	return fmt.Sprintf(`{"apiGroups":[""],"resources":["services"],"verbs":["%s"]}`, strings.Join(verbs, `","`))
}

// TestPoliciesOfEntries holds that no policy delegates the permission of an entry for an author without it, whether
// update includes the permission or not: neither the author of the policy nor that of a write can, though both hold
// update and patch. With the verb, both can.
//
// Attack: an administrator with update and patch writes a policy that delegates the verb of a closed field
// Answer: 403: no verb includes the permission of an entry
//
// Attack: whoever holds update and patch lets a policy delegate the verb of a closed field to a controller
// Answer: 403: no verb includes the permission of an entry
func TestPoliciesOfEntries(t *testing.T) {
	closeServices(t)
	everywhere(t, "deep", `{"apiGroups":["authority.kube-granular.dev"],"resources":["authoritydelegationpolicies"],"verbs":["create"]}`)
	everywhere(t, "deep", `{"apiGroups":["authority.kube-granular.dev"],"resources":["authoritydelegations"],"verbs":["delegate"]}`)
	everywhere(t, "deep", onServices("update", "patch", "granular"))
	n, _ := stage(t, configMaps+","+onServices("update", "patch", "granular"))
	// A permission of the registry is delegated by those who hold update and patch, in both places.
	ordinary := policy{namespace: n, rules: onServices("granular:labels")}
	request{as: "deep", method: "POST", path: policies + "?dryRun=All", body: ordinary.body("deeps")}.want(t, 201)
	for i, verb := range []string{closedAddresses, namedUnready} {
		p := policy{namespace: n, rules: onServices(verb)}
		write := request{as: "deep", method: "POST", path: policies + "?dryRun=All", body: p.body("deeps")}
		write.want(t, 403, verb)
		everywhere(t, "deep", onServices(verb))
		write.want(t, 201)

		name, stamp := p.made(t)
		create := request{as: "alice", method: "POST", path: maps(n), body: configMap(fmt.Sprintf("c%d", i), "x")}
		create.want(t, 403, name, verb)
		grant(t, n, "alice", onServices(verb))
		create.eventually(t, 201).want(t, stamp)
	}
	_, stamp := ordinary.made(t)
	request{as: "alice", method: "POST", path: maps(n), body: configMap("ordinary", "x")}.want(t, 201, stamp)
}

// want checks parts of the body of a response.
func (r response) want(t *testing.T, says ...string) {
	t.Helper()
	for _, s := range says {
		if !strings.Contains(r.body, s) {
			t.Errorf("wanted %q, got %s", s, r)
		}
	}
}

// TestDelegatesOfEntries holds what a delegation of a policy opens: a closed field only if its rules name the
// verb and the author still holds it, and with a name that field alone.
//
// Attack: a policy delegates update, and its delegate writes a field that is closed to update
// Answer: 403, which names the FieldPermission, although the author of the object holds the verb
//
// Attack: the author loses the verb of a closed field, and its delegate goes on to write the field
// Answer: 403
func TestDelegatesOfEntries(t *testing.T) {
	closeServices(t)
	n, _ := stage(t, configMaps+","+onServices("get", "update", "patch", "granular", namedUnready))
	addresses := grant(t, n, "alice", onServices(closedAddresses))
	request{as: "root", method: "POST", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews"}.
		reviewed(t, "alice", n, closedAddresses, [2]string{"", "services"})
	path := "/api/v1/namespaces/" + n + "/services"
	apply(t, path, `{"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}}`)
	_, wide := policy{namespace: n, rules: onServices("get", "update", "patch")}.made(t)
	_, narrow := policy{namespace: n, rules: onServices("get", "granular", namedUnready)}.made(t)
	_, open := policy{namespace: n, rules: onServices("get", "update", "patch", closedAddresses)}.made(t)
	stamps := request{as: "alice", method: "POST", path: maps(n), body: configMap("c", "x")}.want(t, 201, wide, narrow, open).annotations(t)
	patch := func(stamp, body string) request {
		return request{as: "bot", method: "PATCH", path: path + "/s", contentType: "application/merge-patch+json", body: body, under: stamps[stamp]}
	}
	const closed, unready, other = `{"spec":{"externalIPs":["192.0.2.1"]}}`, `{"spec":{"publishNotReadyAddresses":true}}`, `{"metadata":{"labels":{"a":"b"}}}`
	patch(wide, closed).want(t, 403, "(excluded by FieldPermission services)", closedAddresses)
	patch(wide, other).want(t, 200)
	patch(narrow, unready).want(t, 200, "publishNotReadyAddresses")
	patch(narrow, `{"metadata":{"labels":{"a":"c"}}}`).want(t, 403)
	patch(narrow, closed).want(t, 403)
	patch(open, closed).want(t, 200)
	request{as: "root", method: "DELETE", path: addresses}.want(t, 200)
	request{as: "root", method: "POST", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews"}.
		unreviewed(t, "alice", n, closedAddresses, [2]string{"", "services"})
	patch(open, `{"spec":{"externalIPs":["192.0.2.2"]}}`).want(t, 403, "(excluded by FieldPermission services)")
	patch(open, `{"metadata":{"labels":{"a":"d"}}}`).want(t, 200)
}

// unreviewed waits until an access review reports that the user is not allowed.
func (r request) unreviewed(t *testing.T, user, namespace, verb string, resource [2]string) {
	t.Helper()
	if err := r.until(t.Context(), false, user, namespace, verb, resource); err != nil {
		t.Fatalf("the authorizer still allows %s the verb %s on %v: %v", user, verb, resource, err)
	}
}
