// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"

	apischema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
)

const resourceVersion = "5"

// outside are the fields of an object that no schema of a world has.
var outside = []string{"apiVersion", "kind", "metadata"}

// codec is the codec of the storage of a version, as upstream's is for custom resources.
type codec struct {
	*definition
	*version
}

func (codec) Identifier() runtime.Identifier { return "versions" }

// Encode encodes an object as it is stored.
func (c codec) Encode(obj runtime.Object, w io.Writer) error {
	u := obj.(*unstructured.Unstructured)
	stored := c.asStored(runtime.DeepCopyJSON(u.Object), c.definition.version(u.GroupVersionKind().Version))
	for _, name := range outside {
		if value, ok := u.Object[name]; ok {
			stored[name] = value
		}
	}
	stored["apiVersion"] = c.current.kind.GroupVersion().String()
	return json.NewEncoder(w).Encode(stored)
}

// Decode returns a strict error if the object has fields that the version in which it is stored lacks.
func (c codec) Decode(data []byte, _ *gvk.GroupVersionKind, _ runtime.Object) (runtime.Object, *gvk.GroupVersionKind, error) {
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, &u.Object); err != nil {
		return nil, nil, err
	}
	source := u.GroupVersionKind()
	kept := map[string]any{}
	for _, name := range outside {
		if value, ok := u.Object[name]; ok {
			kept[name] = value
			delete(u.Object, name)
		}
	}
	object, unknown := c.read(u.Object, c.definition.version(source.Version), c.version)
	maps.Copy(object, kept)
	u.Object = object
	u.SetGroupVersionKind(c.kind)
	var strict []error
	for _, path := range unknown {
		strict = append(strict, fmt.Errorf("unknown field %q", path))
	}
	if len(strict) > 0 {
		return u, &source, runtime.NewStrictDecodingError(strict)
	}
	return u, &source, nil
}

// read returns an object, stored in the version source, as the server reads it in the version target, and the
// paths of fields that source lacks. It changes o.
func (d *definition) read(o map[string]any, source, target *version) (read map[string]any, unknown []string) {
	defaulting.Default(o, source.structural)
	unknown = pruning.PruneWithOptions(o, source.structural, false, apischema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	read = d.converted(o, source, target)
	pruning.Prune(read, target.structural, false)
	return read, unknown
}

// asStored returns what is stored if an object of a version is written. It changes o.
func (d *definition) asStored(o map[string]any, source *version) map[string]any {
	out := d.converted(o, source, d.current)
	pruning.Prune(out, d.current.structural, false)
	return out
}

// sent returns an object as the server reads it in a request.
func (v *version) sent(o map[string]any) map[string]any {
	out := runtime.DeepCopyJSON(o)
	defaulting.Default(out, v.structural)
	pruning.Prune(out, v.structural, false)
	return out
}
