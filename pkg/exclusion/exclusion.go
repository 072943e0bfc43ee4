// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package exclusion

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/granular"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/audit"
	"kube-granular.dev/pkg/crd"
	"kube-granular.dev/pkg/gate"
	"kube-granular.dev/pkg/metrics"
	"kube-granular.dev/pkg/refusal"
)

// Verb is the verb, on a definition, by which a caller may weaken what the definition excludes.
var Verb = permission.Verb{Permission: permission.Exclusion}.String()

// maxNamed is the highest number of openings that a warning or an error lists.
const maxNamed = 10

// Guard guards definitions. It may be used by any number of goroutines. A server that does not enforce
// permission extensions guards those that are stored all the same: other servers may enforce them.
type Guard struct {
	definitions *crd.Validator
}

var _ granular.Exclusions = &Guard{}

// New returns a Guard. definitions compares the definitions.
func New(definitions *crd.Validator) *Guard { return &Guard{definitions: definitions} }

// Begin starts to guard the update of one request. a is the authorizer of the server.
func (g *Guard) Begin(a authorizer.UnconditionalAuthorizer) granular.DefinitionUpdate {
	return &update{definitions: g.definitions, authorizer: a}
}

// update is the update of one request. The storage may attempt it several times.
type update struct {
	definitions *crd.Validator
	authorizer  authorizer.UnconditionalAuthorizer
	// holds is true if the caller holds Verb. It is nil until the authorizer answered.
	holds *bool
	// opened and kept are what the latest attempt opens, or would open. At most one has elements.
	opened, kept []crd.Opening
}

// Keep implements granular.DefinitionUpdate.
func (u *update) Keep(ctx context.Context, newCRD, oldCRD *apiextensions.CustomResourceDefinition) (*apiextensions.CustomResourceDefinition, error) {
	u.opened, u.kept = nil, nil
	if u.leaves(oldCRD) {
		return newCRD, nil
	}
	openings := u.definitions.Openings(newCRD, oldCRD)
	if len(openings) == 0 {
		return withOwner(newCRD, oldCRD, false), nil
	}
	holds, err := u.holdsVerb(ctx)
	switch {
	case err != nil:
		return nil, apierrors.NewInternalError(err)
	case holds:
		u.opened = openings
		return withOwner(newCRD, oldCRD, false), nil
	}
	if errs := u.mistakes(newCRD, oldCRD); errs != nil {
		return nil, errs
	}
	kept := u.definitions.Keep(newCRD, oldCRD, openings)
	if kept == nil {
		return nil, u.refused(ctx, newCRD.Name, openings)
	}
	u.kept = openings
	return withOwner(kept, oldCRD, true), nil
}

// KeepStatus implements granular.DefinitionUpdate. The server itself removes the finalizer of a
// definition once it has deleted the objects, so that is not told.
func (u *update) KeepStatus(ctx context.Context, newCRD, oldCRD *apiextensions.CustomResourceDefinition) (*apiextensions.CustomResourceDefinition, error) {
	u.opened = nil
	if u.leaves(oldCRD) {
		return newCRD, nil
	}
	openings := u.definitions.StatusOpenings(newCRD, oldCRD)
	if len(openings) == 0 {
		return newCRD, nil
	}
	holds, err := u.holdsVerb(ctx)
	switch {
	case err != nil:
		return nil, apierrors.NewInternalError(err)
	case holds:
		u.opened = slices.DeleteFunc(openings, crd.Opening.Outlives)
		return newCRD, nil
	}
	return nil, u.refused(ctx, newCRD.Name, openings)
}

// leaves reports whether the update is none of ours: this server does not enforce permission
// extensions, and the stored definition has none, so the server does what upstream's does.
func (u *update) leaves(oldCRD *apiextensions.CustomResourceDefinition) bool {
	return !u.definitions.Enabled() && !crd.Uses(oldCRD)
}

// mistakes returns the error for a definition that is not valid anyway. It looks at the status that
// would be stored, not at the one that was sent.
func (u *update) mistakes(newCRD, oldCRD *apiextensions.CustomResourceDefinition) error {
	stored := *newCRD
	stored.Status = oldCRD.Status
	if errs := u.definitions.Validate(&stored, oldCRD); len(errs) > 0 {
		return apierrors.NewInvalid(apiextensions.Kind("CustomResourceDefinition"), newCRD.Name, errs)
	}
	return nil
}

// holdsVerb asks for the verb on the definition, also if the request writes its status.
func (u *update) holdsVerb(ctx context.Context) (bool, error) {
	if u.holds != nil {
		return *u.holds, nil
	}
	if info, ok := request.RequestInfoFrom(ctx); ok && info.Subresource != "" {
		definition := *info
		definition.Subresource = ""
		ctx = request.WithRequestInfo(ctx, &definition)
	}
	holds, err := gate.Holds(ctx, u.authorizer, Verb)
	if err == nil {
		u.holds = &holds
	}
	return holds, err
}

// Stored implements granular.DefinitionUpdate.
func (u *update) Stored(ctx context.Context, dryRun bool) {
	result, openings := metrics.Opened, u.opened
	switch {
	case len(u.opened) > 0:
		warning.AddWarning(ctx, "", fmt.Sprintf("this update weakens what the definition excludes, which the verb %q allows: %s", Verb,
			listed(u.opened)))
		audit.Opened(ctx, fields(u.opened))
	case len(u.kept) > 0:
		result, openings = metrics.Kept, u.kept
		warning.AddWarning(ctx, "", fmt.Sprintf("permission extensions of the stored definition stay, because the verb %q is needed to weaken what it excludes: %s", Verb, listed(u.kept)))
		audit.Kept(ctx, fields(u.kept))
	}
	if len(openings) > 0 && !dryRun {
		metrics.Exclusions(result)
	}
}

// refused counts the refusal of openings that can't be kept closed, and returns the 403.
func (u *update) refused(ctx context.Context, name string, openings []crd.Opening) error {
	metrics.Exclusions(metrics.Refused)
	audit.Missing(ctx, Verb)
	return forbidden(ctx, name, openings)
}

// forbidden returns the 403 for openings that can't be kept closed.
func forbidden(ctx context.Context, name string, openings []crd.Opening) error {
	user := ""
	if u, ok := request.UserFrom(ctx); ok {
		user = u.GetName()
	}
	err := apierrors.NewForbidden(apiextensions.Resource("customresourcedefinitions"), name,
		fmt.Errorf("User %q cannot change %s: needs the verb %q to weaken what the definition excludes: %s", user, openings[0].Changed(),
			Verb, listed(openings)))
	why := refusal.Details{User: user, Field: openings[0].Changed(), Verbs: []string{Verb}}
	for _, o := range openings[:min(len(openings), maxNamed)] {
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes,
			metav1.StatusCause{Type: metav1.CauseTypeForbidden, Field: o.Field, Message: o.String()})
	}
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, why.Causes()...)
	return err
}

// listed returns the openings as text, at most maxNamed.
func listed(openings []crd.Opening) string {
	var texts []string
	for _, o := range openings[:min(len(openings), maxNamed)] {
		texts = append(texts, o.String())
	}
	if more := len(openings) - maxNamed; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// fields returns the paths of the openings, each once.
func fields(openings []crd.Opening) []string {
	var out []string
	for _, o := range openings {
		if !slices.Contains(out, o.Field) {
			out = append(out, o.Field)
		}
	}
	return out
}
