// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	upstreamaudit "k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/pkg/audit"
	"kube-granular.dev/pkg/fieldpermission"
	. "kube-granular.dev/pkg/fieldpermission/fieldpermissiontest"
)

func object(name, version string, mode v1alpha1.Mode, fields ...v1alpha1.FieldEntry) *v1alpha1.FieldPermission {
	return &v1alpha1.FieldPermission{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.FieldPermissionSpec{Version: version, Mode: mode, Fields: fields},
	}
}

func field(path, permission string, excluded bool) v1alpha1.FieldEntry {
	return v1alpha1.FieldEntry{Path: path, Permission: permission, Excluded: excluded}
}

const (
	argo     = "applications.argoproj.io"
	auditing = v1alpha1.ModeAudit
)

// TestPrepare holds which FieldPermissions are stored, and at which field the others are refused.
//
// Attack: an entry gives a field a name that others were granted long ago, or turns a built-in name to excluded
// Answer: the name has a domain and occurs nowhere in any version of the resource
func TestPrepare(t *testing.T) {
	crd := Definition(t, Applications)
	// In the second version the author uses one more name, and one field is missing.
	crd.Spec.Versions[1].Schema = crd.Spec.Versions[1].Schema.DeepCopy()
	spec := crd.Spec.Versions[1].Schema.OpenAPIV3Schema.Properties["spec"]
	project, name := spec.Properties["project"], "argoproj.io/ofTheOtherVersion"
	project.XPermissionVerb = &name
	spec.Properties["project"] = project
	delete(spec.Properties, "sources")
	crd.Spec.Versions[1].Schema.OpenAPIV3Schema.Properties["spec"] = spec

	webhook := crd.DeepCopy()
	webhook.Name, webhook.Spec.Names.Plural = "hooked.argoproj.io", "hooked"
	webhook.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter}

	unserved := Definition(t, Applications)
	unserved.Name, unserved.Spec.Names.Plural = "unserved.argoproj.io", "unserved"
	unserved.Spec.Versions[0].Served, unserved.Spec.Versions[1].Served = false, false

	var many []v1alpha1.FieldEntry
	for i := range overlay.MaxFields {
		many = append(many, field(fmt.Sprintf(".spec.f%d", i), fmt.Sprintf("example.com/f%d", i), false))
	}
	names := func(path, permission string) *v1alpha1.FieldPermission {
		return object(argo, "v1alpha1", auditing, field(path, permission, false))
	}
	excludes := func(path, permission string) *v1alpha1.FieldPermission {
		return object(argo, "v1alpha1", auditing, field(path, permission, true))
	}
	for name, tc := range map[string]struct {
		object *v1alpha1.FieldPermission
		want   string // FIELD: part of the message
	}{
		"a name":                       {names(".spec.syncPolicy", "argoproj.io/syncPolicy"), ""},
		"an exclusion":                 {excludes(".spec.destination", "argoproj.io/destination"), ""},
		"one inside another":           {object(argo, "v1alpha1", auditing, field(".spec.destination", "argoproj.io/destination", true), field(".spec.destination.server", "argoproj.io/server", true)), ""},
		"of the core group":            {object("services", "v1", auditing, field(".spec.externalIPs", "example.com/externalIPs", false)), ""},
		"an exclusion of a built-in":   {object("services", "v1", auditing, field(".spec.externalIPs", "example.com/externalIPs", true)), ""},
		"what it is copied to":         {object("services", "v1", auditing, field(".spec.clusterIP", "example.com/address", true)), "spec.fields[0].excluded: with the same permission"},
		"a built-in status":            {object("services", "v1", auditing, field(".status.loadBalancer", "example.com/status", true)), "spec.fields[0].excluded: write the status"},
		"no domain":                    {names(".spec.destination", "labels"), "spec.fields[0].permission: domain"},
		"a built-in name":              {excludes(".spec.destination", "finalizer"), "spec.fields[0].permission: domain"},
		"a name of the other version":  {names(".spec.destination", "argoproj.io/ofTheOtherVersion"), "spec.fields[0].permission: in version v1"},
		"the same through a webhook":   {object("hooked.argoproj.io", "v1alpha1", auditing, field(".spec.destination", "argoproj.io/ofTheOtherVersion", false)), "spec.fields[0].permission: in version v1"},
		"a name, missing in the other": {names(".spec.sources", "argoproj.io/sources"), ""},
		"excluded, missing there":      {excludes(".spec.sources", "argoproj.io/sources"), "spec.fields[0].path: v1 has no such field"},
		"the same, through a webhook":  {object("hooked.argoproj.io", "v1alpha1", auditing, field(".spec.sources", "argoproj.io/sources", true)), ""},
		"what the author excludes":     {excludes(".spec.secret", "argoproj.io/secret"), "spec.fields[0].path: author"},
		"no such field":                {names(".spec.nothing", "argoproj.io/nothing"), "spec.fields[0].path: no such field"},
		"a label":                      {excludes(".metadata.labels", "argoproj.io/labels"), "spec.fields[0].path: ClusterProtectedAttribute"},
		"no path":                      {excludes("spec.destination", "argoproj.io/destination"), "spec.fields[0].path: without a dot"},
		"a version that isn't served":  {object(argo, "v2", auditing, field(".spec.destination", "argoproj.io/destination", true)), "spec.version: "},
		"another mode":                 {object(argo, "v1", "Warn", field(".spec.destination", "argoproj.io/destination", true)), "spec.mode: "},
		"not served here":              {object("widgets.example.com", "v1", auditing, field(".spec.size", "example.com/size", true)), ""},
		"not served here, no domain":   {object("widgets.example.com", "v1", auditing, field(".spec.size", "size", true)), "spec.fields[0].permission: domain"},
		"not served here, no version":  {object("widgets.example.com", "", auditing, field(".spec.size", "example.com/size", true)), "spec.version: "},
		"no version is served":         {object("unserved.argoproj.io", "", auditing, field(".spec.project", "example.com/x", false)), "spec.version: "},
		"no such field or version": {object(argo, "", auditing, field(".spec.nothing", "argoproj.io/nothing", false)),
			"spec.fields[0].path: no such"},
		"as many as may be, not served": {object("widgets.example.com", "v1", auditing, many...), ""},
		"a lock on the keys":            {object("clusterroles.rbac.authorization.k8s.io", "v1", auditing, field(".rules", "example.com/rules", true)), "spec.fields[0].excluded: "},
		"a lock on FieldPermissions":    {object("fieldpermissions.authority.kube-granular.dev", "v1alpha1", auditing, field(".spec.mode", "example.com/mode", true)), "spec.fields[0].excluded: "},
	} {
		author := fieldpermission.Author{Resources: Resources(crd, webhook, unserved), Own: noEntries}
		err := author.Prepare(t.Context(), tc.object, nil)
		if tc.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
			continue
		}
		path, text, _ := strings.Cut(tc.want, ": ")
		causes := err.(apierrors.APIStatus).Status().Details.Causes
		if !slices.ContainsFunc(causes, func(c metav1.StatusCause) bool { return c.Field == path && strings.Contains(c.Message, text) }) {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
}

// TestPreferredVersion holds that the server fills in the preferred version.
func TestPreferredVersion(t *testing.T) {
	author := fieldpermission.Author{Resources: Resources(Definition(t, Applications)), Own: noEntries}
	for name, tc := range map[string]struct{ path, want string }{
		argo:                                   {".spec.project", "v1"},
		"horizontalpodautoscalers.autoscaling": {".spec.maxReplicas", "v2"},
	} {
		p := object(name, "", auditing, field(tc.path, "example.com/x", false))
		if err := author.Prepare(t.Context(), p, nil); err != nil || p.Spec.Version != tc.want {
			t.Errorf("%s: version %q, %v", name, p.Spec.Version, err)
		}
	}
}

// roles returns Roles in which jane holds a permission by its name, ops all verbs, and the group system:masters
// everything.
func roles(t *testing.T) *fieldpermission.Roles {
	t.Helper()
	rule := func(resource string, verbs ...string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{APIGroups: []string{"argoproj.io"}, Resources: []string{resource}, Verbs: verbs}}
	}
	user := func(name string) []rbacv1.Subject { return []rbacv1.Subject{{Kind: "User", Name: name}} }
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	everything := []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
	factory := informers.NewSharedInformerFactory(fake.NewClientset(
		&rbacv1.ClusterRole{ObjectMeta: meta("", "sync"), Rules: rule("applications", "granular", "granular:argoproj.io/syncPolicy")},
		&rbacv1.ClusterRole{ObjectMeta: meta("", "other"), Rules: rule("appprojects", "*", "granular:argoproj.io/syncPolicy")},
		&rbacv1.ClusterRole{ObjectMeta: meta("", "update"), Rules: rule("applications", "update", "patch")},
		&rbacv1.ClusterRole{ObjectMeta: meta("", "admin"), Rules: everything},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta("", "a"), RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "sync"}, Subjects: user("jane")},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta("", "again"), RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "sync"},
			Subjects: user("jane")},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta("", "b"), RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "other"}, Subjects: user("eve")},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta("", "c"), RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "update"}, Subjects: user("eve")},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta("", "d"), RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "missing"}, Subjects: user("eve")},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta("", "e"), RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "admin"},
			Subjects: []rbacv1.Subject{{Kind: "Group", Name: "system:masters"}, {Kind: "Group", Name: "ops"}, {Kind: "ServiceAccount", Name: "nowhere"}}},
		&rbacv1.Role{ObjectMeta: meta("n", "all"), Rules: rule("*", "*")},
		&rbacv1.RoleBinding{ObjectMeta: meta("n", "a"), RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "all"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "robot"}}},
		&rbacv1.RoleBinding{ObjectMeta: meta("n", "b"), RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "sync"}, Subjects: user("bob")},
		&rbacv1.ClusterRole{ObjectMeta: meta("", "templates"), Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"batch"}, Resources: []string{"cronjobs"}, Verbs: []string{"granular:example.com/podTemplateNet"}},
			{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"granular:example.com/net"}}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta("", "templates"), RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "templates"}, Subjects: user("templater")},
		&rbacv1.ClusterRole{ObjectMeta: meta("", "deploys"), Rules: []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"*"}}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta("", "deploys"), RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "deploys"}, Subjects: user("deployer")},
	), 0)
	changed := make(chan struct{}, 1000)
	out, err := fieldpermission.NewRoles(factory.Rbac().V1(), func() { changed <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	factory.StartWithContext(t.Context())
	t.Cleanup(factory.Shutdown)
	if !out.WaitForSync(t.Context().Done()) {
		t.Fatal("not synced")
	}
	<-changed
	return out
}

func names(subjects []v1alpha1.Subject) string {
	var out []string
	for _, s := range subjects {
		out = append(out, s.Kind+" "+strings.TrimPrefix(s.Namespace+"/"+s.Name, "/"))
	}
	return strings.Join(out, ", ")
}

// TestHolders holds who is listed as a holder of a permission, and as somebody whom no exclusion stops.
//
// Attack: the administrator believes that a field is closed, but a role allows all verbs
// Answer: the status counts and names these subjects
func TestHolders(t *testing.T) {
	grants, err := roles(t).Grants()
	if err != nil {
		t.Fatal(err)
	}
	of := func(source, path string) *overlay.Entries {
		parsed, err := overlay.ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		return &overlay.Entries{Source: source, Version: "v1", Fields: []overlay.Field{{Path: parsed, Permission: "example.com/net", Excluded: true}}}
	}
	gr := of(argo, ".spec.syncPolicy")
	if got := names(grants.Holders(gr, "argoproj.io/syncPolicy")); got != "User bob, User jane" {
		t.Errorf("holders: %s", got)
	}
	if got := names(grants.NotHeld(gr)); got != "Group ops, ServiceAccount n/robot" {
		t.Errorf("not held: %s", got)
	}
	if got := names(grants.Holders(of("pods", ".spec.hostNetwork"), "argoproj.io/syncPolicy")); got != "" {
		t.Errorf("holders on pods: %s", got)
	}
	// Entries of pods hold in pod templates too, with a prefix there and without it in pods.
	for path, want := range map[string][2]string{".spec.hostNetwork": {"User templater", "Group ops, User deployer"}, ".metadata.ownerReferences": {"", "Group ops"}} {
		if got := names(grants.Holders(of("pods", path), "example.com/net")); got != want[0] {
			t.Errorf("%s, holders: %s", path, got)
		}
		if got := names(grants.NotHeld(of("pods", path))); got != want[1] {
			t.Errorf("%s, not held: %s", path, got)
		}
	}
}

type heard []string

func (h *heard) AddWarning(_, text string) { *h = append(*h, text) }

// TestAuthorIsWarned holds what the author is warned of, and what the audit event has.
//
// Attack: somebody sets the mode Audit, drops an entry or deletes the object, and the field is open
// Answer: a warning, and an annotation of the audit event, but for a dry run
func TestAuthorIsWarned(t *testing.T) {
	const enforce = v1alpha1.ModeEnforce
	destination, syncPolicy := field(".spec.destination", "argoproj.io/destination", true), field(".spec.syncPolicy", "argoproj.io/syncPolicy", false)
	included := destination
	included.Excluded = false
	counted := object(argo, "v1", auditing, destination)
	counted.Status.AuditViolations, counted.Status.AuditUsers = 5, []string{"a", "b", "c", "d"}
	type change = fieldpermission.Change
	for name, tc := range map[string]struct {
		changes []change
		warns   []string
		opened  string
	}{
		"a name that jane holds": {[]change{{nil, object(argo, "v1", auditing, syncPolicy)}},
			[]string{"a role grants granular:argoproj.io/syncPolicy already, to User bob, User jane"}, ""},
		"the same, of two fields": {[]change{{nil, object(argo, "v1", auditing, syncPolicy,
			field(".spec.destination", "argoproj.io/syncPolicy", false))}},
			[]string{"a role grants granular:argoproj.io/syncPolicy already, to User bob, User jane"}, ""},
		"three removed": {[]change{{object(argo, "v1", enforce,
			field(".a", "e.io/a", true), field(".b", "e.io/b", true), field(".c", "e.io/c", true)), nil}},
			[]string{"no longer closes .a, .b, .c: update"}, argo + ".a " + argo + ".b " + argo + ".c"},
		"the same name as before": {[]change{{object(argo, "v1", auditing, syncPolicy), object(argo, "v1", auditing, syncPolicy, destination)}}, nil, ""},
		"no such resource": {[]change{{nil, object("widgets.example.com", "v1", auditing, destination)}},
			[]string{"stores no objects of widgets.example.com"}, ""},
		"enforced, after violations": {[]change{{counted, object(argo, "v1", enforce, destination)}},
			[]string{"5 requests, among them of a, b, c and 1 more"}, ""},
		"enforced, after none": {[]change{{object(argo, "v1", auditing, destination), object(argo, "v1", enforce, destination)}},
			[]string{"no request was counted"}, ""},
		"audited again": {[]change{{object(argo, "v1", enforce, destination), object(argo, "v1", auditing, destination)}},
			[]string{"no longer closes .spec.destination"}, argo + ".spec.destination"},
		"included": {[]change{{object(argo, "v1", enforce, destination), object(argo, "v1", enforce, included)}},
			[]string{"no longer closes .spec.destination"}, argo + ".spec.destination"},
		"dropped": {[]change{{object(argo, "v1", enforce, destination, included), object(argo, "v1", enforce, field(".spec.project", "argoproj.io/p", true))}},
			[]string{"no longer closes .spec.destination"}, argo + ".spec.destination"},
		"kept":                  {[]change{{object(argo, "v1", enforce, destination), object(argo, "v1", enforce, field(".spec.project", "argoproj.io/p", true), destination)}}, nil, ""},
		"removed in mode Audit": {[]change{{object(argo, "v1", auditing, destination), nil}}, nil, ""},
		"two removed": {[]change{{object(argo, "v1", enforce, destination), nil}, {object("x.example.com", "v1", enforce, destination), nil}},
			[]string{"FieldPermission " + argo, "FieldPermission x.example.com"}, argo + ".spec.destination x.example.com.spec.destination"},
	} {
		author := fieldpermission.Author{Resources: Resources(Definition(t, Applications)), Roles: roles(t), Own: noEntries}
		for _, dryRun := range []bool{false, true} {
			var warnings heard
			ctx := upstreamaudit.WithAuditContext(warning.WithWarningRecorder(context.Background(), &warnings))
			if err := upstreamaudit.AuditContextFrom(ctx).Init(upstreamaudit.RequestAuditConfig{Level: auditinternal.LevelMetadata}, nil); err != nil {
				t.Fatal(err)
			}
			author.Changed(ctx, tc.changes, dryRun)
			if len(warnings) != len(tc.warns) {
				t.Errorf("%s: warned %q, want %q", name, warnings, tc.warns)
				continue
			}
			for i, text := range tc.warns {
				if !strings.Contains(warnings[i], text) {
					t.Errorf("%s: warned %q, want %q", name, warnings[i], text)
				}
			}
			want := tc.opened
			if dryRun {
				want = ""
			}
			if got, noted := upstreamaudit.AuditContextFrom(ctx).GetEventAnnotation(audit.OpenedAnnotation); got != want || noted != (want != "") {
				t.Errorf("%s, dry run %v: the audit event has %q, want %q", name, dryRun, got, want)
			}
		}
	}
}

// TestAuthorIsWarnedOfDefinition holds that the author of an exclusion is told that the definition sets the field itself.
//
// Attack: a field is closed that the definition sets by a default, or that its webhook can change
// Answer: open, because the definition writes for everybody; the author of the FieldPermission is warned
func TestAuthorIsWarnedOfDefinition(t *testing.T) {
	url := "https://example.com"
	for name, tc := range map[string]struct {
		change func(*apiextensionsv1.CustomResourceDefinition)
		closed bool
		want   []string
	}{
		"nothing": {func(*apiextensionsv1.CustomResourceDefinition) {}, true, nil},
		"a default": {setDefault, true, []string{"FieldPermission " + argo +
			" closes .spec.destination.server, and a default of version v1alpha1 sets it in each object without it, whoever writes the object"}},
		"a default of a field that is not closed": {setDefault, false, nil},
		"a scale": {func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{
				Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.destination.server"}}
		}, true, []string{"FieldPermission " + argo + " closes .spec.destination.server, " +
			"and horizontal-pod-autoscaler is not stopped: it writes .spec.destination.server by the subresource scale for whoever may write autoscalers; close their bounds too"}},
		"another scale": {func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{
				Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.replicas"}}
		}, true, nil},
		"a webhook": {func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter,
				Webhook: &apiextensionsv1.WebhookConversion{ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: &url}}}
		}, true, []string{"FieldPermission " + argo + " closes fields, and the webhook that converts the objects can change each of them"}},
	} {
		crd := Definition(t, Applications)
		tc.change(crd)
		var warnings heard
		author := fieldpermission.Author{Resources: Resources(crd), Own: noEntries}
		p := object(argo, "v1alpha1", auditing, field(".spec.destination.server", "argoproj.io/server", tc.closed))
		author.Changed(warning.WithWarningRecorder(t.Context(), &warnings), []fieldpermission.Change{{After: p}}, false)
		if !slices.Equal(warnings, tc.want) {
			t.Errorf("%s: %q", name, warnings)
		}
	}
}

// setDefault adds a default to the server of a destination.
func setDefault(crd *apiextensionsv1.CustomResourceDefinition) {
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	server := apiextensionsv1.JSONSchemaProps{Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"x"`)}}
	spec.Properties["destination"].Properties["server"] = server
}

// noEntries are the stored entries of a server without FieldPermissions.
func noEntries(schema.GroupResource) *overlay.Entries { return nil }
