// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/adopt"
	"kube-granular.dev/tenancy/internal/names"
)

// repository has the manifests of a namespace as they stand in a GitOps repository, with a binding that
// is not in the cluster.
const repository = `apiVersion: v1
kind: Namespace
metadata: {name: NAME}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: not-applied, namespace: NAME}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: nobody-yet}]
---
`

// adopt runs tenancy-controller adopt as a user with the manifests as standard input.
func (c *cluster) adopt(user, manifests string, args ...string) (string, error) {
	return c.command(user, strings.NewReader(manifests), "tenancy-controller", append([]string{"adopt", "-f", "-"}, args...)...)
}

// plan returns the plan for the manifests by namespace.
func (c *cluster) plan(t *testing.T, manifests string, args ...string) map[string]adopt.Namespace {
	t.Helper()
	out, err := c.adopt("admin", manifests, append(args, "-o", "json")...)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for progress := ""; strings.HasPrefix(out, "planned "); { // on standard error
		progress, out, _ = strings.Cut(out, "\n")
		t.Log(progress)
	}
	plan := adopt.Plan{}
	if err := json.Unmarshal([]byte(out), &plan); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	found := map[string]adopt.Namespace{}
	for _, n := range plan.Namespaces {
		found[n.Name] = n
	}
	return found
}

// userConfig writes the kubeconfig of a user who has only what all authenticated users have.
func (c *cluster) userConfig(t *testing.T, name string) {
	t.Helper()
	config, err := clientcmd.LoadFromFile(filepath.Join(c.dir, "admin.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range config.AuthInfos {
		u.Impersonate = name
	}
	if err := clientcmd.WriteToFile(*config, filepath.Join(c.dir, name+".kubeconfig")); err != nil {
		t.Fatal(err)
	}
}

// binding returns a RoleBinding of a role, such as ClusterRole/edit, to subjects.
func binding(namespace, name, role string, subjects ...rbacv1.Subject) *rbacv1.RoleBinding {
	kind, role, _ := strings.Cut(role, "/")
	return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role}}
}

func rbacUser(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}
}

// existing creates a namespace with objects in it.
func (c *cluster) existing(t *testing.T, name string, objects ...client.Object) *corev1.Namespace {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	create(t, c.client, append([]client.Object{ns}, objects...)...)
	t.Cleanup(func() {
		lns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := c.client.Delete(context.Background(), lns); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	return ns
}

// TestAdopt checks the way of an existing namespace to a tenant: the plan changes nothing, --apply takes
// nothing away, and --confirm deletes only the bindings that the tenant covers.
//
// Attack: a binding gives more than the tenant does, by a wider role or to a program, and vanishes when its
// namespace becomes that of a tenant
// Answer: the plan names what would be lost, and the binding stays; a binding that the tenant covers is deleted
func TestAdopt(t *testing.T) {
	const name = "adopt-web"
	robot := rbacv1.Subject{Kind: "ServiceAccount", Namespace: "ci", Name: "robot"}
	shared.existing(t, name,
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "edit"}, // not the ClusterRole of this name
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods", "resourcequotas"}, Verbs: []string{"get", "delete"}}}},
		binding(name, "editors", "ClusterRole/edit", rbacUser("adopt-ada"), rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "adopt-web-team"}, robot),
		binding(name, "viewers", "ClusterRole/view", rbacUser("adopt-vera")),
		binding(name, "admins", "ClusterRole/admin", rbacUser("adopt-mia")),
		binding(name, "robots", "ClusterRole/admin", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: "system:serviceaccount:ci:admin-robot"}),
		binding(name, "quota", "Role/edit", rbacUser("adopt-ada")),
		binding(name, "system", "ClusterRole/edit", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "system:masters-of-something"}),
		binding(name, "dangling", "ClusterRole/no-such-role", rbacUser("adopt-ada")),
		binding(name, "empty", "ClusterRole/edit"),
	)
	manifests := strings.ReplaceAll(repository, "NAME", name)
	n := shared.plan(t, manifests)[name]
	if n.State != adopt.Adopt || fmt.Sprint(n.Spec.Users) != "[{Group adopt-web-team  } {ServiceAccount admin-robot ci } {ServiceAccount robot ci } {User adopt-ada  } {User adopt-mia  }]" ||
		fmt.Sprint(n.Spec.Managers) != "[{ServiceAccount admin-robot ci } {User adopt-mia  }]" {
		t.Fatalf("%+v", n)
	}
	person := func(subject string) adopt.Person {
		for _, p := range n.People {
			if p.Subject == subject {
				return p
			}
		}
		t.Errorf("%s is not in the plan", subject)
		return adopt.Person{}
	}
	if p := person("User adopt-ada"); fmt.Sprint(p.Loses) != "[resourcequotas: delete]" || fmt.Sprint(p.Lists) != "[users]" || len(p.Gains) != 0 {
		t.Errorf("%+v", p)
	}
	if p := person("User adopt-mia"); !strings.Contains(fmt.Sprint(p.Loses), "rolebindings.rbac.authorization.k8s.io: create,delete") || !strings.Contains(fmt.Sprint(p.Gains), "sudo") {
		t.Errorf("%+v", p)
	}
	if p := person("User adopt-vera"); len(p.Loses)+len(p.Gains)+len(p.Lists) != 0 {
		t.Errorf("%+v", p)
	}
	stays := map[string]bool{}
	for _, b := range n.Bindings {
		stays[b.Name] = b.Stays != ""
	}
	if want := "map[admins:true dangling:true editors:false empty:true quota:true robots:true system:true viewers:false]"; fmt.Sprint(stays) != want {
		t.Errorf("the plan is %v, wanted %s", stays, want)
	}
	if out, err := shared.adopt("admin", manifests); err != nil || !strings.Contains(out, "Nothing was changed. 1 to adopt") {
		t.Errorf("%v: %s", err, out)
	}
	lns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := shared.client.Get(t.Context(), client.ObjectKeyFromObject(lns), lns); !apierrors.IsNotFound(err) {
		t.Fatalf("the plan created the LNamespace: %v", err)
	}
	// Nothing is confirmed before it is adopted.
	if out, err := shared.adopt("admin", manifests, "--confirm"); err == nil || !strings.Contains(out, "is not adopted") {
		t.Errorf("%v: %s", err, out)
	}
	count := func() int {
		t.Helper()
		list := &rbacv1.RoleBindingList{}
		if err := shared.client.List(t.Context(), list, client.InNamespace(name)); err != nil {
			t.Fatal(err)
		}
		old := 0
		for _, b := range list.Items {
			if b.Labels[names.ManagedBy] != names.Manager {
				old++
			}
		}
		return old
	}
	out, err := shared.adopt("admin", manifests, "--apply")
	if err != nil || !strings.Contains(out, "namespace/"+name+" adopted\n") || count() != 8 {
		t.Fatalf("%v: %s, %d bindings", err, out, count())
	}
	// The controller may have seen the LNamespace before the namespace was handed over.
	wait(t, name+" is adopted", func() error {
		if err := shared.client.Get(t.Context(), client.ObjectKeyFromObject(lns), lns); err != nil {
			return err
		}
		if !lns.Status.Adopted || !meta.IsStatusConditionTrue(lns.Status.Conditions, v1alpha1.ConditionReady) {
			return fmt.Errorf("%+v", lns.Status)
		}
		return nil
	})
	if out, err := shared.adopt("admin", manifests, "--apply"); err != nil || !strings.Contains(out, "adopted already") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err = shared.adopt("admin", manifests, "--confirm"); err != nil || count() != 6 || !strings.Contains(out, "2 deleted, 6 stay") {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"rolebinding/editors in " + name + " deleted", "rolebinding/viewers in " + name + " deleted",
		"rolebinding/quota in " + name + " stays: User adopt-ada would lose resourcequotas: delete", "rolebinding/dangling in " + name + " stays: its role does not exist"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	shared.allowed(t, "adopt-ada", nil, "create", "deployments", name, "")
	shared.allowed(t, "adopt-ada", nil, "delete", "resourcequotas", name, "")
	shared.allowed(t, "x", []string{"adopt-web-team"}, "create", "deployments", name, "")
	shared.allowed(t, "adopt-vera", nil, "get", "deployments", name, "")
	shared.allowed(t, "adopt-mia", nil, "create", "rolebindings", name, "")
	shared.allowed(t, "system:serviceaccount:ci:admin-robot", nil, "create", "rolebindings", name, "")
	// With sudo counted, the administrators of people go, and those of programs stay.
	if out, err = shared.adopt("admin", manifests, "--confirm", "--sudo-counts"); err != nil || !strings.Contains(out, "rolebinding/admins in "+name+" deleted") ||
		!strings.Contains(out, "rolebinding/robots in "+name+" stays") {
		t.Errorf("%v: %s", err, out)
	}
	shared.refused(t, "adopt-mia", nil, "create", "rolebindings", name, "")
	shared.allowed(t, "system:serviceaccount:ci:admin-robot", nil, "create", "rolebindings", name, "")
}

// TestAdoptRefuses checks which namespaces are not adopted, and that a refused namespace does not keep others from it.
//
// Attack: a file names the namespace of another tenant, of the system or one that is being deleted; or somebody has
// created the LNamespace of a namespace before, with other lists, to get rights when the namespace is adopted
// Answer: refused, with the reason, and nothing is written; other namespaces of the file are adopted
func TestAdoptRefuses(t *testing.T) {
	editor := func(namespace string) client.Object {
		return binding(namespace, "editors", "ClusterRole/edit", rbacUser("adopt-editor"))
	}
	other := shared.make(t, tenant("adopt-other"))
	shared.existing(t, "adopt-good", editor("adopt-good"))
	shared.existing(t, "adopt-people")
	shared.existing(t, "adopt-my-system", editor("adopt-my-system"))
	shared.existing(t, "adopt-name", editor("adopt-name"), binding("adopt-name", names.UsersBinding, "ClusterRole/admin", rbacUser("adopt-admin")))
	shared.existing(t, "adopt-same", editor("adopt-same"), binding("adopt-same", names.UsersBinding, "ClusterRole/edit", rbacUser("adopt-editor")))
	shared.existing(t, "adopt-forged", editor("adopt-forged"))
	create(t, shared.as(t, "mallory"), &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "adopt-forged"}, Spec: v1alpha1.LNamespaceSpec{
		Users: []v1alpha1.Subject{user("adopt-editor")}, Sudoers: []v1alpha1.Subject{user("mallory")}}})
	shared.existing(t, "adopt-resumed", editor("adopt-resumed"))
	create(t, shared.client, &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "adopt-resumed"}, Spec: v1alpha1.LNamespaceSpec{
		Users: []v1alpha1.Subject{user("adopt-editor")}}})
	taken := shared.existing(t, "adopt-taken", editor("adopt-taken"))
	taken.Annotations = map[string]string{names.AdoptedBy: string(other.UID)}
	ending := shared.existing(t, "adopt-ending", editor("adopt-ending"))
	ending.Finalizers = []string{"example.com/wait"}
	for _, ns := range []*corev1.Namespace{taken, ending} {
		if err := shared.client.Update(t.Context(), ns); err != nil {
			t.Fatal(err)
		}
	}
	if err := shared.client.Delete(t.Context(), ending); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ending.Finalizers = nil
		_ = shared.client.Patch(context.Background(), ending, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
	})
	manifests := ""
	want := map[string]string{
		"adopt-good": "", "adopt-same": "", "adopt-resumed": "", "adopt-other": "adopted",
		"default": "namespace of the system", "kube-system": "namespace of the system", "tenancy-system": "namespace of the system",
		"adopt-people": "would name anybody", "adopt-my-system": "end with -system", "adopt-missing": "does not exist",
		"adopt-name": `"lnamespace-users" has a name of the controller`, "adopt-forged": "another spec.sudoers than planned",
		"adopt-taken": "belongs to another LNamespace", "adopt-ending": "is being deleted",
	}
	for name := range want {
		manifests += strings.ReplaceAll(repository, "NAME", name)
	}
	plan := shared.plan(t, manifests)
	for name, reason := range want {
		n := plan[name]
		switch {
		case reason == "" && n.State != adopt.Adopt, reason == "adopted" && n.State != adopt.Adopted:
			t.Errorf("%s: %s %s", name, n.State, n.Reason)
		case reason != "" && reason != "adopted" && (n.State != adopt.Refused || !strings.Contains(n.Reason, reason)):
			t.Errorf("%s: %s %q, wanted %q", name, n.State, n.Reason, reason)
		}
	}
	out, err := shared.adopt("admin", manifests, "--apply")
	if err == nil || !strings.Contains(out, "4 adopted, 10 refused") || !strings.Contains(out, "error: not all namespaces were adopted") {
		t.Errorf("%v: %s", err, out)
	}
	for name, reason := range want {
		ns := &corev1.Namespace{}
		if err := shared.client.Get(t.Context(), client.ObjectKey{Name: name}, ns); err != nil {
			if name != "adopt-missing" || !apierrors.IsNotFound(err) {
				t.Error(err)
			}
			continue
		}
		if adopted := ns.Annotations[names.AdoptedBy] != ""; adopted != (reason == "" || name == "adopt-taken") {
			t.Errorf("%s: handed over is %t", name, adopted)
		}
	}
	if out, err := shared.adopt("admin", strings.ReplaceAll(repository, "NAME", "adopt-my-system"), "--apply", "--allowed-names", "adopt-my-system"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestAdoptNeedsAnAdministrator checks that the command refuses a caller that may not hand over a namespace, and that
// the server does.
//
// Attack: somebody who may update namespaces and create LNamespaces adopts a namespace
// Answer: refused, naming the verb that is missing, and nothing is written
func TestAdoptNeedsAnAdministrator(t *testing.T) {
	const name = "adopt-operator"
	shared.existing(t, name, binding(name, "editors", "ClusterRole/edit", rbacUser("adopt-editor")))
	rules := []rbacv1.PolicyRule{
		{APIGroups: []string{"", rbacv1.GroupName}, Resources: []string{"namespaces", "rolebindings", "clusterrolebindings", "roles", "clusterroles"}, Verbs: []string{"get", "list", "patch"}},
		{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"lnamespaces"}, Verbs: []string{"get", "list", "create"}},
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	bound := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{rbacUser(name)}}
	create(t, shared.client, role, bound)
	t.Cleanup(func() {
		_ = shared.client.Delete(context.Background(), role)
		_ = shared.client.Delete(context.Background(), bound)
	})
	shared.userConfig(t, name)
	shared.allowed(t, name, nil, "patch", "namespaces", "", name)
	shared.allowed(t, name, nil, "create", "lnamespaces", "", "")
	manifests := strings.ReplaceAll(repository, "NAME", name)
	out, err := shared.adopt(name, manifests, "--apply")
	if err == nil || !strings.Contains(out, "needs the verb update on all lnamespaces/status") || strings.Contains(out, "verb create") {
		t.Errorf("%v: %s", err, out)
	}
	if err := shared.client.Get(t.Context(), client.ObjectKey{Name: name}, &v1alpha1.LNamespace{}); !apierrors.IsNotFound(err) {
		t.Errorf("the LNamespace: %v", err)
	}
	// The twin: with that right, it may.
	role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"lnamespaces/status"}, Verbs: []string{"update"}})
	if err := shared.client.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	wait(t, "it may adopt the namespace", func() error {
		out, err := shared.adopt(name, manifests, "--apply")
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	})
	if out, err := shared.adopt(name, manifests, "--confirm"); err == nil || !strings.Contains(out, "needs the verb delete on all rolebindings") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestAdoptIsResumed checks that a run which was killed goes on where it stopped, with 1,000 namespaces.
//
// Attack: the command is killed in the middle of 1,000 namespaces, twice
// Answer: each namespace belongs to its LNamespace or is as before; the next run adopts the rest, and skips what is done
func TestAdoptIsResumed(t *testing.T) {
	const count = 1000
	c := newCluster(t, "default", "--feature-gates", "GranularAuthorization=false") // no controller runs
	name := func(i int) string { return fmt.Sprintf("many-%04d", i) }
	parallel(t, count, func(i int) error {
		for _, object := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name(i)}},
			binding(name(i), "editors", "ClusterRole/edit", rbacUser(name(i)+"-user")), binding(name(i), "admins", "ClusterRole/admin", rbacUser(name(i)+"-admin"))} {
			if err := c.client.Create(t.Context(), object); err != nil {
				return err
			}
		}
		return nil
	})
	manifests := ""
	for i := range count {
		manifests += "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + name(i) + "}\n---\n"
	}
	start := time.Now()
	if plan := c.plan(t, manifests); len(plan) != count || plan["many-0999"].State != adopt.Adopt {
		t.Fatalf("%d namespaces, the last is %+v", len(plan), plan["many-0999"])
	}
	t.Logf("the plan took %s", time.Since(start))
	adopted := func() int {
		t.Helper()
		list, tenants := &corev1.NamespaceList{}, &v1alpha1.LNamespaceList{}
		if err := errors.Join(c.client.List(t.Context(), list), c.client.List(t.Context(), tenants)); err != nil {
			t.Fatal(err)
		}
		uids := map[string]string{}
		for _, lns := range tenants.Items {
			uids[lns.Name] = string(lns.UID)
		}
		n := 0
		for _, ns := range list.Items {
			uid := ns.Annotations[names.AdoptedBy]
			if uid != "" && uid != uids[ns.Name] {
				t.Errorf("%s belongs to %s", ns.Name, uid)
			}
			if uid != "" {
				n++
			}
		}
		return n
	}
	last := 0
	for _, word := range []string{"namespace/many-0200 adopted", "namespace/many-0600 adopted"} {
		output := newBuffer(word)
		cmd := exec.CommandContext(t.Context(), filepath.Join(c.root, "bin", "tenancy-controller"), "adopt", "-f", "-", "--apply", "--kubeconfig", filepath.Join(c.dir, "admin.kubeconfig"))
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(manifests), output, output
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-output.found:
		case <-time.After(patience):
			t.Errorf("no %q in\n%s", word, output)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Error("it was not killed")
		}
		n := adopted()
		if n <= last || n == count {
			t.Errorf("%d are adopted after %d", n, last)
		}
		last = n
	}
	start = time.Now()
	out, err := c.adopt("admin", manifests, "--apply")
	if err != nil || adopted() != count || strings.Count(out, " adopted already\n") != last || strings.Count(out, " adopted\n") != count-last || !strings.Contains(out, "1000 adopted, 0 refused") {
		t.Errorf("%v: %d adopted, %d before\n%.2000s", err, adopted(), last, out)
	}
	t.Logf("%d namespaces were adopted in %s", count-last, time.Since(start))
	// Nothing is granted yet, so nothing is taken away.
	if out, err := c.adopt("admin", manifests, "--confirm"); err == nil || !strings.Contains(out, "0 deleted, 2000 stay") || !strings.Contains(out, "stays: the tenant is not ready") {
		t.Errorf("%v\n%.2000s", err, out)
	}
}
