// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"encoding/json"
	"errors"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// errNotComputable means that this package can't compute the object that a request asks for.
var errNotComputable = errors.New("only the server can compute the requested object")

// requestedObject returns the object that a request asks for, without the changes that defaulting
// and admission would make. It returns errNotComputable if only the server can compute this
// object.
func (r *DryRunner) requestedObject(run *DryRun) (map[string]any, error) {
	if run.Verb != "patch" || run.Creates {
		return asMap(run.Body)
	}
	live, err := json.Marshal(run.old)
	if err != nil {
		return nil, err
	}
	switch run.PatchType {
	case types.JSONPatchType:
		patch, err := jsonpatch.DecodePatch(run.Body)
		if err != nil {
			return nil, fmt.Errorf("the patch is not a JSON patch: %w", err)
		}
		return decodePatched(patch.Apply(live))
	case types.MergePatchType:
		return decodePatched(jsonpatch.MergePatch(live, run.Body))
	case types.StrategicMergePatchType:
		typed, err := scheme.Scheme.New(run.Kind.Kind)
		if err != nil || run.Subresource == "scale" {
			return nil, errNotComputable
		}
		return decodePatched(strategicpatch.StrategicMergePatch(live, run.Body, typed))
	case types.ApplyPatchType:
		return r.mergeApplied(run)
	}
	return nil, errNotComputable
}

// mergeApplied merges an applied configuration into the current object. The result keeps the
// fields that the field manager applied earlier and now omits. The server would remove these
// fields, but this package does not know which ones they are.
func (r *DryRunner) mergeApplied(run *DryRun) (map[string]any, error) {
	body, err := asMap(run.Body)
	if err != nil {
		return nil, err
	}
	converter, err := managedfields.NewTypeConverter(run.Kind.Definitions(), false)
	if err != nil {
		return nil, errNotComputable
	}
	live, err := converter.ObjectToTyped(&unstructured.Unstructured{Object: run.old})
	if err != nil {
		return nil, errNotComputable
	}
	config, err := converter.ObjectToTyped(&unstructured.Unstructured{Object: body})
	if err != nil {
		return nil, fmt.Errorf("the applied object does not match the schema: %w", err)
	}
	merged, err := live.Merge(config)
	if err != nil {
		return nil, err
	}
	object, err := converter.TypedToObject(merged)
	if err != nil {
		return nil, err
	}
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil, errNotComputable
	}
	return u.Object, nil
}

func decodePatched(data []byte, err error) (map[string]any, error) {
	if err != nil {
		return nil, err
	}
	return asMap(data)
}

// asMap decodes JSON or YAML. Numbers have the types that the permission library expects: int64 or
// float64.
func asMap(data []byte) (map[string]any, error) {
	text, err := yaml.YAMLToJSON(data)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	if err := utiljson.Unmarshal(text, &out); err != nil {
		return nil, err
	}
	return out, nil
}
