// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/warning"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/authority/validation"
	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/pkg/audit"
	"kube-granular.dev/pkg/fieldpermission/entry"
)

// Author decides what the authors of FieldPermissions may store, and warns them.
type Author struct {
	Resources *Resources
	// Roles finds out who holds a permission already. It may be nil.
	Roles *Roles
	// Own returns the stored entries of the FieldPermission of another resource, nil if there is none:
	// entries of pods and of a kind with a pod template hold together.
	Own func(resource schema.GroupResource) *overlay.Entries
}

// Prepare completes a FieldPermission whose specification is about to be stored, or returns an error that
// refuses it.
func (a *Author) Prepare(ctx context.Context, written, _ *v1alpha1.FieldPermission) error {
	errs := validation.FieldPermission(written)
	entries, wrong := entry.Parse(written)
	if errs = append(errs, wrong...); len(errs) > 0 {
		return invalid(written, errs)
	}
	resource, err := a.Resources.Find(ctx, resourceOf(written))
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	version := field.NewPath("spec", "version")
	switch {
	case resource == nil && written.Spec.Version == "":
		return invalid(written, field.ErrorList{field.Required(version,
			fmt.Sprintf("this server stores no objects of %s, so it does not know the preferred version", written.Name))})
	case resource == nil:
		return invalid(written, problemsOf(withoutSchema(entries)))
	case written.Spec.Version == "":
		written.Spec.Version = resource.Versions[0]
		entries.Version = written.Spec.Version
	case !resource.Served(written.Spec.Version):
		return invalid(written, field.ErrorList{field.NotSupported(version, written.Spec.Version, resource.Versions)})
	}
	problems, err := check(resource, entries)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	together, err := a.checkTogether(ctx, resource.GroupResource, entries)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	return invalid(written, problemsOf(append(problems, together...)))
}

// checkTogether returns the problems of entries of pods in the kinds with a pod template, or of entries of
// such a kind with the stored ones of pods.
func (a *Author) checkTogether(ctx context.Context, written schema.GroupResource, entries *overlay.Entries) (out []overlay.Problem, err error) {
	for _, resource := range overlay.HoldsIn() {
		own, pods := entries, entries
		switch written {
		case overlay.Pods:
			own = a.Own(resource)
		case resource:
			pods = a.Own(overlay.Pods)
		default:
			continue
		}
		found, err := a.Resources.Find(ctx, resource)
		if err != nil {
			return nil, err
		}
		if found == nil {
			continue // this server does not serve it
		}
		models, err := found.Models(found.Versions[0])
		if err != nil {
			return nil, err
		}
		for _, p := range overlay.CheckInForce(models, found.In(found.Versions[0]), resource, own, pods, entries) {
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out, nil
}

// withoutSchema returns the problems of entries for a resource whose schema is unknown.
func withoutSchema(entries *overlay.Entries) []overlay.Problem {
	kind := schema.GroupVersionKind{Group: validation.ResourceOf(entries.Source).Group, Version: entries.Version}
	return slices.DeleteFunc(overlay.Check(nil, kind, entries),
		func(p overlay.Problem) bool { return p.Index < 0 && len(entries.Fields) <= overlay.MaxFields })
}

// check returns the problems of entries in all served versions. In another version than that of the paths,
// a name can't be missing for a permission that update includes, because nobody loses anything by that. If
// a webhook converts the objects, the paths are not those of the other versions at all.
func check(resource *Resource, entries *overlay.Entries) (out []overlay.Problem, err error) {
	for _, version := range resource.Versions {
		models, err := resource.Models(version)
		if err != nil {
			return nil, err
		}
		for _, p := range overlay.Check(models, resource.In(version), entries) {
			other := version != entries.Version
			path := p.Index >= 0 && p.Part != overlay.PermissionPart
			if other && path && (!resource.Custom || resource.Webhook || !entries.Fields[p.Index].Excluded) {
				continue
			}
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out, nil
}

func invalid(p *v1alpha1.FieldPermission, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(v1alpha1.SchemeGroupVersion.WithKind("FieldPermission").GroupKind(), p.Name, errs)
}

// Change is a change of a specification. Before is nil if the object was created, and After if it was
// removed.
type Change struct{ Before, After *v1alpha1.FieldPermission }

// Changed warns the author of changes, and notes in the audit event which fields are open now.
func (a *Author) Changed(ctx context.Context, changes []Change, dryRun bool) {
	var opened []string
	for _, c := range changes {
		if c.After != nil {
			a.warnWritten(ctx, c)
		}
		paths := openedBy(c)
		if len(paths) == 0 {
			continue
		}
		warning.AddWarning(ctx, "", fmt.Sprintf("FieldPermission %s no longer closes %s: update and patch include them again",
			c.Before.Name, firstThree(paths)))
		for _, path := range paths {
			opened = append(opened, c.Before.Name+path)
		}
	}
	if len(opened) > 0 && !dryRun {
		audit.Opened(ctx, opened)
	}
}

// openedBy returns the paths that a change no longer excludes. Inside an exclusion every entry is one.
func openedBy(c Change) (out []string) {
	if c.Before == nil || c.Before.Spec.Mode != v1alpha1.ModeEnforce {
		return nil
	}
	still := map[string]bool{}
	if c.After != nil && c.After.Spec.Mode == v1alpha1.ModeEnforce {
		for _, f := range c.After.Spec.Fields {
			still[f.Path] = still[f.Path] || f.Excluded
		}
	}
	for _, f := range c.Before.Spec.Fields {
		if f.Excluded && !still[f.Path] {
			out = append(out, f.Path)
		}
	}
	return out
}

// warnWritten warns the author of a new specification.
func (a *Author) warnWritten(ctx context.Context, c Change) {
	if resource, err := a.Resources.Find(ctx, resourceOf(c.After)); err == nil {
		warnResource(ctx, resource, c.After)
	}
	a.warnShared(ctx, c.After)
	for _, text := range indirectWarnings(c.After) {
		warning.AddWarning(ctx, "", text)
	}
	a.warnHolders(ctx, c)
	if c.Before == nil || c.Before.Spec.Mode == v1alpha1.ModeEnforce || c.After.Spec.Mode != v1alpha1.ModeEnforce {
		return
	}
	status := &c.Before.Status
	if status.AuditViolations == 0 {
		warning.AddWarning(ctx, "", "the excluded fields are closed now; in mode Audit no request was counted that they would have refused")
		return
	}
	warning.AddWarning(ctx, "", fmt.Sprintf("the excluded fields are closed now; in mode Audit they would have refused %s, among them of %s",
		count(status.AuditViolations, "request"), firstThree(status.AuditUsers)))
}

// warnResource warns of a resource that is not stored here, and of fields that its definition sets although they are closed.
func warnResource(ctx context.Context, resource *Resource, p *v1alpha1.FieldPermission) {
	switch {
	case resource == nil:
		warning.AddWarning(ctx, "", fmt.Sprintf("this server stores no objects of %s, so the FieldPermission has no effect here", p.Name))
	case resource.settings != nil:
		entries, _ := entry.Parse(p)
		for _, e := range resource.settings(entries) {
			warning.AddWarning(ctx, "", e.text)
		}
	}
}

// warnShared warns of fields that a FieldPermission of pods and one of a kind with a pod template both
// exclude.
func (a *Author) warnShared(ctx context.Context, p *v1alpha1.FieldPermission) {
	entries, _ := entry.Parse(p)
	var shared []string
	for _, resource := range overlay.HoldsIn() {
		own, pods := entries, entries
		switch resourceOf(p) {
		case overlay.Pods:
			own = a.Own(resource)
		case resource:
			pods = a.Own(overlay.Pods)
		default:
			continue
		}
		for _, path := range overlay.Shared(resource, own, pods) {
			shared = append(shared, path.String()+" of "+resource.String())
		}
	}
	if len(shared) > 0 {
		warning.AddWarning(ctx, "", fmt.Sprintf("FieldPermissions of two resources close %s, each by its own verb: callers need both",
			firstThree(shared)))
	}
}

// warnHolders warns of subjects that hold a new permission already, because a role named it before it
// existed.
func (a *Author) warnHolders(ctx context.Context, c Change) {
	if a.Roles == nil {
		return
	}
	before := map[string]bool{}
	if c.Before != nil {
		for _, f := range c.Before.Spec.Fields {
			before[f.Permission] = true
		}
	}
	grants, err := a.Roles.Grants()
	if err != nil {
		return // the status tells the holders too
	}
	entries, _ := entry.Parse(c.After)
	for _, f := range c.After.Spec.Fields {
		if before[f.Permission] {
			continue
		}
		before[f.Permission] = true
		if holders := grants.Holders(entries, f.Permission); len(holders) > 0 {
			var names []string
			for _, s := range holders {
				names = append(names, s.Kind+" "+strings.TrimPrefix(s.Namespace+"/"+s.Name, "/"))
			}
			warning.AddWarning(ctx, "", fmt.Sprintf("a role grants %s already, to %s",
				entry.Verb(f.Permission), firstThree(names)))
		}
	}
}

// firstThree returns a text with at most three of the values, and the number of the other values.
func firstThree(all []string) string {
	if more := len(all) - 3; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:3], ", "), more)
	}
	return strings.Join(all, ", ")
}
