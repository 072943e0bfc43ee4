// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package denial

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/pkg/cli/auditlog"
	"kube-granular.dev/pkg/cli/changes"
	"kube-granular.dev/pkg/cli/kinds"
)

// event has those fields of an audit event that this package uses.
type event struct {
	auditlog.Event[user]
	// StageTimestamp is when the server answered.
	StageTimestamp string        `json:"stageTimestamp"`
	ResponseStatus metav1.Status `json:"responseStatus"`
}

// user is who sent a request.
type user struct {
	Username string   `json:"username"`
	Groups   []string `json:"groups"`
}

// MissingAnnotation is the audit annotation with the verbs that the caller lacked, the narrowest one
// first.
const MissingAnnotation = "granular.authorization.kube-granular.dev/missing"

// errFound ends the reading of a log.
var errFound = errors.New("the event is found")

// FromAudit finds the event of the request with an audit ID in an audit log, and returns why the request
// was refused. auditlog.Reader documents the supported formats.
func FromAudit(log io.Reader, id string) (*Denial, error) {
	var e event
	reader := auditlog.Reader{
		Use: func(line []byte) error {
			e = event{}
			switch {
			case !bytes.Contains(line, []byte(id)):
				return nil // most lines are events of other requests and are not decoded
			case json.Unmarshal(line, &e) != nil || e.AuditID == "":
				return auditlog.ErrNotAnEvent
			case e.AuditID == id && e.Stage == "ResponseComplete":
				return errFound
			}
			return nil
		},
		Warn: func(error) {}, // what can't be read is not the event
	}
	switch _, err := reader.Read("audit log", log); {
	case errors.Is(err, errFound):
		return e.denial()
	case err != nil:
		return nil, err
	}
	return nil, fmt.Errorf("the log has no completed request with the audit ID %s", id)
}

// Refused is a refused request of an audit log.
type Refused struct {
	Denial *Denial
	// Time is as the server wrote it, in RFC 3339.
	Time, AuditID string
	// Verb is the verb of the request, and Groups are the groups of the user.
	Verb   string
	Groups []string
	// Message is what the server said.
	Message string
	// Chain are the users who handed the authority over, the first one first, if the server wrote them down.
	Chain []Handover
}

// Handover is one step of the chain in which authority came to the user of a request.
type Handover struct {
	// Via is Delegation, Impersonation or Token.
	Via string `json:"via"`
	// By is the user who handed it over, and Name the delegation, or what a token is bound to.
	By   string `json:"by"`
	Name string `json:"name,omitempty"`
}

// chain returns the handovers of an event. What can't be read names nobody.
func (e *event) chain() (out []Handover) {
	if json.Unmarshal([]byte(e.Annotations[auditlog.ChainAnnotation]), &out) != nil {
		return nil
	}
	return out
}

// FromEvent returns the refused request of an event of an audit log, or nil if the event is about another
// request, not about its end, or about a question of this plugin. It returns auditlog.ErrNotAnEvent
// if the text is no event.
func FromEvent(text []byte) (*Refused, error) {
	var e event
	if err := json.Unmarshal(text, &e); err != nil || e.AuditID == "" {
		return nil, auditlog.ErrNotAnEvent
	}
	if e.Stage != "ResponseComplete" || e.ResponseStatus.Code != 403 || e.ObjectRef == nil {
		return nil, nil
	}
	resource := schema.GroupResource{Group: e.ObjectRef.APIGroup, Resource: e.ObjectRef.Resource}
	if changes.IsRehearsal(e.UserAgent, e.RequestURI, resource) {
		return nil, nil
	}
	d, err := e.denial()
	if err != nil {
		return nil, err
	}
	return &Refused{Denial: d, Time: e.StageTimestamp, AuditID: e.AuditID, Verb: e.Verb, Groups: e.Caller().Groups,
		Message: e.ResponseStatus.Message, Chain: e.chain()}, nil
}

func (e *event) denial() (*Denial, error) {
	if e.ResponseStatus.Code != 403 {
		return nil, fmt.Errorf("the request %s was not refused: its status code is %d", e.AuditID, e.ResponseStatus.Code)
	}
	if e.ObjectRef == nil {
		return nil, fmt.Errorf("the request %s has no resource", e.AuditID)
	}
	out, err := FromStatus(&e.ResponseStatus)
	decision, lacked := e.Annotations[auditlog.DecisionAnnotation], strings.Fields(e.Annotations[MissingAnnotation])
	switch {
	case err == nil && !(out.Admission && decision == "forbid"):
	case decision == "allow" && len(lacked) == 0:
		out = &Denial{Admission: true, Why: e.ResponseStatus.Message}
	default:
		out = &Denial{Ordinary: e.Verb}
	}
	// The user of the event is known even if the message does not name it.
	out.User = e.Caller().Username
	ref := e.ObjectRef
	out.Resource, out.Subresource, out.Namespace = kinds.Qualified(ref.APIGroup, ref.Resource), ref.Subresource, ref.Namespace
	if ref.Name != "" {
		out.Name = ref.Name
	}
	if len(lacked) > 0 && out.Protected == "" {
		out.Verbs, out.Together, out.Ordinary, out.Why, out.Admission = nil, nil, "", "", false
		out.lack(lacked)
		if all := Together(lacked[0]); len(all) > 1 {
			out.Verbs[0], out.Together = all[0], all
		}
	}
	return out, nil
}

// Together returns the verbs of one entry of MissingAnnotation. They are needed together, such as one
// for the old value of a field and one for the new value. No parameter of a verb has a parenthesis.
func Together(entry string) []string {
	all := strings.Split(entry, ")&")
	for i := range all[:len(all)-1] {
		all[i] += ")"
	}
	return all
}
