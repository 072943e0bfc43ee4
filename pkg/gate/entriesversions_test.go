// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/overlay"
)

// versionEntries returns entries whose paths are written for a version of things.
func versionEntries(t *testing.T, version string, lines ...string) *overlay.Entries {
	out := entriesOf(t, thingEntries, true, lines...)
	out.Version = version
	return out
}

// TestEntriesInStoredVersion writes things through v1, which are stored as v2, of a definition that
// excludes nothing. The field secret is only in v2.
func TestEntriesInStoredVersion(t *testing.T) {
	const one, two = `{"size":1}`, `{"size":2}`
	const secret = ".spec.secret acme.io/secret excluded"
	for name, tc := range map[string]struct {
		version, entry        string
		stored                string
		old, observed         string
		webhook, own, audited bool
		allow                 []string
		says                  string
	}{
		"a hidden field is lost":                      {version: "v2", entry: secret, stored: `{"size":1,"secret":"s"}`, old: one, observed: two, says: "cannot change .spec.secret of version v2 (version v1 may not show it)"},
		"a hidden field is lost, the verb":            {version: "v2", entry: secret, stored: `{"size":1,"secret":"s"}`, old: one, observed: two, allow: []string{"granular:acme.io/secret"}},
		"nothing is hidden":                           {version: "v2", entry: secret, stored: one, old: one, observed: two},
		"the paths are of another version":            {version: "v1", entry: secret, stored: `{"size":1,"secret":"s"}`, old: one, observed: two, says: "cannot change .spec.secret of version v2"},
		"the same field in both":                      {version: "v2", entry: ".spec.size acme.io/size excluded", stored: one, old: one, observed: two, says: `cannot change .spec.size in`},
		"the same field in both, the verb":            {version: "v2", entry: ".spec.size acme.io/size excluded", stored: one, old: one, observed: two, allow: []string{"granular:acme.io/size"}},
		"through the stored version":                  {version: "v1", entry: ".spec.size acme.io/size excluded", own: true, stored: one, old: one, observed: two, says: `cannot change .spec.size in`},
		"a webhook: the field is moved":               {version: "v2", entry: ".spec.trigger acme.io/trigger excluded", webhook: true, stored: `{"trigger":1}`, old: one, observed: two, says: "cannot change .spec.trigger of version v2"},
		"a webhook: the field is moved, the verb":     {version: "v2", entry: ".spec.trigger acme.io/trigger excluded", webhook: true, stored: `{"trigger":1}`, old: one, observed: two, allow: []string{"granular:acme.io/trigger"}},
		"a webhook: a hidden field is lost":           {version: "v2", entry: secret, webhook: true, stored: `{"trigger":1,"secret":"s"}`, old: one, observed: one, says: "cannot change .spec.secret of version v2"},
		"a webhook: nothing is":                       {version: "v2", entry: secret, webhook: true, stored: `{"trigger":1}`, old: one, observed: two},
		"a webhook: the version of the request":       {version: "v1", entry: ".spec.size acme.io/size excluded", webhook: true, stored: `{"trigger":1}`, old: one, observed: two, says: "cannot change .spec.size in"},
		"a webhook: another path in the stored one":   {version: "v1", entry: ".spec.trigger acme.io/trigger excluded", webhook: true, stored: `{"trigger":1}`, old: one, observed: two},
		"a webhook: the definition lacks the version": {version: "v9", entry: ".spec.size acme.io/size excluded", webhook: true, stored: `{"trigger":1}`, old: one, observed: one, says: "can't be verified"},
		"counted only":                                {version: "v2", entry: secret, audited: true, stored: `{"size":1,"secret":"s"}`, old: one, observed: two},
	} {
		t.Run(name, func(t *testing.T) {
			write := func(allow []string) error {
				of := storedTarget(t, storedAs("v2", tc.stored), false)
				of.Schema.Stored.Webhook = tc.webhook
				if tc.own {
					of.Kind = thingV2
				}
				e := versionEntries(t, tc.version, tc.entry)
				e.Enforced = !tc.audited
				ctx := requestContext("update")
				w := New(&grants{allow: allow}, WithFieldPermissions(withEntries(e))).Begin(ctx, of)
				old, sent := versioned(t, tc.old, "5"), versioned(t, tc.observed, "5")
				for _, o := range []runtime.Object{old, sent} {
					o.GetObjectKind().SetGroupVersionKind(of.Kind)
				}
				return verify(t, w, ctx, sent, old)
			}
			wantError(t, write(tc.allow), tc.says)
			if tc.says == "" && tc.allow != nil && write(nil) == nil {
				t.Error("allowed without the verb")
			}
		})
	}
}

// TestEntriesInConvertedVersion writes things in v1 that a webhook converts to v2, for whose paths
// the entries are written. Neither version is the stored one.
func TestEntriesInConvertedVersion(t *testing.T) {
	const entry = ".spec.trigger acme.io/trigger excluded"
	stored := gvk.GroupVersionKind{Group: "example.com", Version: "v3", Kind: "Thing"}
	for name, tc := range map[string]struct {
		observed, final string
		allow           []string
		says, internal  string
	}{
		"moved":                   {observed: large, final: large, says: there},
		"moved, the verb":         {observed: large, final: large, allow: []string{"granular:acme.io/trigger"}},
		"moved by admission":      {observed: medium, final: large},
		"not moved":               {observed: medium, final: medium},
		"a conversion that fails": {observed: failing, final: failing, internal: "its conversion failed"},
	} {
		t.Run(name, func(t *testing.T) {
			of, _ := converting(t, strings.Replace(things, "EXCLUDED", "false", 1))
			of.Schema.Excludes, of.Schema.Converted = []gvk.GroupVersionKind{}, nil
			of.Schema.Stored = &granular.Stored{Kind: stored, Webhook: true, Versions: map[string]*granular.StoredVersion{}}
			ctx := requestContext("update")
			w := New(&grants{allow: tc.allow}, WithFieldPermissions(withEntries(versionEntries(t, "v2", entry)))).Begin(ctx, of).(*write)
			w.stored = storedForm{} // TestEntriesInStoredVersion has that
			if err := w.Observe(ctx, object(t, tc.observed), object(t, small)); err != nil {
				t.Fatal(err)
			}
			err := w.Verify(ctx, object(t, tc.final), object(t, small))
			if tc.internal != "" {
				if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), tc.internal) {
					t.Error(err)
				}
				return
			}
			wantError(t, err, tc.says)
		})
	}
}

// TestScaleRemovesNothing sets the replicas of a custom resource to zero through its scale. A zero of a Go type counts as
// absent, but the request removes no field.
func TestScaleRemovesNothing(t *testing.T) {
	of := scaleTarget(t, strings.ReplaceAll(silent, `"size"`, `"replicas"`), "spec", "replicas")
	of.Schema.Excludes = []gvk.GroupVersionKind{}
	ctx := requestContext("update")
	w := New(&grants{}, WithFieldPermissions(withEntries(entriesOf(t, thingEntries, true, ".spec.replicas acme.io/r excluded")))).Begin(ctx, of)
	if err := w.Observe(ctx, scaleTo(0), scaleTo(1)); err != nil {
		t.Fatal(err)
	}
	wantError(t, w.Verify(ctx, scaleTo(0), scaleTo(1)), `needs the verb "granular:acme.io/r" (excluded by`)
}

// TestEntriesOfScale writes the scale of a custom resource whose replicas have an entry.
func TestEntriesOfScale(t *testing.T) {
	for name, tc := range map[string]struct {
		entry           string
		marked, audited bool
		allow           []string
		to              int32
		says            string
		counted         int
	}{
		"excluded":            {entry: ".spec.size acme.io/size excluded", to: 2, says: `cannot change .spec.replicas in namespace "n" through "things/scale": needs the verb "granular:acme.io/size" (excluded by FieldPermission things.example.com)`},
		"excluded, the verb":  {entry: ".spec.size acme.io/size excluded", allow: []string{"granular:acme.io/size"}, to: 2},
		"excluded, unchanged": {entry: ".spec.size acme.io/size excluded", to: 1},
		"excluded around it":  {entry: ".spec acme.io/all excluded", to: 2, says: "granular:acme.io/all"},
		"another field":       {entry: ".spec.project acme.io/p excluded", to: 2},
		"a name":              {entry: ".spec.size acme.io/size", to: 2},
		"granular, excluded":  {entry: ".spec.size acme.io/size excluded", marked: true, allow: []string{"granular:specification"}, to: 2, says: "granular:acme.io/size"},
		"granular, both":      {entry: ".spec.size acme.io/size excluded", marked: true, allow: []string{"granular:specification", "granular:acme.io/size"}, to: 2},
		"granular, a name":    {entry: ".spec.size acme.io/size", marked: true, allow: []string{"granular:specification"}, to: 2},
		"only counted":        {entry: ".spec.size acme.io/size excluded", audited: true, to: 2, counted: 1},
		// The path is one of things, and not of scales.
		"a field of the scale": {entry: ".spec.replicas acme.io/r excluded", to: 2},
		"granular, a field of the scale": {entry: ".spec.replicas acme.io/r excluded", marked: true,
			allow: []string{"granular:specification"}, to: 2},
	} {
		t.Run(name, func(t *testing.T) {
			write := func(allow []string) (error, int) {
				of := scaleTarget(t, silent, "spec", "size")
				of.Schema.Excludes = []gvk.GroupVersionKind{}
				f := withEntries(entriesOf(t, thingEntries, !tc.audited, tc.entry))
				ctx := requestContext("update")
				if tc.marked {
					ctx, _ = granular.WithMarker(ctx)
				}
				w := New(&grants{allow: allow}, WithFieldPermissions(f)).Begin(ctx, of)
				if w == nil {
					return nil, 0
				}
				if err := w.Observe(ctx, scaleTo(tc.to), scaleTo(1)); err != nil {
					t.Fatal(err)
				}
				err := w.Verify(ctx, scaleTo(tc.to), scaleTo(1))
				if err == nil {
					w.Respond(ctx, scaleTo(tc.to))
				}
				return err, len(f.counted)
			}
			err, count := write(tc.allow)
			wantError(t, err, tc.says)
			if count != tc.counted {
				t.Errorf("counted %d times", count)
			}
			if tc.says == "" && tc.allow != nil {
				if err, _ := write(nil); err == nil {
					t.Error("allowed without the verb")
				}
			}
		})
	}
}
