// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/overlay"
)

// fieldPermissions is the FieldPermissions of a test.
type fieldPermissions struct {
	entries map[string]*overlay.Entries
	// unread is set until Wait returns nil, unless never is set.
	unread, never bool
	asked         int
	counted       []string
}

func (f *fieldPermissions) Entries(group, resource string) (*overlay.Entries, bool) {
	f.asked++
	if f.unread {
		return nil, false
	}
	if group != "" {
		resource += "." + group
	}
	return f.entries[resource], true
}

func (f *fieldPermissions) Wait(ctx context.Context) error {
	if f.never {
		return errors.New("not read")
	}
	f.unread = false
	return ctx.Err()
}

func (f *fieldPermissions) Counted(e *overlay.Entries, path, user string) {
	f.counted = append(f.counted, fmt.Sprintf("%s %s %s", e.Source, path, user))
}

// entriesOf returns entries of things for texts such as ".spec.size acme.io/size excluded".
func entriesOf(t testing.TB, source string, enforced bool, lines ...string) *overlay.Entries {
	t.Helper()
	out := &overlay.Entries{Source: source, Version: "v1", Enforced: enforced}
	for _, line := range lines {
		words := strings.Fields(line)
		path, err := overlay.ParsePath(words[0])
		if err != nil {
			t.Fatal(line, err)
		}
		out.Fields = append(out.Fields, overlay.Field{Path: path, Permission: words[1], Excluded: len(words) > 2})
	}
	return out
}

const thingEntries = "things.example.com"

func withEntries(e *overlay.Entries) *fieldPermissions {
	return &fieldPermissions{entries: map[string]*overlay.Entries{e.Source: e}}
}

// silent is the definition of an author who declares no permissions, with those by convention.
const silent = `{
  "type": "object",
  "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Thing"}],
  "properties": {
    "apiVersion": {"type": "string"}, "kind": {"type": "string"},
    "metadata": {"type": "object", "x-kubernetes-permission-verb": "metadata", "properties": {
      "finalizers": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set", "x-kubernetes-permission-verb": "finalizers"}}},
    "spec": {"type": "object", "x-kubernetes-permission-verb": "specification", "properties": {
      "size": {"type": "integer", "x-kubernetes-permission-verb": "replicas"},
      "project": {"type": "string", "default": "none"},
      "destination": {"type": "object", "properties": {"server": {"type": "string"}, "zone": {"type": "string"}}},
      "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        "items": {"type": "object", "properties": {"name": {"type": "string"}, "number": {"type": "integer"}}}},
      "helm": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}
    }},
    "status": {"type": "object", "x-kubernetes-permission-verb": "status", "properties": {"phase": {"type": "string"}}}
  }
}`

// silentExcluding is silent, with a field that the author excludes.
func silentExcluding(t testing.TB) string {
	t.Helper()
	return strings.Replace(silent, `"zone": {"type": "string"}`,
		`"zone": {"type": "string", "x-kubernetes-permission-verb": "zone", "x-kubernetes-permission-excluded": true}`, 1)
}

// withoutTree returns the definition with a permission whose name is too long, so that it has no permission tree.
func withoutTree(model string) string {
	return strings.Replace(model, `"replicas"`, `"replicas`+strings.Repeat("x", 60)+`"`, 1)
}

// customThing is the target of a custom resource whose definition excludes nothing.
func customThing(t testing.TB, model string) granular.Target {
	out := target(t, model)
	out.Schema.Excludes = []gvk.GroupVersionKind{}
	if strings.Contains(model, `excluded": true`) {
		out.Schema.Excludes = []gvk.GroupVersionKind{thing}
	}
	return out
}

// attempt writes an object and returns the error of the request. old is "" for a create. What differs
// between observed and final is a webhook's change.
func attempt(t *testing.T, g *Gate, ctx context.Context, of granular.Target, old, observed, final string) error {
	t.Helper()
	var oldObj runtime.Object
	if old != "" {
		oldObj = object(t, old)
	}
	sent, stored := object(t, observed), object(t, final)
	if old == "" {
		sent.SetUID("")
		stored.SetUID("")
	}
	w := g.Begin(ctx, of)
	if w == nil {
		return nil
	}
	if err := w.Submitted(ctx, sent, oldObj); err != nil {
		return w.RespondError(ctx, err)
	}
	if err := w.Observe(ctx, sent, oldObj); err != nil {
		return w.RespondError(ctx, err)
	}
	if err := w.Admitted(ctx, stored, oldObj); err != nil {
		return w.RespondError(ctx, err)
	}
	err := w.Verify(ctx, stored, oldObj)
	if m := granular.MarkerFrom(ctx); m != nil && (err == nil) != (m.Consume() == nil) {
		t.Errorf("verified: %v, and the marker says otherwise", err)
	}
	if err != nil {
		return w.RespondError(ctx, err)
	}
	w.Respond(ctx, stored)
	return nil
}

func wantError(t *testing.T, err error, says string) {
	t.Helper()
	switch {
	case says == "" && err != nil:
		t.Error(err)
	case says != "" && (err == nil || !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), says)):
		t.Errorf("%v, wanted a refusal with %q", err, says)
	}
}

const (
	before      = `{"spec":{"size":1,"project":"a","destination":{"server":"x","zone":"y"},"ports":[{"name":"p","number":1}],"helm":{"values":{"a":1},"list":[1]}}}`
	resized     = `{"spec":{"size":2,"project":"a","destination":{"server":"x","zone":"y"},"ports":[{"name":"p","number":1}],"helm":{"values":{"a":1},"list":[1]}}}`
	moved       = `{"spec":{"size":1,"project":"a","destination":{"server":"z","zone":"y"},"ports":[{"name":"p","number":1}],"helm":{"values":{"a":1},"list":[1]}}}`
	movedZone   = `{"spec":{"size":1,"project":"a","destination":{"server":"x","zone":"z"},"ports":[{"name":"p","number":1}],"helm":{"values":{"a":1},"list":[1]}}}`
	removed     = `{"spec":{"size":1,"project":"a","ports":[{"name":"p","number":1}],"helm":{"values":{"a":1},"list":[1]}}}`
	renamed     = `{"spec":{"size":1,"project":"b","destination":{"server":"x","zone":"y"},"ports":[{"name":"p","number":1}],"helm":{"values":{"a":1},"list":[1]}}}`
	renumbered  = `{"spec":{"size":1,"project":"a","destination":{"server":"x","zone":"y"},"ports":[{"name":"p","number":2}],"helm":{"values":{"a":1},"list":[1]}}}`
	helmChanged = `{"spec":{"size":1,"project":"a","destination":{"server":"x","zone":"y"},"ports":[{"name":"p","number":1}],"helm":{"values":{"a":2},"list":[1]}}}`
	helmListed  = `{"spec":{"size":1,"project":"a","destination":{"server":"x","zone":"y"},"ports":[{"name":"p","number":1}],"helm":{"values":{"a":1},"list":[2]}}}`
	helmScalar  = `{"spec":{"size":1,"project":"a","destination":{"server":"x","zone":"y"},"ports":[{"name":"p","number":1}],"helm":{"values":"text","list":[1]}}}`
	helmGone    = `{"spec":{"size":1,"project":"a","destination":{"server":"x","zone":"y"},"ports":[{"name":"p","number":1}],"helm":"text"}}`
	withEnds    = `{"metadata":{"finalizers":["a.io/x"]},"spec":{"size":1,"project":"a","destination":{"server":"x","zone":"y"},"ports":[{"name":"p","number":1}],"helm":{"values":{"a":1},"list":[1]}}}`
	phased      = `{"spec":{"size":1,"project":"a","destination":{"server":"x","zone":"y"},"ports":[{"name":"p","number":1}],"helm":{"values":{"a":1},"list":[1]}},"status":{"phase":"x"}}`
	empty       = `{"spec":{"size":1,"project":"none"}}`
)

// TestEntriesOfCustomResources writes custom resources whose definition excludes nothing. Each row
// that is allowed by a verb has a twin without the verb.
func TestEntriesOfCustomResources(t *testing.T) {
	author := silentExcluding(t)
	for name, tc := range map[string]struct {
		model                string // silent if empty
		entries              []string
		audited, marked      bool
		allow                []string
		old, observed, final string // old is before if empty, "-" for a create; final is observed if empty
		says                 string
	}{
		"name: granted alone":               {entries: []string{".spec.destination acme.io/d"}, marked: true, allow: []string{"granular:acme.io/d"}, observed: moved},
		"name: not granted":                 {entries: []string{".spec.destination acme.io/d"}, marked: true, observed: moved, says: `cannot change .spec.destination.server in namespace "n": needs one of`},
		"name: another field":               {entries: []string{".spec.destination acme.io/d"}, marked: true, allow: []string{"granular:acme.io/d"}, observed: resized, says: "cannot change .spec.size"},
		"name: included by the general one": {entries: []string{".spec.destination acme.io/d"}, marked: true, allow: []string{"granular:specification"}, observed: moved},
		"name: update includes it":          {entries: []string{".spec.destination acme.io/d"}, observed: moved},
		"name: in mode Audit":               {entries: []string{".spec.destination acme.io/d excluded"}, audited: true, marked: true, allow: []string{"granular:acme.io/d"}, observed: moved},
		"name: in mode Audit, not granted":  {entries: []string{".spec.destination acme.io/d excluded"}, audited: true, marked: true, observed: moved, says: "cannot change .spec.destination"},
		"name: no tree":                     {model: withoutTree(silent), entries: []string{".spec.destination acme.io/d"}, observed: moved},
		"name: of an element":               {entries: []string{".spec.ports[*].number acme.io/n"}, marked: true, allow: []string{"granular:acme.io/n"}, observed: renumbered},

		"excluded: update alone":                  {entries: []string{".spec.destination acme.io/d excluded"}, observed: moved, says: `cannot change .spec.destination.server in namespace "n": needs the verb "granular:acme.io/d" (excluded by FieldPermission things.example.com)`},
		"excluded: the verb":                      {entries: []string{".spec.destination acme.io/d excluded"}, allow: []string{"granular:acme.io/d"}, observed: moved},
		"excluded: another field":                 {entries: []string{".spec.destination acme.io/d excluded"}, observed: resized},
		"excluded: removed":                       {entries: []string{".spec.destination acme.io/d excluded"}, observed: removed, says: "cannot change .spec.destination"},
		"excluded: added":                         {entries: []string{".spec.destination acme.io/d excluded"}, old: removed, observed: before, says: "cannot change .spec.destination"},
		"excluded: created":                       {entries: []string{".spec.destination acme.io/d excluded"}, old: "-", observed: before, says: "cannot change .spec.destination"},
		"excluded: created, the verb":             {entries: []string{".spec.destination acme.io/d excluded"}, old: "-", allow: []string{"granular:acme.io/d"}, observed: before},
		"excluded: created without":               {entries: []string{".spec.destination acme.io/d excluded"}, old: "-", observed: removed},
		"excluded: created with its default":      {entries: []string{".spec.project acme.io/p excluded"}, old: "-", observed: empty},
		"excluded: created with another value":    {entries: []string{".spec.project acme.io/p excluded"}, old: "-", observed: renamed, says: "cannot change .spec.project"},
		"excluded: granular, the general one":     {entries: []string{".spec.destination acme.io/d excluded"}, marked: true, allow: []string{"granular:specification"}, observed: moved, says: "(excluded by FieldPermission"},
		"excluded: granular, the verb":            {entries: []string{".spec.destination acme.io/d excluded"}, marked: true, allow: []string{"granular:acme.io/d"}, observed: moved},
		"excluded: a field inside":                {entries: []string{".spec.destination.server acme.io/s excluded"}, observed: moved, says: "cannot change .spec.destination.server"},
		"excluded: beside a field inside":         {entries: []string{".spec.destination.server acme.io/s excluded"}, observed: movedZone},
		"excluded: with all around it":            {entries: []string{".spec.destination.server acme.io/s excluded"}, observed: removed, says: "cannot change .spec.destination.server"},
		"excluded: an element":                    {entries: []string{".spec.ports[*].number acme.io/n excluded"}, observed: renumbered, says: `cannot change .spec.ports[name="p"].number`},
		"excluded: finalizers":                    {entries: []string{".metadata.finalizers acme.io/f excluded"}, observed: withEnds, says: "cannot change .metadata.finalizers"},
		"excluded: finalizers, the schema's verb": {entries: []string{".metadata.finalizers acme.io/f excluded"}, allow: []string{"granular:finalizers"}, observed: withEnds, says: "cannot change .metadata.finalizers"},
		"excluded: finalizers, the verb":          {entries: []string{".metadata.finalizers acme.io/f excluded"}, allow: []string{"granular:acme.io/f"}, observed: withEnds},
		"excluded: status":                        {entries: []string{".status.phase acme.io/ph excluded"}, observed: phased, says: "cannot change .status.phase"},
		"excluded: the schema's verb at it":       {entries: []string{".spec.size acme.io/size excluded"}, allow: []string{"granular:replicas"}, observed: resized, says: "(excluded by"},
		"excluded: the schema's verb inside":      {entries: []string{".spec acme.io/all excluded"}, allow: []string{"granular:replicas"}, observed: resized, says: "(excluded by"},
		"excluded: a name inside is excluded":     {entries: []string{".spec.destination acme.io/d excluded", ".spec.destination.server acme.io/s"}, observed: moved, says: "needs"},
		"excluded: the name inside":               {entries: []string{".spec.destination acme.io/d excluded", ".spec.destination.server acme.io/s"}, allow: []string{"granular:acme.io/s"}, observed: moved},
		"excluded: the name inside, another":      {entries: []string{".spec.destination acme.io/d excluded", ".spec.destination.server acme.io/s"}, allow: []string{"granular:acme.io/s"}, observed: movedZone, says: "cannot change .spec.destination"},
		"excluded: a webhook's change":            {entries: []string{".spec.destination acme.io/d excluded"}, observed: resized, final: moved},
		"excluded: undone by a webhook":           {entries: []string{".spec.destination acme.io/d excluded"}, observed: moved, final: resized},

		"author's field: a name around it":         {model: author, entries: []string{".spec.destination acme.io/d"}, allow: []string{"granular:acme.io/d"}, observed: movedZone, says: "cannot change .spec.destination.zone"},
		"author's field: its verb":                 {model: author, entries: []string{".spec.destination acme.io/d"}, allow: []string{"granular:zone"}, observed: movedZone},
		"author's field: the entry became idle":    {model: author, entries: []string{".spec.destination.zone acme.io/z excluded"}, allow: []string{"granular:acme.io/z"}, observed: movedZone, says: `needs the verb "granular:zone"`},
		"author's field: no source in the message": {model: author, entries: []string{".spec.size acme.io/s excluded"}, observed: movedZone, says: `needs the verb "granular:zone"`},

		"unknown fields: by name":                 {entries: []string{".spec.helm.values acme.io/v excluded"}, observed: helmChanged, says: "cannot change .spec.helm.values"},
		"unknown fields: beside it":               {entries: []string{".spec.helm.values acme.io/v excluded"}, observed: helmListed},
		"unknown fields: a list as a whole":       {entries: []string{".spec.helm.list acme.io/l excluded"}, observed: helmListed, says: "cannot change .spec.helm.list"},
		"unknown fields: another type":            {entries: []string{".spec.helm.values acme.io/v excluded"}, observed: helmScalar, says: "cannot change .spec.helm.values"},
		"unknown fields: another type on the way": {entries: []string{".spec.helm.values.a acme.io/v excluded"}, observed: helmScalar, says: "cannot change .spec.helm"},
		"unknown fields: another type above":      {entries: []string{".spec.helm.values.a acme.io/v excluded"}, observed: helmGone, says: "cannot change .spec.helm"},
		"unknown fields: from another type":       {entries: []string{".spec.helm.values.a acme.io/v excluded"}, old: helmGone, observed: before, says: "cannot change .spec.helm"},

		"retyped: the field around is excluded": {entries: []string{".spec.destination.server.host acme.io/h excluded"}, observed: moved, says: "cannot change .spec.destination.server"},
		"retyped: nothing else is":              {entries: []string{".spec.destination.server.host acme.io/h excluded"}, observed: movedZone},
		"gone: nothing is refused":              {entries: []string{".spec.gone acme.io/g excluded"}, observed: moved},
	} {
		t.Run(name, func(t *testing.T) {
			model, old := tc.model, tc.old
			if model == "" {
				model = silent
			}
			switch old {
			case "":
				old = before
			case "-":
				old = ""
			}
			final := tc.final
			if final == "" {
				final = tc.observed
			}
			write := func(allow []string) error {
				ctx := requestContext("update")
				if tc.marked {
					ctx, _ = granular.WithMarker(ctx)
				}
				f := withEntries(entriesOf(t, thingEntries, !tc.audited, tc.entries...))
				return attempt(t, New(&grants{allow: allow}, WithFieldPermissions(f)), ctx, customThing(t, model), old, tc.observed, final)
			}
			wantError(t, write(tc.allow), tc.says)
			if tc.says == "" && tc.allow != nil && write(nil) == nil {
				t.Error("allowed without the verb")
			}
		})
	}
}

// TestEntriesOfNobody checks that nothing changes without entries for the resource: no FieldPermissions,
// none for the resource, and a Gate that verifies no fields.
func TestEntriesOfNobody(t *testing.T) {
	other := withEntries(entriesOf(t, "others.example.com", true, ".spec acme.io/all excluded"))
	mine := withEntries(entriesOf(t, thingEntries, true, ".spec acme.io/all excluded"))
	for name, options := range map[string][]Option{
		"none": nil, "nil": {WithFieldPermissions(nil)}, "of another resource": {WithFieldPermissions(other)},
		"no fields": {WithFieldPermissions(mine), WithoutFields()},
	} {
		if w := New(&grants{}, options...).Begin(requestContext("update"), customThing(t, silent)); w != nil {
			t.Errorf("%s: %T", name, w)
		}
	}
	if w := New(&grants{}, WithFieldPermissions(mine)).Begin(requestContext("update"), customThing(t, silent)); w == nil {
		t.Error("entries for the resource do nothing")
	}
}

// TestPrivilegedAreNotLookedUp checks that members of system:masters are verified without entries,
// even if none have been read.
func TestPrivilegedAreNotLookedUp(t *testing.T) {
	f := withEntries(entriesOf(t, thingEntries, true, ".spec acme.io/all excluded"))
	f.unread, f.never = true, true
	ctx := request.WithUser(requestContext("update"), &user.DefaultInfo{Name: "root", Groups: []string{user.SystemPrivilegedGroup}})
	if w := New(&grants{}, WithFieldPermissions(f)).Begin(ctx, customThing(t, silent)); w != nil || f.asked != 0 {
		t.Errorf("%T, asked %d times", w, f.asked)
	}
}

// TestEntriesNotRead checks which requests wait until the server has read the entries.
func TestEntriesNotRead(t *testing.T) {
	leases := customThing(t, silent)
	leases.Resource = gvk.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	for name, tc := range map[string]struct {
		of     granular.Target
		never  bool
		ended  bool
		marked bool
		check  func(error) bool
	}{
		"read in time": {of: customThing(t, silent), check: apierrors.IsForbidden},
		"not read": {of: customThing(t, silent), never: true, check: func(err error) bool {
			seconds, delayed := apierrors.SuggestsClientDelay(err)
			return apierrors.IsServiceUnavailable(err) && delayed && seconds == 1
		}},
		"not read, a granular request":  {of: customThing(t, silent), never: true, marked: true, check: apierrors.IsServiceUnavailable},
		"the request ended":             {of: customThing(t, silent), never: true, ended: true, check: apierrors.IsTimeout},
		"a resource without exclusions": {of: leases, never: true, check: func(err error) bool { return err == nil }},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(requestContext("update"))
			defer cancel()
			if tc.marked {
				ctx, _ = granular.WithMarker(ctx)
			}
			if tc.ended {
				cancel()
			}
			f := withEntries(entriesOf(t, thingEntries, true, ".spec acme.io/all excluded"))
			f.unread, f.never = true, tc.never
			if err := attempt(t, New(&grants{}, WithFieldPermissions(f)), ctx, tc.of, before, moved, moved); !tc.check(err) {
				t.Error(err)
			}
		})
	}
}

// bypassing is an authorizer that allows the verb "bypass" on one FieldPermission.
type bypassing struct {
	grants
	name  string
	fails bool
}

func (b *bypassing) Authorize(ctx context.Context, a upstream.Attributes) (upstream.Decision, string, error) {
	if a.GetVerb() != BypassVerb {
		return b.grants.Authorize(ctx, a)
	}
	b.asked = append(b.asked, a.GetVerb())
	if b.fails {
		return upstream.DecisionNoOpinion, "", errors.New("out of order")
	}
	if a.GetResource() == FieldBypassResource && a.GetAPIGroup() == BypassGroup && a.GetName() == b.name && a.GetNamespace() == "" {
		return upstream.DecisionAllow, "", nil
	}
	return upstream.DecisionNoOpinion, "", nil
}

// TestBypassOfEntries checks that the verb "bypass" opens what entries exclude, and nothing that the
// author excludes, and that it is asked for only if the write would be refused.
func TestBypassOfEntries(t *testing.T) {
	author := silentExcluding(t)
	malformed := withoutTree(silent)
	for name, tc := range map[string]struct {
		model, observed string
		authorizer      *bypassing
		marked          bool
		asked           []string
		says            string
		failed          bool
	}{
		"it opens":                          {observed: moved, authorizer: &bypassing{name: thingEntries}, asked: []string{"granular:acme.io/d", "bypass"}},
		"it is of another":                  {observed: moved, authorizer: &bypassing{name: "others.example.com"}, asked: []string{"granular:acme.io/d", "bypass"}, says: "(excluded by FieldPermission things.example.com)"},
		"nothing is refused":                {observed: resized, authorizer: &bypassing{name: thingEntries}},
		"the verb is held":                  {observed: moved, authorizer: &bypassing{name: thingEntries, grants: grants{allow: []string{"granular:acme.io/d"}}}, asked: []string{"granular:acme.io/d"}},
		"the authorizer fails":              {observed: moved, authorizer: &bypassing{fails: true}, asked: []string{"granular:acme.io/d", "bypass"}, failed: true},
		"the author's exclusion":            {model: author, observed: movedZone, authorizer: &bypassing{name: thingEntries}, says: `needs the verb "granular:zone"`},
		"granular, without the general one": {observed: moved, marked: true, authorizer: &bypassing{name: thingEntries}, says: `needs the verb "granular:specification"`},
		"granular, with it":                 {observed: moved, marked: true, authorizer: &bypassing{name: thingEntries, grants: grants{allow: []string{"granular:specification"}}}},
		"no tree":                           {model: malformed, observed: resized, authorizer: &bypassing{name: thingEntries}},
		"no tree, of another":               {model: malformed, observed: resized, authorizer: &bypassing{}, says: "can't be verified"},
		"no tree, the authorizer fails":     {model: malformed, observed: resized, authorizer: &bypassing{fails: true}, failed: true},
		"no tree, the author excludes too": {model: withoutTree(author), observed: resized, authorizer: &bypassing{name: thingEntries},
			says: "can't be verified"},
		"it opens, and the authorizer fails for the author's field": {model: author, failed: true,
			observed:   strings.Replace(moved, `"zone":"y"`, `"zone":"z"`, 1),
			authorizer: &bypassing{name: thingEntries, grants: grants{fail: []string{"granular:zone"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			model := tc.model
			if model == "" {
				model = silent
			}
			ctx := requestContext("update")
			if tc.marked {
				ctx, _ = granular.WithMarker(ctx)
			}
			f := withEntries(entriesOf(t, thingEntries, true, ".spec.destination acme.io/d excluded"))
			err := attempt(t, New(tc.authorizer, WithFieldPermissions(f)), ctx, customThing(t, model), before, tc.observed, tc.observed)
			if tc.failed {
				if !apierrors.IsInternalError(err) {
					t.Error(err)
				}
			} else {
				wantError(t, err, tc.says)
				if err != nil && tc.model == author && strings.Contains(err.Error(), "FieldPermission") {
					t.Errorf("no entry refuses it: %v", err)
				}
			}
			if tc.model == "" && !tc.marked && !slices.Equal(tc.authorizer.asked, tc.asked) {
				t.Errorf("asked %q, wanted %q", tc.authorizer.asked, tc.asked)
			}
		})
	}
}

// TestBypassOfEntriesIsAskedOnce checks that the verb "bypass" is asked for once in a request of several attempts, that it is
// counted as a call of the authorizer, and that a request which ends meanwhile ends with that error.
func TestBypassOfEntriesIsAskedOnce(t *testing.T) {
	f := withEntries(entriesOf(t, thingEntries, true, ".spec.destination acme.io/d excluded"))
	authorizer, ctx := &bypassing{}, requestContext("update")
	w := New(authorizer, WithFieldPermissions(f)).Begin(ctx, customThing(t, silent)).(*write)
	if err := w.Observe(ctx, object(t, moved), object(t, before)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		wantError(t, w.Verify(ctx, object(t, moved), object(t, before)), "(excluded by FieldPermission")
	}
	if want := []string{"granular:acme.io/d", "bypass"}; !slices.Equal(authorizer.asked, want) || w.adapter.calls != len(want) {
		t.Errorf("asked %q in %d calls", authorizer.asked, w.adapter.calls)
	}
	ctx, cancel := context.WithCancel(ctx)
	g := New(&endingBypass{bypassing{fails: true}, cancel}, WithFieldPermissions(f))
	err := attempt(t, g, ctx, customThing(t, withoutTree(silent)), before, moved, moved)
	if !apierrors.IsTimeout(err) {
		t.Errorf("the request has ended: %v", err)
	}
}

// endingBypass is an authorizer during whose work the request ends.
type endingBypass struct {
	bypassing
	end context.CancelFunc
}

func (e *endingBypass) Authorize(ctx context.Context, a upstream.Attributes) (upstream.Decision, string, error) {
	e.end()
	return e.bypassing.Authorize(ctx, a)
}

// TestEntriesThatDoNotCompile checks that nothing can be written if a kind can't be compiled with entries that exclude
// fields, and that entries which only name fields then have no effect.
func TestEntriesThatDoNotCompile(t *testing.T) {
	for name, source := range map[string]func() map[string]*spec.Schema{
		"no definitions": func() map[string]*spec.Schema { return nil },
		"malformed ones": func() map[string]*spec.Schema { return models(t, map[string]string{"thing": withoutTree(silent)}) },
	} {
		for entry, says := range map[string]string{
			".spec.destination acme.io/d excluded": "with the entries of FieldPermission things.example.com",
			".spec.destination acme.io/d":          "",
		} {
			of := customThing(t, silent)
			kindOf(of).source = source
			g := New(&grants{allow: []string{"granular:specification"}}, WithFieldPermissions(withEntries(entriesOf(t, thingEntries, true, entry))))
			wantError(t, attempt(t, g, requestContext("update"), of, before, resized, resized), says)
			if marked, _ := granular.WithMarker(requestContext("update")); says == "" {
				wantError(t, attempt(t, g, marked, of, before, moved, moved), "")
			}
			if t.Failed() {
				t.Fatalf("%s, %s", name, entry)
			}
		}
	}
}

// TestEntriesOfTheStart checks that a request is verified by the entries that were in force when it
// began, and the next one by the new ones.
func TestEntriesOfTheStart(t *testing.T) {
	f := withEntries(entriesOf(t, thingEntries, true, ".spec.destination acme.io/d excluded"))
	g, of, ctx := New(&grants{}, WithFieldPermissions(f)), customThing(t, silent), requestContext("update")
	w := g.Begin(ctx, of)
	f.entries[thingEntries] = entriesOf(t, thingEntries, true, ".spec.size acme.io/s excluded")
	if err := w.Observe(ctx, object(t, moved), object(t, before)); err != nil {
		t.Fatal(err)
	}
	wantError(t, w.Verify(ctx, object(t, moved), object(t, before)), "cannot change .spec.destination")
	wantError(t, attempt(t, g, ctx, of, before, moved, moved), "")
	wantError(t, attempt(t, g, ctx, of, before, resized, resized), "cannot change .spec.size")
	delete(f.entries, thingEntries)
	wantError(t, attempt(t, g, ctx, of, before, resized, resized), "")
}

// TestCompiledOncePerEntries checks that a kind is compiled once for each pointer to entries, and
// that the tree without entries, and the trees of other kinds, stay the same.
func TestCompiledOncePerEntries(t *testing.T) {
	of, other := customThing(t, silent), customThing(t, silent)
	base, otherBase := kindOf(of), kindOf(other)
	var last *kind
	for i := range 3 {
		added := entrySet{entries: entriesOf(t, thingEntries, true, ".spec.size acme.io/s excluded")}
		got := counted(t, func() {
			first := kindWith(of, added)
			if first == last || first != kindWith(of, added) || first.walker == base.walker {
				t.Error("not one kind for each pointer")
			}
			last = first
		})
		if got["trees_compiled_total compiled"] != 1 {
			t.Errorf("round %d: %v", i, got)
		}
	}
	// In mode Audit each request needs both.
	both := entriesOf(t, thingEntries, false, ".spec.size acme.io/s excluded")
	got := counted(t, func() {
		for range 2 {
			kindWith(of, entrySet{entries: both})
			kindWith(of, entrySet{entries: both, all: true})
		}
	})
	if got["trees_compiled_total compiled"] != 2 {
		t.Errorf("in mode Audit: %v", got)
	}
	if kindOf(of) != base || kindOf(other) != otherBase || kindWith(of, entrySet{}) != base {
		t.Error("what has no entries changed")
	}
}
