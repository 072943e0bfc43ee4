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

// Patch refuses the operations of a JSON patch (RFC 6902) that carry a value from one
// place to another, if their caller may not get the object: a field that may be
// written and is shown elsewhere, as labels and annotations are that a controller
// hands on, would show what may not be read.
//
// Of a patch that says what to change a refusal goes by what stands in it. What is applied
// says what there is to be: what the new object lacks does not stand in it.
func (w *write) Patch(ctx context.Context, patchType types.PatchType, body []byte) error {
	switch patchType {
	case types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType:
		w.patch = redact.NewBody(body, patchType == types.JSONPatchType)
	}
	if !w.marked || patchType != types.JSONPatchType {
		return nil
	}
	// As upstream's decoder has it: names are case sensitive, the last one counts. What
	// does not decode here does not there, and is refused there.
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
