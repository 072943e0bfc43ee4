// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status writes the status of FieldPermissions.
//
//	index, Resources, Grants ──► Compute ──► status, by the server that holds a Lease
//	counts of each server ──────────────────► status
//
// The invariant: no decision about a write depends on a status.
//
// The package decides nothing.
package status

import (
	"fmt"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/pkg/fieldpermission"
)

// State is what is known about the resource of a FieldPermission.
type State struct {
	// Resource is nil if this server stores no objects of it.
	Resource *fieldpermission.Resource
	// Outcomes has an element for each entry. It is empty if the resource is not served in the version of
	// the paths.
	Outcomes []overlay.Outcome
}

// StateOf returns what entries effect for a resource, which may be nil. The states of entries are those of
// the mode Enforce, so that in mode Audit they tell what that mode would do.
func StateOf(resource *fieldpermission.Resource, entries *overlay.Entries) (State, error) {
	out := State{Resource: resource}
	if resource == nil || !resource.Served(entries.Version) {
		return out, nil
	}
	models, err := resource.Models(entries.Version)
	if err != nil {
		return out, err
	}
	// An exclusion that can't be read has an outcome, too. Apply fails for it otherwise.
	shown := *entries
	shown.Fields = slices.Clone(entries.Fields)
	for i := range shown.Fields {
		f := &shown.Fields[i]
		f.Excluded = f.Excluded && f.Unread == ""
	}
	_, out.Outcomes, err = overlay.Apply(models, resource.In(entries.Version), &shown, true)
	return out, err
}

// Compute returns the status that a FieldPermission should have.
func Compute(p fieldpermission.Stored, state State, grants fieldpermission.Grants) *v1alpha1.FieldPermissionStatus {
	out := p.Status.DeepCopy()
	out.ObservedGeneration = p.Generation
	out.Kind, out.Fields, out.NotHeld, out.NotHeldCount = "", nil, nil, 0
	if p.Entries.Excludes() {
		all := grants.NotHeld(p.Entries)
		out.NotHeldCount, out.NotHeld = int64(len(all)), all[:min(len(all), v1alpha1.MaxNotHeld)]
	}
	if state.Resource == nil {
		accept(out, p.Generation, v1alpha1.ReasonNotServedHere, "this server stores no objects of the resource, so the entries have no effect")
		return out
	}
	out.Kind = state.Resource.Kind
	if len(state.Outcomes) == 0 {
		accept(out, p.Generation, v1alpha1.ReasonNotApplied, fmt.Sprintf("the resource is not served in version %s", p.Entries.Version))
		return out
	}
	problem := ""
	for i, o := range state.Outcomes {
		holders := grants.Holders(p.Entries, p.Entries.Fields[i].Permission)
		out.Fields = append(out.Fields, v1alpha1.FieldEntryStatus{
			Path: o.Path, State: v1alpha1.EntryState(o.State), Reason: o.Reason, Held: o.Held,
			AlsoReachable: o.AlsoReachable[:min(len(o.AlsoReachable), v1alpha1.MaxAlsoReachable)],
			HolderCount:   int64(len(holders)), Holders: holders[:min(len(holders), v1alpha1.MaxEntryHolders)],
		})
		if problem == "" && o.State != overlay.Active {
			problem = fmt.Sprintf("the entry for %s is %s: %s", o.Path, o.State, o.Reason)
		}
		if f := &p.Entries.Fields[i]; f.Unread != "" && f.Excluded && p.Entries.Enforced {
			problem = fmt.Sprintf("this server can't read the path %s of an exclusion, so it refuses all writes of the resource", o.Path)
		}
	}
	if problem == "" {
		accept(out, p.Generation, v1alpha1.ReasonAccepted, "all entries are in force")
	} else {
		accept(out, p.Generation, v1alpha1.ReasonNotApplied, problem)
	}
	return out
}

func accept(out *v1alpha1.FieldPermissionStatus, generation int64, reason, message string) {
	condition := metav1.Condition{
		Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionFalse, ObservedGeneration: generation, Reason: reason, Message: message,
	}
	if reason == v1alpha1.ReasonAccepted {
		condition.Status = metav1.ConditionTrue
	}
	apimeta.SetStatusCondition(&out.Conditions, condition)
}
