// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"kube-granular.dev/api/authority/v1alpha1"
	authorityfake "kube-granular.dev/api/client/clientset/versioned/fake"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/ui/snapshot"
)

var now = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func named(name, namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace}
}

func cluster(t *testing.T) (*Cluster, *fake.Clientset, *authorityfake.Clientset) {
	t.Helper()
	shop := &corev1.Namespace{ObjectMeta: named("shop", "")}
	shop.UID = "new"
	core := fake.NewClientset(shop,
		&rbacv1.ClusterRole{ObjectMeta: named("cr", "")}, &rbacv1.Role{ObjectMeta: named("r", "shop")}, &rbacv1.Role{ObjectMeta: named("r", "ci")},
		&rbacv1.ClusterRoleBinding{ObjectMeta: named("crb", "")}, &rbacv1.RoleBinding{ObjectMeta: named("rb", "shop")}, &rbacv1.RoleBinding{ObjectMeta: named("rb", "ci")})
	past, future := metav1.NewTime(now.Add(-time.Hour)), metav1.NewTime(now.Add(time.Hour))
	authority := authorityfake.NewSimpleClientset(
		&v1alpha1.ClusterProtectedAttribute{ObjectMeta: named("tier", "")},
		&v1alpha1.ProtectedAttribute{ObjectMeta: named("now", "shop"), Status: v1alpha1.ProtectedAttributeStatus{NamespaceUID: "new"}},
		&v1alpha1.ProtectedAttribute{ObjectMeta: named("earlier", "shop"), Status: v1alpha1.ProtectedAttributeStatus{NamespaceUID: "old"}},
		&v1alpha1.AuthorityDelegation{ObjectMeta: named("valid", ""), Status: v1alpha1.AuthorityDelegationStatus{ExpirationTimestamp: &future}},
		&v1alpha1.AuthorityDelegation{ObjectMeta: named("expired", ""), Status: v1alpha1.AuthorityDelegationStatus{ExpirationTimestamp: &past}})
	return &Cluster{
		Core: core, Authority: authority, Namespace: "shop", Address: "https://example", Now: func() time.Time { return now },
		Kinds: func() ([]*kinds.Kind, error) { return nil, nil },
	}, core, authority
}

func forbid(resource, namespace string) clienttesting.ReactionFunc {
	return func(action clienttesting.Action) (bool, runtime.Object, error) {
		if namespace != "*" && action.GetNamespace() != namespace {
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no"))
	}
}

// summary describes what was read.
func summary(in *snapshot.Input) string {
	out := []string{fmt.Sprintf("%d cr, %d r, %d crb, %d rb, %d attributes, %d delegations",
		len(in.ClusterRoles), len(in.Roles), len(in.ClusterRoleBindings), len(in.RoleBindings), len(in.Attributes), len(in.Delegations))}
	for _, u := range in.Unknown {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", u.What, u.Of, strings.Join(u.Except, " "))))
	}
	return strings.Join(out, "; ")
}

// TestForbiddenIsUnknown holds that what the caller may not read is unknown, and that a right in one namespace
// is used.
func TestForbiddenIsUnknown(t *testing.T) {
	const all = "1 cr, 2 r, 1 crb, 2 rb, 2 attributes, 1 delegations"
	for name, tc := range map[string]struct {
		resource, namespace string
		want                string
	}{
		"everything is allowed":            {"", "", all},
		"cluster roles":                    {"clusterroles", "*", "0 cr, 2 r, 1 crb, 2 rb, 2 attributes, 1 delegations; clusterroles"},
		"cluster role bindings":            {"clusterrolebindings", "*", "1 cr, 2 r, 0 crb, 2 rb, 2 attributes, 1 delegations; clusterrolebindings"},
		"role bindings of all namespaces":  {"rolebindings", "", "1 cr, 2 r, 1 crb, 1 rb, 2 attributes, 1 delegations; rolebindings  shop"},
		"all role bindings":                {"rolebindings", "*", "1 cr, 2 r, 1 crb, 0 rb, 2 attributes, 1 delegations; rolebindings"},
		"roles of all namespaces":          {"roles", "", "1 cr, 1 r, 1 crb, 2 rb, 2 attributes, 1 delegations; roles  shop"},
		"protected attributes":             {"clusterprotectedattributes", "*", "1 cr, 2 r, 1 crb, 2 rb, 1 attributes, 1 delegations; protectedattributes"},
		"delegations":                      {"authoritydelegations", "*", "1 cr, 2 r, 1 crb, 2 rb, 2 attributes, 0 delegations; authoritydelegations"},
		"namespaces, so attributes all do": {"namespaces", "*", "1 cr, 2 r, 1 crb, 2 rb, 3 attributes, 1 delegations; namespaces"},
	} {
		c, core, authority := cluster(t)
		if tc.resource != "" {
			core.PrependReactor("list", tc.resource, forbid(tc.resource, tc.namespace))
			authority.PrependReactor("list", tc.resource, forbid(tc.resource, tc.namespace))
		}
		in, err := c.Collect(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := summary(in); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestServerWithoutOurs holds that a server that does not serve protected attributes has none.
func TestServerWithoutOurs(t *testing.T) {
	c, _, authority := cluster(t)
	authority.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewNotFound(schema.GroupResource{}, "")
	})
	in, err := c.Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := summary(in); got != "1 cr, 2 r, 1 crb, 2 rb, 0 attributes, 0 delegations" {
		t.Error(got)
	}
}

// TestCancel holds that collecting ends with its context, whatever the server does.
func TestCancel(t *testing.T) {
	release := make(chan struct{})
	for name, prepare := range map[string]func(*Cluster, *fake.Clientset, context.CancelFunc){
		"during discovery": func(c *Cluster, _ *fake.Clientset, cancel context.CancelFunc) {
			c.Kinds = func() ([]*kinds.Kind, error) {
				cancel()
				<-release
				return nil, nil
			}
		},
		"during a list": func(_ *Cluster, core *fake.Clientset, cancel context.CancelFunc) {
			core.PrependReactor("list", "rolebindings", func(clienttesting.Action) (bool, runtime.Object, error) {
				cancel()
				return true, nil, errors.New("broken")
			})
		},
	} {
		c, core, _ := cluster(t)
		ctx, cancel := context.WithCancel(t.Context())
		prepare(c, core, cancel)
		if _, err := c.Collect(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	close(release)
}

func TestUnknownKinds(t *testing.T) {
	err := errors.Join(errors.Join(errors.New("widgets.example.com: the server publishes no schema"), errors.New("gadgets: no")), errors.New("unable to retrieve the list of x: refused"),
		fmt.Errorf("%w: forbidden", kinds.ErrNoEntries))
	var got []string
	for _, u := range unknownKinds(err) {
		got = append(got, u.What+" "+u.Of)
	}
	if want := []string{"kind widgets.example.com", "kind gadgets", "kinds ", "fieldpermissions "}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := unknownKinds(nil); got != nil {
		t.Error(got)
	}
}

// TestNoKinds holds that a server of which nothing could be read is an error, not an empty page.
func TestNoKinds(t *testing.T) {
	c, _, _ := cluster(t)
	c.Kinds = func() ([]*kinds.Kind, error) { return nil, kinds.ErrNoPermissions }
	if _, err := c.Collect(t.Context()); !errors.Is(err, kinds.ErrNoPermissions) {
		t.Error(err)
	}
}

// TestFiles holds what is read from files, and that what they lack is unknown.
func TestFiles(t *testing.T) {
	const rbac = "apiVersion: rbac.authorization.k8s.io/v1\n"
	f := &Files{Namespace: "shop", Now: now}
	err := f.Add("a.yaml", []byte(rbac+"kind: List\nitems:\n- {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r}, rules: []}\n---\n"+rbac+
		"kind: RoleBinding\nmetadata: {name: b}\nroleRef: {kind: Role, name: r, apiGroup: rbac.authorization.k8s.io}\nsubjects: [{kind: User, name: jane}]\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: x}\n"))
	if err != nil {
		t.Fatal(err)
	}
	in := f.Input()
	if got := summary(in); got != "0 cr, 1 r, 0 crb, 1 rb, 0 attributes, 0 delegations; kinds; namespaces; clusterroles; clusterrolebindings; authoritydelegations; protectedattributes" {
		t.Error(got)
	}
	if in.Roles[0].Namespace != "shop" || in.RoleBindings[0].Namespace != "shop" || f.Ignored["Pod"] != 1 {
		t.Errorf("%+v %v", in.Roles[0], f.Ignored)
	}
	s, err := snapshot.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	if s.Roles[0].State != "" || s.About.Live {
		t.Errorf("%+v", s.Roles)
	}
	for text, want := range map[string]string{
		rbac + "kind: Role\nmetadata: {name: r}\nrules: [{verbs: [get], resources: [pods], resourceName: [x]}]": `unknown field "resourceName"`,
		"- a": "not an object", "a: b": "has no kind",
	} {
		if err := (&Files{}).Add("b.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "b.yaml: ") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
