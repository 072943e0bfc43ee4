// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/cli/auditlog"
	"kube-granular.dev/pkg/cli/changes"
	"kube-granular.dev/pkg/included"
)

// The audit annotations, written by a kube-granular server, that this package uses.
const (
	permissionsAnnotation = "granular.authorization.kube-granular.dev/permissions"
	markedAnnotation      = "granular.authorization.kube-granular.dev/marked"
	// metadataOnlyAnnotation is "true" if the caller of a read got only metadata.
	metadataOnlyAnnotation = "granular.authorization.kube-granular.dev/metadata-only"
)

// event has those fields of an audit event that this package uses.
type event struct {
	auditlog.Event[user]
	Authentication authentication     `json:"authenticationMetadata"`
	ResponseStatus struct{ Code int } `json:"responseStatus"`
	// RequestObject and ResponseObject are not decoded with the event, because most of them are
	// never used.
	RequestObject  json.RawMessage `json:"requestObject"`
	ResponseObject json.RawMessage `json:"responseObject"`
	Received       time.Time       `json:"requestReceivedTimestamp"`
}

type user struct {
	Username string              `json:"username"`
	UID      string              `json:"uid"`
	Groups   []string            `json:"groups"`
	Extra    map[string][]string `json:"extra"`
}

type authentication struct {
	// ImpersonationConstraint is the verb that allowed a constrained impersonation, such as
	// impersonate:user-info. It is empty if the verb impersonate allowed it.
	ImpersonationConstraint string `json:"impersonationConstraint"`
}

// decode decodes one event.
func decode(line []byte) (*event, error) {
	e := &event{}
	if err := auditlog.Decode(line, e, &e.APIVersion, &e.Kind); err != nil {
		return nil, err
	}
	return e, nil
}

// delegated reports whether the request was made under a delegation: it used the authority of a
// delegator, and not that of the caller. delegator is the name of the delegator, or "" if the event
// does not have the whole name.
func (e *event) delegated() (delegator string, ok bool) {
	text, selects := e.Annotations[auditlog.SelectedAnnotation]
	if !selects {
		return "", false
	}
	// A selected role only narrows the caller's own authority. What can't be parsed is not taken for
	// the caller's own authority.
	if s, err := selection.Parse(text); err == nil && s.AuthorityReference.Kind != selection.AuthorityDelegationKind {
		return "", false
	}
	var chain []struct{ Via, By string }
	if json.Unmarshal([]byte(e.Annotations[auditlog.ChainAnnotation]), &chain) != nil {
		return "", true
	}
	for _, step := range chain {
		if step.Via == "Delegation" {
			if strings.HasSuffix(step.By, "...") {
				return "", true // the server cuts long names
			}
			return step.By, true
		}
	}
	return "", true
}

// succeeded reports whether the request succeeded.
func (e *event) succeeded() bool { return e.ResponseStatus.Code >= 200 && e.ResponseStatus.Code < 300 }

// authorized reports whether the request passed authentication and authorization. The server answers
// some requests before it authorizes them: with 429 under load, or with 500 if the authorizer fails.
// So a request that failed passed only if the event has the decision of the authorizer.
func (e *event) authorized() bool {
	code := e.ResponseStatus.Code
	decision, decided := e.Annotations[auditlog.DecisionAnnotation]
	if !decided {
		return code < 400
	}
	return decision == "allow" && code != 401 && code != 403
}

// isRehearsal reports whether this plugin asks what would be allowed; see changes.IsRehearsal.
func (e *event) isRehearsal() bool {
	resource := schema.GroupResource{}
	if e.ObjectRef != nil {
		resource = schema.GroupResource{Group: e.ObjectRef.APIGroup, Resource: e.ObjectRef.Resource}
	}
	return changes.IsRehearsal(e.UserAgent, e.RequestURI, resource)
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

// creates reports whether an update or a patch created its object.
func (e *event) creates() bool {
	return (e.Verb == "update" || e.Verb == "patch") && e.ObjectRef.Subresource == "" && e.ResponseStatus.Code == 201
}

// verbs returns the permission verbs that covered the change, from the server's audit annotation.
// What is no verb of a permission, such as *, is left out: it would allow more than a change of
// fields. verbs returns false if the server truncated the list.
func (e *event) verbs() ([]string, bool) {
	out := strings.Fields(e.Annotations[permissionsAnnotation])
	whole := len(out) == 0 || !strings.HasPrefix(out[len(out)-1], "...")
	return slices.DeleteFunc(out, func(verb string) bool {
		v, err := permission.Parse(verb)
		return err != nil || v.Permission == ""
	}), whole
}

// authorizedVerb returns the verb that authorized a request that is no write: that of the request, or
// readmetadata if the server answered with metadata alone.
func (e *event) authorizedVerb() string {
	if e.Annotations[metadataOnlyAnnotation] == "true" && slices.Contains(readVerbs, e.Verb) {
		return included.MetadataVerb
	}
	return e.Verb
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
	var decoded struct {
		Metadata struct {
			CreationTimestamp *string `json:"creationTimestamp"`
		} `json:"metadata"`
	}
	return !e.granular() || json.Unmarshal(e.ResponseObject, &decoded) == nil && decoded.Metadata.CreationTimestamp != nil
}
