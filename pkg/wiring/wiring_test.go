// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package wiring

import (
	"testing"

	authzconfig "k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	configured "k8s.io/kubernetes/pkg/kubeapiserver/authorizer"

	"kube-granular.dev/pkg/features"
)

// TestBindingsBySubject holds that the RBAC of a server finds bindings by subject for the
// Gate, and only from the first granular question on.
func TestBindingsBySubject(t *testing.T) {
	for _, gate := range []bool{true, false} {
		featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.GranularAuthorization, gate)
		factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
		inner, _, err := configured.Config{
			VersionedInformerFactory: factory,
			AuthorizationConfiguration: &authzconfig.AuthorizationConfiguration{
				Authorizers: []authzconfig.AuthorizerConfiguration{{Type: "RBAC", Name: "rbac"}},
			},
		}.New(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		authorizer := granular.Around(inner)
		indexes := func() (int, int) {
			return len(factory.Rbac().V1().RoleBindings().Informer().GetIndexer().GetIndexers()),
				len(factory.Rbac().V1().ClusterRoleBindings().Informer().GetIndexer().GetIndexers())
		}
		roles, clusterRoles := indexes()

		a := upstream.AttributesRecord{User: &user.DefaultInfo{Name: "jane"}, Verb: "update", Namespace: "n", Resource: "things", ResourceRequest: true}
		if decision, _, err := authorizer.Authorize(t.Context(), a); decision != upstream.DecisionNoOpinion || err != nil {
			t.Fatal(decision, err)
		}
		if r, c := indexes(); r != roles || c != clusterRoles {
			t.Errorf("gate %t: an ordinary question made an index", gate)
		}
		of := granular.Of(authorizer)
		if (of != nil) != gate {
			t.Fatalf("gate %t: there is a Gate: %t", gate, of != nil)
		}
		if !gate {
			continue
		}
		if _, decision, _, err := of.Fallback(t.Context(), a); decision != upstream.DecisionNoOpinion || err != nil {
			t.Fatal(decision, err)
		}
		if r, c := indexes(); r != roles+1 || c != clusterRoles+1 {
			t.Errorf("%d more indexes of role bindings, %d of cluster role bindings, wanted one of each", r-roles, c-clusterRoles)
		}
	}
}
