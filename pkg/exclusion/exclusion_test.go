// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package exclusion

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"kube-granular.dev/pkg/crd"
	"kube-granular.dev/pkg/expression"
	"kube-granular.dev/pkg/refusal"
)

// answering is an authorizer with one answer. It notes the verbs that it is asked for.
type answering struct {
	decision authorizer.Decision
	err      error
	asked    []string
}

func (a *answering) Authorize(_ context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	a.asked = append(a.asked, strings.TrimSpace(attributes.GetVerb()+" "+attributes.GetResource()+" "+attributes.GetName()+" "+attributes.GetSubresource()))
	return a.decision, "", a.err
}

// warned collects warnings.
type warned []string

func (w *warned) AddWarning(_, text string) { *w = append(*w, text) }

const name = "boxes.example.com"

func requestContext(w *warned) context.Context {
	ctx := request.WithUser(context.Background(), &user.DefaultInfo{Name: "ivan"})
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{IsResourceRequest: true, Verb: "update", APIGroup: "apiextensions.k8s.io", APIVersion: "v1", Resource: "customresourcedefinitions", Name: name})
	return warning.WithWarningRecorder(ctx, w)
}

// box returns a definition whose field .spec.secret is excluded if the argument is true. Without
// the field, fields is empty.
func box(excluded bool, fields ...string) *apiextensions.CustomResourceDefinition {
	properties := map[string]apiextensions.JSONSchemaProps{}
	for _, field := range fields {
		s := apiextensions.JSONSchemaProps{Type: "string"}
		if excluded {
			verb := "example.com/" + field
			s.XPermissionVerb, s.XPermissionExcluded = &verb, true
		}
		properties[field] = s
	}
	out := &apiextensions.CustomResourceDefinition{}
	out.Name, out.UID = name, types.UID("1")
	out.Spec = apiextensions.CustomResourceDefinitionSpec{Group: "example.com", Names: apiextensions.CustomResourceDefinitionNames{Plural: "boxes"},
		Versions: []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true}},
		Validation: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{Type: "object",
			Properties: map[string]apiextensions.JSONSchemaProps{"spec": {Type: "object", Properties: properties}}}}}
	out.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "author", Operation: metav1.ManagedFieldsOperationApply}}
	return out
}

func guard() *Guard {
	return New(crd.New(func() bool { return true }, expression.Accepted()))
}

// TestKeep checks the answers to an update that weakens an exclusion.
func TestKeep(t *testing.T) {
	failure := errors.New("the webhook is down")
	for _, test := range []struct {
		name       string
		updated    *apiextensions.CustomResourceDefinition
		authorizer answering
		kept       bool
		refused    func(error) bool
		warns      string
	}{
		{"held", box(false, "secret"), answering{decision: authorizer.DecisionAllow}, false, nil, "is no longer excluded"},
		{"held, though another authorizer failed", box(false, "secret"), answering{decision: authorizer.DecisionAllow, err: failure}, false, nil, "is no longer excluded"},
		{"not held", box(false, "secret"), answering{decision: authorizer.DecisionNoOpinion}, true, nil, "stay"},
		{"denied", box(false, "secret"), answering{decision: authorizer.DecisionDeny}, true, nil, "stay"},
		{"not answered", box(false, "secret"), answering{decision: authorizer.DecisionNoOpinion, err: failure}, false, apierrors.IsInternalError, ""},
		{"the field is gone", box(true, "other"), answering{decision: authorizer.DecisionNoOpinion}, false, apierrors.IsForbidden, ""},
		{"the field is gone, held", box(true, "other"), answering{decision: authorizer.DecisionAllow}, false, nil, "is not in the schema any more"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var warnings warned
			ctx := requestContext(&warnings)
			a := test.authorizer
			u := guard().Begin(&a)
			stored := box(true, "secret")
			for range 2 { // the storage tries again
				got, err := u.Keep(ctx, test.updated.DeepCopy(), stored)
				if test.refused != nil {
					if err == nil || !test.refused(err) || strings.Contains(err.Error(), failure.Error()) {
						t.Fatalf("got %v", err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if secret := got.Spec.Validation.OpenAPIV3Schema.Properties["spec"].Properties["secret"]; secret.XPermissionExcluded != test.kept {
					t.Errorf("excluded is %v, want %v", secret.XPermissionExcluded, test.kept)
				}
				if owns := slices.ContainsFunc(got.ManagedFields, granular.OwnedByServer); owns != test.kept {
					t.Errorf("the server owns the versions: %v", owns)
				}
			}
			if len(warnings) > 0 {
				t.Errorf("warned of %q before the update is stored", warnings)
			}
			if test.refused != nil {
				return
			}
			u.Stored(ctx, false)
			if len(warnings) != 1 || !strings.Contains(warnings[0], test.warns) || !strings.Contains(warnings[0], Verb) {
				t.Errorf("warned of %q, want %q", warnings, test.warns)
			}
			if want := []string{Verb + " customresourcedefinitions " + name}; !slices.Equal(a.asked, want) {
				t.Errorf("asked for %q, want %q", a.asked, want)
			}
		})
	}
}

// TestRefusalNamesTheField checks the text and the causes of a refusal.
func TestRefusalNamesTheField(t *testing.T) {
	var warnings warned
	_, err := guard().Begin(&answering{}).Keep(requestContext(&warnings), box(true, "other"), box(true, "secret"))
	const want = `customresourcedefinitions.apiextensions.k8s.io "boxes.example.com" is forbidden: User "ivan" cannot change .spec.versions: needs the verb "granular:permissionExclusion" to weaken what the definition excludes: version v1: .spec.secret is not in the schema any more`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || len(status.Status().Details.Causes) == 0 || status.Status().Details.Causes[0].Field != ".spec.secret" {
		t.Fatalf("the causes do not name the field: %#v", err)
	}
	told, _ := refusal.FromCauses(status.Status().Details.Causes)
	if diff := cmp.Diff(&refusal.Details{User: "ivan", Field: ".spec.versions", Verbs: []string{Verb}}, told); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
}

// TestKeepAsksNothing checks that the authorizer is not asked if an update weakens nothing.
func TestKeepAsksNothing(t *testing.T) {
	for name, pair := range map[string][2]*apiextensions.CustomResourceDefinition{
		"nothing changes":     {box(true, "secret"), box(true, "secret")},
		"a field comes":       {box(true, "secret"), box(true, "secret", "other")},
		"nothing is excluded": {box(false, "secret"), box(false)},
		"an exclusion comes":  {box(false, "secret"), box(true, "secret")},
	} {
		a := &answering{}
		u := guard().Begin(a)
		var warnings warned
		ctx := requestContext(&warnings)
		updated := pair[1].DeepCopy()
		got, err := u.Keep(ctx, updated, pair[0])
		u.Stored(ctx, false)
		if err != nil || got != updated || len(a.asked) > 0 || len(warnings) > 0 {
			t.Errorf("%s: %v, asked for %q, warned of %q", name, err, a.asked, warnings)
		}
	}
}

// TestForgedStatus checks that the status in a request, which is not stored, does not decide
// whether the definition is valid.
//
// Attack: an update that weakens an exclusion sends a status by which its schema would be refused, so that nobody looks at it further
// Answer: the status that is stored counts
func TestForgedStatus(t *testing.T) {
	updated := box(false, "secret")
	extra := "example.com/extra"
	updated.Spec.Validation.OpenAPIV3Schema.Properties["spec"].Properties["extra"] = apiextensions.JSONSchemaProps{XPermissionVerb: &extra}
	updated.Status.Conditions = []apiextensions.CustomResourceDefinitionCondition{{Type: apiextensions.NonStructuralSchema, Status: apiextensions.ConditionTrue}}
	var warnings warned
	got, err := guard().Begin(&answering{}).Keep(requestContext(&warnings), updated, box(true, "secret"))
	if err != nil || !got.Spec.Validation.OpenAPIV3Schema.Properties["spec"].Properties["secret"].XPermissionExcluded {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestKeepStatus checks the answers to an update of the status that opens something. It asks for the
// verb on the definition, and does not look at the specification, which is not stored.
func TestKeepStatus(t *testing.T) {
	renamed, bare := box(true, "secret"), box(false)
	renamed.Status.AcceptedNames.Plural = "others"
	cleaned := box(true, "secret")
	stored := box(true, "secret")
	now := metav1.Now()
	stored.DeletionTimestamp, stored.Finalizers = &now, []string{apiextensions.CustomResourceCleanupFinalizer}
	renamed.Finalizers, bare.Finalizers = stored.Finalizers, stored.Finalizers
	for _, test := range []struct {
		name    string
		updated *apiextensions.CustomResourceDefinition
		answer  answering
		asks    bool
		refused func(error) bool
		warns   string
	}{
		{"not held", renamed, answering{decision: authorizer.DecisionNoOpinion}, true, apierrors.IsForbidden, ""},
		{"held", renamed, answering{decision: authorizer.DecisionAllow}, true, nil, "names another resource"},
		{"not answered", renamed, answering{err: errors.New("down")}, true, apierrors.IsInternalError, ""},
		{"the finalizer, not held", cleaned, answering{decision: authorizer.DecisionNoOpinion}, true, apierrors.IsForbidden, ""},
		{"the finalizer, held, as by the server itself", cleaned, answering{decision: authorizer.DecisionAllow}, true, nil, ""},
		{"another specification", bare, answering{}, false, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var warnings warned
			ctx := requestContext(&warnings)
			info, _ := request.RequestInfoFrom(ctx)
			info.Subresource = "status"
			a := test.answer
			u := guard().Begin(&a)
			got, err := u.KeepStatus(ctx, test.updated, stored)
			if test.refused == nil && (err != nil || got != test.updated) || test.refused != nil && !test.refused(err) {
				t.Fatalf("got %v", err)
			}
			if err == nil {
				u.Stored(ctx, false)
			}
			if got := strings.Join(warnings, " "); (test.warns == "") != (got == "") || !strings.Contains(got, test.warns) {
				t.Errorf("warned of %q, want %q", got, test.warns)
			}
			if want := Verb + " customresourcedefinitions " + name; test.asks != slices.Contains(a.asked, want) || len(a.asked) > 1 {
				t.Errorf("asked for %q", a.asked)
			}
		})
	}
}

// TestKeepWithTheGateOff checks that a server that does not enforce the extensions guards those that are stored as the others do,
// and leaves a definition without any to upstream's code: it asks nobody, and changes no managed fields.
func TestKeepWithTheGateOff(t *testing.T) {
	renamed := func(crd *apiextensions.CustomResourceDefinition) *apiextensions.CustomResourceDefinition {
		crd.Status.AcceptedNames.Plural = "others"
		return crd
	}
	owned := box(false, "secret")
	owned.ManagedFields = withOwner(box(true, "secret"), box(true, "secret"), true).ManagedFields
	for _, test := range []struct {
		name            string
		updated, stored *apiextensions.CustomResourceDefinition
		status          bool
		decision        authorizer.Decision
		asks, kept      bool
		refused         bool
		warns           string
	}{
		{"not held", box(false, "secret"), box(true, "secret"), false, authorizer.DecisionNoOpinion, true, true, false, "stay"},
		{"held", box(false, "secret"), box(true, "secret"), false, authorizer.DecisionAllow, true, false, false, "is no longer excluded"},
		{"the field is gone", box(true, "other"), box(true, "secret"), false, authorizer.DecisionNoOpinion, true, false, true, ""},
		{"nothing is stored", box(false), box(false, "secret"), false, authorizer.DecisionNoOpinion, false, false, false, ""},
		{"nothing is stored, and an exclusion comes", box(true, "secret"), box(false, "secret"), false, authorizer.DecisionNoOpinion,
			false, true, false, ""},
		{"nothing is stored any more", box(false, "secret"), owned, false, authorizer.DecisionNoOpinion, false, false, false, ""},
		{"another name", renamed(box(true, "secret")), box(true, "secret"), true, authorizer.DecisionNoOpinion, true, false, true, ""},
		{"another name, held", renamed(box(true, "secret")), box(true, "secret"), true, authorizer.DecisionAllow, true, true, false,
			"names another resource"},
		{"another name, nothing is stored", renamed(box(false, "secret")), box(false, "secret"), true, authorizer.DecisionNoOpinion,
			false, false, false, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var warnings warned
			ctx, a := requestContext(&warnings), &answering{decision: test.decision}
			u := New(crd.New(func() bool { return false }, expression.Accepted())).Begin(a)
			keep := u.Keep
			if test.status {
				keep = u.KeepStatus
			}
			updated := test.updated.DeepCopy()
			got, err := keep(ctx, updated, test.stored)
			if asked := len(a.asked) > 0; asked != test.asks || apierrors.IsForbidden(err) != test.refused || test.refused != (err != nil) {
				t.Fatalf("got %v, asked for %q", err, a.asked)
			}
			if test.refused {
				return
			}
			if secret := spec(got)["secret"]; secret.XPermissionExcluded != test.kept {
				t.Errorf("excluded is %v", secret.XPermissionExcluded)
			}
			if owns := slices.ContainsFunc(got.ManagedFields, granular.OwnedByServer); !test.asks && (owns || got != updated) {
				t.Errorf("the server owns something: %v", got.ManagedFields)
			}
			u.Stored(ctx, false)
			if told := strings.Join(warnings, " "); (told == "") != (test.warns == "") || !strings.Contains(told, test.warns) {
				t.Errorf("warned of %q", told)
			}
		})
	}
}
