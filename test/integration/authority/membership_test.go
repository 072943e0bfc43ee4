// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/registry/authority"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

func user(name string) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: name}}
}

func ref(kind, name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
}

func roleBinding(name, kind, role, of string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: ref(kind, role), Subjects: user(of)}
}

func clusterRoleBinding(name, role, of string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: ref("ClusterRole", role),
		Subjects: user(of)}
}

// as returns a client that impersonates a user.
func as(t *testing.T, c *cluster.Cluster, name string) kubernetes.Interface {
	t.Helper()
	of := rest.CopyConfig(config(t, c))
	of.Impersonate = rest.ImpersonationConfig{UserName: name}
	client, err := kubernetes.NewForConfig(of)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestSelfGrant checks that a caller that may create bindings, and holds all rules of a role,
// can't bind itself to a role that a protected attribute refers to: it needs the verb bind. The
// roles here have no rules, so RBAC itself would allow any binding.
//
// Attack: the administrator of a namespace binds himself to a role without rules that an attribute refers to,
// joins a binding of it, or tries a dry run
// Answer: 403, the verb `bind` is needed; 201 with it
// Attack: a caller that holds the rules of a cluster attribute's role binds itself to the role in the cluster
// Answer: 403, the verb `bind` is needed
// Attack: an attribute in the caller's namespace that names `edit`, so that nobody can bind `edit`
// Answer: 201 in other namespaces: it requires `bind` only for bindings in its own namespace
func TestSelfGrant(t *testing.T) {
	ours, theirs := clients(t, on)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	create := metav1.CreateOptions{}
	for _, name := range []string{"selfgrant", "selfgrant-other"} {
		namespace(t, on, name)
		_, err := theirs.RbacV1().RoleBindings(name).Create(t.Context(), roleBinding("tenant", "ClusterRole", "admin", "tenant"), create)
		must(err)
		_, err = theirs.RbacV1().Roles(name).Create(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "local"}}, create)
		must(err)
	}
	for _, name := range []string{"everywhere", "setter", "plain"} {
		_, err := theirs.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "selfgrant:" + name}}, create)
		must(err)
	}
	_, err := theirs.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "selfgrant:binder"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterrolebindings"}, Verbs: []string{"create", "patch", "get"}}},
	}, create)
	must(err)
	_, err = theirs.RbacV1().ClusterRoleBindings().Create(t.Context(), clusterRoleBinding("selfgrant:binder", "selfgrant:binder", "binder"), create)
	must(err)
	tenant, binder := as(t, on, "tenant"), as(t, on, "binder")
	harness.Until(t, "the tenants are known", func() bool {
		_, one := tenant.RbacV1().RoleBindings("selfgrant").List(t.Context(), metav1.ListOptions{})
		_, two := tenant.RbacV1().RoleBindings("selfgrant-other").List(t.Context(), metav1.ListOptions{})
		_, three := binder.RbacV1().ClusterRoleBindings().Get(t.Context(), "selfgrant:binder", metav1.GetOptions{})
		return one == nil && two == nil && three == nil
	})
	// The administrator creates this binding before any attribute exists.
	_, err = theirs.RbacV1().RoleBindings("selfgrant").Create(t.Context(), roleBinding("early", "ClusterRole", "selfgrant:setter", "somebody"), create)
	must(err)

	namespaced := func(name, kind, role string) {
		t.Helper()
		a := attribute(name)
		a.Spec.RoleRef = &v1alpha1.RoleReference{Kind: kind, Name: role}
		_, err := ours.AuthorityV1alpha1().ProtectedAttributes("selfgrant").Create(t.Context(), a, create)
		must(err)
	}
	namespaced("setter", "ClusterRole", "selfgrant:setter")
	namespaced("local", "Role", "local")
	everywhere := clusterAttribute("selfgrant")
	everywhere.Spec.RoleRef.Name = "selfgrant:everywhere"
	_, err = ours.AuthorityV1alpha1().ClusterProtectedAttributes().Create(t.Context(), everywhere, create)
	must(err)

	// The test does not wait here: a request is judged by every attribute that was acknowledged
	// before.
	refused := func(what string, err error, role string) {
		t.Helper()
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `needs the verb "bind" on `+role) {
			t.Errorf("%s: %v", what, err)
		}
	}
	allowed := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	bind := func(who kubernetes.Interface, in, name, kind, role string) error {
		_, err := who.RbacV1().RoleBindings(in).Create(t.Context(), roleBinding(name, kind, role, "tenant"), create)
		return err
	}
	refused("a role that an attribute refers to", bind(tenant, "selfgrant", "a", "ClusterRole", "selfgrant:setter"), `ClusterRole "selfgrant:setter"`)
	refused("a role of the namespace", bind(tenant, "selfgrant", "a", "Role", "local"), `Role "local"`)
	allowed("one that none refers to", bind(tenant, "selfgrant", "plain", "ClusterRole", "selfgrant:plain"))
	allowed("one that counts in another namespace", bind(tenant, "selfgrant-other", "a", "ClusterRole", "selfgrant:setter"))
	allowed("a role of another namespace", bind(tenant, "selfgrant-other", "b", "Role", "local"))
	allowed("one that counts in the cluster alone", bind(tenant, "selfgrant", "b", "ClusterRole", "selfgrant:everywhere"))
	_, err = tenant.RbacV1().RoleBindings("selfgrant").Create(t.Context(), roleBinding("dry", "ClusterRole", "selfgrant:setter", "tenant"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	refused("a dry run", err, `ClusterRole "selfgrant:setter"`)

	patch := []byte(`{"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"tenant"}]}`)
	change := func(name string) error {
		_, err := tenant.RbacV1().RoleBindings("selfgrant").Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "tenant"})
		return err
	}
	refused("to join a binding that is there", change("early"), `ClusterRole "selfgrant:setter"`)
	_, err = tenant.RbacV1().RoleBindings("selfgrant").Patch(t.Context(), "early", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	refused("to label it", err, `ClusterRole "selfgrant:setter"`)
	allowed("to leave it as it is", func() error {
		_, err := tenant.RbacV1().RoleBindings("selfgrant").Patch(t.Context(), "early", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
		return err
	}())
	allowed("to delete it", tenant.RbacV1().RoleBindings("selfgrant").Delete(t.Context(), "early", metav1.DeleteOptions{}))

	everyone := func(name, role string) error {
		_, err := binder.RbacV1().ClusterRoleBindings().Create(t.Context(), clusterRoleBinding(name, role, "binder"), create)
		return err
	}
	refused("the cluster's", everyone("selfgrant:a", "selfgrant:everywhere"), `ClusterRole "selfgrant:everywhere"`)
	allowed("one of a namespace's attribute, in the cluster", everyone("selfgrant:b", "selfgrant:setter"))
	allowed("one that none refers to, in the cluster", everyone("selfgrant:c", "selfgrant:plain"))

	// The twin: only the verb bind was missing.
	_, err = theirs.RbacV1().Roles("selfgrant").Create(t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "may-bind"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}, ResourceNames: []string{"selfgrant:setter"}, Verbs: []string{"bind"}}},
	}, create)
	must(err)
	allowed("an administrator's", bind(theirs, "selfgrant", "may-bind", "Role", "may-bind"))
	harness.Until(t, "the verb is known", func() bool {
		return bind(tenant, "selfgrant", "with-bind", "ClusterRole", "selfgrant:setter") == nil
	})
	refused("another role, with the verb for one", bind(tenant, "selfgrant", "a", "Role", "local"), `Role "local"`)

	// Without the attribute, the binding is allowed again at once.
	must(ours.AuthorityV1alpha1().ProtectedAttributes("selfgrant").Delete(t.Context(), "local", metav1.DeleteOptions{}))
	allowed("a role that no attribute refers to any more", bind(tenant, "selfgrant", "a", "Role", "local"))
}

// TestStatusOfAttributes checks that the status of an attribute lists who holds its role, and
// warns about bindings that existed before the attribute and for which nobody needed bind. It
// counts, but does not name, the subjects of ClusterRoleBindings.
func TestStatusOfAttributes(t *testing.T) {
	ours, theirs := clients(t, on)
	namespace(t, on, "status-of")
	create := metav1.CreateOptions{}
	if _, err := theirs.RbacV1().RoleBindings("status-of").Create(t.Context(), roleBinding("early", "ClusterRole", "status:setter", "bob"), create); err != nil {
		t.Fatal(err)
	}
	a := attribute("a")
	a.Spec.RoleRef = &v1alpha1.RoleReference{Kind: "ClusterRole", Name: "status:setter"}
	if _, err := ours.AuthorityV1alpha1().ProtectedAttributes("status-of").Create(t.Context(), a, create); err != nil {
		t.Fatal(err)
	}
	says := func(what string, ok func(*v1alpha1.ProtectedAttribute) bool) {
		t.Helper()
		harness.Until(t, what, func() bool {
			got, err := ours.AuthorityV1alpha1().ProtectedAttributes("status-of").Get(t.Context(), "a", metav1.GetOptions{})
			return err == nil && got.Status.ObservedGeneration == got.Generation && ok(got)
		})
	}
	reason := func(got *v1alpha1.ProtectedAttribute, of string) string {
		if c := apimeta.FindStatusCondition(got.Status.Conditions, of); c != nil {
			return string(c.Status) + " " + c.Reason
		}
		return ""
	}
	says("nobody holds a role that is missing, and a binding was there before", func(got *v1alpha1.ProtectedAttribute) bool {
		return reason(got, v1alpha1.ConditionAccepted) == "True RoleNotFound" && reason(got, v1alpha1.ConditionBindingsAsked) == "False EarlierBindings" &&
			got.Status.Role == nil && got.Status.HolderCount == 0 && got.Status.EarlierBindingCount == 1 && got.Status.EarlierBindings[0].Name == "early"
	})
	made, err := theirs.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "status:setter"}}, create)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := theirs.RbacV1().ClusterRoleBindings().Create(t.Context(), clusterRoleBinding("status:setter", "status:setter", "carol"), create); err != nil {
		t.Fatal(err)
	}
	says("the role is there, with its holders", func(got *v1alpha1.ProtectedAttribute) bool {
		return reason(got, v1alpha1.ConditionAccepted) == "True Accepted" && got.Status.Role != nil && got.Status.Role.UID == made.UID &&
			got.Status.HolderCount == 2 && len(got.Status.Holders) == 1 && got.Status.Holders[0].Name == "bob" && got.Status.NamespaceUID != ""
	})
	if _, err := ours.AuthorityV1alpha1().ProtectedAttributes("status-of").Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":{"roleRef":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	says("the verb form has no role", func(got *v1alpha1.ProtectedAttribute) bool {
		return got.Status.Role == nil && got.Status.HolderCount == 0 && got.Status.EarlierBindingCount == 0 && reason(got, v1alpha1.ConditionBindingsAsked) == "" && got.Status.LastChange.Generation == 2
	})
}

// TestControllersBinding checks that upstream's controllers are bound to the role that lets
// them copy protected attributes. If an administrator removes a controller from the binding,
// the next start of a server adds it again, unless the binding has the annotation autoupdate
// "false".
//
// Attack: removing a controller from the bootstrap binding, and restarting a server
// Answer: it comes back, or stays removed with `autoupdate: "false"`
func TestControllersBinding(t *testing.T) {
	endpoint, _ := storage(t)
	const removed = "deployment-controller"
	names := func(c *cluster.Cluster) []string {
		_, theirs := clients(t, c)
		binding, err := theirs.RbacV1().ClusterRoleBindings().Get(t.Context(), authority.ControllersRole, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		out := []string{}
		for _, s := range binding.Subjects {
			out = append(out, s.Name)
		}
		return out
	}
	remove := func(c *cluster.Cluster, autoupdate string) {
		t.Helper()
		_, theirs := clients(t, c)
		binding, err := theirs.RbacV1().ClusterRoleBindings().Get(t.Context(), authority.ControllersRole, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		binding.Subjects = slices.DeleteFunc(binding.Subjects, func(s rbacv1.Subject) bool { return s.Name == removed })
		binding.Annotations[rbacv1.AutoUpdateAnnotationKey] = autoupdate
		if _, err := theirs.RbacV1().ClusterRoleBindings().Update(t.Context(), binding, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c, stop := start(t, "--etcd-servers", endpoint, "--feature-gates", gateOn)
	if of := names(c); !slices.Contains(of, removed) || !slices.Contains(of, "system:kube-controller-manager") || slices.Contains(of, "namespace-controller") {
		t.Errorf("bound are %v", of)
	}
	remove(c, "true")
	stop()
	c, stop = start(t, "--etcd-servers", endpoint, "--feature-gates", gateOn)
	if of := names(c); !slices.Contains(of, removed) {
		t.Errorf("who was removed did not come back: %v", of)
	}
	remove(c, "false")
	stop()
	c, _ = start(t, "--etcd-servers", endpoint, "--feature-gates", gateOn)
	if of := names(c); slices.Contains(of, removed) {
		t.Errorf("who was removed came back: %v", of)
	}
}

// TestQuota checks that a quota of upstream can limit the number of attributes in a namespace.
// The project has no limit of its own.
//
// Attack: so many attributes that one is ignored
// Answer: none is ignored; a quota can limit their number
func TestQuota(t *testing.T) {
	ours, theirs := clients(t, on)
	namespace(t, on, "quota")
	limit := corev1.ResourceList{"count/protectedattributes.authority.kube-granular.dev": resource.MustParse("1")}
	quota, err := theirs.CoreV1().ResourceQuotas("quota").Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "attributes"}, Spec: corev1.ResourceQuotaSpec{Hard: limit},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// The test sets the status as the quota controller would, which does not run here.
	quota.Status = corev1.ResourceQuotaStatus{Hard: limit,
		Used: corev1.ResourceList{"count/protectedattributes.authority.kube-granular.dev": resource.MustParse("0")}}
	if _, err := theirs.CoreV1().ResourceQuotas("quota").UpdateStatus(t.Context(), quota, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The admission plugin caches quotas, so it may not see this one at once.
	harness.Until(t, "the quota is known", func() bool {
		_, err := ours.AuthorityV1alpha1().ProtectedAttributes("quota").Create(t.Context(), attribute("first"), metav1.CreateOptions{})
		return err == nil || apierrors.IsAlreadyExists(err)
	})
	if _, err := ours.AuthorityV1alpha1().ProtectedAttributes("quota").Create(t.Context(), attribute("second"), metav1.CreateOptions{}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota") {
		t.Errorf("one more than the quota has: %v", err)
	}
}
