// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/authority/validation"
	"kube-granular.dev/api/client/clientset/versioned"
	"kube-granular.dev/api/printing"
	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/pages"
	"kube-granular.dev/pkg/fieldpermission/entry"
)

// entries returns the entries of all FieldPermissions. A server without them has none. If the caller may
// not list them, entries prints a warning and returns kinds.ErrNoEntries: then the answers of the tools lack them, and
// the server's own answers do not.
func (s *options) entries() (map[kubeschema.GroupResource]*overlay.Entries, error) {
	client, err := connect(s.ownConfig, versioned.NewForConfig)
	if err != nil {
		return nil, err
	}
	out := map[kubeschema.GroupResource]*overlay.Entries{}
	err = pages.Each(context.Background(), client.AuthorityV1alpha1().FieldPermissions().List, func(p *v1alpha1.FieldPermission) error {
		entries, wrong := entry.Parse(p)
		if len(wrong) > 0 {
			return fmt.Errorf("fieldpermission %s: %w", p.Name, wrong.ToAggregate())
		}
		out[kubeschema.GroupResource(validation.ResourceOf(p.Name))] = entries
		return nil
	})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case apierrors.IsForbidden(err):
		if served, unknown := serves(client.Discovery(), v1alpha1.SchemeGroupVersion.String(), "fieldpermissions"); !served && unknown == nil {
			return nil, nil
		}
		err = fmt.Errorf("%w: %v", kinds.ErrNoEntries, err)
		if !s.whole {
			printing.Fprintf(s.streams.ErrOut, "warning: %v\n", err)
		}
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("read fieldpermissions: %w", err)
	}
	return out, nil
}

// serves reports whether a server serves a resource, also to a caller that may not list its objects.
func serves(client discovery.ServerResourcesInterface, version, resource string) (bool, error) {
	list, err := client.ServerResourcesForGroupVersion(version)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == resource }), nil
}
