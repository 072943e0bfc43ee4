// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	seam "k8s.io/apiserver/pkg/authorization/selected"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/apis/rbac"
	bindings "k8s.io/kubernetes/pkg/registry/rbac/granular"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/delegation/policy"
	"kube-granular.dev/pkg/included"
	"kube-granular.dev/pkg/selected"
)

func TestMain(m *testing.M) {
	seam.Install(func() seam.Selection { return installed{} })
	bindings.InstallRules(func() bindings.Rules { return permissionRules{} })
	os.Exit(m.Run())
}

// permissionRules tells RBAC which permission verbs others include, as a server does.
type permissionRules struct{}

func (permissionRules) Missing(held, missing []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	return included.Missing(held, missing)
}

func (permissionRules) Warnings(_, _ []rbac.PolicyRule) []string { return nil }

// installed is the Selection of a server. It knows the delegations of the scene in the context.
type installed struct{ selected.Selection }

func (installed) Commit(context.Context, bool) seam.Commit { return nil }

func (installed) Visit(ctx context.Context, policy seam.Policy, u user.Info, namespace string, visit func(fmt.Stringer, *rbacv1.PolicyRule, error) bool) {
	index, _ := ctx.Value(indexKey{}).(*delegation.Index)
	selected.Selection{Delegations: index}.Visit(ctx, policy, u, namespace, visit)
}

type indexKey struct{}

// present is the time of each scene. It is a real one, because delegations expire by the real clock.
var present = time.Now().Truncate(time.Second)

// scene is a server in memory: roles and bindings, delegations, and what the authorizer allows.
type scene struct {
	ctx    context.Context
	index  *delegation.Index
	client *fake.Clientset
	issuer *Issuer
	permitted
	warnings
	// created are the delegations that policies created, and renewed those that they renewed. renewal is the error of
	// each renewal.
	created []*v1alpha1.AuthorityDelegation
	renewed []string
	renewal error
}

func newScene(t *testing.T, objects ...runtime.Object) *scene {
	t.Helper()
	s := &scene{index: delegation.NewIndex(), client: fake.NewClientset(objects...)}
	s.connect(delegation.Sources{})
	s.issuer = &Issuer{Delegations: s.index, Authorizer: &s.permitted, Client: s.client, Cached: storage{s.client}.rbacReaders(),
		Now: func() time.Time { return present }}
	ctx := audit.WithAuditContext(warning.WithWarningRecorder(context.WithValue(t.Context(), indexKey{}, s.index), &s.warnings))
	if err := audit.AuditContextFrom(ctx).Init(audit.RequestAuditConfig{Level: auditinternal.LevelMetadata}, nil); err != nil {
		t.Fatal(err)
	}
	s.ctx = ctx
	return s
}

// connect sets the sources of the index. The UID of each namespace is its name with "-uid".
func (s *scene) connect(sources delegation.Sources) {
	sources.Namespace = func(name string) types.UID { return types.UID(name + "-uid") }
	s.index.Connect(sources)
}

// by returns the context of a request by a user.
func (s *scene) by(u user.Info) context.Context { return request.WithUser(s.ctx, u) }

// annotation returns an annotation of the audit event of the request.
func (s *scene) annotation(key string) string {
	value, _ := audit.AuditContextFrom(s.ctx).GetEventAnnotation(key)
	return value
}

// permitted is an authorizer that allows the requests that it lists: "VERB RESOURCE NAMESPACE/NAME". It
// fails for those in fails.
type permitted struct {
	requests []string
	fails    []string
	asked    []authorizer.Attributes
}

func (p *permitted) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	p.asked = append(p.asked, a)
	text := fmt.Sprintf("%s %s %s/%s", a.GetVerb(), schema.GroupResource{Group: a.GetAPIGroup(), Resource: a.GetResource()},
		a.GetNamespace(), a.GetName())
	switch {
	case !a.IsResourceRequest() || a.GetUser() == nil:
	case slices.Contains(p.fails, text):
		return authorizer.DecisionNoOpinion, "", apierrors.NewInternalError(fmt.Errorf("no answer to %s", text))
	case slices.Contains(p.requests, text):
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "nobody allows " + text, nil
}

// warnings are those of a request.
type warnings []string

func (w *warnings) AddWarning(_, text string) { *w = append(*w, text) }

func (w *warnings) String() string { return strings.Join(*w, "\n") }

var _ seam.Selection = installed{}

// granted returns a ClusterRole with rules, and its binding to users.
func granted(role string, rules []rbacv1.PolicyRule, users ...string) []runtime.Object {
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}}
	for _, name := range users {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name})
	}
	return []runtime.Object{clusterRole(role, rules), binding}
}

func clusterRole(name string, rules []rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name + "-uid"), ResourceVersion: "7"}, Rules: rules}
}

// on returns a rule for verbs on a resource of the core group.
func on(resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: verbs, APIGroups: []string{""}, Resources: []string{resource}}
}

func rules(all ...rbacv1.PolicyRule) []rbacv1.PolicyRule { return all }

func toUser(name string) v1alpha1.Delegate {
	return v1alpha1.Delegate{Kind: v1alpha1.DelegateUser, Name: name}
}

func toAccount(namespace, name string, uid types.UID) v1alpha1.Delegate {
	return v1alpha1.Delegate{Kind: v1alpha1.DelegateServiceAccount, Namespace: namespace, Name: name, UID: uid}
}

// stored returns a delegation of a user that is in storage, under the delegations above it.
func stored(name, delegator string, delegates []v1alpha1.Delegate, all []rbacv1.PolicyRule, above ...*v1alpha1.AuthorityDelegation) *v1alpha1.AuthorityDelegation {
	d := &v1alpha1.AuthorityDelegation{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name + "-uid"), ResourceVersion: "2"},
		Spec: v1alpha1.AuthorityDelegationSpec{Delegates: delegates, Rules: all, Scope: v1alpha1.DelegationScope{Cluster: true},
			IfLost: v1alpha1.LossWithdraw},
		Status: v1alpha1.AuthorityDelegationStatus{Delegator: v1alpha1.DelegatorIdentity{Username: delegator}, Rules: all},
	}
	for _, parent := range above {
		d.Status.History = append(d.Status.History, v1alpha1.ChainEntry{Via: v1alpha1.ViaDelegation,
			By: parent.Status.Delegator.Username, Name: parent.Name, UID: parent.UID})
	}
	return d
}

// selects returns a user who selected an authority, as another process sees the user.
func selects(u user.DefaultInfo, kind selection.Kind, name string) user.Info {
	s := selection.SelectedAuthority{AuthorityReference: selection.AuthorityReference{Kind: kind, Name: name}}
	text, err := s.Text()
	if err != nil {
		panic(err)
	}
	u.Extra = maps.Clone(u.Extra)
	if u.Extra == nil {
		u.Extra = map[string][]string{}
	}
	u.Extra[selection.ExtraKey] = []string{text}
	return &u
}

// selecting returns a user who selected an authority, as the server sees its own caller.
func selecting(u user.DefaultInfo, kind selection.Kind, name string) user.Info {
	s, err := selected.UserOf(selects(u, kind, name))
	if err != nil {
		panic(err)
	}
	return s
}

// refusal describes the error that is wanted. The zero value wants none.
type refusal struct {
	is   func(error) bool
	says string
}

func (r refusal) check(t *testing.T, err error) {
	t.Helper()
	switch {
	case r.is == nil && err != nil:
		t.Errorf("refused: %v", err)
	case r.is != nil && (err == nil || !r.is(err) || !strings.Contains(err.Error(), r.says)):
		t.Errorf("error %v, wanted one with %q", err, r.says)
	}
}

// broken lets requests of the issuer itself fail. resource is * for all.
func (s *scene) broken(verb, resource string) {
	s.client.PrependReactor(verb, resource, func(ktesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewInternalError(errors.New("storage is broken"))
	})
}

// binding returns a RoleBinding to a user.
func binding(namespace, name, kind, role, to string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: to}},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role}}
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// policies returns a PolicyIssuer that knows all policies, and stores the delegations that it creates in the index.
func (s *scene) policies(t *testing.T, all ...*v1alpha1.AuthorityDelegationPolicy) *PolicyIssuer {
	t.Helper()
	index := policy.NewIndex()
	if err := index.ReflectorStore().Replace(nil, "1"); err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		index.Observe(p, false)
	}
	return &PolicyIssuer{Policies: index, Issuer: s.issuer,
		Labels: func(_ context.Context, namespace string) (labels.Set, error) {
			if namespace == "" || namespace == "unknown" {
				return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, namespace)
			}
			return labels.Set{"name": namespace}, nil
		},
		Create: func(_ context.Context, d *v1alpha1.AuthorityDelegation) (*v1alpha1.AuthorityDelegation, error) {
			made := d.DeepCopy()
			made.UID, made.ResourceVersion, made.CreationTimestamp = types.UID(d.Name+"-uid"), "9", metav1.NewTime(present)
			s.created = append(s.created, made)
			s.index.Observe(made, false)
			return made, nil
		},
		Renew: func(_ context.Context, d *v1alpha1.AuthorityDelegation, moment time.Time) error {
			s.renewed = append(s.renewed, d.Name+" "+moment.Sub(present).String())
			return s.renewal
		},
	}
}

// requesting returns the context of a request for a resource.
func requesting(ctx context.Context, verb, group, resource string) context.Context {
	return request.WithRequestInfo(ctx, &request.RequestInfo{IsResourceRequest: true, Verb: verb, APIGroup: group, Resource: resource})
}
