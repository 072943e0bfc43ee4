// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"encoding/json"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"kube-granular.dev/pkg/cli/roletest/format"
)

// update returns an update. The administrator reads the object for it, because the case is about the write.
func (s *Server) update(u *format.Update) (*request, error) {
	r, err := s.target(u.Resource, u.Name)
	if err != nil {
		return nil, err
	}
	change, err := json.Marshal(u.Merge)
	if err != nil {
		return nil, err
	}
	r.verbs, r.changes = []string{"update"}, true
	r.send = func(ctx context.Context, client dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		stored, err := r.client(s.objects).Get(ctx, r.name, metav1.GetOptions{}, r.read()...)
		if err != nil {
			return nil, err
		}
		changed, err := merged(stored, change)
		if err != nil {
			return nil, err
		}
		return client.Update(ctx, changed, metav1.UpdateOptions{DryRun: dryRun, FieldValidation: metav1.FieldValidationStrict}, r.subresources...)
	}
	return r, nil
}

func merged(stored *unstructured.Unstructured, change []byte) (*unstructured.Unstructured, error) {
	before, err := stored.MarshalJSON()
	if err != nil {
		return nil, err
	}
	after, err := jsonpatch.MergePatch(before, change)
	if err != nil {
		return nil, err
	}
	out := &unstructured.Unstructured{}
	return out, out.UnmarshalJSON(after)
}
