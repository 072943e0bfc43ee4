// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube-granular.dev/pkg/gate/redact"
)

// Patch refuses the JSON patch operations (RFC 6902) copy and move if their caller may not get
// the object. They would copy a value that the caller may not read to a field that is shown
// elsewhere, such as a label that a controller copies.
//
// A refusal of a patch shows only what is in the patch. An apply describes a whole object: a key
// that the new object lacks is not in its body.
func (w *write) Patch(ctx context.Context, patchType types.PatchType, body []byte) error {
	switch patchType {
	case types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType:
		w.patch = redact.NewBody(body, patchType == types.JSONPatchType)
	}
	if !w.marked || patchType != types.JSONPatchType {
		return nil
	}
	// Like upstream's decoder: names are case sensitive, and the last one counts. A patch
	// that does not decode here does not decode there either, and is refused there.
	var operations []map[string]json.RawMessage
	if json.Unmarshal(body, &operations) != nil {
		return nil
	}
	for _, operation := range operations {
		var op string
		if json.Unmarshal(operation["op"], &op) != nil || op != "copy" && op != "move" || w.mayGet(ctx) {
			continue
		}
		err := w.boundedForbidden(nil, func(l redact.Limits) (string, metav1.StatusCause) {
			return fmt.Sprintf("cannot %s a value%s: that reads the object, and needs the verb \"get\"", op, w.where(l)), metav1.StatusCause{}
		})
		w.verdict.Store(&verdict{err: err, missing: []string{"get"}})
		return err
	}
	return nil
}
