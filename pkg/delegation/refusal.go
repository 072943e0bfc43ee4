// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

// Reason is the machine-readable reason of a refusal.
type Reason string

// The reasons are written into audit events.
const (
	NotFound      Reason = "NotFound"
	NotDelegate   Reason = "NotDelegate"
	Expired       Reason = "Expired"
	Idle          Reason = "Idle"
	AncestorGone  Reason = "AncestorGone"
	NotHeld       Reason = "NotHeld"
	NamespaceGone Reason = "NamespaceGone"
	NotCovered    Reason = "NotCovered"
	Condition     Reason = "Condition"
	Denied        Reason = "Denied"
	// DelegatorGone is for a service account that created a delegation and was deleted.
	DelegatorGone Reason = "DelegatorGone"
	// DelegatorUnknown is for a service account of which this server does not know whether it was
	// deleted. The same request can be allowed a moment later.
	DelegatorUnknown Reason = "DelegatorUnknown"
)

// Refusal is the error of a delegation that does not allow a request.
type Refusal struct {
	Reason  Reason
	Message string
}

func (r *Refusal) Error() string { return r.Message }

func refuse(reason Reason, message string) *Refusal {
	return &Refusal{Reason: reason, Message: message}
}
