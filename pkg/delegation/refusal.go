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
	// BindingStale is for a service account whose binding to a delegation can't be used: the annotation
	// is not valid, or the caller has the name of the account and another UID.
	BindingStale Reason = "BindingStale"
	// BindingUnknown is for a service account while the server does not know yet which accounts are
	// bound. The same request can be allowed a moment later.
	BindingUnknown Reason = "BindingUnknown"
	// OtherBinding is for a bound service account that selects an authority other than its delegation.
	OtherBinding Reason = "OtherBinding"
	// Bound is for a request that is refused to every bound service account, such as impersonation.
	Bound Reason = "Bound"
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
