// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	authority "kube-granular.dev/api/authority/v1alpha1"
)

func applications() *authority.FieldPermission {
	return &authority.FieldPermission{
		ObjectMeta: metav1.ObjectMeta{Name: "applications.argoproj.io", ResourceVersion: "1"},
		Spec: authority.FieldPermissionSpec{
			Version: "v1alpha1", Mode: authority.ModeAudit,
			Fields: []authority.FieldEntry{
				{Path: ".spec.syncPolicy", Permission: "argoproj.io/syncPolicy"},
				{Path: ".spec.destination", Permission: "argoproj.io/destination", Excluded: true},
			},
		},
	}
}

// problems returns the field and the kind of each error.
func problems(errs field.ErrorList) (out []string) {
	for _, err := range errs {
		out = append(out, fmt.Sprintf("%s: %s", err.Field, err.Type))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestFieldPermission holds that each mistake is reported for its own field, and nothing else.
func TestFieldPermission(t *testing.T) {
	type object = authority.FieldPermission
	fieldTwice := func(p *object) { p.Spec.Fields[1].Path = p.Spec.Fields[0].Path }
	mixed := func(p *object) { p.Spec.Fields[0].Permission = "argoproj.io/destination" }
	generated := func(p *object) { p.Name, p.GenerateName = "", "x-" }
	for name, tc := range map[string]struct {
		change func(*object)
		want   string
	}{
		"valid":                       {func(*object) {}, ""},
		"of the core group":           {func(p *object) { p.Name = "services" }, ""},
		"enforced":                    {func(p *object) { p.Spec.Mode = authority.ModeEnforce }, ""},
		"without a version":           {func(p *object) { p.Spec.Version = "" }, ""},
		"one permission for two":      {func(p *object) { p.Spec.Fields[0] = entry(".spec.a", "argoproj.io/destination", true) }, ""},
		"as many entries as it may":   {func(p *object) { p.Spec.Fields = manyEntries(authority.MaxFields) }, ""},
		"a generated name":            {generated, "metadata.generateName: Invalid value, metadata.name: Required value"},
		"a subresource":               {func(p *object) { p.Name = "pods/status" }, "metadata.name: Invalid value"},
		"no resource":                 {func(p *object) { p.Name = ".argoproj.io" }, "metadata.name: Invalid value"},
		"all resources":               {func(p *object) { p.Name = "*.argoproj.io" }, "metadata.name: Invalid value"},
		"no group after the dot":      {func(p *object) { p.Name = "pods." }, "metadata.name: Invalid value"},
		"a version in upper case":     {func(p *object) { p.Spec.Version = "V1" }, "spec.version: Invalid value"},
		"another mode":                {func(p *object) { p.Spec.Mode = "Warn" }, "spec.mode: Unsupported value"},
		"no mode":                     {func(p *object) { p.Spec.Mode = "" }, "spec.mode: Unsupported value"},
		"no entries":                  {func(p *object) { p.Spec.Fields = nil }, "spec.fields: Required value"},
		"too many entries":            {func(p *object) { p.Spec.Fields = manyEntries(authority.MaxFields + 1) }, "spec.fields: Too many"},
		"no path":                     {func(p *object) { p.Spec.Fields[1].Path = "" }, "spec.fields[1].path: Required value"},
		"one path twice":              {fieldTwice, "spec.fields[1].path: Duplicate value"},
		"a long path":                 {func(p *object) { p.Spec.Fields[0].Path = strings.Repeat("a", 1025) }, "spec.fields[0].path: Too long"},
		"no permission":               {func(p *object) { p.Spec.Fields[1].Permission = "" }, "spec.fields[1].permission: Required value"},
		"excluded in one place alone": {mixed, "spec.fields[1].excluded: Invalid value"},
	} {
		p := applications()
		tc.change(p)
		if got := strings.Join(problems(FieldPermission(p)), ", "); got != tc.want {
			t.Errorf("%s: %s, want %q", name, got, tc.want)
		}
	}
}

func entry(path, permission string, excluded bool) authority.FieldEntry {
	return authority.FieldEntry{Path: path, Permission: permission, Excluded: excluded}
}

func manyEntries(n int) (out []authority.FieldEntry) {
	for i := range n {
		out = append(out, entry(fmt.Sprintf(".spec.f%d", i), fmt.Sprintf("example.com/f%d", i), false))
	}
	return out
}

// TestFieldPermissionUpdate holds that only a specification that changes is validated.
func TestFieldPermissionUpdate(t *testing.T) {
	stored := applications()
	stored.Spec.Mode = "Gone"
	next := stored.DeepCopy()
	next.Finalizers = []string{"example.com/x"}
	if errs := FieldPermissionUpdate(next, stored); len(errs) > 0 {
		t.Errorf("the same specification: %v", errs)
	}
	next.Spec.Fields = next.Spec.Fields[:1]
	if got := problems(FieldPermissionUpdate(next, stored)); !slices.Equal(got, []string{"spec.mode: Unsupported value"}) {
		t.Errorf("another specification: %v", got)
	}
}

// TestFieldPermissionStatus holds the bounds of a status.
func TestFieldPermissionStatus(t *testing.T) {
	old, next := applications(), applications()
	next.Status.Fields = []authority.FieldEntryStatus{{Path: ".spec.syncPolicy", State: authority.EntryActive}}
	if errs := FieldPermissionStatusUpdate(next, old); len(errs) > 0 {
		t.Errorf("valid: %v", errs)
	}
	next.Status = authority.FieldPermissionStatus{
		ObservedGeneration: -1, AuditViolations: -1, NotHeldCount: -1,
		NotHeld: make([]authority.Subject, authority.MaxNotHeld+1), AuditUsers: make([]string, authority.MaxAuditUsers+1),
		Fields: []authority.FieldEntryStatus{{
			Path: ".a", State: "Lost", HolderCount: -1, Holders: make([]authority.Subject, authority.MaxEntryHolders+1),
			AlsoReachable: make([]string, authority.MaxAlsoReachable+1),
		}},
	}
	want := []string{
		"status.auditUsers: Too many", "status.auditViolations: Invalid value",
		"status.fields[0].alsoReachable: Too many", "status.fields[0].holderCount: Invalid value",
		"status.fields[0].holders: Too many", "status.fields[0].state: Unsupported value",
		"status.notHeld: Too many", "status.notHeldCount: Invalid value", "status.observedGeneration: Invalid value",
	}
	if got := problems(FieldPermissionStatusUpdate(next, old)); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestResourceOfName holds which resource a name means.
func TestResourceOfName(t *testing.T) {
	for name, want := range map[string]authority.GroupResource{
		"services":                 {Resource: "services"},
		"applications.argoproj.io": {Resource: "applications", Group: "argoproj.io"},
	} {
		if got := ResourceOf(name); got != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
