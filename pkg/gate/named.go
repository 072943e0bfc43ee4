// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/equal"
	"kube-granular.dev/granular/overlay"
)

// namedIn returns the exclusions of fields that are found by name.
func namedIn(added entrySet) (out []*overlay.Field) {
	for i := range added.entries.Fields {
		if f := &added.entries.Fields[i]; f.Named != nil && added.refuses(f) {
			out = append(out, f)
		}
	}
	return out
}

// namedChanges returns the changes of fields that are found by name in the field data of a
// ControllerRevision: those that the old or the new data has, if both differ. The controllers of daemon
// sets and stateful sets make pods from that field, which no schema describes. Data that can't be read
// stands for every field.
func (k *kind) namedChanges(old, now any) (out change.Set) {
	if len(k.named) == 0 {
		return nil
	}
	after, readable := dataOf(now)
	before, _ := dataOf(old)
	if readable && old != nil && equal.JSON(before, after) {
		return nil
	}
	for _, f := range k.named {
		if !readable || f.NamedIn(after) || f.NamedIn(before) {
			out = append(out, k.walker.Charge(f.Path[0].Name, f.Path[1].Name))
		}
	}
	return out
}
