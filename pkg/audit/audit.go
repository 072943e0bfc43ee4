// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package audit writes the decisions of the Gate into the audit event of a request. From the
// audit log alone an operator can tell which permissions a client used and which it lacked.
//
//	granular.authorization.kube-granular.dev/marked:      "true"
//	granular.authorization.kube-granular.dev/permissions: granular:labels granular:replicas
//	granular.authorization.kube-granular.dev/missing:     granular:replicas granular:specification
//	granular.authorization.kube-granular.dev/would-refuse: .metadata.labels[env]:image-policy
//
//	authority.kube-granular.dev/selected:                 {"authorityReference":{...}}
//	authority.kube-granular.dev/reason:                   TICKET-1
//	authority.kube-granular.dev/chain:                    [{"via":"Delegation","by":"alice",...}]
//	authority.kube-granular.dev/refused:                  NotHeld
//	authority.kube-granular.dev/delegation:               {"name":"...","uid":"..."}
//	authority.kube-granular.dev/not-delegated:            workloads
//
// The invariant: each annotation is written at most once for a request, because the audit backend
// keeps only the first value. An annotation has a limited length, whatever the request holds. It
// never contains the value of a field, but it may contain the keys of maps, such as labels, which
// readers of the log can see.
package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apiserver/pkg/audit"
)

const prefix = "granular.authorization.kube-granular.dev/"

// The annotations of granular requests. Permissions and Missing list permission verbs, separated
// by spaces (see Listed). Missing also lists roles, as ClusterRole/NAME or Role/NAME, if a change
// of a protected label or annotation was refused. WouldRefuse lists fields, each with the
// ProtectedAttribute objects in mode Audit that protect it.
const (
	MarkedAnnotation      = prefix + "marked"
	PermissionsAnnotation = prefix + "permissions"
	MissingAnnotation     = prefix + "missing"
	WouldRefuseAnnotation = prefix + "would-refuse"
)

// SelectedAnnotation is the role or delegation that the request selected, as JSON.
const SelectedAnnotation = "authority.kube-granular.dev/selected"

// ReasonAnnotation is the reason that the caller gave for the selection.
const ReasonAnnotation = "authority.kube-granular.dev/reason"

// The annotations of requests that act with delegated authority.
// docs/adr/0055-audit-of-a-chain.md describes their format.
const (
	ChainAnnotation      = "authority.kube-granular.dev/chain"
	RefusedAnnotation    = "authority.kube-granular.dev/refused"
	DelegationAnnotation = "authority.kube-granular.dev/delegation"
	// NotDelegatedAnnotation names the first policy that issued no delegation, because the caller
	// does not hold what the policy delegates.
	NotDelegatedAnnotation = "authority.kube-granular.dev/not-delegated"
)

// MaxLength is the maximum length of an annotation's value that Listed returns, in bytes. A
// request has at most two annotations with verbs, and one with refused fields.
const MaxLength = 2000

// Marked records that the request was allowed only because its caller holds the verb "granular".
func Marked(ctx context.Context) {
	audit.AddAuditAnnotation(ctx, MarkedAnnotation, "true")
}

// Permissions records which permission verbs covered the change.
func Permissions(ctx context.Context, verbs []string) {
	if len(verbs) > 0 {
		audit.AddAuditAnnotation(ctx, PermissionsAnnotation, Listed(verbs))
	}
}

// Missing records what the caller lacked: the permission verbs that would have covered the first
// field that was not covered, the most specific verb first; or roles that would have admitted the
// caller.
func Missing(ctx context.Context, verbs ...string) {
	audit.AddAuditAnnotation(ctx, MissingAnnotation, Listed(verbs))
}

// WouldRefuse records the changes that would be refused if all protected attributes were
// enforced.
func WouldRefuse(ctx context.Context, found []string) {
	audit.AddAuditAnnotation(ctx, WouldRefuseAnnotation, Listed(found))
}

// Selected records the role or delegation that the request selected. text has the form of the
// user's extra attribute.
func Selected(ctx context.Context, text string) {
	audit.AddAuditAnnotation(ctx, SelectedAnnotation, text)
}

// Reason records the reason of the selection.
func Reason(ctx context.Context, text string) {
	audit.AddAuditAnnotation(ctx, ReasonAnnotation, text)
}

// Chain records on whose behalf the request was made. entries must be encodable as JSON.
func Chain(ctx context.Context, entries any) {
	annotate(ctx, ChainAnnotation, entries)
}

// Delegated records the delegation that the request created.
func Delegated(ctx context.Context, name, uid string) {
	annotate(ctx, DelegationAnnotation, map[string]string{"name": name, "uid": uid})
}

// NotDelegated records a policy that issued no delegation, because the caller does not hold what
// the policy delegates.
func NotDelegated(ctx context.Context, policy string) {
	audit.AddAuditAnnotation(ctx, NotDelegatedAnnotation, policy)
}

// Refused records why the selected delegation did not allow the request.
func Refused(ctx context.Context, reason string) {
	audit.AddAuditAnnotation(ctx, RefusedAnnotation, reason)
}

func annotate(ctx context.Context, key string, value any) {
	if text, err := json.Marshal(value); err == nil {
		audit.AddAuditAnnotation(ctx, key, string(text))
	}
}

// Listed joins verbs by spaces. If the result is longer than MaxLength, it is cut and ends with
// the number of omitted verbs: "granular:labels ...+3".
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
