// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/change"
)

// scale is the scale subresource of a custom resource. Its replicas stand for one field of the
// resource. If the permission of that field is excluded (not part of `update`), everybody who
// changes the field through the scale needs that permission. If it is included, the permissions
// of the scale itself apply instead, because roles name the subresource.
type scale struct {
	kind *kind
	path []string
	// set is set if the caller changes the replicas. That is known only before admission: in the
	// object that is about to be stored, missing replicas are shown as 0.
	set bool
}

// scaleOf returns nil if the target is not the scale of a custom resource.
func scaleOf(target granular.Target) *scale {
	if target.Scale == nil {
		return nil
	}
	target.Kind = target.Scale.Kind
	return &scale{kind: kindOf(target), path: target.Scale.Path, set: true}
}

// excludes reports whether the field that holds the replicas needs an excluded permission.
func (s *scale) excludes() bool {
	if s.kind.walker == nil {
		return s.kind.excluded
	}
	return s.field().Node.ExcludedAt
}

// field returns the change of the field that holds the replicas in the resource.
func (s *scale) field() change.Change { return s.kind.walker.Charge(s.path...) }

// observe records whether the caller changes the replicas.
func (s *scale) observe(newObj, oldObj runtime.Object) {
	now, ok := newObj.(*autoscalingv1.Scale)
	was, okOld := oldObj.(*autoscalingv1.Scale)
	s.set = !ok || !okOld || now.Spec.Replicas != was.Spec.Replicas
}

// changes returns the changes that must be covered: the change of the field that holds the
// replicas, if its permission is excluded, and for a marked request also the changes of the scale
// itself.
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
	if f := s.field(); f.Node.ExcludedAt {
		changed = append(changed, f)
	}
	return changed
}

// isReplicas reports whether c is a change of the field that holds the replicas. s may be nil.
func (s *scale) isReplicas(c change.Change) bool {
	return s != nil && s.kind.walker != nil && c.Node == s.field().Node
}
