// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package guarded

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Request is a request of a caller to one of the objects.
type Request struct {
	// Name tells what the request wants.
	Name string
	// User is the caller, whom an administrator impersonates.
	User string
	// Path is the path of the object.
	Path string
	// Body is a merge patch, or empty for a read. STEP stands for a number.
	Body string
	// Selection is the value of the header Authority-Selector, or empty.
	Selection string
	// Want is the status that a server with every gate on answers with.
	Want int
}

// Settings is the path of the ConfigMap that callers read and write.
const Settings = "/api/v1/namespaces/NAMESPACE/configmaps/settings"

const (
	boiler = "/apis/guarded.example.com/v1/namespaces/NAMESPACE/boilers/a"
	agent  = "system:serviceaccount:NAMESPACE:agent"

	label     = `{"metadata":{"labels":{"free":"sSTEP"}}}`
	protected = `{"metadata":{"labels":{"guarded-env":"sSTEP"}}}`
	team      = `{"metadata":{"annotations":{"team":"sSTEP"}}}`

	role       = `{"authorityReference":{"kind":"ClusterRole","name":"guarded-reader"}}`
	delegation = `{"authorityReference":{"kind":"AuthorityDelegation","name":"` + reads + `"}}`
)

// Requests are all requests. A server with every gate on refuses some, and allows others of the same callers.
var Requests = []Request{
	{"an excluded field", "olga", boiler, `{"valve":"openSTEP"}`, "", http.StatusForbidden},
	{"a field beside it", "olga", boiler, `{"colour":"sSTEP"}`, "", http.StatusOK},
	{"a field that a FieldPermission closes", "olga", Settings, `{"immutable":true}`, "", http.StatusForbidden},
	{"a label that is protected in the cluster", "olga", Settings, protected, "", http.StatusForbidden},
	{"an annotation that is protected in the namespace", "olga", Settings, team, "", http.StatusForbidden},
	{"a label that is not protected", "olga", Settings, label, "", http.StatusOK},
	{"a write under a selected role of reads", "rob", Settings, label, role, http.StatusForbidden},
	{"a read under that role", "rob", Settings, "", role, http.StatusOK},
	{"a write under a selected delegation of reads", "rob", Settings, label, delegation, http.StatusForbidden},
	{"a read under that delegation", "rob", Settings, "", delegation, http.StatusOK},
	{"the same write without a selection", "rob", Settings, label, "", http.StatusOK},
	{"a write of an account that is bound to that delegation", agent, Settings, label, "", http.StatusForbidden},
	{"a read of that account", agent, Settings, "", "", http.StatusOK},
}

// Send sends the request, to objects in the namespace, with an administrator's client. It returns the status of the
// answer, or 0 if there is none. With dry, nothing is stored.
func (r Request) Send(ctx context.Context, client rest.Interface, namespace string, step int, dry bool) int {
	filled := strings.NewReplacer("NAMESPACE", namespace, "STEP", strconv.Itoa(step))
	request := client.Get()
	if r.Body != "" {
		request = client.Patch(types.MergePatchType).Body([]byte(filled.Replace(r.Body)))
		if dry {
			request = request.Param("dryRun", "All")
		}
	}
	request = request.AbsPath(filled.Replace(r.Path)).SetHeader("Impersonate-User", filled.Replace(r.User))
	if r.Selection != "" {
		request = request.SetHeader("Authority-Selector", r.Selection)
	}
	code := 0
	request.Do(ctx).StatusCode(&code)
	return code
}
