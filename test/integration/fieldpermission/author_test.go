// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/audit"
	"kube-granular.dev/test/integration/harness"
)

// everything allows all verbs on everything.
var everything = rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}

// TestDefaults holds what the server fills in: the mode Audit, the preferred version of a custom resource and of a
// built-in kind, and who has written the object.
//
// Attack: the first draft of a FieldPermission stops production at once
// Answer: the mode is Audit by default
func TestDefaults(t *testing.T) {
	define(t, server, "applications.yaml")
	put(t, server, argo, "", "", excluded(".spec.destination", "argoproj.io/destination"))
	if p := stored(t, server, argo); p.Spec.Mode != v1alpha1.ModeAudit || p.Spec.Version != "v1beta1" || p.Status.LastChange == nil || p.Generation != 1 {
		t.Errorf("%+v", p)
	}
	for name, path := range map[string]string{
		"services": ".spec.externalIPs", "customresourcedefinitions.apiextensions.k8s.io": ".spec.scope",
		"apiservices.apiregistration.k8s.io": ".spec.service", "clusterroles.rbac.authorization.k8s.io": ".rules",
	} {
		put(t, server, name, "", "", named(path, "example.com/permission"))
		if p := stored(t, server, name); p.Spec.Version != "v1" {
			t.Errorf("%s: %+v", name, p.Spec)
		}
	}
}

// TestRefusedEntries holds what can't be stored, and the field of each refusal. Package fieldpermission has the whole table.
func TestRefusedEntries(t *testing.T) {
	define(t, server, "applications.yaml")
	for name, tc := range map[string]struct {
		object map[string]any
		field  string
	}{
		"a second object":         {object("second", "", "v1", excluded(".spec.destination", "argoproj.io/d")), "spec.fields[0].excluded"},
		"a name without a domain": {object(argo, "", "", excluded(".spec.destination", "finalizer")), "spec.fields[0].permission"},
		"a built-in exclusion":    {object("services", "", "", excluded(".spec.clusterIP", "example.com/clusterIP")), "spec.fields[0].excluded"},
		"no such field":           {object(argo, "", "", named(".spec.x", "argoproj.io/x")), "spec.fields[0].path"},
		"labels":                  {object(argo, "", "", excluded(".metadata.labels", "argoproj.io/x")), "spec.fields[0].path"},
		"an unknown field": {func() map[string]any {
			o := object(argo, "", "", excluded(".spec.destination", "argoproj.io/x"))
			harness.SetAt(o, "Enforce", "spec", "Mode")
			return o
		}(), ""},
	} {
		a := server.Send(t, "", http.MethodPost, fieldPermissions, harness.ContentTypes["json"], tc.object)
		if a.Code != http.StatusUnprocessableEntity && a.Code != http.StatusBadRequest || !strings.Contains(string(a.Body), tc.field) {
			t.Errorf("%s: %s", name, a)
		}
	}
}

// TestWritersOfFieldPermissions holds that nobody but the holder of the verbs writes FieldPermissions: not a holder of the roles admin and
// edit, who can read them.
//
// Attack: an administrator of a namespace deletes the FieldPermission, or sets the mode Audit
// Answer: the roles admin and edit do not include that
func TestWritersOfFieldPermissions(t *testing.T) {
	closeFields(t, v1alpha1.ModeEnforce)
	admin := harness.Administrator(t, server.Cluster)
	for _, role := range []string{"admin", "edit", "view"} {
		user := fmt.Sprintf("%s-%d", role, harness.Unique())
		_, err := admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		harness.Until(t, role+" reads FieldPermissions", func() bool {
			return server.Send(t, user, http.MethodGet, fieldPermissions+"/"+argo, "", nil).Code == http.StatusOK
		})
		for what, a := range map[string]harness.Answer{
			"delete": server.Send(t, user, http.MethodDelete, fieldPermissions+"/"+argo, "", nil),
			"patch":  server.Send(t, user, http.MethodPatch, fieldPermissions+"/"+argo, harness.ContentTypes["merge"], `{"spec":{"mode":"Audit"}}`),
			"status": server.Send(t, user, http.MethodPatch, fieldPermissions+"/"+argo+"/status", harness.ContentTypes["merge"], `{"status":{"kind":"x"}}`),
		} {
			if a.Code != http.StatusForbidden {
				t.Errorf("%s as %s: %s", what, role, a)
			}
		}
	}
}

// TestOpenedFields holds that a change that opens a field warns its author and is in the audit log, and that the field is open
// for the next request and closed again after the next change.
//
// Attack: somebody sets the mode Audit, or deletes the object, and nobody sees it
// Answer: a warning to the author and an annotation of the audit event
func TestOpenedFields(t *testing.T) {
	closeFields(t, v1alpha1.ModeEnforce)
	collection := fmt.Sprintf(inDefault, "v1alpha1")
	server.MustSend(t, http.MethodPost, collection, harness.ContentTypes["json"], application("v1alpha1", "opened", open))
	user, n := caller(server, "patch", "get"), 0
	refused := func() bool {
		t.Helper()
		n++
		a := server.Send(t, user, http.MethodPatch, collection+"/opened", harness.ContentTypes["merge"],
			fmt.Sprintf(`{"spec":{"destination":{"server":"https://%d"}}}`, n))
		if a.Code != http.StatusOK && a.Code != http.StatusForbidden {
			t.Fatal(a)
		}
		return a.Code == http.StatusForbidden
	}
	for i, step := range []struct {
		method, body string
		opens        bool
	}{
		{http.MethodPatch, `{"spec":{"mode":"Audit"}}`, true},
		{http.MethodPatch, `{"spec":{"mode":"Enforce"}}`, false},
		{http.MethodDelete, "", true},
	} {
		if i%2 == 0 != refused() {
			t.Fatalf("step %d: the field is open or closed before", i)
		}
		uri := fmt.Sprintf("%s/%s?step=%d", fieldPermissions, argo, harness.Unique())
		var a harness.Answer
		if step.method == http.MethodDelete {
			a = server.MustSend(t, step.method, uri, "", nil)
		} else {
			a = server.MustSend(t, step.method, uri, harness.ContentTypes["merge"], step.body)
		}
		if refused() == step.opens {
			t.Errorf("step %d: the field is open: %v", i, !step.opens)
		}
		warned := slices.ContainsFunc(a.Warnings(), func(text string) bool { return strings.Contains(text, "no longer closes .spec.destination") })
		annotations := harness.Annotations(t, auditLog, uri)
		annotated := strings.Contains(annotations[audit.OpenedAnnotation], argo+".spec.destination")
		if warned != step.opens || annotated != step.opens {
			t.Errorf("step %d: warned %q, annotated %q", i, a.Warnings(), annotations)
		}
	}
}

// TestAuditedEntries holds that the mode Audit refuses nothing, warns the caller, counts in the status, names the users, and that
// names work; and that going to Enforce tells the author what was counted. A dry run is not counted.
//
// Attack: going to Enforce stops writers of whom nobody knew
// Answer: a warning has the number of requests and the first users that Audit counted
func TestAuditedEntries(t *testing.T) {
	closeFields(t, v1alpha1.ModeAudit)
	collection := fmt.Sprintf(inDefault, "v1alpha1")
	server.MustSend(t, http.MethodPost, collection, harness.ContentTypes["json"], application("v1alpha1", "audited", open))
	user := caller(server, "patch", "get")
	write := func(user, query, value string) harness.Answer {
		t.Helper()
		return server.Send(t, user, http.MethodPatch, collection+"/audited"+query, harness.ContentTypes["merge"],
			fmt.Sprintf(`{"spec":{"destination":{"server":%q}}}`, value))
	}
	uri := fmt.Sprintf("?step=%d", harness.Unique())
	if a := write(user, uri, "https://b"); a.Code != http.StatusOK || len(a.Warnings()) != 1 || !strings.Contains(a.Warnings()[0], argo) {
		t.Errorf("%s %q", a, a.Warnings())
	}
	if got := harness.Annotations(t, auditLog, collection+"/audited"+uri)[audit.WouldExcludeAnnotation]; !strings.Contains(got, ".spec.destination") {
		t.Errorf("the audit event has %q", got)
	}
	if a := write(user, "?dryRun=All", "https://c"); a.Code != http.StatusOK || len(a.Warnings()) != 1 {
		t.Errorf("a dry run: %s %q", a, a.Warnings())
	}
	if a := write(caller(server, "patch", "get", destinationVerb), "", "https://d"); a.Code != http.StatusOK || len(a.Warnings()) != 0 {
		t.Errorf("a holder: %s %q", a, a.Warnings())
	}
	if a := write(caller(server, "granular", "get", destinationVerb), "", "https://e"); a.Code != http.StatusOK {
		t.Errorf("the name alone: %s", a)
	}
	if a := write(caller(server, "granular", "get"), "", "https://f"); a.Code != http.StatusForbidden {
		t.Errorf("without the name: %s", a)
	}
	harness.Until(t, "the status counts", func() bool {
		status := stored(t, server, argo).Status
		return status.AuditViolations == 1 && slices.Equal(status.AuditUsers, []string{user})
	})
	a := put(t, server, argo, v1alpha1.ModeEnforce, "v1alpha1", excluded(".spec.destination", "argoproj.io/destination"))
	if len(a.Warnings()) != 1 || !strings.Contains(a.Warnings()[0], "1 request, among them of "+user) {
		t.Errorf("warned %q", a.Warnings())
	}
}

// TestEntriesAndDefinitions holds what the status says of a resource that this server does not store, of entries in force, and of a
// definition that changes.
func TestEntriesAndDefinitions(t *testing.T) {
	condition := func(name, reason string) {
		t.Helper()
		harness.Until(t, name+": "+reason, func() bool {
			c := apimeta.FindStatusCondition(stored(t, server, name).Status.Conditions, v1alpha1.ConditionAccepted)
			return c != nil && c.Reason == reason
		})
	}
	put(t, server, "pods.metrics.k8s.io", "", "v1beta1", named(".containers", "example.com/containers"))
	condition("pods.metrics.k8s.io", v1alpha1.ReasonNotServedHere)

	define(t, server, "late.yaml")
	put(t, server, "lates.example.com", "", "v1", named(".spec.size", "example.com/size"), excluded(".spec.color.shade", "example.com/shade"))
	condition("lates.example.com", v1alpha1.ReasonAccepted)
	harness.Until(t, "subjects that no exclusion stops", func() bool { return stored(t, server, "lates.example.com").Status.Kind == "Late" })
	admin := harness.Administrator(t, server.Cluster)
	harness.Allow(t, admin, "ops", everything)
	harness.Until(t, "not held", func() bool {
		return slices.Contains(stored(t, server, "lates.example.com").Status.NotHeld, v1alpha1.Subject{Kind: "User", Name: "ops"})
	})
	out, err := harness.Kubectl(t, server.Cluster, "", "get", "fperm", "lates.example.com", "-o", "wide")
	if err != nil || !strings.Contains(out, "NOT HELD") || !strings.Contains(out, ".spec.size,.spec.color.shade") {
		t.Errorf("%v\n%s", err, out)
	}

	// The upgrade of a chart retypes a closed field: the definition is stored, its author is warned, and the field around
	// is closed.
	schema := "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/"
	a := server.MustSend(t, http.MethodPatch, harness.Definitions+"/lates.example.com", harness.ContentTypes["jsonpatch"],
		`[{"op":"replace","path":"`+schema+`color","value":{"type":"string"}},{"op":"remove","path":"`+schema+`size"}]`)
	for _, text := range []string{"which applies to the whole of .spec.color", ".spec.size the permission example.com/size, which has no effect"} {
		if !slices.ContainsFunc(a.Warnings(), func(w string) bool { return strings.Contains(w, text) }) {
			t.Errorf("%q is not in %q", text, a.Warnings())
		}
	}
	condition("lates.example.com", v1alpha1.ReasonNotApplied)
	states := map[string]string{}
	for _, f := range stored(t, server, "lates.example.com").Status.Fields {
		states[f.Path] = fmt.Sprintf("%s %s %s", f.State, f.Reason, f.Held)
	}
	if states[".spec.size"] != "Idle FieldAbsent " || !strings.HasPrefix(states[".spec.color.shade"], "Degraded") || !strings.HasSuffix(states[".spec.color.shade"], " .spec.color") {
		t.Errorf("%q", states)
	}
	put(t, server, "lates.example.com", v1alpha1.ModeEnforce, "v1", excluded(".spec.color", "example.com/color"))
	harness.Until(t, "in force again", func() bool { return len(stored(t, server, "lates.example.com").Status.Fields) == 1 })
}
