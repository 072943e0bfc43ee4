// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"kube-granular.dev/pkg/gate/redact"
	"kube-granular.dev/pkg/refusal"
)

// Patch refuses a JSON patch (RFC 6902) that contains an operation copy or move, if the request is
// granular and the caller is not allowed to get the object. With such an operation the caller
// could copy a value that it is not allowed to read to a field that it sees elsewhere, for example
// to a label that a controller copies to another object.
//
// Patch also keeps the body of a patch. If the write is refused later, the error contains only
// keys that are in the body, unless the caller is allowed to get the object. The new object of an
// apply has the keys of all managers, so its body is kept too.
func (w *write) Patch(ctx context.Context, patchType types.PatchType, body []byte) error {
	switch patchType {
	case types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType:
		w.patch = redact.NewBody(body, patchType == types.JSONPatchType)
	case types.ApplyYAMLPatchType, types.ApplyCBORPatchType:
		w.patch = redact.NewAppliedBody(body, patchType == types.ApplyCBORPatchType)
	}
	if !w.marked || patchType != types.JSONPatchType {
		return nil
	}
	// This decodes the patch as upstream does: names are case sensitive, and if one
	// operation has a name twice, the last one counts. A patch that can't be decoded here is refused by upstream,
	// which can't decode it either.
	var operations []map[string]json.RawMessage
	if json.Unmarshal(body, &operations) != nil {
		return nil
	}
	for _, operation := range operations {
		var op string
		if json.Unmarshal(operation["op"], &op) != nil || op != "copy" && op != "move" || w.mayGetResult(ctx) {
			continue
		}
		err := w.boundedForbidden(nil, func(l redact.Limits) (string, refusal.Details) {
			return fmt.Sprintf("cannot %s a value%s: that reads the object, and needs the verb \"get\"", op, w.where(l)), refusal.Details{Verbs: []string{"get"}}
		})
		w.verdict.Store(&verdict{err: err, missing: []string{"get"}})
		return err
	}
	return nil
}
