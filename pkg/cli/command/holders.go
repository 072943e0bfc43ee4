// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube-granular.dev/api/authority/v1alpha1"
	authorityclient "kube-granular.dev/api/client/clientset/versioned/typed/authority/v1alpha1"
	"kube-granular.dev/api/printing"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/protected"
)

// identityQuery returns the query for a resource that roles name and no server serves: users, groups,
// uids, userextras and signers. It returns nil for other resources.
func identityQuery(verb, resource, subresource, name string) *access.Query {
	group, known := map[string]string{
		"users": "", "groups": "", "uids": authenticationv1.GroupName, "userextras": authenticationv1.GroupName,
		"signers": certificatesv1.GroupName,
	}[resource]
	if !known {
		return nil
	}
	if strings.HasPrefix(verb, "impersonate:") {
		group = authenticationv1.GroupName // of constrained impersonation
	}
	return &access.Query{Verbs: []string{verb}, Target: access.Target{Group: group, Resource: resource, Subresource: subresource, Name: name}}
}

// addProtected adds to a query what protected attributes require. For the verb of a protected label or
// annotation, these are the roles that attributes require instead of the verb. For the verb of a
// permission that includes labels or annotations, these are exceptions: holders of update can't
// change them either.
func (s *options) addProtected(ctx context.Context, w *access.Query) {
	verb, err := permission.Parse(w.Verbs[0])
	if err != nil || verb.Permission == "" {
		return
	}
	all, err := s.protectedAttributes(ctx, w.Namespace)
	if err != nil {
		printing.Fprintf(s.streams.ErrOut, "warning: whether a label or annotation is protected is not known: %v\n", err)
	}
	resource := v1alpha1.GroupResource{Group: w.Group, Resource: w.Resource}
	byVerb := false
	for _, a := range all {
		if !a.Selects(resource) {
			continue
		}
		field, reserved := a.Field()
		switch key := a.Spec.AttributeName; {
		case verb.Permission == reserved && protected.Includes(key, verb.Parameter):
			if a.Spec.RoleRef == nil {
				byVerb = true
				continue
			}
			w.Roles = append(w.Roles, access.RoleRef{Kind: a.Spec.RoleRef.Kind, Name: a.Spec.RoleRef.Name, Namespace: a.Namespace, By: a.String()})
		case verb.Permission == "metadata", verb.Permission == field, verb.Permission+"s" == field && includesKey(verb.Parameter, key):
			w.Except = append(w.Except, fmt.Sprintf("%s[%s], which %s protects", field, key, a.String()))
		}
	}
	w.OnlyRoles = len(w.Roles) > 0 && !byVerb
}

// includesKey reports whether the permission of a label or annotation includes a protected key: the
// parameter is the prefix of the key, or it stands for the key alone.
func includesKey(parameter, key string) bool {
	exact, _ := permission.SlashDelimitedPrefix.Exact(key)
	return parameter == permission.SlashDelimitedPrefix.Apply(key) || parameter == exact
}

// addDelegations adds the delegations of the cluster to a query.
func (s *options) addDelegations(ctx context.Context, w *access.Query) {
	client, err := connect(s.ownConfig, authorityclient.NewForConfig)
	if err != nil {
		return
	}
	w.Delegations, err = access.ReadDelegations(ctx, client, time.Now())
	if err != nil && !apierrors.IsNotFound(err) { // a server without delegations does not find them
		printing.Fprintf(s.streams.ErrOut, "warning: delegates are not listed: %v\n", err)
	}
}
