// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	authority "kube-granular.dev/api/authority/v1alpha1"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/grants"
	"kube-granular.dev/tenancy/internal/names"
)

// Options are the options of the controllers.
type Options struct {
	grants.Options
	Creation
	// DiscoveryEvery is the interval at which the rules of sudo are updated from discovery, in
	// addition to updates after changes of CustomResourceDefinitions and APIServices.
	DiscoveryEvery time.Duration
	// Finalizers are the finalizers of other controllers that each LNamespace gets.
	Finalizers []string
	// Workers is the number of tenants that are reconciled concurrently.
	Workers int
}

// Cache returns the cache options of the manager. Of the RBAC objects, the cache has only those
// with the controller's label. If sudo works by delegation, the cache also has all
// AuthorityDelegations, and the server must serve them.
func Cache(o Options) cache.Options {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{names.ManagedBy: names.Manager})}
	options := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&rbacv1.RoleBinding{}:        ours,
			&rbacv1.ClusterRole{}:        ours,
			&rbacv1.ClusterRoleBinding{}: ours,
		},
	}
	if o.Sudo == grants.Delegation {
		// All delegations are cached, because the controller recognizes the delegations that it
		// created by their delegator and not by a label.
		options.ByObject[&authority.AuthorityDelegation{}] = cache.ByObject{Transform: stripDelegation}
	}
	return options
}

// Add adds the controllers to a manager.
func Add(mgr ctrl.Manager, o Options) error {
	without, err := newUnlabelled(mgr)
	if err != nil {
		return err
	}
	w := writer{Client: mgr.GetClient(), live: mgr.GetAPIReader(), unlabelled: without}
	recorder := mgr.GetEventRecorder("tenancy-controller")
	for _, object := range []client.Object{&rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}} {
		if err := mgr.GetFieldIndexer().IndexField(context.Background(), object, sudoerIndex, tenantOfSudoerRole); err != nil {
			return err
		}
	}
	delegated, err := newDelegations(mgr, w, o)
	if err != nil {
		return err
	}
	tenants := &Tenants{writer: w, Options: o.Options, Creation: o.Creation, Finalizers: o.Finalizers, Recorder: recorder, delegations: delegated}
	toTenant := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		return request(tenantOf(object))
	})
	toNamesake := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		return request(object.GetName())
	})
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	due, err := addEnds(mgr)
	if err != nil {
		return err
	}
	of := ctrl.NewControllerManagedBy(mgr).Named("tenant").
		For(&v1alpha1.LNamespace{}).
		WatchesMetadata(namespace, toNamesake).
		Watches(&rbacv1.RoleBinding{}, toTenant).
		Watches(&rbacv1.ClusterRole{}, toTenant).
		Watches(&rbacv1.ClusterRoleBinding{}, toTenant).
		WatchesRawSource(due).
		Watches(&v1alpha1.SudoRequest{}, toTenantOfNamespace()).
		WithOptions(controller.Options{MaxConcurrentReconciles: o.Workers})
	for _, kind := range unlabelledKinds {
		of = of.WatchesRawSource(source.Kind(without, metadataOf(kind), handler.TypedEnqueueRequestsFromMapFunc(
			func(_ context.Context, object *metav1.PartialObjectMetadata) []reconcile.Request {
				return request(names.TenantOfRole(object.GetName()))
			})))
	}
	if delegated != nil {
		of = delegated.watch(of)
	}
	if err := of.Complete(tenants); err != nil {
		return err
	}
	if err := addRequests(mgr, w, recorder); err != nil {
		return err
	}
	toSelf := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		if object.GetLabels()[names.SelfImpersonator] == "" {
			return nil
		}
		return request(object.GetName())
	})
	if err := ctrl.NewControllerManagedBy(mgr).Named("self-impersonator").
		Watches(&rbacv1.ClusterRole{}, toSelf).
		Watches(&rbacv1.ClusterRoleBinding{}, toSelf).
		Complete(&selfRoles{writer: w}); err != nil {
		return err
	}
	asker, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	sudoRoles := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		switch object.GetName() {
		case names.SudoRole, names.SudoQuotasRole, names.SudoNamespaceRole:
			return request("sudo")
		}
		return nil
	})
	all := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return request("sudo") })
	definition := &metav1.PartialObjectMetadata{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	service := &metav1.PartialObjectMetadata{}
	service.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
	return ctrl.NewControllerManagedBy(mgr).Named("sudo").
		Watches(&rbacv1.ClusterRole{}, sudoRoles).
		WatchesMetadata(definition, all).
		WatchesMetadata(service, all).
		Complete(&Sudo{writer: w, Discovery: asker, Every: o.DiscoveryEvery, delegations: delegated})
}

// newDelegations returns the manager of the delegations for sudoers, or nil if sudo works by
// impersonation. It also adds the index of delegations by their delegator to the cache.
func newDelegations(mgr ctrl.Manager, w writer, o Options) (*delegations, error) {
	if o.Sudo != grants.Delegation {
		return nil, nil
	}
	as, err := newDelegator(mgr)
	if err != nil {
		return nil, err
	}
	return &delegations{writer: w, asDelegator: as, changed: make(chan event.GenericEvent, 1)},
		mgr.GetFieldIndexer().IndexField(context.Background(),
			&authority.AuthorityDelegation{}, delegatorIndex, func(object client.Object) []string {
				return []string{object.(*authority.AuthorityDelegation).Status.Delegator.Username}
			})
}

// watch adds watches to the controller of tenants. With them, the controller reconciles a tenant
// when one of its delegations changes, and all tenants when the rules of sudo change.
func (d *delegations) watch(b *builder.Builder) *builder.Builder {
	return b.Watches(&authority.AuthorityDelegation{},
		handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
			return request(names.DelegatorOf(object.(*authority.AuthorityDelegation).Status.Delegator.Username))
		})).WatchesRawSource(source.Channel(d.changed,
		handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []reconcile.Request {
			list := &v1alpha1.LNamespaceList{}
			if err := d.List(ctx, list); err != nil {
				return nil // does not happen: the list is read from the cache in memory
			}
			var all []reconcile.Request
			for _, t := range list.Items {
				all = append(all, request(t.Name)...)
			}
			return all
		})))
}

func request(name string) []reconcile.Request {
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: name}}}
}
