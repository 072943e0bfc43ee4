// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/granular/rule/worlds"
	"kube-granular.dev/pkg/gate"
)

// write is one world, but for the verbs of the caller. Its objects have the fields of the schema only.
type write struct {
	*definition
	// request is the version of the request, and source that in which the object is stored.
	request, source *version
	// stored is nil for a create. unknown is set if it has a field of no version.
	stored  map[string]any
	unknown bool
	// sent is the object with the caller's change, and final the one about to be stored. They differ if
	// admitted is set.
	sent, final map[string]any
	admitted    bool
	granular    bool
}

// holder is an authorizer that grants what a caller of package worlds holds.
type holder struct {
	authorizer.Authorizer
	caller *worlds.Caller
}

func (h holder) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.GetVerb() != "get" && h.caller.Holds(a.GetVerb()) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// judge judges a write by callers of all sets of verbs, and returns how many it judged.
func (w *write) judge(c *worlds.Caller) (judged int, err error) {
	attempt, err := w.attempt()
	if err != nil {
		return 0, err
	}
	want := w.reference()
	c.Begin()
	for more := true; more; more = c.Next() {
		judged++
		err := attempt.make(gate.New(holder{caller: c}), w.granular)
		allowed := err == nil
		switch {
		case err != nil && !apierrors.IsForbidden(err):
			return judged, fmt.Errorf("neither allowed nor refused: %w", err)
		case allowed && !want.soundly(c.Holds):
			return judged, errors.New("allowed, not by the rule")
		case !allowed && want.completely(c.Holds):
			return judged, fmt.Errorf("refused, allowed by the rule: %w", err)
		}
	}
	return judged, nil
}

// attempt has the objects of one write as the server has them.
type attempt struct {
	ctx              context.Context
	target           granular.Target
	old, sent, final runtime.Object
}

func (w *write) attempt() (*attempt, error) {
	verb := "update"
	if w.stored == nil {
		verb = "create"
	}
	out := &attempt{target: granular.Target{Schema: w.schema, Kind: w.request.kind, Convertor: w.definition,
		Resource: w.request.kind.GroupVersion().WithResource("things")}}
	out.ctx = request.WithUser(context.Background(), &user.DefaultInfo{Name: "jane"})
	out.ctx = request.WithRequestInfo(out.ctx, &request.RequestInfo{IsResourceRequest: true, Verb: verb, APIGroup: group,
		APIVersion: w.request.kind.Version, Resource: "things", Namespace: "n", Name: "t"})
	out.sent, out.final = w.whole(w.sent, w.request), w.whole(w.final, w.request)
	if w.stored == nil {
		w.schema.Stored = w.definition.stored(nil)
		return out, nil
	}
	stored := w.whole(w.stored, w.source)
	if w.unknown {
		stored.Object["gone"] = "v"
	}
	data, err := json.Marshal(stored.Object)
	if err != nil {
		return nil, err
	}
	w.schema.Stored = w.definition.stored(data)
	through := w.schema.Stored.Versions[w.request.kind.Version]
	// The storage reads the object before it updates it.
	read, _, err := through.StorageCodec(through.Codec).Decode(data, nil, nil)
	out.old = read
	return out, err
}

// whole returns an object with its version and metadata.
func (w *write) whole(o map[string]any, v *version) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: maps.Clone(o)}
	u.SetGroupVersionKind(v.kind)
	u.SetName("t")
	if w.stored != nil {
		u.SetUID("1")
		u.SetResourceVersion(resourceVersion)
	}
	return u
}

// make makes the calls of the server, and returns nil if the write would be stored.
func (a *attempt) make(g *gate.Gate, marked bool) error {
	ctx := a.ctx
	if marked {
		ctx, _ = granular.WithMarker(ctx)
	}
	w := g.Begin(ctx, a.target)
	if w == nil {
		return nil
	}
	if err := w.Submitted(ctx, a.sent, a.old); err != nil {
		return err
	}
	if err := w.Observe(ctx, a.sent, a.old); err != nil {
		return err
	}
	if err := w.Admitted(ctx, a.final, a.old); err != nil {
		return err
	}
	if err := w.Verify(ctx, a.final, a.old); err != nil {
		return err
	}
	if marker := granular.MarkerFrom(ctx); marker != nil {
		return marker.Consume()
	}
	return nil
}

func (w *write) String() string {
	text := func(v any) string {
		data, _ := json.Marshal(v)
		return string(data)
	}
	stored := fmt.Sprintf("stored in %s %s (a field of no version: %t)", w.source.kind.Version, text(w.stored), w.unknown)
	return fmt.Sprintf("%v as stored, %v as v1, webhook %t: %s, sent in %s %s, about to be stored %s, granular %t",
		w.current.root, w.other.root, w.webhook, stored, w.request.kind.Version, text(w.sent), text(w.final), w.granular)
}
