// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package denial

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/pkg/refusal"
)

func TestParseDenial(t *testing.T) {
	for text, want := range map[string]*Denial{
		`Error from server (Forbidden): deployments.apps "web" is forbidden: User "system:serviceaccount:default:supersafe" cannot change .spec.replicas in namespace "default": needs one of the verbs "granular:replicas", "granular:specification"`: {
			Resource: "deployments.apps", Name: "web", User: "system:serviceaccount:default:supersafe", Namespace: "default", Field: ".spec.replicas",
			Verbs: []string{"granular:replicas", "granular:specification"},
		},
		`things.example.com "a" is forbidden: User "erin" cannot change .metadata.labels["k: in namespace \"x\""] in namespace "shop": needs the verb "granular:labels"`: {
			Resource: "things.example.com", Name: "a", User: "erin", Namespace: "shop", Field: `.metadata.labels["k: in namespace \"x\""]`, Verbs: []string{"granular:labels"},
		},
		`pods "a" is forbidden: User "erin" cannot change .spec.containers[name="a"].image in namespace "x": needs both of the verbs "granular:imageFrom(a.example)" and "granular:imageFrom(b.example)", or the verb "granular:specification"`: {
			Resource: "pods", Name: "a", User: "erin", Namespace: "x", Field: `.spec.containers[name="a"].image`,
			Verbs: []string{"granular:imageFrom(a.example)", "granular:specification"}, Together: []string{"granular:imageFrom(a.example)", "granular:imageFrom(b.example)"},
		},
		`robots.example.com "a" is forbidden: User "erin" cannot change .spec.mode in namespace "x": needs all of the verbs "granular:mode(a)" and "granular:mode(b)" and "granular:mode(c)"`: {
			Resource: "robots.example.com", Name: "a", User: "erin", Namespace: "x", Field: ".spec.mode",
			Verbs: []string{"granular:mode(a)"}, Together: []string{"granular:mode(a)", "granular:mode(b)", "granular:mode(c)"},
		},
		`nodes "n" is forbidden: User "jane" cannot change .metadata.labels[a.example/x]: needs one of the verbs "granular:label(a.example)", "granular:metadata"`: {
			Resource: "nodes", Name: "n", User: "jane", Field: ".metadata.labels[a.example/x]",
			Verbs: []string{"granular:label(a.example)", "granular:metadata"},
		},
		`robots.factory.example.com "robby" is forbidden: User "erin" cannot change .spec.trigger in namespace "default": needs the verb "granular:factory.example.com/selfDestruct"`: {
			Resource: "robots.factory.example.com", Name: "robby", User: "erin", Namespace: "default", Field: ".spec.trigger",
			Verbs: []string{"granular:factory.example.com/selfDestruct"},
		},
		`robots.factory.example.com "robby" is forbidden: User "erin" cannot change .spec.trigger of version v1 (version v1beta1 may not show it) in namespace "default": needs the verb "granular:factory.example.com/trigger"`: {
			Resource: "robots.factory.example.com", Name: "robby", User: "erin", Namespace: "default", Field: ".spec.trigger",
			Verbs: []string{"granular:factory.example.com/trigger"},
		},
		`configmaps "c" is forbidden: User "erin" cannot change .foo in namespace "default": no permission covers this field`: {
			Resource: "configmaps", Name: "c", User: "erin", Namespace: "default", Field: ".foo", Why: "no permission covers this field",
		},
		`deployments.apps "web" is forbidden: User "erin" cannot change .metadata.labels[k] in namespace "default": more than 64 permissions would have to be checked for this request; hold the verb "granular:labels" instead`: {
			Resource: "deployments.apps", Name: "web", User: "erin", Namespace: "default", Field: ".metadata.labels[k]", Verbs: []string{"granular:labels"},
			Why: `more than 64 permissions would have to be checked for this request; hold the verb "granular:labels" instead`,
		},
		"Error from server (Forbidden): deployments.apps \"web\" is forbidden: User \"jane\" cannot patch resource \"deployments/scale\" in API group \"apps\" in the namespace \"shop\"\n": {
			Resource: "deployments.apps", Subresource: "scale", Name: "web", User: "jane", Namespace: "shop", Ordinary: "patch",
		},
		`namespaces is forbidden: User "jane" cannot create resource "namespaces" in API group "" at the cluster scope`: {
			Resource: "namespaces", User: "jane", Ordinary: "create",
		},
		`deployments.apps "site" is forbidden: User "con" cannot change .status.conditions[type="Available"] in namespace "default" through "deployments/status": needs one of the verbs "granular:condition(Available)", "granular:status"`: {
			Resource: "deployments.apps", Subresource: "status", Name: "site", User: "con", Namespace: "default", Field: `.status.conditions[type="Available"]`,
			Verbs: []string{"granular:condition(Available)", "granular:status"},
		},
		`applications.argoproj.io "a" is forbidden: User "erin" cannot change .spec.destination in namespace "shop": needs the verb "granular:acme.io/destination" (excluded by FieldPermission applications.argoproj.io)`: {
			Resource: "applications.argoproj.io", Name: "a", Namespace: "shop", User: "erin", Field: ".spec.destination",
			Verbs: []string{"granular:acme.io/destination"}, FieldPermission: "applications.argoproj.io",
		},
		`applications.argoproj.io "a" is forbidden: User "erin" cannot change .spec.destination in namespace "shop": needs the verb "granular:acme.io/destination"; the request removes it (excluded by FieldPermission applications.argoproj.io)`: {
			Resource: "applications.argoproj.io", Name: "a", Namespace: "shop", User: "erin", Field: ".spec.destination", Removed: true,
			Verbs: []string{"granular:acme.io/destination"}, FieldPermission: "applications.argoproj.io",
		},
		`applications.argoproj.io "a" is forbidden: User "erin" cannot change .spec.destination: no permission covers this field; the request removes it (excluded by FieldPermission applications.argoproj.io)`: {
			Resource: "applications.argoproj.io", Name: "a", User: "erin", Field: ".spec.destination", Removed: true,
			FieldPermission: "applications.argoproj.io", Why: "no permission covers this field",
		},
		`services "a" is forbidden: User "erin" cannot change .spec.clusterIPs: needs the verb "granular:acme.io/ips"; ` +
			`the server changes it because of what the request changes (excluded by FieldPermission services)`: {
			Resource: "services", Name: "a", User: "erin", Field: ".spec.clusterIPs", Derived: true,
			Verbs: []string{"granular:acme.io/ips"}, FieldPermission: "services",
		},
		`boilers.acme.io "a" is forbidden: User "erin" cannot change .spec.mode in namespace "shop": needs the verb "granular:mode"; ` +
			`the server changes it because of what the request changes`: {
			Resource: "boilers.acme.io", Name: "a", Namespace: "shop", User: "erin", Field: ".spec.mode", Derived: true,
			Verbs: []string{"granular:mode"},
		},
		`nodes "n" is forbidden: User "con" cannot change .status.phase through "nodes/status": needs the verb "granular:status"`: {
			Resource: "nodes", Subresource: "status", Name: "n", User: "con", Field: ".status.phase", Verbs: []string{"granular:status"},
		},
		`customresourcedefinitions.apiextensions.k8s.io "boxes.example.com" is forbidden: User "ivan" cannot change .spec.versions: needs the verb "granular:permissionExclusion" to weaken what the definition excludes: version v1: .spec.secret is not in the schema any more`: {
			Resource: "customresourcedefinitions.apiextensions.k8s.io", Name: "boxes.example.com", User: "ivan", Field: ".spec.versions",
			Verbs: []string{"granular:permissionExclusion"},
		},
		"pods \"web\" is forbidden: User \"jane\" cannot change .metadata.labels[env] in namespace \"shop\", a\nprotected label: needs ClusterRole \"release-manager\", for it is protected in the cluster": {
			Resource: "pods", Name: "web", User: "jane", Namespace: "shop", Field: ".metadata.labels[env]",
			Protected: "label", Roles: []Role{{"ClusterRole", "release-manager"}},
		},
		`pods "web" is forbidden: User "jane" cannot change .metadata.labels[env] in namespace "shop" through "pods/status", a protected label: needs one of Role "a", the verb "granular:protectedLabel(env)" or 2 others, for it is protected in namespace "shop"`: {
			Resource: "pods", Subresource: "status", Name: "web", User: "jane", Namespace: "shop", Field: ".metadata.labels[env]",
			Protected: "label", ProtectedIn: "shop", Roles: []Role{{"Role", "a"}}, Verbs: []string{"granular:protectedLabel(env)"},
		},
		`pods "a" is forbidden: User "jane" cannot delete resource "pods" in API group "" in the namespace "x"`: {
			Resource: "pods", Name: "a", User: "jane", Namespace: "x", Ordinary: "delete",
		},
		`secrets is forbidden: User "robot" cannot list resource "secrets" in API group "" in the namespace "default": the selected ClusterRole "view" does not allow the request, or the caller does not hold all of its permissions`: {
			Resource: "secrets", User: "robot", Namespace: "default", Ordinary: "list",
			Why: `the selected ClusterRole "view" does not allow the request, or the caller does not hold all of its permissions`,
		},
		"clusterroles.rbac.authorization.k8s.io \"x\" is forbidden: user \"jane\" (groups=[\"a\"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"]}": {
			Resource: "clusterroles.rbac.authorization.k8s.io", Name: "x", User: "jane", Grant: true, Why: `{APIGroups:[""]}`,
		},
		`configmaps "a" is forbidden: the selected AuthorityDelegation has conditions, which can't be verified for this request`: {
			Resource: "configmaps", Name: "a", Why: "the selected AuthorityDelegation has conditions, which can't be verified for this request",
		},
		`pods "a" is forbidden: exceeded quota: x`: {Resource: "pods", Name: "a", Admission: true, Why: "exceeded quota: x"},
		`Error from server: admission webhook "w.example" denied the request: no "latest" images`: {
			Admission: true, Why: `admission webhook "w.example" denied the request: no "latest" images`,
		},
		`deployments.apps "web" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: too many replicas`: {
			Resource: "deployments.apps", Name: "web", Admission: true, Why: "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: too many replicas",
		},
		`pods "a" is forbidden: User "jane" is somebody`: nil,
		"Error from server (NotFound)":                   nil,
	} {
		got, err := Parse(text)
		var all []*Denial
		if want != nil {
			all = []*Denial{want}
		}
		if diff := cmp.Diff(all, got); diff != "" || (want == nil) != errors.Is(err, ErrNotADenial) {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	}
}

// TestFromStatus checks that the causes of a refusal tell the same as its message, whatever the message says,
// and that the message counts where no causes are known.
//
// Attack: a webhook answers with causes of this project, so that an administrator gives rights to somebody
// Answer: the causes of a webhook count for nothing
func TestFromStatus(t *testing.T) {
	const object = `deployments.apps "web" is forbidden: User "jane" cannot change `
	labels := refusal.Details{User: "jane", Namespace: "shop", Field: ".metadata.labels[env]", Protected: "label",
		Roles: []string{"Role/a"}, Verbs: []string{"granular:protectedLabel(env)"}, ProtectedNamespace: "shop",
		Needs: `needs one of Role "a", the verb "granular:protectedLabel(env)" or 2 others, for it is protected in namespace "shop"`}
	for name, tc := range map[string]struct {
		message string
		why     refusal.Details
	}{
		"a field": {object + `.spec.replicas in namespace "shop": needs one of the verbs "granular:replicas", "granular:specification"`,
			refusal.Details{User: "jane", Namespace: "shop", Field: ".spec.replicas", Verbs: []string{"granular:replicas", "granular:specification"},
				Needs: `needs one of the verbs "granular:replicas", "granular:specification"`}},
		"another version, through a scale": {object + `.spec.replicas of version v2 in namespace "shop" through "deployments/scale": needs the verb "granular:replicas"`,
			refusal.Details{User: "jane", Namespace: "shop", Subresource: "scale", Field: ".spec.replicas", Verbs: []string{"granular:replicas"},
				Needs: `needs the verb "granular:replicas"`}},
		"values": {object + `.spec.mode: needs both of the verbs "granular:mode(a)" and "granular:mode(b)", or the verb "granular:specification"`,
			refusal.Details{User: "jane", Field: ".spec.mode", Verbs: []string{"granular:mode(a)", "granular:specification"},
				Together: []string{"granular:mode(a)", "granular:mode(b)"},
				Needs:    `needs both of the verbs "granular:mode(a)" and "granular:mode(b)", or the verb "granular:specification"`}},
		"too many": {object + `.metadata.labels[k]: more than 64 permissions would have to be checked; hold the verb "granular:labels" instead`,
			refusal.Details{User: "jane", Field: ".metadata.labels[k]", Verbs: []string{"granular:labels"},
				Needs: `more than 64 permissions would have to be checked; hold the verb "granular:labels" instead`}},
		"uncovered": {object + `.foo: no permission covers this field`,
			refusal.Details{User: "jane", Field: ".foo", Needs: "no permission covers this field"}},
		"a FieldPermission": {object + `.spec.destination: needs the verb "granular:acme.io/destination" (excluded by FieldPermission a.b)`,
			refusal.Details{User: "jane", Field: ".spec.destination", Verbs: []string{"granular:acme.io/destination"}, FieldPermission: "a.b",
				Needs: `needs the verb "granular:acme.io/destination"`}},
		"a protected label": {object + `.metadata.labels[env] in namespace "shop", a protected label: ` + labels.Needs, labels},
		"the whole write": {`deployments.apps "web" is forbidden: User "jane" can't write it in namespace "shop": its fields can't be verified`,
			refusal.Details{User: "jane", Namespace: "shop", Needs: "its fields can't be verified"}},
	} {
		status := metav1.Status{Message: tc.message, Details: &metav1.StatusDetails{Group: "apps", Kind: "deployments", Name: "web"}}
		want, err := FromStatus(&status)
		if err != nil {
			t.Fatalf("%s: the message: %v", name, err)
		}
		status.Message = "another sentence"
		if _, err := FromStatus(&status); !errors.Is(err, ErrNotADenial) {
			t.Errorf("%s: another sentence without causes: %v", name, err)
		}
		status.Details.Causes = append(tc.why.Summary(false), tc.why.Causes()...)
		got, err := FromError(fmt.Errorf("failed: %w", &apierrors.StatusError{ErrStatus: status}))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
		status.TypeMeta, status.Reason = metav1.TypeMeta{Kind: "Status"}, metav1.StatusReasonForbidden
		text, err := json.MarshalIndent(status, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		all, err := Parse(string(text))
		if diff := cmp.Diff([]*Denial{want}, all); diff != "" || err != nil {
			t.Errorf("%s, as text: %v\n%s", name, err, diff)
		}
		status.Message = `admission webhook "w.example" denied the request: no`
		got, err = FromStatus(&status)
		if diff := cmp.Diff(&Denial{Admission: true, Why: status.Message}, got); diff != "" || err != nil {
			t.Errorf("%s, of a webhook: %v\n%s", name, err, diff)
		}
	}
	read := refusal.Details{User: "jane", Namespace: "shop", Verbs: []string{"get"}}
	got, err := FromStatus(&metav1.Status{Details: &metav1.StatusDetails{Kind: "pods", Name: "web", Causes: read.Causes()}})
	if diff := cmp.Diff(&Denial{Resource: "pods", Name: "web", Namespace: "shop", User: "jane", Ordinary: "get"}, got); diff != "" || err != nil {
		t.Errorf("a copy that reads: %v\n%s", err, diff)
	}
	if _, err := FromError(errors.New(object)); !errors.Is(err, ErrNotADenial) {
		t.Errorf("an error of somebody else: %v", err)
	}
}

func TestNoDenialInNothing(t *testing.T) {
	if _, err := Parse(" \n"); !errors.Is(err, ErrEmpty) {
		t.Errorf("%v", err)
	}
}

// TestAdvice checks the next step for refusals that no permission verb lifts.
func TestAdvice(t *testing.T) {
	for name, tc := range map[string]struct {
		of   Denial
		want string
	}{
		"a field":      {Denial{Field: ".spec", Verbs: []string{"granular:specification"}}, ""},
		"a role":       {Denial{Field: ".metadata.labels[a]", Protected: "label", Roles: []Role{{"Role", "a"}}}, ""},
		"a read":       {Denial{Ordinary: "get"}, ""},
		"an eviction":  {Denial{Ordinary: "create", Subresource: "eviction"}, ""},
		"a write":      {Denial{User: "jane", Ordinary: "patch"}, "jane holds neither patch nor granular"},
		"a scale":      {Denial{User: "jane", Ordinary: "patch", Subresource: "scale"}, "jane holds neither patch nor granular"},
		"uncovered":    {Denial{Field: ".foo", Why: "no permission covers this field"}, "No permission verb allows this change"},
		"nobody":       {Denial{Protected: "label", Why: "no protected attribute in the cluster admits this value"}, "A protected attribute must be changed"},
		"a selection":  {Denial{Ordinary: "get", Why: `AuthorityDelegation "images" does not allow the request`}, "Select another role or delegation"},
		"admission":    {Denial{Resource: "pods", Admission: true, Why: "exceeded quota: x"}, "refused by admission: a policy, a webhook, a quota or another check of the server said: exceeded quota: x\nNo role helps."},
		"a robot":      {Denial{User: "system:serviceaccount:shop:web", Ordinary: "patch"}, "role --subject serviceaccount:shop/web -- kubectl"},
		"an authority": {Denial{Ordinary: "patch", Why: "the namespace is frozen"}, "the namespace is frozen"},
		"a grant":      {Denial{User: "jane", Grant: true, Why: "{}"}, "the verb escalate"},
	} {
		got := tc.of.Advice(func(s string) string { return s })
		if tc.want == "" && got != "" || !strings.Contains(string(got), tc.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestDenialFromAudit(t *testing.T) {
	log := `{"auditID":"one","stage":"RequestReceived"}
not json
{"auditID":"one-more","stage":"ResponseComplete","verb":"patch","user":{"username":"eve"},"objectRef":{"resource":"pods","name":"p"},"responseStatus":{"code":403}}
{"auditID":"one","stage":"ResponseComplete","verb":"patch","user":{"username":"admin"},"impersonatedUser":{"username":"jane"},"objectRef":{"resource":"deployments","namespace":"shop","name":"web","apiGroup":"apps","subresource":"scale"},"responseStatus":{"code":403},"annotations":{"granular.authorization.kube-granular.dev/missing":"granular:replicas granular:specification"}}
{"auditID":"both","stage":"ResponseComplete","verb":"patch","user":{"username":"jane"},"objectRef":{"resource":"pods","namespace":"shop","name":"web"},"responseStatus":{"code":403},"annotations":{"granular.authorization.kube-granular.dev/missing":"granular:imageFrom(a&b)&granular:imageFrom(c) granular:specification"}}
{"auditID":"quota","stage":"ResponseComplete","verb":"patch","user":{"username":"jane"},"objectRef":{"resource":"pods","namespace":"shop","name":"web"},"responseStatus":{"code":403,"message":"pods \"web\" is forbidden: exceeded quota: x"},"annotations":{"authorization.k8s.io/decision":"allow"}}
{"auditID":"silent","stage":"ResponseComplete","verb":"patch","user":{"username":"jane"},"objectRef":{"resource":"pods","namespace":"shop","name":"web"},"responseStatus":{"code":403},"annotations":{"authorization.k8s.io/decision":"allow"}}
{"auditID":"denied","stage":"ResponseComplete","verb":"patch","user":{"username":"jane"},"objectRef":{"resource":"pods","namespace":"shop","name":"web"},"responseStatus":{"code":403,"message":"pods \"web\" is forbidden: no"},"annotations":{"authorization.k8s.io/decision":"forbid"}}
{"auditID":"two","stage":"ResponseComplete","verb":"patch","user":{"username":"jane"},"objectRef":{"resource":"pods","namespace":"shop","name":"web"},"responseStatus":{"code":200}}`
	got, err := FromAudit(strings.NewReader(log), "one")
	want := &Denial{Resource: "deployments.apps", Subresource: "scale", Name: "web", Namespace: "shop",
		User: "jane", Verbs: []string{"granular:replicas", "granular:specification"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	got, err = FromAudit(strings.NewReader(log), "both")
	want = &Denial{Resource: "pods", Name: "web", Namespace: "shop", User: "jane",
		Verbs: []string{"granular:imageFrom(a&b)", "granular:specification"}, Together: []string{"granular:imageFrom(a&b)", "granular:imageFrom(c)"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	got, err = FromAudit(strings.NewReader(log), "quota")
	want = &Denial{Resource: "pods", Name: "web", Namespace: "shop", User: "jane", Admission: true, Why: "exceeded quota: x"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	got, err = FromAudit(strings.NewReader(log), "silent")
	want.Why = ""
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	got, err = FromAudit(strings.NewReader(log), "denied")
	want = &Denial{Resource: "pods", Name: "web", Namespace: "shop", User: "jane", Ordinary: "patch"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for id, message := range map[string]string{"two": "two was not refused: its status code is 200", "three": "no completed request with the audit ID three"} {
		if _, err := FromAudit(strings.NewReader(log), id); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// TestDenialFromWrappedAudit checks that the event is found in each form in which other commands read audit logs.
func TestDenialFromWrappedAudit(t *testing.T) {
	const event = `{"auditID":"one","stage":"ResponseComplete","verb":"patch","user":{"username":"jane"},"objectRef":{"resource":"pods","name":"p"}` +
		`,"responseStatus":{"code":403}}`
	text, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write([]byte(event)); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	want := &Denial{Resource: "pods", Name: "p", User: "jane", Ordinary: "patch"}
	for name, log := range map[string]string{
		"gzip":                  zipped.String(),
		"a record of an agent":  `{"log":` + string(text) + `}`,
		"a list of one line":    `{"kind":"EventList","items":[{"auditID":"two"},` + event + `]}`,
		"an array":              "[\n" + strings.Replace(event, "one", "two", 1) + ",\n" + event + "\n]",
		"after what is no JSON": "one\n" + event,
	} {
		got, err := FromAudit(strings.NewReader(log), "one")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
		if _, err := FromAudit(strings.NewReader(log), "three"); err == nil || !strings.Contains(err.Error(), "no completed request") {
			t.Errorf("%s: found what is not there: %v", name, err)
		}
	}
	if _, err := FromAudit(strings.NewReader("\x1f\x8bx"), "one"); err == nil || strings.Contains(err.Error(), "no completed request") {
		t.Errorf("a broken log: %v", err)
	}
}

// TestFromEvent holds which events are refused requests.
func TestFromEvent(t *testing.T) {
	const end = `"stage":"ResponseComplete","verb":"patch","stageTimestamp":"2026-11-27T10:00:00.5Z","user":{"username":"eve","groups":["g"]},"objectRef":{"resource":"pods","name":"p"}`
	for name, tc := range map[string]struct {
		event string
		want  *Refused
		fails bool
	}{
		"a refusal": {`{"auditID":"a",` + end + `,"responseStatus":{"code":403,"message":"no"}}`, &Refused{
			Denial: &Denial{Ordinary: "patch", Resource: "pods", Name: "p", User: "eve"}, Time: "2026-11-27T10:00:00.5Z", AuditID: "a", Verb: "patch", Groups: []string{"g"}, Message: "no"}, false},
		"for somebody else": {`{"auditID":"a",` + end + `,"impersonatedUser":{"username":"jane"},"responseStatus":{"code":403}}`, &Refused{
			Denial: &Denial{Ordinary: "patch", Resource: "pods", Name: "p", User: "jane"}, Time: "2026-11-27T10:00:00.5Z", AuditID: "a", Verb: "patch"}, false},
		"a question of this plugin": {`{"auditID":"a","userAgent":"kubectl-granular/v1 (linux)","requestURI":"/api/v1/namespaces/x/pods/p?dryRun=All",` + end + `,"responseStatus":{"code":403}}`, nil, false},
		"a dry run of another client": {`{"auditID":"a","userAgent":"kubectl/v1 (linux)","requestURI":"/api/v1/namespaces/x/pods/p?dryRun=All",` + end + `,"responseStatus":{"code":403}}`, &Refused{
			Denial: &Denial{Ordinary: "patch", Resource: "pods", Name: "p", User: "eve"}, Time: "2026-11-27T10:00:00.5Z", AuditID: "a", Verb: "patch", Groups: []string{"g"}}, false},
		"it was allowed":    {`{"auditID":"a",` + end + `,"responseStatus":{"code":200}}`, nil, false},
		"it only began":     {`{"auditID":"a","stage":"RequestReceived","responseStatus":{"code":403}}`, nil, false},
		"without an object": {`{"auditID":"a","stage":"ResponseComplete","responseStatus":{"code":403}}`, nil, false},
		"no event":          {`{"kind":"Pod"}`, nil, true},
		"no JSON":           {`x`, nil, true},
	} {
		got, err := FromEvent([]byte(tc.event))
		if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.fails {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

func FuzzParseDenial(f *testing.F) {
	f.Add(`pods "a" is forbidden: User "b" cannot change .spec in namespace "c": needs the verb "granular:specification"`)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse(text)
		if (d == nil) == (err == nil) {
			t.Errorf("%q: %v and %v", text, d, err)
		}
	})
}
