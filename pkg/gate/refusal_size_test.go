// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/pkg/gate/redact"
	"kube-granular.dev/pkg/refusal"
)

// longest is the schema labelled with permission names of the greatest length.
var longest = func() string {
	domain := strings.Repeat("d", 249) + ".com/"
	name := func(first string) string { return domain + first + strings.Repeat("n", 62) }
	return strings.NewReplacer(`"metadata",`, `"`+name("a")+`",`, `"labels",`, `"`+name("b")+`",`, `"label",`, `"`+name("c")+`",`).Replace(labelled)
}()

// TestRefusalsFit checks that no refusal exceeds redact.MaxRefusal, whatever names and values the
// caller chooses.
func TestRefusalsFit(t *testing.T) {
	for text, long := range map[string]string{
		"short": "x", "plain": strings.Repeat("x", 1<<20), "controls": strings.Repeat("\x00", 1<<20),
		"quotes": strings.Repeat(`"`, 1<<20), "characters": strings.Repeat("€", 1<<18), "no characters": strings.Repeat("\xff", 1<<20),
	} {
		for name, model := range map[string]string{"usual": labelled, "longest": longest, "malformed": strings.Replace(labelled, `"label"`, `"Not a permission"`, 1)} {
			for _, key := range []string{long, strings.Repeat("k", 256)} {
				a := attributes("update")
				a.User, a.Name, a.Namespace = &user.DefaultInfo{Name: long}, long, long
				ctx, marker := granular.WithMarker(requestContext("update"))
				w := newWrite(ctx, New(&grants{}), target(t, model), kindOf(target(t, model)), a, marker)
				old, sent := labelsOf(t, nil), labelsOf(t, map[string]any{key: "v"})
				fits(t, text+", not observed, "+name, w.Verify(ctx, sent, old))
				fits(t, text+", "+name, verify(t, w, ctx, sent, old))
				if err := w.Patch(ctx, types.JSONPatchType, []byte(`[{"op":"copy"}]`)); err == nil {
					t.Error("a copy is allowed")
				} else {
					fits(t, text+", copy", err)
				}
				quiet := w.RespondError(ctx, &apierrors.StatusError{ErrStatus: metav1.Status{
					Code: 422, Message: long, Details: &metav1.StatusDetails{Name: long, Causes: []metav1.StatusCause{{Field: "metadata." + long, Message: long}, {Field: long}}},
				}})
				fits(t, text+", quiet", quiet)
				fits(t, text+", inside", w.RespondError(ctx, errors.New(long)))
			}
		}
	}
}

func fits(t *testing.T, name string, err error) {
	t.Helper()
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		t.Fatalf("%s: %v", name, err)
	}
	text, failed := json.Marshal(status.ErrStatus)
	if failed != nil {
		t.Fatal(failed)
	}
	if len(text) > redact.MaxRefusal {
		t.Errorf("%s: %d bytes: %.300s", name, len(text), text)
	}
	if apierrors.IsForbidden(err) && !strings.Contains(err.Error(), "is forbidden: User ") {
		t.Errorf("%s: %.300s", name, text)
	}
}

// TestFittingIsExact checks the limits to the byte: a refusal of the maximum size is sent
// unchanged, one byte more loses the causes that follow the first one, and then the usual limits. A
// refusal that is still too large is cut to the maximum size.
func TestFittingIsExact(t *testing.T) {
	of := requestInfo{target: target(t, labelled), attributes: attributes("update")}
	refused := func(usual, narrow int, cause refusal.Details) *apierrors.StatusError {
		err := of.boundedForbidden(nil, func(l redact.Limits) (string, refusal.Details) {
			if l == redact.Usual {
				return strings.Repeat("u", usual), cause
			}
			return strings.Repeat("n", narrow), cause
		})
		var status *apierrors.StatusError
		if !errors.As(err, &status) {
			t.Fatal(err)
		}
		return status
	}
	for name, cause := range map[string]refusal.Details{"no field": {}, "a field": {Field: ".spec", Verbs: []string{"granular:specification"}}} {
		empty := refused(0, 0, cause)
		if got, ok := refusal.FromCauses(empty.ErrStatus.Details.Causes); !ok || got.Field != cause.Field || got.User != "jane" {
			t.Errorf("%s: %v", name, empty.ErrStatus.Details.Causes)
		}
		full := redact.MaxRefusal - redact.SizeOf(empty)
		// Without the causes that follow the first one, there is more room for the text.
		short := *empty
		short.ErrStatus.Details = short.ErrStatus.Details.DeepCopy()
		short.ErrStatus.Details.Causes = cause.Summary(false)
		room := redact.MaxRefusal - redact.SizeOf(&short)
		for _, tc := range []struct {
			usual, narrow, size int
			complete            bool
			shows               string
		}{
			{full, 1, redact.MaxRefusal, true, strings.Repeat("u", full)},
			{full + 1, 1, redact.SizeOf(&short) + full + 1, false, strings.Repeat("u", full+1)},
			{room, 1, redact.MaxRefusal, false, strings.Repeat("u", room)},
			{room + 1, 1, redact.SizeOf(&short) + 1, false, `User "jane" n`},
			{room + 1, room, redact.MaxRefusal, false, strings.Repeat("n", room)},
			{room + 1, room + 1, redact.MaxRefusal, false, strings.Repeat("n", room-len(redact.Ellipsis)) + redact.Ellipsis},
			{2 * room, 2 * room, redact.MaxRefusal, false, strings.Repeat("n", room-len(redact.Ellipsis)) + redact.Ellipsis},
		} {
			got := refused(tc.usual, tc.narrow, cause)
			if size := redact.SizeOf(got); size != tc.size || !strings.HasSuffix(got.Error(), tc.shows) {
				t.Errorf("%s, %d and %d bytes: %d of %d bytes: ...%.80s", name, tc.usual, tc.narrow, size, tc.size,
					got.Error()[max(0, len(got.Error())-80):])
			}
			if _, complete := refusal.FromCauses(got.ErrStatus.Details.Causes); complete != tc.complete {
				t.Errorf("%s, %d and %d bytes: all causes: %t", name, tc.usual, tc.narrow, complete)
			}
		}
	}
}

// TestUsualRefusal checks that a long user name is shortened, and that the rest of the refusal
// stays complete.
func TestUsualRefusal(t *testing.T) {
	a := attributes("update")
	a.User = &user.DefaultInfo{Name: strings.Repeat("€", 300)}
	ctx, marker := granular.WithMarker(requestContext("update"))
	w := newWrite(ctx, New(&grants{}), target(t, labelled), kindOf(target(t, labelled)), a, marker)
	old, sent := labelsOf(t, nil), labelsOf(t, map[string]any{"key": "v"})
	err := verify(t, w, ctx, sent, old)
	const needs = `needs one of the verbs "granular:label(key)", "granular:metadata"`
	want := fmt.Sprintf(`things.example.com "t" is forbidden: User "%s..." cannot change .metadata.labels[key] in namespace "n": `+needs, strings.Repeat("€", 85))
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	if cause := err.(apierrors.APIStatus).Status().Details.Causes[0]; cause.Field != ".metadata.labels[key]" || cause.Message != needs {
		t.Errorf("got %+v", cause)
	}
}
