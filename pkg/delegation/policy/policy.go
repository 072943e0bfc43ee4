// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/delegation"
)

// Policy is a compiled AuthorityDelegationPolicy. It is immutable.
type Policy struct {
	*v1alpha1.AuthorityDelegationPolicy
	Resource schema.GroupResource

	// namespaces is nil if the policy applies to all namespaces.
	namespaces labels.Selector
	// neutral are the fields whose changes do not trigger the policy.
	neutral []fieldPath
	// err is set if the policy does not compile. Then no object of the resource can be written in
	// the namespaces of the policy.
	err error
}

// Compile compiles a stored policy.
func Compile(p *v1alpha1.AuthorityDelegationPolicy) *Policy {
	out := &Policy{AuthorityDelegationPolicy: p,
		Resource: schema.GroupResource{Group: p.Spec.Resource.Group, Resource: p.Spec.Resource.Resource}}
	if p.Spec.NamespaceSelector != nil {
		out.namespaces, out.err = metav1.LabelSelectorAsSelector(p.Spec.NamespaceSelector)
	}
	for _, name := range p.Spec.Neutral {
		fields, err := neutral(name, out.Resource)
		if err != nil && out.err == nil {
			out.err = fmt.Errorf("neutral: %w", err)
		}
		out.neutral = append(out.neutral, fields...)
	}
	return out
}

// ForDeleted returns a policy to use in place of a deleted policy for a resource, whose content is
// no longer known. It is triggered by all changes, except changes of metadata, status and replicas.
func ForDeleted(r schema.GroupResource) *Policy {
	return Compile(&v1alpha1.AuthorityDelegationPolicy{Spec: v1alpha1.AuthorityDelegationPolicySpec{
		Resource: v1alpha1.GroupResource{Group: r.Group, Resource: r.Resource}, Neutral: []string{replicas},
	}})
}

// Err returns why the policy does not compile, or nil if it does.
func (p *Policy) Err() error { return p.err }

// Selects reports whether the policy applies to a namespace with these labels.
func (p *Policy) Selects(namespace labels.Set) bool {
	return p.namespaces == nil || p.namespaces.Matches(namespace)
}

// SelectsByLabels reports whether the policy depends on the labels of a namespace.
func (p *Policy) SelectsByLabels() bool { return p.namespaces != nil }

// TriggeredBy reports whether a write triggers the policy. A write does so if it creates newObj
// (then oldObj is nil), or if it changes a field of oldObj other than metadata, status and the
// fields that are neutral for the policy.
func (p *Policy) TriggeredBy(newObj, oldObj runtime.Object) bool {
	if oldObj == nil {
		return true
	}
	if sameFields(newObj, oldObj) {
		return false
	}
	if len(p.neutral) == 0 {
		return true
	}
	old, err := delegation.Content(oldObj)
	if err != nil {
		return true
	}
	current, err := delegation.Content(newObj)
	if err != nil {
		return true
	}
	if !maps.Equal(annotationBacked(newObj, current), annotationBacked(oldObj, old)) {
		return true
	}
	return !equality.Semantic.DeepEqual(p.withoutIgnored(current), p.withoutIgnored(old))
}

// annotationBacked returns the annotations of content that obj does not have. content is obj after
// its conversion to the version of the API: the conversion writes those fields into annotations
// that this version lacks, such as the revision to which a Deployment is rolled back.
func annotationBacked(obj runtime.Object, content map[string]any) map[string]string {
	out, _, _ := unstructured.NestedStringMap(content, "metadata", "annotations")
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return out
	}
	own := accessor.GetAnnotations()
	maps.DeleteFunc(out, func(key, value string) bool {
		mine, found := own[key]
		return found && mine == value
	})
	return out
}

// withoutIgnored removes from object all fields whose changes do not trigger the policy, and
// returns object.
func (p *Policy) withoutIgnored(object map[string]any) map[string]any {
	for _, name := range ignored {
		delete(object, name)
	}
	for _, fields := range p.neutral {
		fields.remove(object)
	}
	return object
}

// ignored are the top-level fields whose changes trigger nothing.
var ignored = []string{"apiVersion", "kind", "metadata", "status"}

// sameFields reports whether two objects differ at most in metadata and status. It is a fast first
// test for TriggeredBy, which is enough for most writes of controllers.
func sameFields(newObj, oldObj runtime.Object) bool {
	if custom, ok := newObj.(runtime.Unstructured); ok {
		old, ok := oldObj.(runtime.Unstructured)
		return ok && sameKeys(custom.UnstructuredContent(), old.UnstructuredContent())
	}
	current, before := reflect.Indirect(reflect.ValueOf(newObj)), reflect.Indirect(reflect.ValueOf(oldObj))
	if current.Kind() != reflect.Struct || current.Type() != before.Type() {
		return false
	}
	for i := range current.NumField() {
		switch current.Type().Field(i).Name {
		case "TypeMeta", "ObjectMeta", "Status":
			continue
		}
		if !equality.Semantic.DeepEqual(current.Field(i).Interface(), before.Field(i).Interface()) {
			return false
		}
	}
	return true
}

func sameKeys(current, old map[string]any) bool {
	for _, one := range []map[string]any{current, old} {
		for name := range one {
			if !slices.Contains(ignored, name) && !equality.Semantic.DeepEqual(current[name], old[name]) {
				return false
			}
		}
	}
	return true
}

// fieldPath is the path of fields that a permission covers, split into elements. For
// .spec.containers[*].image, the elements are spec, containers, * and image.
type fieldPath []string

const wildcard = "*"

func parse(path string) fieldPath {
	path = strings.ReplaceAll(path, "[*]", "."+wildcard)
	return strings.Split(strings.TrimPrefix(path, "."), ".")
}

// remove removes the fields at the path from value.
func (s fieldPath) remove(value any) {
	if len(s) == 0 {
		return
	}
	last := len(s) == 1
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			switch {
			case s[0] != wildcard && s[0] != name:
			case last:
				delete(v, name)
			default:
				s[1:].remove(v[name])
			}
		}
	case []any:
		if s[0] != wildcard {
			return
		}
		for i := range v {
			if last {
				v[i] = nil
			} else {
				s[1:].remove(v[i])
			}
		}
	}
}
