// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/fieldpermission/entry"
	"kube-granular.dev/pkg/mirror/mirrortest"
)

func fieldsOf(name string, version int, fields ...v1alpha1.FieldEntry) *v1alpha1.FieldPermission {
	return &v1alpha1.FieldPermission{
		ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: strconv.Itoa(version)},
		Spec:       v1alpha1.FieldPermissionSpec{Version: "v1", Mode: v1alpha1.ModeEnforce, Fields: fields},
	}
}

func named(path, permission string) v1alpha1.FieldEntry {
	return v1alpha1.FieldEntry{Path: path, Permission: permission}
}

func excluded(path, permission string) v1alpha1.FieldEntry {
	return v1alpha1.FieldEntry{Path: path, Permission: permission, Excluded: true}
}

// TestFieldPermissionReports holds that the index has what every user of package mirror has, and that the map has the same.
func TestFieldPermissionReports(t *testing.T) {
	mirrortest.Run(t, func() mirrortest.Index[*v1alpha1.FieldPermission] {
		x := NewIndex()
		return mirrortest.Index[*v1alpha1.FieldPermission]{
			New: func(name, version string) *v1alpha1.FieldPermission {
				p := fieldsOf(name, 0, named(".spec.a", "example.com/a"))
				p.ResourceVersion, p.Spec.Version = version, "v"+version
				return p
			},
			Observe: x.Observe, Watch: internalStore{x.mirror.ReflectorStore()}, HasSynced: x.mirror.HasSynced,
			Held: func() (held []string) {
				for _, p := range x.All() {
					entries, _ := x.Entries("", p.Name)
					if entries != p.Entries || entries == nil || entries.Version != "v"+p.ResourceVersion {
						t.Errorf("%s@%s: entries %+v", p.Name, p.ResourceVersion, entries)
					}
					held = append(held, p.Name+"@"+p.ResourceVersion)
				}
				if n := len(*x.inForce.Load()); n != len(held) {
					t.Errorf("%d entries in force for %d objects", n, len(held))
				}
				return held
			},
		}
	})
}

// TestEntriesByResource holds for which resource entries are, that a pointer changes with the entries and only with
// these, and that no other resource gets another pointer.
//
// Attack: one FieldPermission of a thousand is edited each second, so that all kinds are compiled again
// Answer: only the pointer of its own resource changes
func TestEntriesByResource(t *testing.T) {
	x := NewIndex()
	version := 0
	store := func(p *v1alpha1.FieldPermission) {
		version++
		p.ResourceVersion = strconv.Itoa(version)
		x.Observe(p, false)
	}
	for i := range 1000 {
		store(fieldsOf(fmt.Sprintf("r%d.example.com", i), 0, named(".spec.a", "example.com/a")))
	}
	store(fieldsOf("services", 0, excluded(".spec.externalIPs", "example.com/externalIPs")))
	before := map[string]*overlay.Entries{}
	for i := range 1000 {
		resource := fmt.Sprintf("r%d", i)
		before[resource], _ = x.Entries("example.com", resource)
	}
	one, _ := x.Entries("example.com", "r1")
	own := x.Own(schema.GroupResource{Group: "example.com", Resource: "r1"})
	if own != one || x.Own(schema.GroupResource{Resource: "r1"}) != nil {
		t.Errorf("its own entries are %+v", own)
	}
	if core, _ := x.Entries("", "services"); core == nil || !core.Excludes() || !core.Enforced || core.Source != "services" {
		t.Errorf("services: %+v", core)
	}
	for _, other := range [][2]string{{"", "r1"}, {"other.example.com", "r1"}, {"example.com", "r1/status"}, {"example.com", "services"}} {
		if entries, _ := x.Entries(other[0], other[1]); entries != nil {
			t.Errorf("%v has the entries of %s", other, entries.Source)
		}
	}

	p := fieldsOf("r1.example.com", 0, named(".spec.a", "example.com/a"))
	p.Labels, p.Status.AuditViolations, p.Generation = map[string]string{"a": "b"}, 7, 9
	store(p)
	if entries, _ := x.Entries("example.com", "r1"); entries != one {
		t.Error("a label and a status make other entries")
	}
	for name, change := range map[string]func(*v1alpha1.FieldPermissionSpec){
		"mode":       func(s *v1alpha1.FieldPermissionSpec) { s.Mode = v1alpha1.ModeAudit },
		"version":    func(s *v1alpha1.FieldPermissionSpec) { s.Version = "v2" },
		"excluded":   func(s *v1alpha1.FieldPermissionSpec) { s.Fields[0].Excluded = true },
		"permission": func(s *v1alpha1.FieldPermissionSpec) { s.Fields[0].Permission = "example.com/b" },
		"path":       func(s *v1alpha1.FieldPermissionSpec) { s.Fields[0].Path = ".spec.a.b" },
		"entry":      func(s *v1alpha1.FieldPermissionSpec) { s.Fields = append(s.Fields, named(".spec.b", "example.com/b")) },
	} {
		store(fieldsOf("r1.example.com", 0, named(".spec.a", "example.com/a"))) // so that only this differs
		last, _ := x.Entries("example.com", "r1")
		p := fieldsOf("r1.example.com", 0, named(".spec.a", "example.com/a"))
		change(&p.Spec)
		store(p)
		if entries, _ := x.Entries("example.com", "r1"); entries == last {
			t.Errorf("another %s leaves the entries", name)
		}
	}
	for resource, entries := range before {
		if now, _ := x.Entries("example.com", resource); now != entries && resource != "r1" {
			t.Errorf("%s has another pointer", resource)
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		x.Entries("example.com", "r5")
		x.Entries("", "pods")
	}); n != 0 {
		t.Errorf("a lookup makes %v allocations", n)
	}
}

// TestEntriesInTemplates holds that entries of pods hold in each kind with a pod template, from the answer to their write to
// the answer to their removal, that an edit of them gives these kinds other pointers and no other kind, and that an edit
// which no template sees gives none.
//
// Attack: an edit of pods compiles all kinds again, or leaves a kind with a template as it was
// Answer: the eight kinds and ControllerRevisions get other entries, and all others keep theirs
func TestEntriesInTemplates(t *testing.T) {
	x := NewIndex()
	version := 0
	store := func(p *v1alpha1.FieldPermission, gone bool) {
		version++
		p.ResourceVersion = strconv.Itoa(version)
		x.Observe(p, gone)
	}
	held := func() map[string]*overlay.Entries {
		out := map[string]*overlay.Entries{}
		for _, resource := range append(overlay.HoldsIn(), overlay.Pods, schema.GroupResource{Resource: "services"}) {
			if entries, _ := x.Entries(resource.Group, resource.Resource); entries != nil {
				out[resource.String()] = entries
			}
		}
		return out
	}
	differing := func(before, after map[string]*overlay.Entries) (out []string) {
		for _, resource := range append(overlay.HoldsIn(), overlay.Pods, schema.GroupResource{Resource: "services"}) {
			if before[resource.String()] != after[resource.String()] {
				out = append(out, resource.String())
			}
		}
		return out
	}
	var all []string
	for _, resource := range append(overlay.HoldsIn(), overlay.Pods) {
		all = append(all, resource.String())
	}
	if len(all) != 10 {
		t.Fatalf("%q", all)
	}
	store(fieldsOf("services", 0, excluded(".spec.externalIPs", "example.com/externalIPs")), false)
	store(fieldsOf("deployments.apps", 0, excluded(".spec.replicas", "example.com/replicas")), false)
	last := held()
	for i, step := range []struct {
		name string
		do   func()
		want []string
	}{
		{"an entry for templates", func() { store(fieldsOf("pods", 0, excluded(".spec.hostNetwork", "example.com/net")), false) }, all},
		{"the same again", func() { store(fieldsOf("pods", 0, excluded(".spec.hostNetwork", "example.com/net")), false) }, nil},
		{"an entry outside of templates", func() {
			store(fieldsOf("pods", 0, excluded(".spec.hostNetwork", "example.com/net"), excluded(".metadata.ownerReferences", "example.com/o")), false)
		}, []string{"pods"}},
		{"a name", func() {
			store(fieldsOf("pods", 0, excluded(".spec.hostNetwork", "example.com/net"), named(".spec.dnsConfig", "example.com/dns")), false)
		}, slices.DeleteFunc(slices.Clone(all), func(r string) bool { return r == "controllerrevisions.apps" })},
		{"another mode", func() {
			p := fieldsOf("pods", 0, excluded(".spec.hostNetwork", "example.com/net"), named(".spec.dnsConfig", "example.com/dns"))
			p.Spec.Mode = v1alpha1.ModeAudit
			store(p, false)
		}, all},
		{"one of a kind with a template", func() { store(fieldsOf("jobs.batch", 0, named(".spec.suspend", "example.com/s")), false) }, []string{"jobs.batch"}},
		{"its removal", func() { store(fieldsOf("jobs.batch", 0), true) }, []string{"jobs.batch"}},
		{"the removal of one beside it", func() { store(fieldsOf("deployments.apps", 0), true) }, []string{"deployments.apps"}},
		{"the removal of pods", func() { store(fieldsOf("pods", 0), true) }, all},
	} {
		step.do()
		now := held()
		if diff := differing(last, now); fmt.Sprint(sorted(diff)) != fmt.Sprint(sorted(step.want)) {
			t.Errorf("%d, %s: %q have other entries, want %q", i, step.name, diff, step.want)
		}
		last = now
	}
	if len(last) != 1 || last["services"] == nil {
		t.Errorf("left %v", last)
	}
}

func sorted(all []string) []string { return slices.Sorted(slices.Values(all)) }

// TestWaitForFieldPermissions holds that a request waits for at most five seconds until the server has read all FieldPermissions,
// and then gets an error that says that the server is not available.
//
// Attack: a server that has just started does not know yet which fields are closed
// Answer: the index says so, and a request waits, and is then refused
func TestWaitForFieldPermissions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := NewIndex()
		if _, synced := x.Entries("", "pods"); synced {
			t.Error("synced before the first list")
		}
		start := time.Now()
		if err := x.Wait(t.Context()); !apierrors.IsServiceUnavailable(err) || time.Since(start) != waitTimeout {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if err := x.Wait(ctx); err == nil {
			t.Error("a request that has ended goes on")
		}
		go func() {
			time.Sleep(time.Second)
			_ = x.mirror.ReflectorStore().Replace(nil, "1")
		}()
		if err := x.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestAuditCounts holds what is counted for the mode Audit, until the status has it.
func TestAuditCounts(t *testing.T) {
	x := NewIndex()
	x.Observe(fieldsOf("pods", 1, excluded(".spec.a", "example.com/a")), false)
	entries, _ := x.Entries("", "pods")
	for i := range 20 {
		x.Counted(entries, ".spec.a", fmt.Sprintf("user%d", i%18))
	}
	v := x.Violations("pods")
	if v.Count != 20 || len(v.Users) != v1alpha1.MaxAuditUsers || v.Users[0] != "user0" {
		t.Errorf("counted %+v", v)
	}
	x.SubtractViolations("pods", 5)
	if v := x.Violations("pods"); v.Count != 15 {
		t.Errorf("after a write of five: %+v", v)
	}
	x.Counted(&overlay.Entries{Source: "gone"}, ".spec.a", "jane")
	x.PruneViolations()
	if x.Violations("gone").Count != 0 || x.Violations("pods").Count != 15 {
		t.Error("what does not exist is still counted, or what exists is not")
	}
	x.Observe(fieldsOf("pods", 2), true)
	if v := x.Violations("pods"); v.Count != 0 {
		t.Errorf("after the removal: %+v", v)
	}
	x.Counted(entries, ".spec.a", "jane")
	x.SubtractViolations("pods", 1)
	if v := x.Violations("pods"); v.Count != 0 || len(v.Users) != 0 {
		t.Errorf("after all are written: %+v", v)
	}
}

// TestIndexTellsChanges holds that the reader of Changes is told, whatever it reads in between.
func TestIndexTellsChanges(t *testing.T) {
	x := NewIndex()
	for i := range 3 {
		x.Observe(fieldsOf("pods", i+1, named(".spec.a", "example.com/a")), false)
	}
	if !x.Has("pods") || x.Has("services") {
		t.Error("the index has what was not stored")
	}
	<-x.Changes()
	select {
	case <-x.Changes():
		t.Error("a change is told twice")
	default:
	}
	x.Observe(fieldsOf("pods", 9), true)
	<-x.Changes()
	if entries, _ := x.Entries("", "pods"); entries != nil || x.Has("pods") {
		t.Error("what was removed is in force")
	}
}

// internalStore takes objects of the versioned form, as the table of reports has them.
type internalStore struct{ cacheStore }

type cacheStore interface {
	Add(obj any) error
	Update(obj any) error
	Delete(obj any) error
	Replace(list []any, version string) error
	Resync() error
}

func internal(obj any) any {
	if p, ok := obj.(*v1alpha1.FieldPermission); ok {
		return (*authority.FieldPermission)(p)
	}
	return obj
}

func (s internalStore) Add(obj any) error    { return s.cacheStore.Add(internal(obj)) }
func (s internalStore) Update(obj any) error { return s.cacheStore.Update(internal(obj)) }
func (s internalStore) Delete(obj any) error { return s.cacheStore.Delete(internal(obj)) }

func (s internalStore) Replace(list []any, version string) error {
	converted := make([]any, len(list))
	for i, obj := range list {
		converted[i] = internal(obj)
	}
	return s.cacheStore.Replace(converted, version)
}

// Bookmark implements cache.ReflectorBookmarkStore.
func (s internalStore) Bookmark(version string) error {
	return s.cacheStore.(interface{ Bookmark(string) error }).Bookmark(version)
}

// TestUnparsable holds that an entry whose path can't be parsed, which another version of the server may
// have stored, leaves the other entries in force.
func TestUnparsable(t *testing.T) {
	entries, errs := entry.Parse(fieldsOf("pods", 1, named("spec.a", "example.com/a"), excluded(".spec.b", "example.com/b")))
	if len(entries.Fields) != 2 || entries.Fields[0].Unread != "spec.a" || entries.Fields[1].Permission != "example.com/b" ||
		len(errs) != 1 || !strings.HasPrefix(errs[0].Field, "spec.fields[0].path") {
		t.Errorf("%+v, %v", entries, errs)
	}
}
