// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wiring connects kube-granular with a kube-apiserver it is linked into.
//
// Importing it is all that has to be done, and the patched kube-apiserver does
// just that. The feature gates become known. Where GranularAuthorization is on, the Gate is
// put around the configured authorizer, its metrics are served, permission extensions of
// custom resource definitions are judged, a granular question that a webhook is being asked
// already waits for that answer, authorization configurations are tried before they are
// used, and RBAC knows which verbs include a permission and which are misspelled. Where RBACIndex is on as well, RBAC answers from the bindings of the caller.
// Where ProtectedAttributes is on, the API group
// authority.kube-granular.dev is served; its types are known in any case, since nobody knows
// the gates yet when they are registered. Where AuthorityDelegation is on it is served as well,
// and a delegation can be selected. Where SelectedAuthority is on, a caller may select a
// role, and the configured authorizer, with a Gate or without, is put behind what that leaves.
//
// This is the only package of pkg that registers anything anywhere. It holds no logic.
package wiring

import (
	"context"
	"sync"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	crdgranular "k8s.io/apiextensions-apiserver/pkg/granular"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	authorityselected "k8s.io/apiserver/pkg/authorization/selected"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	controlplaneapiserver "k8s.io/kubernetes/pkg/controlplane/apiserver"
	controlplane "k8s.io/kubernetes/pkg/controlplane/granular"
	bindings "k8s.io/kubernetes/pkg/registry/rbac/granular"
	rbacrest "k8s.io/kubernetes/pkg/registry/rbac/rest"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/openapi"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/authorizationconfig"
	"kube-granular.dev/pkg/crd"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/expression"
	"kube-granular.dev/pkg/features"
	"kube-granular.dev/pkg/gate"
	"kube-granular.dev/pkg/metrics"
	"kube-granular.dev/pkg/protected"
	"kube-granular.dev/pkg/protected/status"
	"kube-granular.dev/pkg/questions"
	"kube-granular.dev/pkg/rbacindex"
	authorityregistry "kube-granular.dev/pkg/registry/authority"
	"kube-granular.dev/pkg/selected"
)

func init() {
	utilruntime.Must(features.Register(utilfeature.DefaultMutableFeatureGate))
	granular.Install(around)
	granular.InstallBindings(bindingsBySubject)
	granular.InstallQuestions(questionsOfWebhooks)
	granular.InstallConfigurations(configurations)
	bindings.InstallRules(rulesOfRoles)
	authorityselected.Install(selection)
	crdgranular.Install(crd.New(enabled, expression.Accepted()))
	utilruntime.Must(authority.AddToScheme(legacyscheme.Scheme))
	controlplane.Install(controlplane.Group{
		Version:     v1alpha1.SchemeGroupVersion,
		Priority:    authorityregistry.Priority,
		Definitions: openapi.GetOpenAPIDefinitions,
		Enabled:     func() bool { return protects() || delegates() },
		Provider:    authorityProvider,
	})
}

func enabled() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.GranularAuthorization)
}

// A process may start several servers, the registry of metrics is one.
var registerMetrics = sync.OnceFunc(metrics.Register)

func around(configured upstream.Authorizer) upstream.Authorizer {
	if selection() != nil {
		configured = selected.New(configured, delegationsOrNil())
	}
	var protection *protected.Protection
	if protects() {
		protection = protected.New()
	}
	var options []gate.Option
	if protection != nil {
		options = append(options, gate.WithProtection(protection))
	}
	switch {
	case enabled():
	case protection != nil:
		options = append(options, gate.WithoutFields())
	default:
		return configured
	}
	registerMetrics()
	return gated{gate.New(configured, options...), knowing{protection}}
}

// gated is the authorizer of one server, with what that server knows of protected attributes.
type gated struct {
	*gate.Gate
	knowing
}

// knowing is what a server knows of protected attributes; nil where their gate is off.
type knowing struct{ protection *protected.Protection }

var _ bindings.Binder = knowing{}

func (k knowing) protected() *protected.Protection { return k.protection }

// ConfirmBind implements bindings.Binder.
func (k knowing) ConfirmBind(ctx context.Context, binding schema.GroupResource, name, namespace string, role rbacv1.RoleRef) error {
	if k.protection == nil {
		return nil
	}
	return k.protection.ConfirmBind(ctx, binding, name, namespace, role)
}

// protectionOf returns what the server with an authorizer knows of protected attributes, or
// nil.
func protectionOf(a upstream.UnconditionalAuthorizer) *protected.Protection {
	if of, ok := a.(interface{ protected() *protected.Protection }); ok {
		return of.protected()
	}
	return nil
}

func bindingsBySubject() granular.Bindings {
	if !enabled() || !utilfeature.DefaultFeatureGate.Enabled(features.RBACIndex) {
		return nil
	}
	return rbacindex.Listers{}
}

// asked are the questions of all servers of the process; each has authorizers of its own.
var asked questions.Questions

func questionsOfWebhooks() granular.Questions {
	if !enabled() {
		return nil
	}
	return &asked
}

func configurations() granular.Configurations {
	if !enabled() {
		return nil
	}
	return authorizationconfig.Checks{}
}

func selection() authorityselected.Selection {
	if !utilfeature.DefaultFeatureGate.Enabled(features.SelectedAuthority) {
		return nil
	}
	return selected.Selection{Delegations: delegationsOrNil(), Causing: causingOrNil()}
}

func protects() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.ProtectedAttributes)
}

func delegates() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.AuthorityDelegation)
}

// delegations are those of this process, whose servers share what users select with.
var delegations = sync.OnceValue(delegation.NewIndex)

func delegationsOrNil() *delegation.Index {
	if !delegates() {
		return nil
	}
	return delegations()
}

// authorityProvider provides the group to one server. Bootstrap roles are kept where upstream
// keeps its own, which is where RBAC is configured.
func authorityProvider(config controlplaneapiserver.CompletedConfig, client kubernetes.Interface) controlplaneapiserver.RESTStorageProvider {
	provider := authorityregistry.Provider{
		Namespaces: client.CoreV1(),
		Roles:      !config.Generic.DisabledPostStartHooks.Has(rbacrest.PostStartHookName),
		Attributes: protects(),
	}
	if delegates() {
		index := delegations()
		attach(index, config.VersionedInformers)
		deciding := &selected.Delegating{
			Delegations: index, Authorizer: config.Generic.Authorization.Authorizer, Client: client,
			Cached: inMemory(config.VersionedInformers), Now: time.Now,
		}
		provider.Policies = servePolicies(deciding, client, config.VersionedInformers)
		var policies *cache.ListWatch
		provider.Policies.Opened = func(all *cache.ListWatch) { policies = all }
		provider.Delegations = &authorityregistry.Delegations{
			Delegate: deciding.Delegate, Observe: index.Observe, Drain: index.Drain,
			Opened: func(stored authorityregistry.Stored) {
				index.Get = stored.Get
				causing().Make, causing().Renew = stored.Make, stored.Renew
				provider.Delegations.Run = func(ctx context.Context, self *rest.Config) error {
					if err := follow(ctx, index, stored); err != nil {
						return err
					}
					if err := followPolicies(ctx, causing().Policies, policies); err != nil {
						return err
					}
					return sweepOrphans(ctx, index, stored, self)
				}
			},
		}
	}
	if protection := protectionOf(config.Generic.Authorization.Authorizer); protection != nil {
		// The informers have not started, so this can't fail.
		utilruntime.Must(protection.Attach(config.VersionedInformers))
		provider.Opened, provider.Observe = protection.Opened, protection.Observe
		provider.Run = func(ctx context.Context, client *rest.Config) error {
			if err := protection.Run(ctx); err != nil {
				return err
			}
			return status.Start(ctx, protection, client)
		}
	}
	return provider
}
