// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	authorityclient "kube-granular.dev/api/client/clientset/versioned"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/ui/model"
	"kube-granular.dev/pkg/cli/ui/snapshot"
)

// Cluster reads from one cluster. Its methods are safe for concurrent use.
type Cluster struct {
	Core      kubernetes.Interface
	Authority authorityclient.Interface
	// Objects reads kinds of other modules.
	Objects dynamic.Interface
	// Kinds returns all kinds of the server that can be changed. It may return some together with an error
	// about the others.
	Kinds func() ([]*kinds.Kind, error)
	// Address and Context name the cluster.
	Address, Context string
	// Namespace is the namespace to which a list falls back that is forbidden for all namespaces. It is
	// also what the page shows first.
	Namespace string
	// Everywhere is true if the page shows all namespaces first.
	Everywhere bool
	// Step is called while something is read, with the number of objects so far. It may be nil.
	Step func(what string, done int)
	// Now returns the time.
	Now func() time.Time

	// one is locked while kinds are read, which can't be cancelled and is not safe for concurrent use.
	one sync.Mutex
}

// Collect reads everything. It returns an error if it read nothing that can be shown, or if the context ends.
func (c *Cluster) Collect(ctx context.Context) (*snapshot.Input, error) {
	input := &snapshot.Input{About: model.About{
		Cluster: c.Address, Context: c.Context, Namespace: c.Namespace, Collected: c.Now().UTC().Format(time.RFC3339), Live: true,
	}}
	if c.Everywhere {
		input.About.Namespace = ""
	}
	if err := c.kinds(ctx, input); err != nil {
		return nil, err
	}
	r := &reader{Cluster: c, in: input}
	for _, read := range []func(context.Context) error{
		r.whoAmI, r.namespaces, r.clusterRoles, r.roles, r.clusterRoleBindings, r.roleBindings, r.attributes, r.delegations,
		r.tenants,
	} {
		if err := read(ctx); err != nil {
			return nil, err
		}
	}
	return input, nil
}

// kinds reads the kinds. It returns when the context ends, although discovery goes on for a moment.
func (c *Cluster) kinds(ctx context.Context, input *snapshot.Input) error {
	c.step("kinds", 0)
	type result struct {
		all []*kinds.Kind
		err error
	}
	done := make(chan result, 1)
	go func() {
		c.one.Lock()
		defer c.one.Unlock()
		all, err := c.Kinds()
		done <- result{all, err}
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case got := <-done:
		if len(got.all) == 0 && got.err != nil {
			return got.err
		}
		input.Kinds = got.all
		input.Unknown = append(input.Unknown, unknownKinds(got.err)...)
		return nil
	}
}

// unknownKinds returns what an error of Kinds is about: a kind, whose name comes first, or kinds in general.
func unknownKinds(err error) []model.Unknown {
	var several interface{ Unwrap() []error }
	if errors.As(err, &several) {
		var out []model.Unknown
		for _, one := range several.Unwrap() {
			out = append(out, unknownKinds(one)...)
		}
		return out
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, kinds.ErrNoEntries) {
		return []model.Unknown{{What: model.UnknownFieldPermissions, Why: err.Error()}}
	}
	name, why, found := strings.Cut(err.Error(), ": ")
	if !found || strings.ContainsAny(name, " /") {
		return []model.Unknown{{What: model.UnknownKinds, Why: err.Error()}}
	}
	return []model.Unknown{{What: model.UnknownKind, Of: name, Why: why}}
}

func (c *Cluster) step(what string, done int) {
	if c.Step != nil {
		c.Step(what, done)
	}
}

// reader reads into one input.
type reader struct {
	*Cluster
	in *snapshot.Input
	// uids are the UIDs of the namespaces that could be read.
	uids map[string]string
}

// whoAmI reads who the caller is. Servers may not say it, and then the page does not.
func (r *reader) whoAmI(ctx context.Context) error {
	review, err := r.Core.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err == nil {
		r.in.About.User, r.in.About.Groups = review.Status.UserInfo.Username, review.Status.UserInfo.Groups
	}
	return ctx.Err()
}

func (r *reader) clusterRoles(ctx context.Context) error {
	return list(ctx, r, what{model.UnknownClusterRoles, "clusterroles"}, r.Core.RbacV1().ClusterRoles().List, func(o *rbacv1.ClusterRole) {
		r.in.ClusterRoles = append(r.in.ClusterRoles, o)
	})
}

func (r *reader) clusterRoleBindings(ctx context.Context) error {
	return list(ctx, r, what{model.UnknownClusterRoleBindings, "clusterrolebindings"}, r.Core.RbacV1().ClusterRoleBindings().List,
		func(o *rbacv1.ClusterRoleBinding) { r.in.ClusterRoleBindings = append(r.in.ClusterRoleBindings, o) })
}

func (r *reader) roles(ctx context.Context) error {
	return namespaced(ctx, r, what{model.UnknownRoles, "roles"}, func(namespace string) lister[*rbacv1.RoleList] {
		return r.Core.RbacV1().Roles(namespace).List
	}, func(o *rbacv1.Role) { r.in.Roles = append(r.in.Roles, o) })
}

func (r *reader) roleBindings(ctx context.Context) error {
	return namespaced(ctx, r, what{model.UnknownRoleBindings, "rolebindings"}, func(namespace string) lister[*rbacv1.RoleBindingList] {
		return r.Core.RbacV1().RoleBindings(namespace).List
	}, func(o *rbacv1.RoleBinding) { r.in.RoleBindings = append(r.in.RoleBindings, o) })
}

// unknown adds something that could not be read.
func (r *reader) unknown(w what, err error, except ...string) {
	r.in.Unknown = append(r.in.Unknown, model.Unknown{What: w.name, Except: except, Why: err.Error()})
}
