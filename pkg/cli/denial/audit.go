// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package denial

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// event has those fields of an audit event that this package uses.
type event struct {
	AuditID string `json:"auditID"`
	Stage   string `json:"stage"`
	Verb    string `json:"verb"`
	User    struct {
		Username string `json:"username"`
	} `json:"user"`
	ImpersonatedUser *struct {
		Username string `json:"username"`
	} `json:"impersonatedUser"`
	ObjectRef *struct {
		Resource, Namespace, Name, APIGroup, Subresource string
	} `json:"objectRef"`
	ResponseStatus struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"responseStatus"`
	Annotations map[string]string `json:"annotations"`
}

// MissingAnnotation is the audit annotation with the verbs that the caller lacked, the narrowest one
// first.
const MissingAnnotation = "granular.authorization.kube-granular.dev/missing"

// decisionAnnotation is the audit annotation with the decision of the authorizer.
const decisionAnnotation = "authorization.k8s.io/decision"

// FromAudit finds the event of the request with an audit ID in an audit log with one event per
// line, and returns why the request was refused.
func FromAudit(log io.Reader, id string) (*Denial, error) {
	lines := bufio.NewReaderSize(log, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		// Most lines are events of other requests and are not decoded.
		if bytes.Contains(line, []byte(id)) {
			var e event
			if json.Unmarshal(line, &e) == nil && e.AuditID == id && e.Stage == "ResponseComplete" {
				return e.denial()
			}
		}
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("the log has no completed request with the audit ID %s", id)
		}
		if err != nil {
			return nil, err
		}
	}
}

func (e *event) denial() (*Denial, error) {
	if e.ResponseStatus.Code != 403 {
		return nil, fmt.Errorf("the request %s was not refused: its status code is %d", e.AuditID, e.ResponseStatus.Code)
	}
	if e.ObjectRef == nil {
		return nil, fmt.Errorf("the request %s has no resource", e.AuditID)
	}
	out, err := parse(oneLine(e.ResponseStatus.Message))
	decision, lacked := e.Annotations[decisionAnnotation], strings.Fields(e.Annotations[MissingAnnotation])
	switch {
	case err == nil && !(out.Admission && decision == "forbid"):
	case decision == "allow" && len(lacked) == 0:
		out = &Denial{Admission: true, Why: e.ResponseStatus.Message}
	default:
		out = &Denial{Ordinary: e.Verb}
	}
	// The user of the event is known even if the message does not name it.
	out.User = e.User.Username
	if e.ImpersonatedUser != nil {
		out.User = e.ImpersonatedUser.Username
	}
	ref := e.ObjectRef
	out.Resource, out.Subresource, out.Namespace = ref.Resource, ref.Subresource, ref.Namespace
	if ref.APIGroup != "" {
		out.Resource += "." + ref.APIGroup
	}
	if ref.Name != "" {
		out.Name = ref.Name
	}
	if len(lacked) > 0 && out.Protected == "" {
		out.Verbs, out.Together, out.Ordinary, out.Why, out.Admission = lacked, nil, "", "", false
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
