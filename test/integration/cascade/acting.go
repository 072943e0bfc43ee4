// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package cascade

import (
	"context"
	"net/http"
	"regexp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/controller/acting"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/api/selection/transport"
)

// resources maps the kinds that the two controllers work on to their resources. The policies
// have the names of the resources.
var resources = map[string]schema.GroupResource{
	"Deployment": {Group: "apps", Resource: "deployments"}, "ReplicaSet": {Group: "apps", Resource: "replicasets"},
}

type actingKey struct{}

func init() {
	acting.Install(func(ctx context.Context, kind schema.GroupVersionKind, obj metav1.Object) context.Context {
		resource := resources[kind.Kind]
		s, err := selection.Stamped(obj.GetAnnotations(), resource, resource.Resource)
		if err != nil {
			return ctx // no valid stamp: it acts with its own rights, which allow no creation
		}
		return context.WithValue(ctx, actingKey{}, s)
	})
}

// children matches the paths of objects that controllers make for others. All other objects
// that they write are their own records.
var children = regexp.MustCompile(`/namespaces/[^/]+/(replicasets|pods)(/[^/]+)?$`)

// own maps a controller to the resource that it works on. The controller does not create
// objects of that resource.
var own = map[string]string{"deployment-controller": "deployments", "replicaset-controller": "replicasets"}

// selecting returns a wrapper for the transport of a controller. When the controller writes the
// objects that it makes for another object, the wrapper selects the delegation that the stamp
// of that other object names.
func selecting(controller string) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		acts := transport.New(next)
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			s, _ := req.Context().Value(actingKey{}).(*selection.SelectedAuthority)
			made := children.FindStringSubmatch(req.URL.Path)
			if s == nil || req.Method == http.MethodGet || made == nil || made[1] == own[controller] {
				return next.RoundTrip(req)
			}
			return acts.RoundTrip(req.WithContext(transport.With(req.Context(), s)))
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
