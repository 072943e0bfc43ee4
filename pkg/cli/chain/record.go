// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/cli/auditlog"
)

// The audit annotations, written by the server, from which a record is made.
const (
	refusedAnnotation    = "authority.kube-granular.dev/refused"
	delegationAnnotation = "authority.kube-granular.dev/delegation"
	reasonAnnotation     = "authority.kube-granular.dev/reason"
	// decisionReasonAnnotation is written by every server.
	decisionReasonAnnotation = "authorization.k8s.io/reason"
)

// The ways to hand authority to another user; see Entry.Via.
const (
	Delegation    = "Delegation"
	Impersonation = "Impersonation"
	Token         = "Token"
)

// Entry is one handover of authority: the user By handed authority to the next user of the chain.
// The JSON form is the one that the server writes into the audit annotation.
type Entry struct {
	// Via is Delegation, Impersonation or Token.
	Via   string `json:"via"`
	By    string `json:"by"`
	ByUID string `json:"byUID,omitempty"`
	// Name and UID identify the delegation, or the Pod or Node that a token is bound to.
	Name string `json:"name,omitempty"`
	UID  string `json:"uid,omitempty"`
	// Until is when a delegation expires.
	Until string `json:"until,omitempty"`
	// Credential is the ID of the token, if Via is Token.
	Credential string `json:"credential,omitempty"`
}

// CreatedDelegation is a delegation that a request created.
type CreatedDelegation struct {
	Name string `json:"name"`
	UID  string `json:"uid,omitempty"`
}

// User is the sender of a request.
type User struct {
	Name string `json:"name"`
	UID  string `json:"uid,omitempty"`
}

// Record is one request with the chain of users who handed over authority for it.
type Record struct {
	// Time is when the server received the request, or zero if the event does not say it.
	Time    time.Time `json:"time,omitzero"`
	AuditID string    `json:"auditID"`
	// Origin is the first user of the chain, or the caller.
	Origin string `json:"origin"`
	// Chain has the handovers of authority from Origin to Caller, in order.
	Chain  []Entry `json:"chain,omitempty"`
	Caller User    `json:"caller"`
	// Selected is the authority that the caller selected.
	Selected *selection.AuthorityReference `json:"selected,omitempty"`
	// Bound is true if the caller is a service account that always acts under a delegation, so that it
	// need not select one.
	Bound bool   `json:"bound,omitempty"`
	Verb  string `json:"verb"`
	// Object is the object of the request. If the request is not for a resource, Object is nil and
	// URI is the request URI.
	Object *auditlog.ObjectReference `json:"object,omitempty"`
	URI    string                    `json:"uri,omitempty"`
	// Code is the status code of the response, 0 if there was none.
	Code int32 `json:"code,omitempty"`
	// Running is true if the response has begun and not ended.
	Running bool `json:"running,omitempty"`
	// Reason is the reason that the caller gave for its selection.
	Reason string `json:"reason,omitempty"`
	// Decision is the decision of the authorizer, allow or forbid, and DecisionReason is its reason.
	// Both are empty for a request that the server answered before it authorized it.
	Decision       string `json:"decision,omitempty"`
	DecisionReason string `json:"decisionReason,omitempty"`
	// Refused is why the selected delegation did not allow the request.
	Refused string `json:"refused,omitempty"`
	// Delegation is the delegation that the request created. Either the delegation is the object
	// of the request, or the request created another object, for which a policy made the server
	// create a delegation.
	Delegation *CreatedDelegation `json:"delegation,omitempty"`
}

// OnBehalf reports whether a request used selected or delegated authority, or created a
// delegation.
func (r *Record) OnBehalf() bool {
	if r.Selected != nil || r.Refused != "" || r.Delegation != nil {
		return true
	}
	for _, e := range r.Chain {
		if e.Via != Token {
			return true
		}
	}
	return false
}

// IsProbe reports whether a request only asks whether the server knows selections. Clients that select,
// such as kubectl with, send it before their first request.
func (r *Record) IsProbe() bool {
	return r.Selected != nil && r.Verb == "get" && r.URI == "/version"
}

// event has those fields of an audit event that this package uses.
type event struct {
	auditlog.Event[eventUser]
	ResponseStatus           struct{ Code int32 } `json:"responseStatus"`
	RequestReceivedTimestamp time.Time            `json:"requestReceivedTimestamp"`
}

type eventUser struct {
	Username string              `json:"username"`
	UID      string              `json:"uid"`
	Extra    map[string][]string `json:"extra"`
}

// decode decodes an event. It returns nil for the stage RequestReceived, which has no result yet.
func decode(line []byte) (*Record, error) {
	var e event
	if err := auditlog.Decode(line, &e, &e.APIVersion, &e.Kind); err != nil {
		return nil, err
	}
	if e.Stage == "RequestReceived" {
		return nil, nil
	}
	caller := e.Caller()
	r := &Record{
		Time: e.RequestReceivedTimestamp, AuditID: e.AuditID, Verb: e.Verb,
		Caller: User{caller.Username, caller.UID}, Object: e.ObjectRef,
		Code: e.ResponseStatus.Code, Running: e.Stage == "ResponseStarted",
		Refused: e.Annotations[refusedAnnotation], Reason: e.Annotations[reasonAnnotation],
		Decision: e.Annotations[auditlog.DecisionAnnotation], DecisionReason: e.Annotations[decisionReasonAnnotation],
	}
	if r.Object == nil || r.Object.Resource == "" {
		r.Object, r.URI = nil, e.RequestURI
	}
	if err := r.readAnnotations(e.Annotations); err != nil {
		return nil, err
	}
	r.addTokenAndImpersonation(&e)
	r.Origin = r.Caller.Name
	if len(r.Chain) > 0 && r.Chain[0].By != "" {
		r.Origin = r.Chain[0].By
	}
	return r, nil
}

// readAnnotations reads the server's annotations about authority.
func (r *Record) readAnnotations(annotations map[string]string) error {
	if text, ok := annotations[auditlog.SelectedAnnotation]; ok {
		s, bound, err := ParseSelected(text)
		if err != nil {
			return fmt.Errorf("%w: annotation %s: %w", auditlog.ErrNotAnEvent, auditlog.SelectedAnnotation, err)
		}
		r.Selected, r.Bound = &s.AuthorityReference, bound
	}
	for key, target := range map[string]any{auditlog.ChainAnnotation: &r.Chain, delegationAnnotation: &r.Delegation} {
		if text, ok := annotations[key]; ok {
			if err := json.Unmarshal([]byte(text), target); err != nil {
				return fmt.Errorf("%w: annotation %s is not valid JSON of the expected type", auditlog.ErrNotAnEvent, key)
			}
		}
	}
	return nil
}

// viaBinding is the end of the annotation of a service account that is bound to a delegation.
const viaBinding = `,"via":"Binding"}`

// ParseSelected parses the annotation that names the authority of a request. bound is true if the caller did
// not select the authority, but is bound to it.
func ParseSelected(text string) (s *selection.SelectedAuthority, bound bool, err error) {
	if short, ok := strings.CutSuffix(text, viaBinding); ok {
		text, bound = short+"}", true
	}
	s, err = selection.Parse(text)
	return s, bound, err
}

const (
	credentialExtra = "authentication.kubernetes.io/credential-id"
	podNameExtra    = "authentication.kubernetes.io/pod-name"
	podUIDExtra     = "authentication.kubernetes.io/pod-uid"
	nodeNameExtra   = "authentication.kubernetes.io/node-name"
	nodeUIDExtra    = "authentication.kubernetes.io/node-uid"
)

// addTokenAndImpersonation adds the token and the impersonation of the request to the chain. It
// adds no entry that the server has already written there, as the server does for a request that
// selects a delegation.
func (r *Record) addTokenAndImpersonation(e *event) {
	if t, ok := e.User.token(); ok && !r.has(t) {
		r.Chain = append(r.Chain, t)
	}
	if e.ImpersonatedUser == nil {
		return
	}
	i := Entry{Via: Impersonation, By: e.User.Username, ByUID: e.User.UID}
	if !r.has(i) {
		r.Chain = append(r.Chain, i)
	}
}

// has reports whether the chain contains a handover of the same kind and by the same user as e.
// Only the entries after the last delegation are compared, because earlier entries belong to the
// request that created this delegation.
func (r *Record) has(e Entry) bool {
	for i := len(r.Chain) - 1; i >= 0 && r.Chain[i].Via != Delegation; i-- {
		if r.Chain[i].Via == e.Via && isUser(r.Chain[i].By, e.By) {
			return true
		}
	}
	return false
}

// token returns the handover by the token of a service account, and false if the user is not a
// service account or the event does not identify its token.
func (u *eventUser) token() (Entry, bool) {
	first := func(key string) string {
		if values := u.Extra[key]; len(values) > 0 {
			return values[0]
		}
		return ""
	}
	t := Entry{Via: Token, By: u.Username, ByUID: u.UID, Credential: first(credentialExtra)}
	switch {
	case first(podNameExtra) != "":
		t.Name, t.UID = "Pod/"+first(podNameExtra), first(podUIDExtra)
	case first(nodeNameExtra) != "":
		t.Name, t.UID = "Node/"+first(nodeNameExtra), first(nodeUIDExtra)
	}
	const account = "system:serviceaccount:"
	return t, strings.HasPrefix(u.Username, account) && (t.Credential != "" || t.Name != "")
}

const (
	// longestName is the maximum length in bytes of a user name in a chain. The server truncates
	// longer names.
	longestName = 256
	cut         = "..."
)

// isUser reports whether a name in a chain, which may be truncated, is the name of a user.
func isUser(written, name string) bool {
	if written == name {
		return true
	}
	short, wasCut := strings.CutSuffix(written, cut)
	return wasCut && len(name) > longestName && strings.HasPrefix(name, short)
}
