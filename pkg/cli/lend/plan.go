// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lend

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/auth/rbac/validation"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/cli/access"
)

// Plan is what lending would do.
type Plan struct {
	// Rules are what the account will be able to do, as the server copies them from the role. The lender
	// holds all of them now, or the server refuses.
	Rules []rbacv1.PolicyRule
	// Others are the subjects, other than the lender, who can use the account: they can get its token. Who may first grant itself
	// the rights for that, or get a certificate of the account, is not one of them, nor who has them by several subjects together.
	Others []Other
	// Components is the number of components of Kubernetes that can, too: they are not in Others.
	Components int
	// Unknown is why others can be missing in the list, or empty.
	Unknown string
	// Own are the bindings that give the account permissions of its own. They count where the binding does not: on a
	// server without the gate, and after the release of the account.
	Own []string
	// Notes are what the lender should know.
	Notes []string
}

// Other is a subject that can use a service account, and by which verb.
type Other struct{ Subject, By, Binding string }

// Plan asks the server what lending would do, and changes nothing.
func (l *Lender) Plan(ctx context.Context, t *Terms) (*Plan, error) {
	if err := l.checkNew(ctx, t); err != nil {
		return nil, err
	}
	_, d := t.objects("")
	return l.planOf(ctx, t.Account, d, nil)
}

// PlanRenewal asks the server what renewing would do, and changes nothing.
func (l *Lender) PlanRenewal(ctx context.Context, r *Renewal) (*Plan, error) {
	return l.planOf(ctx, r.Terms.Account, r.Delegation, r.lenders())
}

// planOf asks the server what a delegation to an account would allow. earlier are those who lent to the account before.
func (l *Lender) planOf(ctx context.Context, account Account, d *v1alpha1.AuthorityDelegation, earlier []Other) (*Plan, error) {
	made, err := l.Authority.AuthorityDelegations().Create(ctx, d, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return nil, fmt.Errorf("the server would refuse the delegation: %w", explained(err))
	}
	plan := &Plan{Rules: made.Status.Rules, Notes: notes(made.Status.Rules)}
	if err := l.readOthers(ctx, account, earlier, plan); err != nil {
		plan.Unknown = err.Error()
	}
	return plan, nil
}

// explained adds a next step to the error of a server that has no delegations.
func explained(err error) error {
	if apierrors.IsNotFound(err) && strings.Contains(err.Error(), "could not find the requested resource") {
		return fmt.Errorf("%w: its feature gate AuthorityDelegation is off, or it has no patches of kube-granular", err)
	}
	return err
}

// checkNew returns an error if the namespace is missing, or the account exists.
func (l *Lender) checkNew(ctx context.Context, t *Terms) error {
	_, err := l.Client.CoreV1().Namespaces().Get(ctx, t.Account.Namespace, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && t.CreateNamespace:
		return nil
	case apierrors.IsNotFound(err):
		return fmt.Errorf("the namespace %s does not exist; --create-namespace creates it", t.Account.Namespace)
	case err == nil:
		t.CreateNamespace = false
	}
	_, err = l.Client.CoreV1().ServiceAccounts(t.Account.Namespace).Get(ctx, t.Account.Name, metav1.GetOptions{})
	switch {
	case err == nil:
		return fmt.Errorf("the service account %s exists; choose another name, or end its loan with --revoke", t.Account)
	case apierrors.IsNotFound(err):
		return nil
	}
	return err
}

// notes returns what the rules lack or contain that surprises.
func notes(rules []rbacv1.PolicyRule) (out []string) {
	covers := func(verb, group, resource string) bool {
		ok, _ := validation.Covers(rules, []rbacv1.PolicyRule{{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{resource}}})
		return ok
	}
	if !covers("create", "", "events") && !covers("create", "events.k8s.io", "events") {
		out = append(out, "The role does not allow to write events: a program that records events gets errors.")
	}
	if !covers("update", "coordination.k8s.io", "leases") {
		out = append(out, "The role does not allow to write leases: a program that elects a leader does not work.")
	}
	var left []string
	for _, r := range [][3]string{
		{"create", "", "pods"}, {"create", "apps", "deployments"}, {"create", "batch", "jobs"}, {"create", "batch", "cronjobs"},
		{"get", "", "secrets"}, {"create", "rbac.authorization.k8s.io", "rolebindings"}, {"create", "rbac.authorization.k8s.io", "clusterrolebindings"},
	} {
		if covers(r[0], r[1], r[2]) {
			left = append(left, r[0]+" "+r[2])
		}
	}
	if len(left) > 0 {
		out = append(out, "The role allows what does not end with the loan: "+strings.Join(left, ", ")+
			". Pods run as any service account of their namespace, Secrets can hold tokens, bindings stay.")
	}
	var refused []string
	for _, r := range [][3]string{
		{"create", "", "pods/exec"}, {"create", "", "pods/attach"}, {"create", "", "pods/portforward"}, {"get", "", "pods/proxy"},
		{"get", "", "services/proxy"}, {"get", "", "nodes/proxy"}, {"create", "", "serviceaccounts/token"}, {"impersonate", "", "users"},
		{"create", "certificates.k8s.io", "certificatesigningrequests"},
	} {
		if covers(r[0], r[1], r[2]) {
			refused = append(refused, r[0]+" "+r[2])
		}
	}
	if len(refused) > 0 {
		out = append(out, "The server refuses these to every account that acts under a delegation, though the role has them: "+strings.Join(refused, ", ")+".")
	}
	return out
}

// way is a permission with which a subject can get a token of a service account in a namespace, or act as the
// account.
type way struct{ verb, group, resource, subresource string }

// workloads are the kinds of objects that run pods, by group and resource.
var workloads = [][2]string{
	{"", "pods"}, {"apps", "deployments"}, {"apps", "daemonsets"}, {"apps", "statefulsets"}, {"apps", "replicasets"},
	{"", "replicationcontrollers"}, {"batch", "jobs"}, {"batch", "cronjobs"},
}

// codePermissions are the permissions to set the service account of a workload, or what its containers run. TestCodePermissions
// compares them with the schemas of the workloads.
var codePermissions = []string{
	"specification", "container", "containerImage", "ephemeralContainer", "ephemeralContainerImage", "image", "imageFrom",
	"initContainer", "initContainerImage", "jobTemplate", "jobTemplateSpecification", "podTemplate", "podTemplateContainer",
	"podTemplateContainerImage", "podTemplateEphemeralContainer", "podTemplateEphemeralContainerImage", "podTemplateImage",
	"podTemplateImageFrom", "podTemplateInitContainer", "podTemplateInitContainerImage", "podTemplateSpecification",
}

// codeVerbs returns the verbs of codePermissions that bindings and delegations grant, with whatever parameters.
func codeVerbs(all *access.RBAC, delegations []access.Delegation) (verbs []string) {
	var rules []rbacv1.PolicyRule
	for _, granted := range all.Granted() {
		rules = append(rules, granted.Rule)
	}
	for _, d := range delegations {
		rules = append(rules, d.Rules...)
	}
	for _, rule := range rules {
		for _, text := range rule.Verbs {
			if verb, err := permission.Parse(text); err == nil && slices.Contains(codePermissions, verb.Permission) {
				verbs = append(verbs, text)
			}
		}
	}
	slices.Sort(verbs)
	return slices.Compact(verbs)
}

// ways returns the ways to use a service account, the shortest ones first.
func ways() []way {
	out := []way{
		{"create", "", "pods", ""}, {"create", "", "serviceaccounts", "token"}, {"create", "", "pods", "exec"}, {"get", "", "pods", "exec"},
		{"create", "", "pods", "attach"}, {"get", "", "pods", "attach"},
		{"create", "", "nodes", "proxy"}, {"get", "", "nodes", "proxy"}, // a kubelet executes in the pods of its node
		{"update", "", "pods", "ephemeralcontainers"}, {"patch", "", "pods", "ephemeralcontainers"},
		{"get", "", "secrets", ""}, {"list", "", "secrets", ""}, {"watch", "", "secrets", ""},
		{"impersonate", "", "serviceaccounts", ""}, {"impersonate", "", "users", ""},
		{"impersonate:serviceaccount", "authentication.k8s.io", "serviceaccounts", ""},
	}
	for _, w := range workloads[1:] {
		out = append(out, way{"create", w[0], w[1], ""})
	}
	for _, w := range workloads {
		out = append(out, way{permission.General, w[0], w[1], ""})
	}
	return append(out, way{permission.General, "", "pods", "ephemeralcontainers"})
}

// readOthers adds to a plan who can use the account, without the lender and counting the components of Kubernetes, and
// which bindings give the account permissions of its own. Bindings and delegations give permissions. earlier are those who lent to
// the account before.
func (l *Lender) readOthers(ctx context.Context, account Account, earlier []Other, plan *Plan) error {
	self, err := l.Client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	all, err := access.ReadRBAC(ctx, l.Client.RbacV1(), "")
	if err != nil {
		return err
	}
	// Whoever is found before an error stays in the list.
	delegations, unread := access.ReadDelegations(ctx, l.Authority, l.Now())
	// What all accounts and all users have, such as discovery, is no permission of this account.
	name, groups := "system:serviceaccount:"+account.Namespace+":"+account.Name, []string{"system:serviceaccounts:" + account.Namespace}
	for _, held := range all.HeldBy(name, groups) {
		if !slices.Contains(plan.Own, held.Binding) {
			plan.Own = append(plan.Own, held.Binding)
		}
	}
	seen := map[string]bool{"User " + self.Status.UserInfo.Username: true, "ServiceAccount " + account.String(): true}
	for _, lender := range earlier {
		if !seen[lender.Subject] {
			seen[lender.Subject] = true
			plan.Others = append(plan.Others, lender)
		}
	}
	code := codeVerbs(all, delegations)
	for _, way := range ways() {
		target := access.Target{Group: way.group, Resource: way.resource, Subresource: way.subresource, Namespace: account.Namespace,
			AnyName: way.verb != "create" || way.subresource != ""} // RBAC does not match names at the creation of an object
		switch way.resource { // the others can be of any name
		case "serviceaccounts":
			target.Name, target.AnyName = account.Name, false
		case "users":
			target.Name, target.AnyName = name, false
		case "nodes":
			target.Namespace = ""
		}
		query := access.Query{Verbs: []string{way.verb}, Target: target, Delegations: delegations}
		if way.verb == permission.General {
			query.Verbs, query.Granular, query.Included = code, true, true // included: update and patch are enough
		}
		for _, h := range all.WhoCan(query) {
			if !h.Can || seen[h.Subject] {
				continue
			}
			seen[h.Subject] = true
			if isComponent(h.Subject) {
				plan.Components++
				continue
			}
			resource, verb := way.resource, way.verb
			if way.verb == permission.General {
				verb = h.Verb
			}
			if way.subresource != "" {
				resource += "/" + way.subresource
			}
			plan.Others = append(plan.Others, Other{h.Subject, verb + " " + resource, h.Binding})
		}
	}
	slices.SortFunc(plan.Others, func(a, b Other) int { return strings.Compare(a.Subject, b.Subject) })
	return unread
}

// isComponent reports whether a subject is a component of Kubernetes itself, or the group that may do
// everything.
func isComponent(subject string) bool {
	for _, prefix := range []string{"User system:kube-", "User system:node", "ServiceAccount kube-system/", "Group system:masters", "Group system:nodes"} {
		if strings.HasPrefix(subject, prefix) {
			return true
		}
	}
	return false
}
