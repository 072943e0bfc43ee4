// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wiring connects kube-granular with the kube-apiserver that it is linked into.
//
// The patched kube-apiserver only has to import this package. The package registers the feature
// gates. With the feature gate GranularAuthorization on:
//
//   - The Gate (package gate) wraps the configured authorizer, and the server serves the metrics
//     of the Gate.
//   - Permission extensions of custom resource definitions are validated, and only callers with a
//     verb of its own may weaken what a definition excludes.
//   - While a request asks an authorization webhook about a permission verb, other requests with
//     the same question wait for the answer.
//   - Authorization configurations are validated before the server uses them, and new webhooks of
//     changed configurations are asked one question.
//   - The audit event of a request lists the webhooks that match conditions exclude.
//   - RBAC lets a caller that holds a verb such as "update" grant the permissions that the verb
//     includes.
//   - RBAC warns about probable mistakes in the permission verbs of roles.
//   - The OpenAPI documents of the server have the permissions.
//
// The other feature gates:
//
//   - With RBACIndex and GranularAuthorization on, RBAC reads only the bindings of the caller when
//     it authorizes a write.
//   - With ProtectedAttributes on, the Gate verifies protected labels and annotations, even
//     without GranularAuthorization.
//   - With SelectedAuthority on, a caller can select a role for a request (with
//     AuthorityDelegation on, also a delegation). Then nothing else authorizes the request.
//   - With MetadataReads and GranularAuthorization on, callers that hold the verb "readmetadata" read
//     the metadata of objects without their data (package metadataread).
//   - With FieldPermissions and GranularAuthorization on, the Gate adds the permissions that an
//     administrator gives to fields.
//   - With ProtectedAttributes, AuthorityDelegation or FieldPermissions on, the API group
//     authority.kube-granular.dev is served. The types of the group are registered when this
//     package is initialized, whether these gates are on or off, because the flags are parsed
//     only later.
//
// This is the only package of pkg that registers anything. It has no logic of its own.
package wiring

import (
	"context"
	"sync"
	"sync/atomic"

	rbacv1 "k8s.io/api/rbac/v1"
	crdgranular "k8s.io/apiextensions-apiserver/pkg/granular"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	authorityselected "k8s.io/apiserver/pkg/authorization/selected"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	controlplane "k8s.io/kubernetes/pkg/controlplane/granular"
	bindings "k8s.io/kubernetes/pkg/registry/rbac/granular"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/openapi"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/audit"
	"kube-granular.dev/pkg/authorizationconfig"
	"kube-granular.dev/pkg/crd"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/delegation/issue"
	"kube-granular.dev/pkg/exclusion"
	"kube-granular.dev/pkg/expression"
	"kube-granular.dev/pkg/features"
	"kube-granular.dev/pkg/fieldpermission"
	"kube-granular.dev/pkg/gate"
	"kube-granular.dev/pkg/metadataread"
	"kube-granular.dev/pkg/metrics"
	"kube-granular.dev/pkg/protected"
	"kube-granular.dev/pkg/publication"
	"kube-granular.dev/pkg/questions"
	"kube-granular.dev/pkg/rbacindex"
	authorityregistry "kube-granular.dev/pkg/registry/authority"
	"kube-granular.dev/pkg/selected"
)

func init() {
	s := newShared()
	utilruntime.Must(features.Register(utilfeature.DefaultMutableFeatureGate))
	granular.Install(s.wrapAuthorizer)
	granular.InstallBindings(bindingIndexOrNil)
	granular.InstallQuestions(s.webhookQuestionsOrNil)
	granular.InstallConfigurations(configurationChecksOrNil)
	granular.InstallSkips(skipsOrNil)
	granular.InstallAnnotations(admissionAnnotations)
	granular.InstallPublication(publishedDefinitions)
	bindings.InstallRules(permissionRulesOrNil)
	authorityselected.Install(s.selectionOrNil)
	definitions := crd.New(granularEnabled, expression.Accepted())
	crdgranular.Install(fieldpermission.Definitions{Extensions: definitions, Index: s.fields.Load})
	crdgranular.InstallExclusions(exclusion.New(definitions))
	utilruntime.Must(authority.AddToScheme(legacyscheme.Scheme))
	controlplane.Install(controlplane.Group{
		Version:     v1alpha1.SchemeGroupVersion,
		Priority:    authorityregistry.Priority,
		Definitions: openapi.GetOpenAPIDefinitions,
		Enabled:     authorityEnabled,
		Provider:    s.authorityProvider,
		Handler:     authorityregistry.Strict,
	})
}

// shared is what all servers of the process share, because the hooks that use it do not say for which
// server they are called.
type shared struct {
	// delegations is the index of all delegations, by which a server finds the delegation that a
	// request selects. A server connects it with its storage.
	delegations *delegation.Index
	// bound are the service accounts that act under a delegation. A server connects it with its informer.
	bound *selected.Bound
	// policies creates the delegations which AuthorityDelegationPolicies require for an object that is
	// written. It is nil until a server has opened its storage.
	policies atomic.Pointer[issue.PolicyIssuer]
	// covered remembers which roles callers can select without being bound to them. A result depends on
	// the rules in memory alone, and so never on another server.
	covered *selected.Covered
	// webhookQuestions is the set of questions about permission verbs that authorization webhooks are
	// answering now. Each question is stored with its authorizer, so questions of different servers are
	// never taken for the same.
	webhookQuestions questions.Questions
	// fields has the FieldPermissions of the server that was configured last, for warnings about
	// definitions. It is nil if there are none.
	fields atomic.Pointer[fieldpermission.Index]
}

func newShared() *shared {
	return &shared{delegations: delegation.NewIndex(), bound: selected.NewBound(), covered: selected.NewCovered()}
}

// admissionAnnotations returns the audit annotations of admission, without those that only the server
// writes if one of its gates is on.
func admissionAnnotations(annotations map[string]string) map[string]string {
	if granularEnabled() || protectedAttributesEnabled() || utilfeature.DefaultFeatureGate.Enabled(features.SelectedAuthority) {
		return audit.WithoutReserved(annotations)
	}
	return annotations
}

// publishedDefinitions returns definitions as the server publishes them: with permissions only if it
// authorizes single fields.
func publishedDefinitions(definitions map[string]common.OpenAPIDefinition) map[string]common.OpenAPIDefinition {
	if granularEnabled() {
		return definitions
	}
	return publication.WithoutPermissions(definitions)
}

func granularEnabled() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.GranularAuthorization)
}

// registerMetrics registers the metrics. Only the first call has an effect: a process can start
// several servers, which share one registry of metrics.
var registerMetrics = sync.OnceFunc(metrics.Register)

func (s *shared) wrapAuthorizer(configured upstream.Authorizer) upstream.Authorizer {
	if index := s.delegationsOrNil(); index != nil {
		registerDelegationMetrics(index)
	}
	if s.selectionOrNil() != nil {
		configured = selected.New(configured, s.delegationsOrNil(), s.boundOrNil())
	}
	var protection *protected.Protection
	if protectedAttributesEnabled() {
		protection = protected.New()
	}
	var options []gate.Option
	if protection != nil {
		options = append(options, gate.WithProtection(protection))
		if index := s.delegationsOrNil(); index != nil {
			options = append(options, gate.WithDelegates(func(ctx context.Context, u user.Info) user.Info {
				return selected.ByPolicy(ctx, index, u)
			}))
		}
	}
	fields := s.newFieldIndexOrNil()
	if fields != nil {
		options = append(options, gate.WithFieldPermissions(fields))
	}
	switch {
	case granularEnabled():
	case protection != nil:
		options = append(options, gate.WithoutFields())
	default:
		return configured
	}
	registerMetrics()
	var reads *metadataread.Authorizer
	if utilfeature.DefaultFeatureGate.Enabled(features.MetadataReads) {
		reads = metadataread.New(configured)
	}
	return serverGate{gate.New(configured, options...), reads, protectionHolder{protection}, fields}
}

// serverGate is the authorizer of one server, together with what decides about reads of metadata
// alone (nil if the feature gate MetadataReads is off), the server's protected attributes (labels
// and annotations that only certain callers are allowed to change), and its FieldPermissions (nil if
// their feature gate is off).
type serverGate struct {
	*gate.Gate
	*metadataread.Authorizer
	protectionHolder
	fields *fieldpermission.Index
}

var _ granular.ReadGate = serverGate{}

func (g serverGate) fieldPermissions() *fieldpermission.Index { return g.fields }

// protectionHolder holds the protected attributes of one server. The field protection
// is nil if the feature gate ProtectedAttributes is off.
type protectionHolder struct{ protection *protected.Protection }

var _ bindings.Binder = protectionHolder{}

func (k protectionHolder) protected() *protected.Protection { return k.protection }

// ConfirmBind implements bindings.Binder.
func (k protectionHolder) ConfirmBind(ctx context.Context, binding schema.GroupResource, name, namespace string, role rbacv1.RoleRef) error {
	if k.protection == nil {
		return nil
	}
	return k.protection.ConfirmBind(ctx, binding, name, namespace, role)
}

// protectionOf returns the protected attributes of the server whose authorizer is a. It returns
// nil if the feature gate ProtectedAttributes is off.
func protectionOf(a upstream.UnconditionalAuthorizer) *protected.Protection {
	if holder, ok := a.(interface{ protected() *protected.Protection }); ok {
		return holder.protected()
	}
	return nil
}

func bindingIndexOrNil() granular.Bindings {
	if !granularEnabled() || !utilfeature.DefaultFeatureGate.Enabled(features.RBACIndex) {
		return nil
	}
	return rbacindex.Listers{}
}

func (s *shared) webhookQuestionsOrNil() granular.Questions {
	if !granularEnabled() {
		return nil
	}
	return &s.webhookQuestions
}

func configurationChecksOrNil() granular.Configurations {
	if !granularEnabled() {
		return nil
	}
	return authorizationconfig.Checks{}
}

func skipsOrNil() granular.Skips {
	if !granularEnabled() {
		return nil
	}
	return audit.Skips{}
}

func (s *shared) selectionOrNil() authorityselected.Selection {
	if !utilfeature.DefaultFeatureGate.Enabled(features.SelectedAuthority) {
		return nil
	}
	index, checks := s.delegationsOrNil(), issue.FinalChecks{}
	if index != nil {
		checks = issue.FinalChecks{Delegations: index, Policies: s.policies.Load()}
	}
	return selection{selected.Selection{Delegations: index, Bound: s.boundOrNil(), Covered: s.covered}, checks}
}

// selection restricts requests to the authority that their callers select, and makes the final
// checks of writes.
type selection struct {
	selected.Selection
	issue.FinalChecks
}

func protectedAttributesEnabled() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.ProtectedAttributes)
}

func fieldPermissionsEnabled() bool {
	return granularEnabled() && utilfeature.DefaultFeatureGate.Enabled(features.FieldPermissions)
}

// authorityEnabled reports whether the API group authority.kube-granular.dev is served.
func authorityEnabled() bool {
	return protectedAttributesEnabled() || delegationEnabled() || fieldPermissionsEnabled()
}

func delegationEnabled() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.AuthorityDelegation)
}

func (s *shared) delegationsOrNil() *delegation.Index {
	if !delegationEnabled() {
		return nil
	}
	return s.delegations
}

func (s *shared) boundOrNil() *selected.Bound {
	if !delegationEnabled() {
		return nil
	}
	return s.bound
}
