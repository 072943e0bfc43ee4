// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/granular/schema"
)

// Cluster has the kinds of one server. It is not safe for concurrent use.
type Cluster struct {
	discovery discovery.DiscoveryInterface
	mapper    meta.RESTMapper
	root      openapi3.Root
	documents map[kubeschema.GroupVersion]*document
	kinds     map[kubeschema.GroupVersionKind]*compiledTree
	overlaid  map[kubeschema.GroupVersionResource]*overlaidTree

	// readEntries is nil if no entries are to be added. entries are nil before its first call.
	readEntries EntriesReader
	entries     map[kubeschema.GroupResource]*overlay.Entries
	// unread is why the caller may not read the entries.
	unread error

	// stock is set if the permissions of this program stand in for those that the server does not publish.
	stock bool

	// patience is how long all waits for schemas together may take; see publishedTree.
	patience time.Duration
}

// NewStock returns a Cluster whose kinds have permissions also if the server publishes none: those that a kube-granular
// server of this version would publish.
func NewStock(client discovery.DiscoveryInterface, mapper meta.RESTMapper) *Cluster {
	c := New(client, mapper, nil)
	c.stock = true
	return c
}

// document is the OpenAPI document of one group and version.
type document struct {
	definitions map[string]*spec.Schema
	models      *schema.Models
}

type compiledTree struct {
	tree *schema.Tree
	err  error
}

// New returns a Cluster that reads the kinds of a server on demand. The trees of the kinds include what
// entries returns. If entries is nil, they have the permissions alone that the server publishes.
func New(client discovery.DiscoveryInterface, mapper meta.RESTMapper, entries EntriesReader) *Cluster {
	return &Cluster{
		discovery: client, mapper: mapper, root: openapi3.NewRoot(client.OpenAPIV3()), readEntries: entries,
		documents: map[kubeschema.GroupVersion]*document{}, kinds: map[kubeschema.GroupVersionKind]*compiledTree{},
		overlaid: map[kubeschema.GroupVersionResource]*overlaidTree{},
		patience: patience,
	}
}

// Kind is a resource in one version, together with the kind of its objects.
type Kind struct {
	Resource   kubeschema.GroupVersionResource
	Kind       kubeschema.GroupVersionKind
	Namespaced bool
	// ShortNames are the short names of the resource, such as deploy.
	ShortNames []string
	// Subresources are the subresources that can be updated or patched, sorted by name. Those that
	// open connections, such as exec, are left out.
	Subresources []Subresource
	// Tree is the permission tree of the kind: its fields with the permissions that cover them. It is
	// nil for a kind of Served.
	Tree        *schema.Tree
	definitions map[string]*spec.Schema
}

// Subresource is a subresource that can be updated or patched.
type Subresource struct {
	// Name is status or scale, for example.
	Name string
	// Kind is the kind of the objects of the subresource.
	Kind kubeschema.GroupVersionKind
	// Tree is the permission tree of Kind, if that is another kind than that of the resource, such
	// as Scale. It is nil otherwise, and if the server publishes no schema of Kind.
	Tree *schema.Tree
}

// String returns the resource as in a role, such as deployments.apps.
func (k *Kind) String() string { return k.Resource.GroupResource().String() }

// Qualified returns the name of a resource or subresource with its group: deployments.apps/status.
func Qualified(group, resource string) string {
	name, subresource, found := strings.Cut(resource, "/")
	name = kubeschema.GroupResource{Group: group, Resource: name}.String()
	if found {
		name += "/" + subresource
	}
	return name
}

// Grantable returns the resources that a role can name to grant verbs of the kind, such as
// deployments and deployments/status. Subresources with another kind, such as scale, are left out.
func (k *Kind) Grantable() []string {
	out := []string{k.Resource.Resource}
	for _, s := range k.Subresources {
		if s.Kind == k.Kind {
			out = append(out, k.Resource.Resource+"/"+s.Name)
		}
	}
	return out
}

// Subresource returns the subresource with a name.
func (k *Kind) Subresource(name string) (Subresource, bool) {
	for _, s := range k.Subresources {
		if s.Name == name {
			return s, true
		}
	}
	return Subresource{}, false
}

// Lookup finds a resource by a name as users type it: deployments, deployments.apps, deploy,
// Deployment, deployments.v1.apps. version, such as apps/v1, selects the version of the resource;
// if it is empty, the server's preferred version is used.
func (c *Cluster) Lookup(name, version string) (*Kind, error) {
	resource, err := c.resource(name)
	if err != nil {
		return nil, err
	}
	if version != "" {
		parsed, err := kubeschema.ParseGroupVersion(version)
		if err != nil {
			return nil, fmt.Errorf("--api-version %q: write it as GROUP/VERSION, such as apps/v1: %w", version, err)
		}
		if parsed.Group != resource.Group {
			return nil, fmt.Errorf("--api-version %s: %s is of group %q", version, resource.GroupResource(), resource.Group)
		}
		resource.Version = parsed.Version
	}
	return c.ForResource(resource)
}

func (c *Cluster) resource(name string) (kubeschema.GroupVersionResource, error) {
	full, short := kubeschema.ParseResourceArg(strings.ToLower(name))
	if full != nil {
		if found, err := c.mapper.ResourceFor(*full); err == nil {
			return found, nil
		}
	}
	found, err := c.mapper.ResourceFor(short.WithVersion(""))
	if meta.IsNoMatchError(err) {
		return found, fmt.Errorf("the server has no resource %q; kubectl api-resources lists all resources", name)
	}
	return found, err
}

// Served returns the kind of a resource without its permissions, for questions that need none: Tree is
// nil. It finds the resource by a name, as Lookup does, also on a server that publishes no permissions.
func (c *Cluster) Served(name string) (*Kind, error) {
	resource, err := c.resource(name)
	if err != nil {
		return nil, err
	}
	return c.served(resource)
}

// ForResource returns the kind of a resource in a version.
func (c *Cluster) ForResource(resource kubeschema.GroupVersionResource) (*Kind, error) {
	k, err := c.served(resource)
	if err != nil {
		return nil, err
	}
	if err := c.compile(k); err != nil {
		return nil, err
	}
	return k, nil
}

func (c *Cluster) served(resource kubeschema.GroupVersionResource) (*Kind, error) {
	k, err := c.discover(resource)
	if k == nil && c.invalidateCache() {
		// The resource may be newer than the cached discovery documents, so they are read again.
		k, err = c.discover(resource)
	}
	if err != nil {
		return nil, fmt.Errorf("the server does not serve %s: %w", resource.GroupVersion(), err)
	}
	if k == nil {
		return nil, fmt.Errorf("%s has no resource %s; kubectl api-resources lists all versions", resource.GroupVersion(), resource.Resource)
	}
	return k, nil
}

func (c *Cluster) discover(resource kubeschema.GroupVersionResource) (*Kind, error) {
	list, err := c.discovery.ServerResourcesForGroupVersion(resource.GroupVersion().String())
	if err != nil {
		return nil, err
	}
	return find(list, resource), nil
}

// invalidateCache drops cached discovery documents, and reports whether the discovery client has a
// cache.
func (c *Cluster) invalidateCache() bool {
	cached, ok := c.discovery.(discovery.CachedDiscoveryInterface)
	if ok {
		cached.Invalidate()
		c.root = openapi3.NewRoot(c.discovery.OpenAPIV3())
	}
	return ok
}

// All returns all resources that can be updated or patched, in the preferred version of the server,
// sorted by name. If it can't read some resources, it returns the others together with an error.
func (c *Cluster) All() ([]*Kind, error) {
	c.invalidateCache()
	c.forgetEntries()
	lists, err := discovery.ServerPreferredResources(c.discovery)
	failed := []error{err}
	var out []*Kind
	for _, preferred := range lists {
		version, err := kubeschema.ParseGroupVersion(preferred.GroupVersion)
		if err != nil {
			return nil, err
		}
		// The list of preferred resources does not contain subresources.
		list, err := c.discovery.ServerResourcesForGroupVersion(preferred.GroupVersion)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		for _, r := range preferred.APIResources {
			k := find(list, version.WithResource(r.Name))
			if k == nil || strings.Contains(r.Name, "/") || !writable(r) {
				continue
			}
			if err := c.compile(k); err != nil {
				failed = append(failed, err)
				continue
			}
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b *Kind) int { return strings.Compare(a.String(), b.String()) })
	return out, errors.Join(failed...)
}

// Groups returns the API groups that the server serves, also those whose own server does not answer
// now. The core group is "".
func (c *Cluster) Groups() ([]string, error) {
	c.invalidateCache()
	list, err := c.discovery.ServerGroups()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, group := range list.Groups {
		out = append(out, group.Name)
	}
	return out, nil
}

// ServedBy returns the service, as NAMESPACE/NAME, to which the server passes the requests of a group and version, "" if it answers
// them itself.
func (c *Cluster) ServedBy(version kubeschema.GroupVersion) (string, error) {
	if version.Group == "" {
		return "", nil
	}
	var found struct {
		Spec struct {
			Service *struct{ Namespace, Name string }
		}
	}
	name := version.Version + "." + version.Group
	data, err := c.discovery.RESTClient().Get().AbsPath("/apis/apiregistration.k8s.io/v1/apiservices", name).DoRaw(context.TODO())
	if apierrors.IsNotFound(err) {
		return "", nil // not registered yet, so nothing is passed on
	}
	if err == nil {
		err = json.Unmarshal(data, &found)
	}
	if err != nil {
		return "", fmt.Errorf("read the APIService %s: %w", name, err)
	}
	if s := found.Spec.Service; s != nil {
		return s.Namespace + "/" + s.Name, nil
	}
	return "", nil
}

// Names returns the names of all resources that can be updated or patched, such as
// deployments.apps, sorted, for shell completion.
func (c *Cluster) Names() []string {
	lists, _ := discovery.ServerPreferredResources(c.discovery)
	names := map[string]bool{}
	for _, list := range lists {
		version, err := kubeschema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") && writable(r) {
				names[version.WithResource(r.Name).GroupResource().String()] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func writable(r metav1.APIResource) bool {
	return slices.Contains(r.Verbs, "update") || slices.Contains(r.Verbs, "patch")
}

// find returns a resource of a group and version with its subresources.
func find(list *metav1.APIResourceList, resource kubeschema.GroupVersionResource) *Kind {
	var out *Kind
	var subresources []Subresource
	for _, r := range list.APIResources {
		kind := kubeschema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
		if kind.Version == "" {
			kind.Group, kind.Version = resource.Group, resource.Version
		}
		if r.Name == resource.Resource {
			out = &Kind{Resource: resource, Kind: kind, Namespaced: r.Namespaced, ShortNames: r.ShortNames}
		} else if name, ok := strings.CutPrefix(r.Name, resource.Resource+"/"); ok && writable(r) && !connectionSubresources[name] {
			subresources = append(subresources, Subresource{Name: name, Kind: kind})
		}
	}
	if out == nil {
		return nil
	}
	slices.SortFunc(subresources, func(a, b Subresource) int { return strings.Compare(a.Name, b.Name) })
	out.Subresources = subresources
	return out
}

// connectionSubresources are the subresources that open connections. They write no fields, although
// discovery may list the verbs update and patch for them.
var connectionSubresources = map[string]bool{"attach": true, "exec": true, "portforward": true, "proxy": true}

// Definitions returns all schemas that the server publishes for the group and version of the kind,
// by name. The schemas must not be modified.
func (k *Kind) Definitions() map[string]*spec.Schema { return k.definitions }

// ForKind returns the resource whose objects have a kind.
func (c *Cluster) ForKind(kind kubeschema.GroupVersionKind) (*Kind, error) {
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("the server has no kind %s; kubectl api-resources lists all kinds", kind)
	}
	if err != nil {
		return nil, err
	}
	return c.ForResource(mapping.Resource)
}

// Exactly returns the kind of a resource of just this group, in the preferred version. It returns nil if the server has no
// such resource.
func (c *Cluster) Exactly(resource kubeschema.GroupResource) (*Kind, error) {
	found, err := c.mapper.ResourcesFor(resource.WithVersion(""))
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, r := range found {
		if r.GroupResource() == resource {
			return c.ForResource(r)
		}
	}
	return nil, nil
}
