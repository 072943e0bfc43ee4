// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package audit writes annotations into the audit event of a request: the decisions of the Gate
// (package gate), and the role or delegation that the request selected. From the audit log alone
// an operator can tell which permissions a client used and which it lacked.
//
//	granular.authorization.kube-granular.dev/marked:      "true"
//	granular.authorization.kube-granular.dev/permissions: granular:labels granular:replicas
//	granular.authorization.kube-granular.dev/missing:     granular:replicas granular:specification
//	granular.authorization.kube-granular.dev/would-refuse: .metadata.labels[env]:image-policy
//	granular.authorization.kube-granular.dev/opened:      .spec.secret
//	granular.authorization.kube-granular.dev/kept:        .spec.secret
//	granular.authorization.kube-granular.dev/metadata-only: "true"
//
//	authorization.k8s.io/webhook-skipped:                 crd-protector opa
//
//	authority.kube-granular.dev/selected:                 {"authorityReference":{...}}
//	authority.kube-granular.dev/reason:                   TICKET-1
//	authority.kube-granular.dev/chain:                    [{"via":"Delegation","by":"alice",...}]
//	authority.kube-granular.dev/refused:                  NotHeld
//	authority.kube-granular.dev/delegation:               {"name":"...","uid":"..."}
//	authority.kube-granular.dev/not-delegated:            workloads
//
// The invariant: each annotation is written at most once for a request, because an audit event
// keeps only the first value. The length of an annotation is limited, whatever the request
// contains. An annotation never contains the value of a field. But it can contain keys of maps,
// such as the names of labels, and everybody who can read the log sees these.
package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apiserver/pkg/audit"
)

const prefix = "granular.authorization.kube-granular.dev/"

// The annotations of the Gate's decisions. See the functions of the same names. All values but that
// of MarkedAnnotation are lists, separated by spaces (see Listed):
//
//   - PermissionsAnnotation lists permission verbs.
//   - MissingAnnotation lists verbs. If a change of a protected label or annotation was refused,
//     it also lists roles, as ClusterRole/NAME or Role/NAME.
//   - WouldRefuseAnnotation lists labels and annotations, each with the names of the
//     ProtectedAttribute objects in mode Audit that protect it.
//   - WouldExcludeAnnotation has the path of an entry, a colon, and the name of the FieldPermission in
//     mode Audit.
//   - OpenedAnnotation and KeptAnnotation list paths of fields.
const (
	MarkedAnnotation       = prefix + "marked"
	PermissionsAnnotation  = prefix + "permissions"
	MissingAnnotation      = prefix + "missing"
	WouldRefuseAnnotation  = prefix + "would-refuse"
	WouldExcludeAnnotation = prefix + "would-exclude"
	OpenedAnnotation       = prefix + "opened"
	KeptAnnotation         = prefix + "kept"
)

// MetadataOnlyAnnotation is "true" if the caller of a get, list or watch got only metadata, because it
// holds the verb "readmetadata" and not the verb of the request.
const MetadataOnlyAnnotation = prefix + "metadata-only"

// SelectedAnnotation is the role or delegation that the request selected, as JSON.
const SelectedAnnotation = "authority.kube-granular.dev/selected"

// ReasonAnnotation is the reason that the caller gave for the selection.
const ReasonAnnotation = "authority.kube-granular.dev/reason"

// The annotations of requests that act with delegated authority, or create delegations.
// docs/delegated-authority.md describes the values of the first three.
const (
	ChainAnnotation      = "authority.kube-granular.dev/chain"
	RefusedAnnotation    = "authority.kube-granular.dev/refused"
	DelegationAnnotation = "authority.kube-granular.dev/delegation"
	// NotDelegatedAnnotation has the name of an AuthorityDelegationPolicy that issued no
	// delegation, because the caller does not hold the permissions that the policy delegates. If
	// there are several such policies, it has the name of the first.
	NotDelegatedAnnotation = "authority.kube-granular.dev/not-delegated"
)

// SkippedAnnotation lists the authorization webhooks that were not asked about the verb of the request,
// because of their match conditions (KEP-3221, "Design Details"). See Skips.
const SkippedAnnotation = "authorization.k8s.io/webhook-skipped"

// domain is the domain of all annotations of this project.
const domain = "kube-granular.dev"

// reserved reports whether only the server itself writes an annotation with this key. The keys that
// a policy or webhook writes begin with its name, which can be a name below the project's domain.
func reserved(key string) bool {
	if key == SkippedAnnotation {
		return true
	}
	host, _, _ := strings.Cut(key, "/")
	return host == domain || strings.HasSuffix(host, "."+domain)
}

// WithoutReserved returns the annotations whose keys are not reserved. It does not change annotations.
func WithoutReserved(annotations map[string]string) map[string]string {
	for key := range annotations {
		if reserved(key) {
			out := maps.Clone(annotations)
			maps.DeleteFunc(out, func(key, _ string) bool { return reserved(key) })
			return out
		}
	}
	return annotations
}

// MaxLength is the maximum length of a list that Listed returns, in bytes. A request has at most
// three annotations with such lists: used verbs, missing verbs, and changes that would be refused.
const MaxLength = 2000

// Marked writes that the request was allowed only because the caller holds the verb "granular":
// the fields that it changes still had to be verified.
func Marked(ctx context.Context) {
	audit.AddAuditAnnotation(ctx, MarkedAnnotation, "true")
}

// MetadataOnly writes that the caller of a read got only metadata.
func MetadataOnly(ctx context.Context) {
	audit.AddAuditAnnotation(ctx, MetadataOnlyAnnotation, "true")
}

// Permissions writes which permission verbs of the caller covered the change.
func Permissions(ctx context.Context, verbs []string) {
	if len(verbs) > 0 {
		audit.AddAuditAnnotation(ctx, PermissionsAnnotation, Listed(verbs))
	}
}

// Missing writes what the caller of a refused request lacked. Each of the given verbs or roles
// alone would have been enough for the change that was refused first. If they are permission
// verbs, the most specific one comes first. An entry that Together made stands for several verbs,
// which are all needed.
func Missing(ctx context.Context, verbs ...string) {
	audit.AddAuditAnnotation(ctx, MissingAnnotation, Listed(verbs))
}

// Together returns one entry for Missing that stands for several verbs that are all needed. A change
// of a value needs one for the old value and one for the new value. No verb contains the separator,
// because a parameter contains no parenthesis.
func Together(verbs []string) string { return strings.Join(verbs, "&") }

// WouldRefuse writes the changes of protected labels and annotations that were allowed only
// because the mode of the protection is Audit. In mode Enforce they would be refused.
func WouldRefuse(ctx context.Context, found []string) {
	audit.AddAuditAnnotation(ctx, WouldRefuseAnnotation, Listed(found))
}

// WouldExclude writes the field of a change that was allowed only because the mode of a
// FieldPermission is Audit: the path of its entry, which contains no key.
func WouldExclude(ctx context.Context, fieldPermission, path string) {
	audit.AddAuditAnnotation(ctx, WouldExcludeAnnotation, Listed([]string{path + ":" + fieldPermission}))
}

// Opened writes the excluded fields that an update of a definition opens.
func Opened(ctx context.Context, fields []string) {
	audit.AddAuditAnnotation(ctx, OpenedAnnotation, Listed(fields))
}

// Kept writes the excluded fields that an update of a definition would open, if the server did not
// put the stored permission extensions back.
func Kept(ctx context.Context, fields []string) {
	audit.AddAuditAnnotation(ctx, KeptAnnotation, Listed(fields))
}

// Selected writes the role or delegation that the request selected. text is JSON, in the form
// that the selection also has in the extra attributes of the user.
func Selected(ctx context.Context, text string) {
	audit.AddAuditAnnotation(ctx, SelectedAnnotation, text)
}

// Reason writes the reason that the caller gave for the selection.
func Reason(ctx context.Context, text string) {
	audit.AddAuditAnnotation(ctx, ReasonAnnotation, text)
}

// Chain writes on whose behalf a request with a selected delegation was made. entries must be
// encodable as JSON: one element for each user who passed authority on.
func Chain(ctx context.Context, entries any) {
	annotate(ctx, ChainAnnotation, entries)
}

// Delegated writes the name and the UID of the AuthorityDelegation that the request created.
func Delegated(ctx context.Context, name, uid string) {
	annotate(ctx, DelegationAnnotation, map[string]string{"name": name, "uid": uid})
}

// NotDelegated writes the name of an AuthorityDelegationPolicy that issued no delegation, because
// the caller does not hold the permissions that the policy delegates.
func NotDelegated(ctx context.Context, policy string) {
	audit.AddAuditAnnotation(ctx, NotDelegatedAnnotation, policy)
}

// Refused writes why the selected delegation did not allow the request, such as "Expired".
func Refused(ctx context.Context, reason string) {
	audit.AddAuditAnnotation(ctx, RefusedAnnotation, reason)
}

func annotate(ctx context.Context, key string, value any) {
	if text, err := json.Marshal(value); err == nil {
		audit.AddAuditAnnotation(ctx, key, string(text))
	}
}

// Listed joins verbs by spaces. If the result would be longer than MaxLength, Listed omits verbs
// at the end and writes their number instead: "granular:labels ...+3".
func Listed(verbs []string) string {
	text := strings.Join(verbs, " ")
	if len(text) <= MaxLength {
		return text
	}
	var b strings.Builder
	for i, verb := range verbs {
		if b.Len()+len(verb)+len(" ...+999") > MaxLength {
			fmt.Fprintf(&b, "...+%d", len(verbs)-i)
			break
		}
		b.WriteString(verb + " ")
	}
	return b.String()
}
