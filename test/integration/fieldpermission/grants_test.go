// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission

import (
	"fmt"
	"net/http"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/test/integration/harness"
)

// TestGrantingEntries holds that holders of update and patch can't grant, bind or delegate the verb of an entry, excluded or
// not, and that holders of the verb can.
//
// Attack: an administrator of a namespace who holds update grants, binds or delegates the verb of a closed field
// Answer: no verb includes the permission of an entry, so it must be held
func TestGrantingEntries(t *testing.T) {
	closeFields(t, v1alpha1.ModeEnforce)
	admin := harness.Administrator(t, server.Cluster)
	for _, permission := range []string{"argoproj.io/destination", "argoproj.io/syncPolicy"} {
		verb := "granular:" + permission
		rule := rbacv1.PolicyRule{APIGroups: []string{"argoproj.io"}, Resources: []string{"applications"}, Verbs: []string{verb}}
		made := fmt.Sprintf("made-%d", harness.Unique())
		if _, err := admin.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: made}, Rules: []rbacv1.PolicyRule{rule},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, holds := range []bool{false, true} {
			user := fmt.Sprintf("granter-%d", harness.Unique())
			verbs := []string{"update", "patch", "granular"}
			if holds {
				verbs = append(verbs, verb)
			}
			harness.Allow(t, admin, user,
				rbacv1.PolicyRule{APIGroups: []string{"argoproj.io"}, Resources: []string{"applications"}, Verbs: verbs},
				rbacv1.PolicyRule{APIGroups: []string{"rbac.authorization.k8s.io"}, Resources: []string{"roles", "rolebindings"}, Verbs: []string{"create"}},
				rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupName}, Resources: []string{"authoritydelegations"}, Verbs: []string{"create"}})
			name := fmt.Sprintf("granted-%d", harness.Unique())
			rbac := "/apis/rbac.authorization.k8s.io/v1/namespaces/default/"
			rules := `[{"apiGroups":["argoproj.io"],"resources":["applications"],"verbs":["` + verb + `"]}]`
			for what, request := range map[string][2]string{
				"role": {rbac + "roles", fmt.Sprintf(`{"metadata":{"name":%q},"rules":%s}`, name, rules)},
				"binding": {rbac + "rolebindings", fmt.Sprintf(
					`{"metadata":{"name":%q},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":%q},"subjects":[]}`, name, made)},
				"delegation": {"/apis/authority.kube-granular.dev/v1alpha1/authoritydelegations", fmt.Sprintf(
					`{"apiVersion":"authority.kube-granular.dev/v1alpha1","kind":"AuthorityDelegation","metadata":{"name":%q},`+
						`"spec":{"delegates":[{"kind":"User","name":"other"}],"scope":{"namespace":"default"},"rules":%s}}`, name, rules)},
			} {
				a := server.Send(t, user, http.MethodPost, request[0], harness.ContentTypes["json"], request[1])
				want := http.StatusForbidden
				if holds {
					want = http.StatusCreated
				}
				if a.Code != want {
					t.Errorf("%s with %s, which is held: %v: %s", what, verb, holds, a)
				}
			}
		}
	}
}
