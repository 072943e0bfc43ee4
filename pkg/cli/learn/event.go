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

// The annotations that are read from audit events.
const (
	permissionsAnnotation = "granular.authorization.kube-granular.dev/permissions"
	markedAnnotation      = "granular.authorization.kube-granular.dev/marked"
)

// event has the fields that are read from an audit event.
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
	// The objects are not decoded, because most are never needed.
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
		// The decoder's message may quote logged data, which may be secret.
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

// query returns the options of the request.
func (e *event) query() url.Values {
	_, text, _ := strings.Cut(e.RequestURI, "?")
	values, err := url.ParseQuery(text)
	if err != nil {
		return nil
	}
	return values
}

// verbs returns the permission verbs that covered the change, as the server wrote them down. It
// returns false if the list is missing or was cut.
func (e *event) verbs() ([]string, bool) {
	out := strings.Fields(e.Annotations[permissionsAnnotation])
	return out, len(out) == 0 || !strings.HasPrefix(out[len(out)-1], "...")
}

// granular reports whether the request was authorized by the verb granular.
func (e *event) granular() bool { return e.Annotations[markedAnnotation] == "true" }

// showsObject reports whether the response has the whole object. A caller without the verb get
// who was authorized by permissions of fields gets only the identity of the object, without the
// creation timestamp that each stored object has.
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
