// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"kube-granular.dev/pkg/cli/auditlog"
)

// The audit annotations, written by a kube-granular server, that this package uses.
const (
	permissionsAnnotation = "granular.authorization.kube-granular.dev/permissions"
	markedAnnotation      = "granular.authorization.kube-granular.dev/marked"
)

// event has those fields of an audit event that this package uses.
type event struct {
	APIVersion       string             `json:"apiVersion"`
	Kind             string             `json:"kind"`
	AuditID          string             `json:"auditID"`
	Stage            string             `json:"stage"`
	RequestURI       string             `json:"requestURI"`
	Verb             string             `json:"verb"`
	User             user               `json:"user"`
	ImpersonatedUser *user              `json:"impersonatedUser"`
	ObjectRef        *objectRef         `json:"objectRef"`
	ResponseStatus   struct{ Code int } `json:"responseStatus"`
	// RequestObject and ResponseObject are not decoded with the event, because most of them are
	// never used.
	RequestObject  json.RawMessage   `json:"requestObject"`
	ResponseObject json.RawMessage   `json:"responseObject"`
	Received       time.Time         `json:"requestReceivedTimestamp"`
	Annotations    map[string]string `json:"annotations"`
}

type user struct {
	Username string   `json:"username"`
	Groups   []string `json:"groups"`
}

type objectRef struct {
	Resource        string `json:"resource"`
	Namespace       string `json:"namespace"`
	Name            string `json:"name"`
	APIGroup        string `json:"apiGroup"`
	APIVersion      string `json:"apiVersion"`
	Subresource     string `json:"subresource"`
	ResourceVersion string `json:"resourceVersion"`
}

// decode decodes one event.
func decode(line []byte) (*event, error) {
	e := &event{}
	if err := json.Unmarshal(line, e); err != nil {
		// The decoder's message is not used, because it may quote secret data of the log.
		var typed *json.UnmarshalTypeError
		if errors.As(err, &typed) {
			return nil, fmt.Errorf("%w: field %q", auditlog.ErrNotAnEvent, typed.Field)
		}
		return nil, auditlog.ErrNotAnEvent
	}
	if e.Kind != "Event" || e.APIVersion != "audit.k8s.io/v1" {
		return nil, auditlog.ErrNotAnEvent
	}
	return e, nil
}

// caller returns the user that was authorized: the impersonated user, if there is one.
func (e *event) caller() user {
	if e.ImpersonatedUser != nil {
		return *e.ImpersonatedUser
	}
	return e.User
}

// succeeded reports whether the request succeeded.
func (e *event) succeeded() bool { return e.ResponseStatus.Code >= 200 && e.ResponseStatus.Code < 300 }

// authorized reports whether the request passed authentication and authorization.
func (e *event) authorized() bool {
	return e.ResponseStatus.Code != 401 && e.ResponseStatus.Code != 403
}

// missing reports whether the request is a write of an object that does not exist. A read of such an
// object is not one: clients read an object to find out whether they must create it.
func (e *event) missing() bool {
	return e.ResponseStatus.Code == 404 && e.Verb != "get" && e.Verb != "list" && e.Verb != "watch"
}

// query returns the query parameters of the request.
func (e *event) query() url.Values {
	_, text, _ := strings.Cut(e.RequestURI, "?")
	values, err := url.ParseQuery(text)
	if err != nil {
		return nil
	}
	return values
}

// verbs returns the permission verbs that covered the change, from the server's audit annotation.
// It returns false if the server truncated the list.
func (e *event) verbs() ([]string, bool) {
	out := strings.Fields(e.Annotations[permissionsAnnotation])
	return out, len(out) == 0 || !strings.HasPrefix(out[len(out)-1], "...")
}

// granular reports whether the verb granular, and not the ordinary verb, authorized the request.
func (e *event) granular() bool { return e.Annotations[markedAnnotation] == "true" }

// showsObject reports whether the response contains the whole object. If permissions of fields
// authorized a caller without the verb get, the server returns only the identity of the object.
// That response lacks the creation timestamp, which each stored object has.
func (e *event) showsObject() bool {
	if len(e.ResponseObject) == 0 {
		return false
	}
	var of struct {
		Metadata struct {
			CreationTimestamp *string `json:"creationTimestamp"`
		} `json:"metadata"`
	}
	return !e.granular() || json.Unmarshal(e.ResponseObject, &of) == nil && of.Metadata.CreationTimestamp != nil
}
