// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// versionedObject is an object in the form that condition expressions see.
type versionedObject struct {
	apiVersion string
	custom     bool
	object     map[string]any
}

func (v *versionedObject) content() any {
	if v.object == nil {
		return nil
	}
	return v.object
}

var errNoVersion = errors.New("the kind of the object is not known")

// inPreferredVersion returns an object in the API version that the server prefers for its kind. A
// condition is written for that version, and must give the same answer for requests in other
// versions. A custom resource stays in the version in which it is passed.
func inPreferredVersion(obj runtime.Object) (*versionedObject, error) {
	if obj == nil {
		return &versionedObject{}, nil
	}
	if custom, ok := obj.(runtime.Unstructured); ok {
		return &versionedObject{obj.GetObjectKind().GroupVersionKind().GroupVersion().String(), true, custom.UnstructuredContent()}, nil
	}
	kinds, _, err := legacyscheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return nil, errNoVersion
	}
	for _, kind := range kinds {
		for _, version := range legacyscheme.Scheme.PrioritizedVersionsForGroup(kind.Group) {
			if !legacyscheme.Scheme.Recognizes(version.WithKind(kind.Kind)) {
				continue
			}
			out, err := legacyscheme.Scheme.ConvertToVersion(obj, version)
			if err != nil {
				return nil, errNoVersion
			}
			object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(out)
			if err != nil {
				return nil, errNoVersion
			}
			object["apiVersion"], object["kind"] = version.String(), kind.Kind
			return &versionedObject{version.String(), false, object}, nil
		}
	}
	return nil, errNoVersion
}

var (
	errNoTemplate   = errors.New("the object has no pod template")
	errTwoTemplates = errors.New("the object has two pod templates")
)

// template returns the pod template of an object: the field spec.template or, as in a CronJob,
// spec.jobTemplate.spec.template. An object with both is ambiguous, so it counts as one without.
func (v *versionedObject) template() (map[string]any, error) {
	first, _, _ := unstructured.NestedFieldNoCopy(v.object, "spec", "template")
	second, _, _ := unstructured.NestedFieldNoCopy(v.object, "spec", "jobTemplate", "spec", "template")
	template, _ := first.(map[string]any)
	ofJob, _ := second.(map[string]any)
	switch {
	case template != nil && ofJob != nil:
		return nil, errTwoTemplates
	case ofJob != nil:
		return ofJob, nil
	case template == nil:
		return nil, errNoTemplate
	}
	return template, nil
}

// templateHash returns the hash of the pod template in canonical JSON (the output of jq -cS), without
// the label that the deployment controller adds to each template. If the object has no template, or
// if there is no object, it returns an error as a value of CEL: an expression that uses it fails.
// With a value such as "", two objects without a template would have equal hashes.
func (v *versionedObject) templateHash() ref.Val {
	template, err := v.template()
	if err != nil {
		return types.WrapErr(err)
	}
	template = maps.Clone(template)
	if metadata, ok := template["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		if metadata["creationTimestamp"] == nil {
			delete(metadata, "creationTimestamp")
		}
		if labels, ok := metadata["labels"].(map[string]any); ok {
			labels = maps.Clone(labels)
			delete(labels, "pod-template-hash")
			metadata["labels"] = labels
			if len(labels) == 0 {
				delete(metadata, "labels")
			}
		}
		template["metadata"] = metadata
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(template); err != nil {
		return types.WrapErr(err)
	}
	sum := sha256.Sum256(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
	return types.String("sha256:" + hex.EncodeToString(sum[:]))
}

// Content returns an object in the form that condition expressions see. The result shares no memory
// with obj, so it may be modified.
func Content(obj runtime.Object) (map[string]any, error) {
	v, err := inPreferredVersion(obj)
	if err != nil || v.object == nil {
		return nil, err
	}
	if v.custom {
		return runtime.DeepCopyJSON(v.object), nil
	}
	return v.object, nil
}
