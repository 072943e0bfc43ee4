// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package naming

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// ErrClaimed is the error for a name whose service accounts, or whose sudoers, have permissions already.
var ErrClaimed = errors.New("service accounts or sudoers of a namespace of this name have permissions already, " +
	"and whoever gets the namespace would have them")

// Survey is what one reading of the server found: the LNamespaces, and then for which namespaces the
// permissions of service accounts or sudoers wait.
type Survey struct {
	// Tenants are the LNamespaces. Of each, only the metadata is kept.
	Tenants []metav1.ObjectMeta
	uids    map[types.UID]bool
	// claims has, for each namespace, a place where its service accounts or sudoers are named.
	claims map[string]string
	// number is the number of the reading.
	number int64
	begun  time.Time
}

// claim is a place that names a service account or sudoers. tenant is the LNamespace with the list, the one for which the
// controller made the binding, the namespace of a RoleBinding, or empty.
type claim struct{ where, tenant string }

// read reads the server. It reads the LNamespaces first: of each of them, everything that was there when it
// was created is then read.
func read(ctx context.Context, api client.Reader) (*Survey, error) {
	s := &Survey{uids: map[types.UID]bool{}, claims: map[string]string{}}
	tenants := &v1alpha1.LNamespaceList{}
	if err := api.List(ctx, tenants); err != nil {
		return nil, fmt.Errorf("list LNamespaces: %w", err)
	}
	for i := range tenants.Items {
		t := &tenants.Items[i]
		s.uids[t.UID] = true
		s.Tenants = append(s.Tenants, metav1.ObjectMeta{
			Name: t.Name, UID: t.UID, Annotations: t.Annotations, CreationTimestamp: t.CreationTimestamp,
		})
		for _, list := range t.Spec.Lists() {
			for _, subject := range *list {
				s.add(claimed(string(subject.Kind), subject.Namespace, subject.Name), claim{"LNamespace " + t.Name, t.Name})
			}
		}
	}
	clusterwide := &rbacv1.ClusterRoleBindingList{}
	if err := api.List(ctx, clusterwide); err != nil {
		return nil, fmt.Errorf("list the bindings of the cluster: %w", err)
	}
	for i := range clusterwide.Items {
		b := &clusterwide.Items[i]
		for _, subject := range b.Subjects {
			where := claim{where: "ClusterRoleBinding " + b.Name}
			if b.Labels[names.ManagedBy] == names.Manager {
				where.tenant = b.Labels[names.Tenant] // the controller's own, of a tenant that was there before
			}
			s.add(claimed(subject.Kind, subject.Namespace, subject.Name), where)
		}
	}
	bindings := &rbacv1.RoleBindingList{}
	if err := api.List(ctx, bindings); err != nil {
		return nil, fmt.Errorf("list the bindings in all namespaces: %w", err)
	}
	for i := range bindings.Items {
		for _, subject := range bindings.Items[i].Subjects {
			// One inside the namespace of the name does not speak against it.
			space := bindings.Items[i].Namespace
			where := claim{where: "RoleBinding " + space + "/" + bindings.Items[i].Name, tenant: space}
			s.add(claimed(subject.Kind, subject.Namespace, subject.Name), where)
		}
	}
	return s, nil
}

// add adds a claim of a namespace, if there is none yet. What belongs to the tenant of that name itself is none.
func (s *Survey) add(namespace string, c claim) {
	if namespace == "" || c.tenant == namespace {
		return
	}
	if _, found := s.claims[namespace]; !found {
		s.claims[namespace] = c.where
	}
}

// Claims returns ErrClaimed if a binding, or a list of another LNamespace, names a service account or the sudoers of the
// namespace. Bindings inside the namespace do not count.
func (s *Survey) Claims(namespace string) error {
	where, found := s.claims[namespace]
	if !found {
		return nil
	}
	return fmt.Errorf("the name %q is refused: %w (%s); choose another name, such as %q, or %s",
		namespace, ErrClaimed, where, proposal(namespace), AskAdministrator)
}

// accounts is the prefix of the group of all service accounts of a namespace, and account that of the
// user name of a service account.
const (
	accounts = "system:serviceaccounts:"
	account  = "system:serviceaccount:"
)

// claimed returns the namespace whose creator would be the subject, or act as it: the namespace of a service account, in
// any of the three ways to write that, or the tenant of the users and the group of sudo. It is empty for other subjects.
func claimed(kind, namespace, name string) string {
	if kind == rbacv1.ServiceAccountKind {
		return namespace
	}
	if space, ok := strings.CutPrefix(name, accounts); ok && kind == rbacv1.GroupKind {
		return space
	}
	if rest, ok := strings.CutPrefix(name, account); ok && kind == rbacv1.UserKind {
		space, _, found := strings.Cut(rest, ":")
		if found {
			return space
		}
	}
	return names.TenantOfSudo(name)
}

// shared is how long a survey is used for tenants that it has.
const shared = 10 * time.Second

// Surveys reads the server for those who ask, and no more often than it must: each reading costs as much as
// the cluster is large. Its methods are safe for concurrent use. The zero value is ready.
type Surveys struct {
	// asked is the number of readings that have begun.
	asked atomic.Int64
	last  atomic.Pointer[Survey]
	// mu is held while somebody reads.
	mu sync.Mutex
}

// For returns a survey for an LNamespace that exists: all that was there when it was created has been
// read. It may be some seconds old.
func (s *Surveys) For(ctx context.Context, api client.Reader, tenant types.UID) (*Survey, error) {
	last := s.last.Load()
	if last != nil && tenant != "" && last.uids[tenant] && time.Since(last.begun) < shared {
		return last, nil
	}
	return s.Fresh(ctx, api)
}

// Fresh returns a survey whose reading begins after the call. All who call it during one reading share the
// next.
func (s *Surveys) Fresh(ctx context.Context, api client.Reader) (*Survey, error) {
	before := s.asked.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.last.Load(); last != nil && last.number > before {
		return last, nil
	}
	if err := ctx.Err(); err != nil { // the caller has not waited so long
		return nil, err
	}
	number, begun := s.asked.Add(1), time.Now()
	survey, err := read(ctx, api)
	if err != nil {
		return nil, err
	}
	survey.number, survey.begun = number, begun
	s.last.Store(survey)
	return survey, nil
}
