// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/change"
)

// scale is what the scale of a custom resource stands for: a field of the resource.
// Its permission, if it is excluded, is asked of everybody who changes the field
// this way; an included one gives way to those of the scale itself, because roles
// name the subresource.
type scale struct {
	kind *kind
	path []string
	// set says that the caller sets the replicas to what they are not. It is seen
	// in front of admission alone: what is to be stored shows missing replicas as 0.
	set bool
}

// scaleOf returns nil where the target is no scale of a custom resource.
func scaleOf(target granular.Target) *scale {
	if target.Scale == nil {
		return nil
	}
	target.Kind = target.Scale.Kind
	return &scale{kind: kindOf(target), path: target.Scale.Path, set: true}
}

// excludes reports whether the replicas of the scale are an excluded field of its resource.
func (s *scale) excludes() bool {
	if s.kind.walker == nil {
		return s.kind.excluded
	}
	return s.field().Node.ExcludedAt
}

// field is the change of the resource's field.
func (s *scale) field() change.Change { return s.kind.walker.Charge(s.path...) }

// observe notes whether the caller changes the replicas.
func (s *scale) observe(newObj, oldObj runtime.Object) {
	now, ok := newObj.(*autoscalingv1.Scale)
	was, okOld := oldObj.(*autoscalingv1.Scale)
	s.set = !ok || !okOld || now.Spec.Replicas != was.Spec.Replicas
}

// changes adds what the scale means for the resource to what changed of the scale
// itself, which matters for marked requests only.
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

// meant says whether a change is that of the resource's field.
func (s *scale) isReplicas(c change.Change) bool {
	return s != nil && s.kind.walker != nil && c.Node == s.field().Node
}
