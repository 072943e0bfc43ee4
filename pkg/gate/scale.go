// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/pkg/gate/convert"
)

// builtinScales are the built-in resources whose scale writes the field spec.replicas, with their
// kinds. Other resources of Kubernetes have no scale.
var builtinScales = map[gvk.GroupResource]string{
	{Group: "apps", Resource: "deployments"}:  "Deployment",
	{Group: "apps", Resource: "replicasets"}:  "ReplicaSet",
	{Group: "apps", Resource: "statefulsets"}: "StatefulSet",
	{Resource: "replicationcontrollers"}:      "ReplicationController",
}

// scale is the scale subresource of a custom resource, or of a built-in resource with entries. The replicas of the scale are the value of
// one field of the resource. If the permission of that field is excluded (not part of `update`),
// everybody who changes the field through the scale needs that permission. If the permission is
// included in `update`, it is not checked. Then the rights to the subresource decide, because a
// role lists the subresource separately from the resource.
type scale struct {
	kind *kind
	path []string
	// closed is set if the definition says that its fields have no permissions. Then the rights to
	// the subresource are not enough for a marked request.
	closed bool
	// set is true if the caller changes the replicas. It is determined before admission, because
	// in the object that is about to be stored, missing replicas can't be told from 0.
	set bool
	// shown is the target of the request if the resource is a built-in one, whose scales have to be
	// converted. It is nil for a custom resource.
	shown *granular.Target
}

// scaleOf returns the scale that a request writes. It returns nil if the target of the request is
// not the scale of a custom resource.
func scaleOf(target granular.Target, added entrySet) *scale {
	if target.Scale == nil && added.excludes() {
		return builtinScale(target, added)
	}
	if target.Scale == nil {
		return nil
	}
	target.Kind = target.Scale.Kind
	return &scale{kind: kindWith(target, added), path: target.Scale.Path, closed: target.Scale.Closed, set: true}
}

// builtinScale returns the scale of a built-in resource with entries that exclude fields. Its replicas
// are verified in the version of the entries.
func builtinScale(target granular.Target, added entrySet) *scale {
	name := builtinScales[target.Resource.GroupResource()]
	if name == "" || target.Subresource != "scale" {
		return nil
	}
	shown := target
	target.Kind = gvk.GroupVersionKind{Group: target.Resource.Group, Version: added.entries.Version, Kind: name}
	return &scale{kind: kindWith(target, added), path: []string{"spec", "replicas"}, shown: &shown, set: true}
}

// excludes reports whether the field of the custom resource that holds the replicas needs an
// excluded permission.
func (s *scale) excludes() bool {
	if s.kind.walker == nil {
		return s.kind.excluded
	}
	return s.field().Node.ExcludedAt
}

// field returns the change of the field of the custom resource that holds the replicas.
func (s *scale) field() change.Change { return s.kind.walker.Charge(s.path...) }

// observe records whether the caller changes the replicas.
func (s *scale) observe(newObj, oldObj runtime.Object) {
	now, ok := s.versioned(newObj).(*autoscalingv1.Scale)
	old, okOld := s.versioned(oldObj).(*autoscalingv1.Scale)
	s.set = !ok || !okOld || now.Spec.Replicas != old.Spec.Replicas
}

// versioned returns a scale in the version of the request, nil if it can't be converted.
func (s *scale) versioned(obj runtime.Object) any {
	if s.shown == nil {
		return obj
	}
	out, err := convert.Versioned(*s.shown, obj)
	if err != nil {
		return nil
	}
	return out
}

// changes returns the changes that permissions of the caller must cover. If the caller changes the
// replicas, and the field of the custom resource that holds them has an excluded permission, the
// change of that field is one of them. For a marked request they include the changes of the scale
// itself: those in changed and, if the caller changes the replicas, the observed changes of spec.
func (s *scale) changes(observed, changed change.Set, marked bool) change.Set {
	if !marked {
		changed = nil
	}
	if !s.set {
		return changed
	}
	if marked {
		for _, c := range observed {
			if c.Top() == "spec" {
				changed = append(changed, c)
			}
		}
	}
	if f := s.field(); f.Node.ExcludedAt || s.closed && marked {
		changed = append(changed, f)
	}
	return changed
}

// isReplicas reports whether c is a change of the field of the custom resource that holds the
// replicas. If s is nil, the request writes no scale, and isReplicas returns false.
func (s *scale) isReplicas(c change.Change) bool {
	return s != nil && s.kind.walker != nil && c.Node == s.field().Node
}
