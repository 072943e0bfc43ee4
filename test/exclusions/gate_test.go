// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package exclusions

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/pkg/gate"
	"kube-granular.dev/pkg/modelstest"
)

var writes = flag.Int("writes", 10, "random objects that are written for each version of a resource")

// nobody allows nothing: the ordinary verb of a request is asked before the gate is.
type nobody struct{ authorizer.Authorizer }

func (nobody) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionNoOpinion, "", nil
}

// inForce has the entries of one FieldPermission.
type inForce struct{ entries *overlay.Entries }

func (f inForce) Entries(string, string) (*overlay.Entries, bool) { return f.entries, true }
func (inForce) Wait(context.Context) error                        { return nil }
func (inForce) Counted(*overlay.Entries, string, string)          {}

var definitions = sync.OnceValue(modelstest.BuiltIn)

// modelsOf returns the definitions with those of a kind marked as such, as a server has them.
func modelsOf(t *testing.T, kind schema.GroupVersionKind) map[string]*spec.Schema {
	t.Helper()
	obj, err := legacyscheme.Scheme.New(kind)
	if err != nil {
		t.Fatal(err)
	}
	name := obj.(interface{ OpenAPIModelName() string }).OpenAPIModelName()
	return modelstest.Marked(definitions(), name, kind)
}

// closing is a built-in resource of which some fields are closed.
type closing struct {
	kind   schema.GroupVersionKind
	s      strategy
	target granular.Target
	models map[string]*spec.Schema
	// source is the FieldPermission that closes fields.
	source string
	gate   *gate.Gate
	closed []overlay.Path
	// template is the path of a pod template whose fields a FieldPermission of pods closes. It is nil if the
	// fields are closed by one of the resource itself.
	template overlay.Path
	// unchecked closes fields too that Check refuses because of what the server does to them.
	unchecked bool
}

// problems returns the problems of entries in the resource and, for those of pods, in pods.
func (c *closing) problems(t *testing.T, e *overlay.Entries) []overlay.Problem {
	t.Helper()
	if c.unchecked {
		return slices.DeleteFunc(overlay.Check(c.models, c.kind, e), func(p overlay.Problem) bool {
			return p.Part == overlay.ExcludedPart && strings.Contains(p.Message, "the server")
		})
	}
	if c.template == nil {
		return overlay.Check(c.models, c.kind, e)
	}
	pods := corev1.SchemeGroupVersion.WithKind("Pod")
	if found := overlay.Check(modelsOf(t, pods), pods, e); found != nil {
		return found
	}
	return overlay.CheckInForce(c.models, c.kind, c.target.Resource.GroupResource(), nil, e, e)
}

// close closes those of at most n of the paths that Check accepts.
func (c *closing) close(t *testing.T, g *generator, paths []overlay.Path, n int) {
	t.Helper()
	e := &overlay.Entries{Source: c.source, Version: c.kind.Version, Enforced: true}
	for _, i := range g.Perm(len(paths)) {
		if len(paths[i]) <= len(c.template) || !slices.Equal(paths[i][:len(c.template)], c.template) {
			continue
		}
		path := paths[i][len(c.template):]
		if len(e.Fields) < n && !slices.ContainsFunc(e.Fields, func(f overlay.Field) bool { return overlaps(f.Path, path) }) {
			e.Fields = append(e.Fields, overlay.Field{Path: path, Permission: fmt.Sprintf("example.com/p%d", i), Excluded: true})
		}
	}
	for problems := c.problems(t, e); len(problems) > 0; problems = c.problems(t, e) {
		refused := map[int]bool{}
		for _, p := range problems {
			if refused[p.Index] = true; p.Index < 0 {
				t.Fatal(p.Message)
			}
		}
		var left []overlay.Field
		for i, f := range e.Fields {
			if !refused[i] {
				left = append(left, f)
			}
		}
		e.Fields = left
	}
	if c.template != nil {
		e = overlay.InForce(c.target.Resource.GroupResource(), nil, e)
	}
	c.closed = nil
	if e == nil {
		c.gate = gate.New(nobody{})
		return
	}
	for _, f := range e.Fields {
		c.closed = append(c.closed, f.Path)
	}
	c.gate = gate.New(nobody{}, gate.WithFieldPermissions(inForce{e}))
}

// write sends an object of a caller with the ordinary verb through the gate and the storage. old is nil for a
// create. It returns the object as it is compared before and after the storage, and the gate's decision.
func (c *closing) write(t *testing.T, sent, old object) (observed, final object, decision error, ok bool) {
	t.Helper()
	verb := "create"
	if old != nil {
		verb = "update"
	}
	ctx := genericapirequest.WithUser(genericapirequest.WithNamespace(context.Background(), "ns"), &user.DefaultInfo{Name: "jane"})
	ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{IsResourceRequest: true, Verb: verb,
		APIGroup: c.kind.Group, APIVersion: c.kind.Version, Resource: c.target.Resource.Resource, Namespace: "ns", Name: "n"})
	w := c.gate.Begin(ctx, c.target)
	observed, final, ok = stored(c.kind, sent, old, func(obj, was runtime.Object) {
		if w != nil {
			if err := w.Observe(ctx, obj, was); err != nil {
				t.Fatal(err)
			}
			if err := w.Admitted(ctx, obj, was); err != nil {
				t.Fatal(err)
			}
		}
		if old == nil {
			c.s.PrepareForCreate(ctx, obj)
		} else {
			c.s.PrepareForUpdate(ctx, obj, was)
		}
		c.s.Canonicalize(obj)
		if w != nil {
			decision = w.Verify(ctx, obj, was)
		}
	})
	return observed, final, decision, ok
}

// differsAt returns a closed path at which two objects have different values, "" if there is none. unclear is set if the
// objects differ in a way that only the gate can judge: elements of lists have keys, and a zero can be a value or none.
func (c *closing) differsAt(a, b object) (out string, unclear bool) {
	differences(a, b, nil, func(path overlay.Path, x, y any) {
		for _, p := range c.closed {
			list := slices.Index(p, overlay.Step{Every: true})
			switch {
			case list >= 0 && overlaps(p[:list], path):
				unclear = true
			case list < 0 && len(path) >= len(p) && overlaps(p, path):
				if notZero(x) || notZero(y) {
					out = path.String()
				} else {
					unclear = true
				}
			}
		}
	})
	return out, unclear
}

// otherName returns the path by which a client can send the account of a pod instead, and every other path as it is.
func otherName(path overlay.Path) overlay.Path {
	names := map[string]string{"serviceAccount": "serviceAccountName", "serviceAccountName": "serviceAccount"}
	out := slices.Clone(path)
	if other := names[out[len(out)-1].Name]; other != "" {
		out[len(out)-1].Name = other
	}
	return out
}

// sends reports whether a value has a field at a path, in any element of its lists.
func sends(value any, path overlay.Path) bool {
	if len(path) == 0 {
		return value != nil
	}
	if !path[0].Every {
		o, _ := value.(object)
		return o[path[0].Name] != nil && sends(o[path[0].Name], path[1:])
	}
	list, _ := value.([]any)
	return slices.ContainsFunc(list, func(item any) bool { return sends(item, path[1:]) })
}

// TestClosedFieldsOfRandomObjects closes fields of random objects and writes these, with every other field changed alone.
// A write is refused if and only if it changes the value that is stored in a closed field. A create that does not send a
// closed field is not refused.
//
// Attack: one field of a built-in kind is written by another, or what the server fills in stops everybody's writes
// Answer: random objects of every kind through the gate and the server's own strategies
func TestClosedFieldsOfRandomObjects(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		r, gr := resources[name], schema.ParseGroupResource(name)
		for _, gv := range legacyscheme.Scheme.PrioritizedVersionsForGroup(gr.Group) {
			kind := gv.WithKind(r.kind)
			if !legacyscheme.Scheme.Recognizes(kind) || removed(t, kind) || withoutExclusions[name+"/"+gv.Version] != "" {
				continue
			}
			t.Run(name+"/"+gv.Version, func(t *testing.T) {
				models := modelsOf(t, kind)
				c := &closing{kind: kind, s: r.strategy, source: name, models: models, target: granular.Target{
					Kind: kind, Resource: gv.WithResource(gr.Resource), Convertor: runtime.UnsafeObjectConvertor(legacyscheme.Scheme), Schema: granular.NewSchema(models)}}
				c.writeAll(t)
			})
		}
	}
}

// TestClosedFieldsOfTemplates is TestClosedFieldsOfRandomObjects for fields that a FieldPermission of pods closes, in each
// resource with a pod template.
//
// Attack: a field of pods that the server fills in or moves inside a template stops everybody's writes, or stays open there
// Answer: random objects of each kind with a template, with each field of pods that can be closed
func TestClosedFieldsOfTemplates(t *testing.T) {
	for _, gr := range overlay.Templates() {
		t.Run(gr.String(), func(t *testing.T) {
			r := resources[gr.String()]
			kind := schema.GroupVersionKind{Group: gr.Group, Version: "v1", Kind: r.kind}
			models := modelsOf(t, kind)
			c := &closing{kind: kind, s: r.strategy, source: "pods", models: models, template: templateOf(t, gr), target: granular.Target{
				Kind: kind, Resource: gr.WithVersion("v1"), Convertor: runtime.UnsafeObjectConvertor(legacyscheme.Scheme), Schema: granular.NewSchema(models)}}
			c.writeAll(t)
		})
	}
}

// TestDerivedFields closes fields of random objects that take no exclusion, because the server sets them by
// itself or because of others. No write changes the value that is stored in such a field.
//
// Attack: a table lacks a field by which the server sets a closed one
// Answer: what the server itself changes in a closed field counts as the caller's, so the write is refused
func TestDerivedFields(t *testing.T) {
	derived := 0
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		r, gr := resources[name], schema.ParseGroupResource(name)
		gv := legacyscheme.Scheme.PrioritizedVersionsForGroup(gr.Group)[0]
		kind := gv.WithKind(r.kind)
		if withoutExclusions[name+"/"+gv.Version] != "" || removed(t, kind) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			models := modelsOf(t, kind)
			c := &closing{kind: kind, s: r.strategy, source: name, models: models, unchecked: true, target: granular.Target{
				Kind: kind, Resource: gv.WithResource(gr.Resource), Schema: granular.NewSchema(models),
				Convertor: runtime.UnsafeObjectConvertor(legacyscheme.Scheme)}}
			derived += c.derive(t)
		})
	}
	t.Logf("%d updates were refused because the server changes a closed field", derived)
	if derived == 0 && flag.Lookup("test.run").Value.String() == "" {
		t.Error("the server changed no closed field by itself, so nothing was tried")
	}
}

// derive updates random objects while nothing is closed, and repeats each update for each field that the storage
// then changed, with that field closed. It returns how many updates were refused because the server changes the
// field.
func (c *closing) derive(t *testing.T) (derived int) {
	t.Helper()
	g := newGenerator(*seed + 3)
	open := *c
	open.gate = gate.New(nobody{})
	const enough = 2 // updates for each field
	tried := map[string]int{}
	update := func(source overlay.Path, sent, old object) {
		observed, stored, _, ok := open.write(t, sent, old)
		if !ok {
			return
		}
		differences(observed, stored, nil, func(path overlay.Path, _, _ any) {
			if tried[path.String()]++; ignored(path) || tried[path.String()] > enough {
				return
			}
			c.close(t, g, []overlay.Path{path[:min(len(path), overlay.MaxSteps)]}, 1)
			_, final, decision, _ := c.write(t, sent, old)
			if place, _ := c.differsAt(old, final); place != "" && decision == nil {
				t.Errorf("update of %s changes %s", source, place)
			}
			if decision != nil && strings.Contains(decision.Error(), "the server changes it") {
				derived++
			}
		})
	}
	for range *writes {
		o, ok := g.sent(t, c.kind)
		another, okToo := g.sent(t, c.kind)
		if !ok || !okToo {
			continue
		}
		_, old, _, ok := open.write(t, o, nil)
		if !ok || c.withoutTemplate(old) {
			continue
		}
		for _, source := range fields(another) {
			changed, _ := shown(old)
			if set(changed, source, valueAt(another, source), g.Intn(4) == 0) {
				update(source, changed, old)
			}
		}
	}
	return derived
}

// withoutTemplate reports whether an object lacks its pod template, so that validation refuses it.
func (c *closing) withoutTemplate(o object) bool {
	return c.kind.Kind == "ReplicationController" && valueAt(o, overlay.Path{{Name: "spec"}, {Name: "template"}}) == nil
}

func (c *closing) writeAll(t *testing.T) {
	t.Helper()
	g, empty := newGenerator(*seed+2), pristine(t, c.kind)
	var paths []overlay.Path
	known := map[string]bool{}
	for range 20 {
		if o, ok := g.sent(t, c.kind); ok {
			differences(nil, o, nil, func(path overlay.Path, _, _ any) {
				if len(path) > 0 && len(path) <= overlay.MaxSteps && !ignored(path) && !known[path.String()] {
					known[path.String()] = true
					paths = append(paths, path)
				}
			})
		}
	}
	for range *writes {
		o, ok := g.sent(t, c.kind)
		another, okToo := g.sent(t, c.kind)
		if !ok || !okToo {
			continue
		}
		raw, ok := received(c.kind, o, false)
		if !ok {
			continue
		}
		spelled, _ := judged(c.kind, raw)
		c.close(t, g, slices.DeleteFunc(slices.Clone(paths), func(p overlay.Path) bool { return sends(spelled, p) || sends(spelled, otherName(p)) }), 40)
		if _, _, decision, ok := c.write(t, o, nil); ok && decision != nil {
			t.Errorf("create of what is not sent: %v", decision)
		}
		c.close(t, g, paths, 8)
		_, old, decision, ok := c.write(t, o, nil)
		if !ok {
			continue
		}
		if c.withoutTemplate(old) {
			continue
		}
		if place, _ := c.differsAt(empty, old); place != "" && decision == nil {
			t.Errorf("create sets %s", place)
		}
		for _, source := range fields(another) {
			changed, _ := shown(old)
			if !set(changed, source, valueAt(another, source), g.Intn(4) == 0) {
				continue
			}
			_, final, decision, ok := c.write(t, changed, old)
			if !ok {
				continue
			}
			switch place, unclear := c.differsAt(old, final); {
			case place != "" && decision == nil:
				t.Errorf("update of %s changes %s", source, place)
			case place == "" && !unclear && decision != nil:
				t.Errorf("update of %s changes nothing closed: %v", source, decision)
			case decision != nil && (!apierrors.IsForbidden(decision) || !strings.Contains(decision.Error(), "(excluded by FieldPermission "+c.source+")")):
				t.Errorf("update of %s: %v", source, decision)
			}
		}
	}
}
