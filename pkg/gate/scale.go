// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/change"
)

// scale is the scale subresource of a custom resource. The replicas of the scale are the value of
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
}

// scaleOf returns the scale that a request writes. It returns nil if the target of the request is
// not the scale of a custom resource.
func scaleOf(target granular.Target, added entrySet) *scale {
	if target.Scale == nil {
		return nil
	}
	target.Kind = target.Scale.Kind
	return &scale{kind: kindWith(target, added), path: target.Scale.Path, closed: target.Scale.Closed, set: true}
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
	now, ok := newObj.(*autoscalingv1.Scale)
	old, okOld := oldObj.(*autoscalingv1.Scale)
	s.set = !ok || !okOld || now.Spec.Replicas != old.Spec.Replicas
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
