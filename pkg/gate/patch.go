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

// Patch refuses a JSON patch (RFC 6902) with an operation copy or move if the caller may not get
// the object. Such an operation would copy a value that the caller may not read to a field that
// the caller sees elsewhere, for example to a label that a controller copies to another object.
//
// Patch also keeps the body of a patch, because a refusal of the patch names only keys that are
// in the body. An apply needs no body: it describes a whole object, so a key that the new object
// lacks is not in the body.
func (w *write) Patch(ctx context.Context, patchType types.PatchType, body []byte) error {
	switch patchType {
	case types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType:
		w.patch = redact.NewBody(body, patchType == types.JSONPatchType)
	}
	if !w.marked || patchType != types.JSONPatchType {
		return nil
	}
	// This decodes as upstream does: names are case sensitive, and of equal names the last one
	// counts. If a patch does not decode here, it does not decode there either, and upstream
	// refuses it.
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
