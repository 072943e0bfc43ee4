// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"kube-granular.dev/pkg/rbacindex"
)

// grants is an authorizer that allows some verbs, denies others, fails on others, and records the
// verbs of all calls.
type grants struct {
	upstream.Authorizer
	allow, deny, fail []string
	asked             []string
}

func (g *grants) Authorize(_ context.Context, a upstream.Attributes) (upstream.Decision, string, error) {
	g.asked = append(g.asked, a.GetVerb())
	switch {
	case slices.Contains(g.fail, a.GetVerb()):
		return upstream.DecisionNoOpinion, "", errors.New("out of order")
	case slices.Contains(g.deny, a.GetVerb()):
		return upstream.DecisionDeny, "", nil
	case slices.Contains(g.allow, a.GetVerb()):
		return upstream.DecisionAllow, "", nil
	}
	return upstream.DecisionNoOpinion, "", nil
}

func attributes(verb string) upstream.AttributesRecord {
	return upstream.AttributesRecord{
		User: &user.DefaultInfo{Name: "jane"}, Verb: verb, ResourceRequest: true,
		APIGroup: "example.com", APIVersion: "v1", Resource: "things", Namespace: "n", Name: "t",
	}
}

// requestContext returns the context of a request, as upstream's filters set it up.
func requestContext(verb string) context.Context {
	a := attributes(verb)
	ctx := request.WithUser(context.Background(), a.User)
	return request.WithRequestInfo(ctx, &request.RequestInfo{
		IsResourceRequest: true, Verb: verb, APIGroup: a.APIGroup, APIVersion: a.APIVersion,
		Resource: a.Resource, Namespace: a.Namespace, Name: a.Name,
	})
}

func TestFallback(t *testing.T) {
	nonResource := attributes("create")
	nonResource.ResourceRequest = false
	tests := map[string]struct {
		attributes upstream.Attributes
		grants     grants
		marked     bool
		wantErr    bool
		asked      []string
	}{
		"create": {attributes("create"), grants{allow: []string{"granular"}}, true, false,
			[]string{"granular"}},
		"update": {attributes("update"), grants{allow: []string{"granular"}}, true, false,
			[]string{"granular"}},
		"patch": {attributes("patch"), grants{allow: []string{"granular"}}, true, false,
			[]string{"granular"}},
		"no granular": {attributes("patch"), grants{allow: []string{"granular:metadata"}}, false, false,
			[]string{"granular"}},
		"granular denied": {attributes("patch"), grants{deny: []string{"granular"}}, false, false,
			[]string{"granular"}},
		"authorizer fails": {attributes("patch"), grants{fail: []string{"granular"}}, false, true,
			[]string{"granular"}},
		"delete":           {attributes("delete"), grants{allow: []string{"granular"}}, false, false, nil},
		"deletecollection": {attributes("deletecollection"), grants{allow: []string{"granular"}}, false, false, nil},
		"get":              {attributes("get"), grants{allow: []string{"granular"}}, false, false, nil},
		"connect":          {attributes("connect"), grants{allow: []string{"granular"}}, false, false, nil},
		"impersonate":      {attributes("impersonate"), grants{allow: []string{"granular"}}, false, false, nil},
		"not a resource":   {nonResource, grants{allow: []string{"granular"}}, false, false, nil},
		"a permission itself": {attributes("granular:metadata"), grants{allow: []string{"granular"}}, false, false,
			nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ctx, decision, _, err := New(&tc.grants).Fallback(context.Background(), tc.attributes)
			if marked := granular.MarkerFrom(ctx) != nil; marked != tc.marked {
				t.Errorf("marked: %t", marked)
			}
			if allowed := decision == upstream.DecisionAllow; allowed != tc.marked {
				t.Errorf("decision: %v", decision)
			}
			if (err != nil) != tc.wantErr {
				t.Errorf("error: %v", err)
			}
			if !slices.Equal(tc.grants.asked, tc.asked) {
				t.Errorf("asked %q, wanted %q", tc.grants.asked, tc.asked)
			}
		})
	}
}

// listed counts how often RBAC reads all cluster role bindings, and all role bindings of a
// namespace.
type listed struct {
	granular.ClusterRoleBindingLister
	clusterRole, role int
}

func (l *listed) ListClusterRoleBindings(ctx context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	l.clusterRole++
	return l.ClusterRoleBindingLister.ListClusterRoleBindings(ctx)
}

func (l *listed) ListRoleBindings(context.Context, string) ([]*rbacv1.RoleBinding, error) {
	l.role++
	return nil, nil
}

// TestWhoIsLookedFor checks for which requests RBAC reads only the caller's bindings: for those about a
// resource. The decision does not depend on it.
func TestWhoIsLookedFor(t *testing.T) {
	v1 := informers.NewSharedInformerFactory(fake.NewClientset(), 0).Rbac().V1()
	for _, b := range bootstrappolicy.ClusterRoleBindings() {
		if err := v1.ClusterRoleBindings().Informer().GetStore().Add(&b); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range bootstrappolicy.ClusterRoles() {
		if err := v1.ClusterRoles().Informer().GetStore().Add(&r); err != nil {
			t.Fatal(err)
		}
	}
	all := &listed{ClusterRoleBindingLister: &rbac.ClusterRoleBindingLister{Lister: v1.ClusterRoleBindings().Lister()}}
	gate := New(rbac.New(&roles{}, rbacindex.Listers{}.Role(v1.RoleBindings().Informer(), all),
		rbacindex.Listers{}.ClusterRoles(v1.ClusterRoles().Informer(), &rbac.ClusterRoleGetter{Lister: v1.ClusterRoles().Lister()}),
		rbacindex.Listers{}.ClusterRole(v1.ClusterRoleBindings().Informer(), all)))
	noResource := attributes("patch")
	noResource.ResourceRequest = false
	questions := map[*upstream.AttributesRecord]int{&noResource: 1}
	for verb, want := range map[string]int{
		"create": 0, "update": 0, "patch": 0,
		"get": 0, "list": 0, "watch": 0, "delete": 0, "deletecollection": 0, "connect": 0, "granular": 0, "granular:metadata": 0,
		"bind": 0, "escalate": 0, "impersonate": 0,
	} {
		a := attributes(verb)
		questions[&a] = want
	}
	for a, want := range questions {
		for _, who := range []string{user.SystemPrivilegedGroup, user.AllAuthenticated} {
			a.User = &user.DefaultInfo{Name: "jane", Groups: []string{who}}
			all.clusterRole, all.role = 0, 0
			decision, _, err := gate.Authorize(context.Background(), a)
			allowed := decision == upstream.DecisionAllow
			if may := who == user.SystemPrivilegedGroup; allowed != may || err != nil {
				t.Errorf("%s by %s: %v, %v", a.Verb, who, decision, err)
			}
			if all.clusterRole != want || !allowed && all.role != want {
				t.Errorf("%s by %s: all cluster role bindings read %d times, all role bindings %d times, wanted %d", a.Verb, who, all.clusterRole, all.role, want)
			}
		}
	}
}
