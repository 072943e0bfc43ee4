// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregation

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	informers "k8s.io/client-go/informers/rbac/v1"
	"k8s.io/client-go/tools/cache"
)

// aggregatedIndex is the name of the index of the aggregated ClusterRoles. Its only value is aggregated.
const (
	aggregatedIndex = "aggregated"
	aggregated      = "true"
)

// filtered is an informer of ClusterRoles whose handlers get no event of a role that changes no aggregated role.
//
// For each event, upstream's controller looks at the labels of all roles once for each aggregated role. In a cluster
// with thousands of roles, this would be most of the time that the creation of a role takes.
//
// What an aggregated role gets depends on itself and on the roles that it selects. If a selected role comes first, the
// event of the aggregated role is later, and the informer has both then.
type filtered struct{ informers.ClusterRoleInformer }

// newFiltered adds the index to an informer that has not started.
func newFiltered(informer informers.ClusterRoleInformer) (filtered, error) {
	return filtered{informer}, informer.Informer().AddIndexers(cache.Indexers{aggregatedIndex: func(object any) ([]string, error) {
		if role, ok := object.(*rbacv1.ClusterRole); ok && role.AggregationRule != nil {
			return []string{aggregated}, nil
		}
		return nil, nil
	}})
}

// Informer returns the informer that filters the events.
func (f filtered) Informer() cache.SharedIndexInformer {
	return filteredEvents{f.ClusterRoleInformer.Informer()}
}

type filteredEvents struct{ cache.SharedIndexInformer }

// AddEventHandler adds a handler that gets the events of roles that matter. If a role does not matter any more, the
// handler gets its deletion.
func (f filteredEvents) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return f.SharedIndexInformer.AddEventHandler(cache.FilteringResourceEventHandler{FilterFunc: f.matters, Handler: h})
}

// matters reports whether an object is an aggregated role, or one that an aggregated role selects. What it can't
// judge matters.
func (f filteredEvents) matters(object any) bool {
	role, ok := object.(*rbacv1.ClusterRole)
	if !ok || role.AggregationRule != nil {
		return true
	}
	all, err := f.GetIndexer().ByIndex(aggregatedIndex, aggregated)
	if err != nil {
		return true
	}
	for _, object := range all {
		other, ok := object.(*rbacv1.ClusterRole)
		if !ok || other.AggregationRule == nil {
			return true
		}
		for i := range other.AggregationRule.ClusterRoleSelectors {
			selector, err := metav1.LabelSelectorAsSelector(&other.AggregationRule.ClusterRoleSelectors[i])
			if err != nil || selector.Matches(labels.Set(role.Labels)) {
				return true
			}
		}
	}
	return false
}
