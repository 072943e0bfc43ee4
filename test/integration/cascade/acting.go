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

// resources are those of the kinds that controllers work on. The policies have their names.
var resources = map[string]schema.GroupResource{
	"Deployment": {Group: "apps", Resource: "deployments"}, "ReplicaSet": {Group: "apps", Resource: "replicasets"},
}

type actingKey struct{}

func init() {
	acting.Install(func(ctx context.Context, kind schema.GroupVersionKind, obj metav1.Object) context.Context {
		of := resources[kind.Kind]
		s, err := selection.Stamped(obj.GetAnnotations(), of, of.Resource)
		if err != nil {
			return ctx // it acts with its own authority, which is none
		}
		return context.WithValue(ctx, actingKey{}, s)
	})
}

// children are what controllers make for others. All else that they write is their own record.
var children = regexp.MustCompile(`/namespaces/[^/]+/(replicasets|pods)(/[^/]+)?$`)

// own is the resource whose objects a controller works on, and does not make.
var own = map[string]string{"deployment-controller": "deployments", "replicaset-controller": "replicasets"}

// selecting returns what makes a controller select, for what it makes, the delegation of the
// object that it works on.
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
