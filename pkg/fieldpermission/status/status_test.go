// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/authority/validation"
	"kube-granular.dev/pkg/fieldpermission"
	"kube-granular.dev/pkg/fieldpermission/fieldpermissiontest"
)

// stored returns a FieldPermission as the index has it.
func stored(name, version string, mode v1alpha1.Mode, fields ...v1alpha1.FieldEntry) fieldpermission.Stored {
	index := fieldpermission.NewIndex()
	index.Observe(&v1alpha1.FieldPermission{
		ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "1", Generation: 3},
		Spec:       v1alpha1.FieldPermissionSpec{Version: version, Mode: mode, Fields: fields},
	}, false)
	return index.All()[0]
}

// TestStatusOfEntries holds what a status says: what the mode Enforce would do, in both modes.
//
// Attack: a resource of an aggregated server, or one that does not exist, is accepted silently
// Answer: the condition Accepted is False, with a reason
func TestStatusOfEntries(t *testing.T) {
	const argo = "applications.argoproj.io"
	excluded := func(path string) v1alpha1.FieldEntry {
		return v1alpha1.FieldEntry{Path: path, Permission: "argoproj.io/x", Excluded: true}
	}
	resources := fieldpermissiontest.Resources(fieldpermissiontest.Definition(t, fieldpermissiontest.Applications))
	for name, tc := range map[string]struct {
		stored fieldpermission.Stored
		want   string // REASON KIND PATH:STATE:REASON:HELD...
	}{
		"in force":       {stored(argo, "v1", v1alpha1.ModeEnforce, excluded(".spec.destination")), "Accepted Application .spec.destination:Active::"},
		"in mode Audit":  {stored(argo, "v1", v1alpha1.ModeAudit, excluded(".spec.destination")), "Accepted Application .spec.destination:Active::"},
		"of the author":  {stored(argo, "v1", v1alpha1.ModeAudit, excluded(".spec.secret")), "NotApplied Application .spec.secret:Idle:ExcludedByAuthor:"},
		"absent":         {stored(argo, "v1", v1alpha1.ModeAudit, excluded(".spec.nothing")), "NotApplied Application .spec.nothing:Idle:FieldAbsent:"},
		"retyped":        {stored(argo, "v1", v1alpha1.ModeAudit, excluded(".spec.destination.server.x")), "NotApplied Application .spec.destination.server.x:Degraded:FieldRetyped:.spec.destination.server"},
		"a version gone": {stored(argo, "v9", v1alpha1.ModeAudit, excluded(".spec.destination")), "NotApplied Application"},
		"not read here": {stored(argo, "v1", v1alpha1.ModeEnforce, excluded(".spec[later]")),
			"NotApplied Application .spec[later]:Idle:PathUnread:"},
		"not served here": {stored("widgets.example.com", "v1", v1alpha1.ModeAudit, excluded(".spec.size")), "NotServedHere"},
		"built in":        {stored("services", "v1", v1alpha1.ModeAudit, v1alpha1.FieldEntry{Path: ".spec.externalIPs", Permission: "example.com/x"}), "Accepted Service .spec.externalIPs:Active::"},
	} {
		resource, err := resources.Find(t.Context(), schema.GroupResource(validation.ResourceOf(tc.stored.Name)))
		if err != nil {
			t.Fatal(err)
		}
		state, err := StateOf(resource, tc.stored.Entries)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		status := Compute(tc.stored, state, nil)
		condition := apimeta.FindStatusCondition(status.Conditions, v1alpha1.ConditionAccepted)
		got := []string{condition.Reason}
		if status.Kind != "" {
			got = append(got, status.Kind)
		}
		for _, f := range status.Fields {
			got = append(got, fmt.Sprintf("%s:%s:%s:%s", f.Path, f.State, f.Reason, f.Held))
		}
		if text := strings.Join(got, " "); text != tc.want {
			t.Errorf("%s: %s, want %s", name, text, tc.want)
		}
		if accepted := condition.Status == metav1.ConditionTrue; accepted != strings.HasPrefix(tc.want, "Accepted") || status.ObservedGeneration != 3 {
			t.Errorf("%s: %+v", name, status)
		}
		errs := validation.FieldPermissionStatusUpdate(&v1alpha1.FieldPermission{ObjectMeta: tc.stored.ObjectMeta, Status: *status}, tc.stored.FieldPermission)
		if len(errs) > 0 {
			t.Errorf("%s: the status can't be stored: %v", name, errs)
		}
	}
}
