// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// TestErrorsBeforeVerify checks what a caller learns if validation or admission fails before its fields are verified.
//
// Attack: a caller holds granular on Secrets and no permission, and pads an object until validation says too long in place of the gate's no
// Answer: who may not make its change, and may not get the object, gets the refusal of the change, whatever else fails
func TestErrorsBeforeVerify(t *testing.T) {
	long := apierrors.NewInvalid(thing.GroupKind(), "t", field.ErrorList{field.TooLong(field.NewPath("data"), "", 1)})
	for name, tc := range map[string]struct {
		allow []string
		err   error
		// before is what happened before the error: nothing, observe, verify, or end, after which the request has ended.
		before string
		says   string
	}{
		"validation":                {nil, long, "observe", "cannot change .spec.size"},
		"an error without a status": {nil, errors.New("secret"), "observe", "cannot change .spec.size"},
		"admission": {nil, apierrors.NewForbidden(gvk.GroupResource{Group: "example.com", Resource: "things"}, "t",
			errors.New("secret")), "observe", "cannot change .spec.size"},
		"validation, of a change that is allowed": {[]string{"granular:size"}, long, "observe", "shown only to callers who may get"},
		"validation, shown":                       {[]string{"get"}, long, "observe", "Too long"},
		"before the change is observed":           {nil, long, "", "shown only to callers who may get"},
		"after the change was verified":           {[]string{"granular:size"}, long, "verify", "shown only to callers who may get"},
		"after the request ended":                 {nil, long, "end", "the request ended, and may have been carried out"},
		"another permission":                      {[]string{"granular:labels"}, long, "observe", "cannot change .spec.size"},
	} {
		ctx, _ := granular.WithMarker(requestContext("patch"))
		ctx, end := context.WithCancel(ctx)
		g := &grants{allow: tc.allow}
		w := New(g).Begin(ctx, target(t, strings.Replace(things, "EXCLUDED", "false", 1)))
		if tc.before != "" {
			if err := w.Observe(ctx, object(t, larger), object(t, plain)); err != nil {
				t.Fatal(err)
			}
		}
		switch tc.before {
		case "verify":
			if err := w.Verify(ctx, object(t, larger), object(t, plain)); err != nil {
				t.Fatal(err)
			}
		case "end":
			end()
		}
		got := w.RespondError(ctx, tc.err)
		if !strings.Contains(got.Error(), tc.says) || strings.Contains(got.Error(), "secret") {
			t.Errorf("%s: %v, wanted %q", name, got, tc.says)
		}
		if refused := strings.Contains(tc.says, "cannot change"); refused != (apierrors.IsForbidden(got) && !apierrors.IsInvalid(got)) {
			t.Errorf("%s: the reason is %s", name, apierrors.ReasonForError(got))
		}
		end()
	}
}

// TestErrorsBeforeDroppedChanges checks that a change that the storage drops does not refuse a caller that may make all others.
func TestErrorsBeforeDroppedChanges(t *testing.T) {
	for name, tc := range map[string]struct {
		dropped string
		refused bool
	}{"all of it": {plain, false}, "nothing": {larger, true}} {
		ctx, _ := granular.WithMarker(requestContext("update"))
		w := New(&grants{}).Begin(ctx, target(t, strings.Replace(things, "EXCLUDED", "false", 1)))
		sent := object(t, larger)
		if err := w.Observe(ctx, sent, object(t, plain)); err != nil {
			t.Fatal(err)
		}
		sent.Object = object(t, tc.dropped).Object // as a strategy does before validation
		got := w.RespondError(ctx, apierrors.NewTooManyRequests("secret", 1))
		if apierrors.IsForbidden(got) != tc.refused || apierrors.IsTooManyRequests(got) == tc.refused {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestErrorsAfterVerify checks that an error after Verify, such as a conflict in the storage, does not judge the change once more.
func TestErrorsAfterVerify(t *testing.T) {
	ctx, _ := granular.WithMarker(requestContext("patch"))
	w := New(&grants{allow: []string{"granular:size"}}).Begin(ctx, target(t, strings.Replace(things, "EXCLUDED", "false", 1)))
	if err := w.Observe(ctx, object(t, larger), object(t, plain)); err != nil {
		t.Fatal(err)
	}
	if w.(*write).seen == nil {
		t.Error("an error before Verify does not judge the change")
	}
	if err := w.Verify(ctx, object(t, larger), object(t, plain)); err != nil {
		t.Fatal(err)
	}
	if w.(*write).seen != nil {
		t.Error("an error after Verify judges the change once more")
	}
}

// TestErrorsOfCreates checks that an update that creates its object keeps upstream's errors, because there is nothing hidden.
func TestErrorsOfCreates(t *testing.T) {
	long := apierrors.NewInvalid(thing.GroupKind(), "t", field.ErrorList{field.TooLong(field.NewPath("data"), "", 1)})
	ctx, _ := granular.WithMarker(requestContext("update"))
	w := New(&grants{}).Begin(ctx, target(t, strings.Replace(things, "EXCLUDED", "false", 1)))
	if err := w.Observe(ctx, object(t, plain), nil); err != nil {
		t.Fatal(err)
	}
	if got := w.RespondError(ctx, long); !apierrors.IsInvalid(got) {
		t.Errorf("%v", got)
	}
}

// readable is an authorizer that allows to get one subresource of things, or the things themselves.
type readable struct {
	upstream.Authorizer
	subresource string
}

// Authorize implements upstream.UnconditionalAuthorizer.
func (r readable) Authorize(_ context.Context, a upstream.Attributes) (upstream.Decision, string, error) {
	if a.GetVerb() == "get" && a.GetSubresource() == r.subresource {
		return upstream.DecisionAllow, "", nil
	}
	return upstream.DecisionNoOpinion, "", nil
}

// TestErrorsOfScales checks whose right to get counts for the scale of an object.
//
// Attack: a caller may get the scale of a Deployment, writes it, and validation or a warning quotes the pod template
// Was: shown, because the scale may be seen
// Answer: errors and warnings need the right to get the object itself; the scale in the answer does not
func TestErrorsOfScales(t *testing.T) {
	long := apierrors.NewInvalid(thing.GroupKind(), "t", field.ErrorList{field.TooLong(field.NewPath("data"), "", 1)})
	for get, shown := range map[string]struct{ errors, result bool }{"scale": {false, true}, "": {true, false}, "status": {false, false}} {
		ctx, _ := granular.WithMarker(requestContext("patch"))
		info, _ := request.RequestInfoFrom(ctx)
		info.Subresource = "scale"
		of := target(t, strings.Replace(things, "EXCLUDED", "false", 1))
		of.Subresource, of.Kind = "scale", autoscalingv1.SchemeGroupVersion.WithKind("Scale")
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 3}}
		w := New(readable{subresource: get}).Begin(ctx, of)
		if got := w.RespondError(ctx, long); strings.Contains(got.Error(), "Too long") != shown.errors {
			t.Errorf("may get %q: %v", get, got)
		}
		if got := w.Respond(ctx, scale); (got == runtime.Object(scale)) != shown.result {
			t.Errorf("may get %q: the answer is %v", get, got)
		}
	}
}
