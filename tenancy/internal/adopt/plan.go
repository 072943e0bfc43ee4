// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/grants"
	"kube-granular.dev/tenancy/internal/names"
	"kube-granular.dev/tenancy/internal/naming"
)

// State is what a plan says about a namespace.
type State string

// The states of a namespace in a plan.
const (
	// Adopt means that step 1 hands over the namespace.
	Adopt State = "adopt"
	// Adopted means that the namespace belongs to its LNamespace already.
	Adopted State = "adopted"
	// Refused means that nothing is done.
	Refused State = "refused"
)

// Plan says what is done with each namespace.
type Plan struct {
	Namespaces []Namespace `json:"namespaces"`
}

// Namespace is a namespace in a plan.
type Namespace struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	// Reason says why a namespace is refused.
	Reason string `json:"reason,omitempty"`
	// Spec is that of the LNamespace that is created, or that exists.
	Spec v1alpha1.LNamespaceSpec `json:"spec"`
	// People are the subjects of the old bindings and of the lists.
	People []Person `json:"people,omitempty"`
	// Bindings are the old RoleBindings: those that the controller did not make.
	Bindings []Binding `json:"bindings,omitempty"`

	tenant *v1alpha1.LNamespace
	// exists is true if the cluster has the LNamespace.
	exists bool
	// former is the UID that the LNamespace had when a backup was made, or empty.
	former types.UID
	// uid is that of the namespace when the plan was made.
	uid types.UID
}

// Person is what one subject has and gets. The rights of a person by groups are those of the groups.
type Person struct {
	Subject string `json:"subject"`
	// Roles are those of its old bindings, and Lists are the lists of the tenant that name it.
	Roles []string `json:"roles,omitempty"`
	Lists []string `json:"lists,omitempty"`
	// Gains are the rights that the tenant adds: resources with verbs, "lists" for those of a manager, and
	// "sudo". Loses are those of the old bindings that the tenant does not give without sudo. Their bindings
	// stay.
	Gains []string `json:"gains,omitempty"`
	Loses []string `json:"loses,omitempty"`
}

// Binding is an old RoleBinding, and what step 2 does with it.
type Binding struct {
	Name     string   `json:"name"`
	Role     string   `json:"role"`
	Subjects []string `json:"subjects,omitempty"`
	// Stays says why the binding stays, and is empty if it is deleted.
	Stays string `json:"stays,omitempty"`

	uid     types.UID
	version string
}

// Options are the options of a plan.
type Options struct {
	Lists
	// Names are the names that tenants can't have. The pattern counts for administrators, too, because
	// an add-on in an existing namespace is no mistake of a name.
	Names naming.Rules
	// UserRole is the ClusterRole of the users of a tenant.
	UserRole string
	// AcceptMarks is true if bindings may have labels and annotations of tenants before a namespace is handed over.
	AcceptMarks bool
	// SudoCounts is true if rights by sudo cover an old binding of people and groups.
	SudoCounts bool
	// Progress is called while a plan is made, with the number of namespaces that are planned.
	Progress func(done, all int)
}

// Make returns the plan for the wishes. It changes nothing: whether the server accepts a new LNamespace is
// asked by a dry run.
func Make(ctx context.Context, api client.Client, wishes []Wish, o Options) (*Plan, error) {
	s, err := load(ctx, api, wishes)
	if err != nil {
		return nil, err
	}
	if _, found := s.roles["/"+o.UserRole]; !found {
		return nil, fmt.Errorf("--user-role %s: the cluster has no such ClusterRole", o.UserRole)
	}
	plan := &Plan{}
	for i, w := range wishes {
		n := s.plan(w, o)
		if n.State == Adopt && !n.exists {
			if err := api.Create(ctx, n.tenant.DeepCopy(), client.DryRunAll); err != nil {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				n.State, n.Reason = Refused, "the server refuses the LNamespace: "+err.Error()
			}
		}
		plan.Namespaces = append(plan.Namespaces, n)
		o.Progress(i+1, len(wishes))
	}
	return plan, nil
}

// plan returns the plan for one namespace.
func (s *state) plan(w Wish, o Options) Namespace {
	n := Namespace{Name: w.Name, State: Refused}
	t := s.tenants[w.Name]
	n.exists = t != nil
	if n.Reason = s.refused(w, o); n.Reason != "" {
		return n
	}
	ns := s.namespaces[w.Name]
	n.uid = ns.UID
	if t != nil && belongs(ns, t) {
		n.State, n.tenant, n.Spec = Adopted, t, t.Spec
		s.compare(&n, t, o)
		return n
	}
	// None of the bindings is the controller's yet, whatever their labels say.
	if n.tenant = w.Tenant; n.tenant == nil {
		n.tenant = o.derive(ns, s.old(w.Name, nil))
	}
	n.tenant = allowed(n.tenant)
	n.Spec = n.tenant.Spec
	if len(n.Spec.Users)+len(n.Spec.Managers)+len(n.Spec.Sudoers) == 0 {
		n.Reason = "no list of the tenant would name anybody; add its LNamespace to the file"
		return n
	}
	if t != nil {
		if field := differs(t.Spec, n.Spec); field != "" {
			n.Reason = fmt.Sprintf("somebody created the LNamespace with another %s than planned; delete it, or add it to the file", field)
			return n
		}
		n.tenant, n.Spec = t, t.Spec
	}
	s.compare(&n, nil, o)
	if n.Reason = s.overwritten(&n, o); n.Reason == "" {
		n.State = Adopt
	}
	return n
}

// allowed returns a copy of a new LNamespace that says that its name is allowed. The plan has applied the rules for names, and
// the administrator looks at it.
func allowed(t *v1alpha1.LNamespace) *v1alpha1.LNamespace {
	t = t.DeepCopy()
	metav1.SetMetaDataAnnotation(&t.ObjectMeta, names.Allowed, "true")
	return t
}

// refused returns why a namespace can't be handed over, whatever its lists are, or an empty string.
func (s *state) refused(w Wish, o Options) string {
	ns, t := s.namespaces[w.Name], s.tenants[w.Name]
	switch {
	case o.Names.IsReserved(w.Name):
		return "it is a namespace of the system"
	case ns == nil:
		return "it does not exist"
	case ns.DeletionTimestamp != nil:
		return "it is being deleted"
	case t != nil && t.DeletionTimestamp != nil:
		return "its LNamespace is being deleted"
	}
	if t == nil || !belongs(ns, t) {
		if err := o.Names.Refused(w.Name); err != nil {
			return err.Error()
		}
		if t != nil && len(t.OwnerReferences) > 0 {
			return "somebody created its LNamespace with owners, with which the garbage collector would delete it"
		}
		if reason := s.marked(w.Name); reason != "" && !o.AcceptMarks {
			return reason
		}
	}
	return foreign(ns, t, "")
}

// marked returns why a namespace that belongs to no tenant yet can't be handed over as it is: it has marks by which the controller
// would not look at a binding. Anybody can have written them, or a tenant that was there before.
func (s *state) marked(namespace string) string {
	for i := range s.bindings[namespace] {
		b := &s.bindings[namespace][i]
		for _, marks := range []map[string]string{b.Labels, b.Annotations} {
			for key := range marks {
				if strings.HasPrefix(key, names.Domain) {
					return fmt.Sprintf("RoleBinding %q has %s already; look at it, and remove that, or give --accept-marks", b.Name, key)
				}
			}
		}
	}
	return ""
}

// overwritten returns why the controller would take rights away: a binding has the name of one of its
// own, and gives more than the controller's.
func (s *state) overwritten(n *Namespace, o Options) string {
	options := grants.Options{UserRole: o.UserRole}
	wanted, _ := grants.For(&v1alpha1.LNamespace{ObjectMeta: n.tenant.ObjectMeta, Spec: n.Spec}, options)
	for i := range s.bindings[n.Name] {
		b := &s.bindings[n.Name][i]
		if !hasOwnName(b) {
			continue
		}
		same := slices.ContainsFunc(wanted, func(object client.Object) bool {
			w, ok := object.(*rbacv1.RoleBinding)
			return ok && w.Name == b.Name && w.RoleRef == b.RoleRef &&
				!slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool { return !slices.Contains(w.Subjects, s) })
		})
		if !same {
			return fmt.Sprintf(
				"RoleBinding %q has a name of the controller, which would replace it, so its subjects would lose rights; rename it", b.Name)
		}
	}
	return ""
}

// old returns the RoleBindings in a namespace that the controller did not make for the tenant t.
func (s *state) old(namespace string, t *v1alpha1.LNamespace) []rbacv1.RoleBinding {
	return slices.DeleteFunc(slices.Clone(s.bindings[namespace]), func(b rbacv1.RoleBinding) bool { return isOwn(&b, t) })
}

// given returns the rules that the tenant gives a subject without sudo, and those it gives with sudo. If t
// is not nil, only what the controller granted already counts.
func (s *state) given(n *Namespace, t *v1alpha1.LNamespace, m v1alpha1.Subject, o Options) (plain, sudo []rbacv1.PolicyRule) {
	if !isAnonymous(m) {
		plain = slices.Clone(s.everybody)
	}
	if t == nil {
		if has(n.Spec.Users, m) {
			plain = append(plain, s.roles["/"+o.UserRole]...)
		}
		if has(n.Spec.Sudoers, m) {
			sudo = s.roles["/"+names.SudoRole]
		}
		return plain, sudo
	}
	for i := range s.bindings[n.Name] {
		b := &s.bindings[n.Name][i]
		if b.Name == names.UsersBinding && isOwn(b, t) && b.DeletionTimestamp == nil &&
			has(members(b), m) && has(t.Status.Granted.Users, m) && has(t.Spec.Users, m) {
			rules, _ := s.rules(b)
			plain = append(plain, rules...)
		}
	}
	if isReady(t) && has(t.Status.Granted.Sudoers, m) && has(t.Spec.Sudoers, m) {
		sudo = s.roles["/"+names.SudoRole]
	}
	return plain, sudo
}
