// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SudoRequest asks for sudo for a time, in the tenant whose namespace it is in. A sudoer creates it, and
// if the tenant demands it, another sudoer or a manager approves it. It is kept for a week after it ended.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=tenancy
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Who",type=string,JSONPath=`.spec.requester.username`
// +kubebuilder:printcolumn:name="For",type=string,JSONPath=`.spec.duration`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Until",type=string,JSONPath=`.status.until`
// +kubebuilder:printcolumn:name="Decided-By",type=string,JSONPath=`.spec.decision.author.username`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.spec.reason`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type SudoRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says who asks for sudo, for how long and why, and what somebody else decided. Only the decision
	// can be added later.
	Spec SudoRequestSpec `json:"spec"`
	// status says whether sudo is granted. Only the controller writes it.
	// +optional
	Status SudoRequestStatus `json:"status,omitempty"`
}

// SudoRequestList is a list of requests for sudo.
//
// +kubebuilder:object:root=true
type SudoRequestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SudoRequest `json:"items"`
}

// SudoRequestSpec is a request: who asks for sudo, for how long and why, and what somebody else decided.
type SudoRequestSpec struct {
	// duration is how long the requester wants sudo, such as 1h30m. It begins when the request is granted.
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:Pattern=`^([1-9][0-9]{0,3}h)?([1-9][0-9]{0,3}m)?([1-9][0-9]{0,3}s)?$`
	Duration Duration `json:"duration"`
	// reason says why, for those who approve, and for the audit log.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f-\x9f]*$`
	Reason string `json:"reason"`
	// requester is who created the request. The server writes it.
	Requester Person `json:"requester"`
	// decision is what somebody else decided. A denial may follow an approval, and ends sudo.
	// +optional
	Decision *SudoDecision `json:"decision,omitempty"`
}

// Person is who sent a request to the server, as the server authenticated it.
type Person struct {
	// username is the name of the user.
	Username string `json:"username"`
	// uid is the UID of the user, if the authenticator has one.
	// +optional
	UID string `json:"uid,omitempty"`
	// groups are the groups of the user.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	Groups []string `json:"groups,omitempty"`
}

// SudoDecision is what somebody decided about a request for sudo.
type SudoDecision struct {
	// verdict is Approved or Denied.
	Verdict Verdict `json:"verdict"`
	// reason says why.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f-\x9f]*$`
	Reason string `json:"reason,omitempty"`
	// author is who decided. The server writes it.
	Author Person `json:"author"`
}

// Verdict is a decision about a request for sudo.
//
// +kubebuilder:validation:Enum=Approved;Denied
type Verdict string

// The verdicts.
const (
	Approved Verdict = "Approved"
	Denied   Verdict = "Denied"
)

// SudoRequestStatus is the state of a request, and whether sudo is granted.
type SudoRequestStatus struct {
	// state is the state of the request.
	// +optional
	State RequestState `json:"state,omitempty"`
	// message explains the state.
	// +optional
	Message string `json:"message,omitempty"`
	// until is the time at which granted sudo ends.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
	// finishedAt is the time at which the request was denied, refused or expired, or at which sudo ended. A
	// week later, the controller deletes the request.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
}

// RequestState is the state of a request for sudo.
//
// +kubebuilder:validation:Enum=Pending;Granted;Denied;Refused;Expired;Ended
type RequestState string

// The states of a request. Those after RequestGranted are final.
const (
	// RequestPending means that nobody has decided yet.
	RequestPending RequestState = "Pending"
	// RequestGranted means that the requester has sudo.
	RequestGranted RequestState = "Granted"
	// RequestDenied means that somebody denied the request, or withdrew it.
	RequestDenied RequestState = "Denied"
	// RequestRefused means that the rules of the tenant do not allow what was requested or approved.
	RequestRefused RequestState = "Refused"
	// RequestExpired means that the request was not granted in time.
	RequestExpired RequestState = "Expired"
	// RequestEnded means that sudo was granted and has ended.
	RequestEnded RequestState = "Ended"
)

// IsFinal reports whether the state does not change any more.
func (s RequestState) IsFinal() bool { return s != "" && s != RequestPending && s != RequestGranted }

// IsOnRequest reports whether sudoers have sudo only by a request.
func (s Sudo) IsOnRequest() bool { return s.Approval != "" || s.MaxDuration != "" }
