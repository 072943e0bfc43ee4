// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizer

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// Patch refuses the operations of a JSON patch (RFC 6902) that carry a value from one
// place to another, if their caller may not get the object: a field that may be
// written and is shown elsewhere, as labels and annotations are that a controller
// hands on, would show what may not be read.
func (w *write) Patch(ctx context.Context, patchType types.PatchType, patch []byte) error {
	if !w.marked || patchType != types.JSONPatchType {
		return nil
	}
	// As upstream's decoder has it: names are case sensitive, the last one counts. What
	// does not decode here does not there, and is refused there.
	var operations []map[string]json.RawMessage
	if json.Unmarshal(patch, &operations) != nil {
		return nil
	}
	for _, operation := range operations {
		var op string
		if json.Unmarshal(operation["op"], &op) != nil || op != "copy" && op != "move" || w.mayGet(ctx) {
			continue
		}
		err := apierrors.NewForbidden(w.target.Resource.GroupResource(), w.attributes.GetName(),
			fmt.Errorf("User %q cannot %s a value%s: that reads the object, and needs the verb \"get\"", w.user(), op, w.where()))
		w.verdict.Store(&verdict{err: err, missing: []string{"get"}})
		return err
	}
	return nil
}
