// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/pkg/cli/ui/model"
)

// tenancyGroup is the group of the tenancy controller, whose types are in a module of its own.
const tenancyGroup = "tenancy.kube-granular.dev"

// tenants reads LNamespaces and requests for sudo, if the server has the kind. Without it, nothing is unknown.
func (r *reader) tenants(ctx context.Context) error {
	resource, served := r.tenantResource()
	if !served {
		return nil
	}
	r.in.About.Tenants = true
	var all []*lnamespace
	add := func(o *unstructured.Unstructured) {
		t := &lnamespace{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, t); err != nil {
			r.in.Unknown = append(r.in.Unknown, model.Unknown{What: model.UnknownTenants, Of: o.GetName(), Why: err.Error()})
			return
		}
		all = append(all, t)
	}
	if err := list(ctx, r, what{model.UnknownTenants, resource.Resource}, r.Objects.Resource(resource).List, add); err != nil {
		return err
	}
	resource.Resource = "sudorequests"
	open := map[string][]model.SudoRequest{}
	requests := what{model.UnknownSudoRequests, resource.Resource}
	err := namespaced(ctx, r, requests, func(namespace string) lister[*unstructured.UnstructuredList] {
		return r.Objects.Resource(resource).Namespace(namespace).List
	}, func(o *unstructured.Unstructured) {
		q := &sudoRequest{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, q); err != nil {
			r.in.Unknown = append(r.in.Unknown, model.Unknown{What: model.UnknownSudoRequests, Of: o.GetName(), Why: err.Error()})
		} else if q.isOpen() {
			open[q.Namespace] = append(open[q.Namespace], q.model())
		}
	})
	for _, t := range all {
		r.in.Tenants = append(r.in.Tenants, t.model(r.Now(), open[t.Name]))
	}
	return err
}

// tenantResource returns the resource of LNamespaces, also if the server publishes no schema of it.
func (r *reader) tenantResource() (resource schema.GroupVersionResource, served bool) {
	const name = "lnamespaces"
	for _, k := range r.in.Kinds {
		if k.Resource.Group == tenancyGroup && k.Resource.Resource == name {
			return k.Resource, true
		}
	}
	known := func(u model.Unknown) bool { return u.What == model.UnknownKind && u.Of == name+"."+tenancyGroup }
	return schema.GroupVersionResource{Group: tenancyGroup, Version: "v1alpha1", Resource: name}, slices.ContainsFunc(r.in.Unknown, known)
}

// lnamespace has the fields of an LNamespace that the page shows.
type lnamespace struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		members `json:",inline"`
		Sudo    struct {
			Allow       []string `json:"allow"`
			Approval    string   `json:"approval"`
			MaxDuration string   `json:"maxDuration"`
		} `json:"sudo"`
		Billing        period `json:"billing"`
		DeletionPolicy string `json:"deletionPolicy"`
	} `json:"spec"`
	Status struct {
		NamespaceUID string           `json:"namespaceUID"`
		Adopted      bool             `json:"adopted"`
		Granted      members          `json:"granted"`
		Leftovers    []model.Leftover `json:"leftovers"`
		Billing      struct {
			Open    *period  `json:"open"`
			Pending []period `json:"pending"`
		} `json:"billing"`
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// members are the lists of a tenant.
type members struct {
	Users    []member `json:"users"`
	Managers []member `json:"managers"`
	Sudoers  []member `json:"sudoers"`
}

type member struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Until     string `json:"until"`
}

type period struct {
	Account string       `json:"account"`
	Start   metav1.Time  `json:"start"`
	End     *metav1.Time `json:"end"`
}

// sudoRequest has the fields of a SudoRequest that the page shows.
type sudoRequest struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Duration  string `json:"duration"`
		Reason    string `json:"reason"`
		Requester person `json:"requester"`
		Decision  struct {
			Author person `json:"author"`
		} `json:"decision"`
	} `json:"spec"`
	Status struct {
		State string `json:"state"`
		Until string `json:"until"`
	} `json:"status"`
}

type person struct {
	Username string `json:"username"`
}

// isOpen reports whether a request waits, or gives sudo now.
func (q *sudoRequest) isOpen() bool {
	return slices.Contains([]string{"", "Pending", "Granted"}, q.Status.State)
}

func (q *sudoRequest) model() model.SudoRequest {
	return model.SudoRequest{Who: q.Spec.Requester.Username, For: q.Spec.Duration, State: cmp.Or(q.Status.State, "Pending"),
		Until: q.Status.Until, Reason: q.Spec.Reason, DecidedBy: q.Spec.Decision.Author.Username}
}

// count returns a number with a word: 1 user, 2 users.
func count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// bare returns an entry as the list of those who have rights has it.
func (m member) bare() member {
	m.Kind, m.Until = cmp.Or(m.Kind, "User"), ""
	return m
}

// subject returns the word and the name by which the page knows a subject.
func (m member) subject() (word, name string) {
	if m.Kind == "ServiceAccount" {
		return "serviceaccount", m.Namespace + "/" + m.Name
	}
	return strings.ToLower(m.bare().Kind), m.Name
}
