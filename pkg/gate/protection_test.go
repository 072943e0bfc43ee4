// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"

	"kube-granular.dev/granular/protect"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/modelstest"
)

// inForce is a Protection with a given set of protected attributes, and with the roles that the
// caller holds.
type inForce struct {
	set *protect.Set
	// pending is set if the set is not known yet. arrives is set if it becomes known during Wait.
	pending, arrives bool
	holds            []string
	fail             bool
	asked            []string
	waited           int
	counted          []string
}

func (p *inForce) CountViolations(namespace string, attributes ...string) {
	for _, a := range attributes {
		p.counted = append(p.counted, namespace+"/"+a)
	}
}

func (p *inForce) Set() (*protect.Set, bool) {
	if p.pending {
		return nil, false
	}
	return p.set, true
}

func (p *inForce) Wait(context.Context) error {
	p.waited++
	if !p.arrives {
		return errors.New("no list yet")
	}
	p.pending = false
	return nil
}

func (p *inForce) Holds(_ context.Context, u user.Info, r protect.Reference) (bool, error) {
	p.asked = append(p.asked, u.GetName()+" "+referenceID(r))
	if p.fail {
		return false, errors.New("out of order")
	}
	return slices.Contains(p.holds, referenceID(r)), nil
}

// env protects the value "prod" of the label env in the whole cluster; the ClusterRole releaser
// admits to it. net protects all values of an annotation; its own verb admits to it.
var (
	env = protect.Entry{Name: "env", Kind: schema.Label, Key: "env", ProtectedValues: []string{"prod"},
		Role: protect.RoleRef{Kind: protect.ClusterRole, Name: "releaser"}}
	net = protect.Entry{Name: "net", Kind: schema.Annotation, Key: "example.com/net"}
)

// definitions returns the OpenAPI definitions of all built-in types. They are made once.
var definitions = sync.OnceValue(modelstest.BuiltIn)

// groups maps each API group to the package that defines its types.
var groups = map[string]string{"": "core", "apps": "apps", "batch": "batch", "resource.k8s.io": "resource"}

// endpoint returns the target of a built-in resource, such as "pods/status", as a server has it.
func endpoint(t testing.TB, kind gvk.GroupVersionKind, path string) granular.Target {
	t.Helper()
	resource, sub, _ := strings.Cut(path, "/")
	name := "io.k8s.api." + groups[kind.Group] + "." + kind.Version + "." + kind.Kind
	if definitions()[name] == nil {
		t.Fatalf("no type %s", name)
	}
	return granular.Target{
		Kind: kind, Resource: kind.GroupVersion().WithResource(resource), Subresource: sub,
		Convertor: apiruntime.UnsafeObjectConvertor(legacyscheme.Scheme),
		Schema:    granular.NewLazySchema(func() map[string]*spec.Schema { return modelstest.Marked(definitions(), name, kind) }),
	}
}

// stored decodes an object into the internal version, and gives it a UID as stored objects have.
func stored(t testing.TB, text string) apiruntime.Object {
	t.Helper()
	out := sentObject(t, text)
	if accessor, err := meta.Accessor(out); err == nil {
		accessor.SetUID("1")
	}
	return out
}

func sentObject(t testing.TB, text string) apiruntime.Object {
	t.Helper()
	out, _, err := legacyscheme.Codecs.UniversalDecoder(gvk.GroupVersion{Group: "", Version: apiruntime.APIVersionInternal}, gvk.GroupVersion{Group: "apps", Version: apiruntime.APIVersionInternal},
		gvk.GroupVersion{Group: "batch", Version: apiruntime.APIVersionInternal}, gvk.GroupVersion{Group: "resource.k8s.io", Version: apiruntime.APIVersionInternal}).Decode([]byte(text), nil, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// contextOf returns the context of a request to an endpoint.
func contextOf(verb string, target granular.Target, namespace, name string, groups ...string) context.Context {
	ctx := genericapirequest.WithUser(context.Background(), &user.DefaultInfo{Name: "jane", Groups: groups})
	return genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, Verb: verb, APIGroup: target.Resource.Group, APIVersion: target.Resource.Version,
		Resource: target.Resource.Resource, Subresource: target.Subresource, Namespace: namespace, Name: name,
	})
}

// questioned is a grants that keeps the attributes of every call.
type questioned struct {
	grants
	all []upstream.Attributes
}

func (q *questioned) Authorize(ctx context.Context, a upstream.Attributes) (upstream.Decision, string, error) {
	q.all = append(q.all, a)
	return q.grants.Authorize(ctx, a)
}
