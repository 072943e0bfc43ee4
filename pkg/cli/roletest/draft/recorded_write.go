// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package draft

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"kube-granular.dev/pkg/cli/learn"
	"kube-granular.dev/pkg/cli/roletest/format"
)

// write sets an update or a patch. It returns the demand of the write for the object of the test.
func write(d *learn.Demand, rec *learn.Recorded, n *candidate) (*learn.Demand, string, error) {
	if len(rec.Body) == 0 {
		return d, "the log does not show the change", nil
	}
	object := n.object
	if rec.Subresource == "scale" {
		object = scaleOf(rec, n.object)
	}
	before, err := json.Marshal(object)
	if err != nil {
		return d, "", err
	}
	applied, err := d.On(before, func(o map[string]any) {
		withoutServer(o)
		if rec.Subresource != "status" {
			delete(o, "status") // the server ignores it here
		}
	})
	if err != nil {
		return d, err.Error(), nil
	}
	if bytes.Equal(applied.Before, applied.After) {
		return d, "it changes nothing in the object that the test has", nil
	}
	change := rec.Body
	if d.Verb == "update" {
		if change, err = jsonpatch.CreateMergePatch(applied.Before, applied.After); err != nil {
			return d, err.Error(), nil
		}
	}
	var value any
	if err := utiljson.Unmarshal(change, &value); err != nil {
		return d, "the log does not show the change", nil
	}
	setWrite(rec, n, d.Verb, applied.Type, value)
	return applied.Demand, "", nil
}

// setWrite sets the write of a case.
func setWrite(rec *learn.Recorded, n *candidate, verb string, typ types.PatchType, change any) {
	target := format.Target{Resource: resourceOf(rec), Name: nameOf(rec)}
	content, _ := change.(map[string]any)
	if content != nil && verb == "patch" {
		content = runtime.DeepCopyJSON(content)
		withoutServer(content)
		change = content
	}
	hideCopies(change)
	if isSecret(rec.Resource) {
		hideRequest(change)
	}
	list, _ := change.([]any)
	switch replicas, scales := replicasOf(content); {
	case scales && verb == "patch" && rec.Subresource == "scale" && typ != types.ApplyPatchType:
		target.Resource = strings.TrimSuffix(target.Resource, "/scale")
		n.test.Scale = &format.Scale{Target: target, Replicas: replicas}
	case verb == "update":
		n.test.Update = &format.Update{Target: target, Merge: content}
	case typ == types.ApplyPatchType:
		// The administrator owns the fields of given, and would be asked to give them up.
		n.test.Apply = &format.Apply{Object: content, Manager: rec.Manager, Force: true}
		if rec.Subresource != "" {
			n.test.Apply.Resource = target.Resource
		}
		if metadata, ok := content["metadata"].(map[string]any); ok && rec.Namespace != "" {
			metadata["namespace"] = rec.Namespace
		}
	case typ == types.JSONPatchType:
		n.test.Patch = &format.Patch{Target: target, JSON: slices.DeleteFunc(list, isTest)}
	case typ == types.StrategicMergePatchType:
		n.test.Patch = &format.Patch{Target: target, Strategic: content}
	default:
		n.test.Patch = &format.Patch{Target: target, Merge: content}
	}
}

// replicasOf returns the replicas that a patch sets, if it sets nothing else.
func replicasOf(patch map[string]any) (int64, bool) {
	spec, _ := patch["spec"].(map[string]any)
	replicas, ok := spec["replicas"].(int64)
	return replicas, ok && len(spec) == 1 && len(patch) == 1
}

// isTest reports whether an operation of a JSON patch changes nothing. It compares values that the test hides
// or that its server sets.
func isTest(operation any) bool {
	o, _ := operation.(map[string]any)
	return o["op"] == "test"
}

// scaleOf returns the scale of an object.
func scaleOf(rec *learn.Recorded, object map[string]any) map[string]any {
	spec, _ := object["spec"].(map[string]any)
	replicas, ok := spec["replicas"]
	if !ok {
		replicas = int64(1)
	}
	metadata := map[string]any{"name": rec.Name, "namespace": rec.Namespace}
	return map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata, "spec": map[string]any{"replicas": replicas}}
}
