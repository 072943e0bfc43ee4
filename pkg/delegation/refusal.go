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
