// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package wiring

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	authzconfig "k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	authorityselected "k8s.io/apiserver/pkg/authorization/selected"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/featuregate"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/controlplane"
	controlplaneapiserver "k8s.io/kubernetes/pkg/controlplane/apiserver"
	groups "k8s.io/kubernetes/pkg/controlplane/granular"
	generatedopenapi "k8s.io/kubernetes/pkg/generated/openapi"
	configured "k8s.io/kubernetes/pkg/kubeapiserver/authorizer"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/features"
	"kube-granular.dev/pkg/gate"
	"kube-granular.dev/pkg/rbacindex"
	authorityregistry "kube-granular.dev/pkg/registry/authority"
)

func attributes(verb string) upstream.AttributesRecord {
	return upstream.AttributesRecord{User: &user.DefaultInfo{Name: "jane"}, Verb: verb, Namespace: "n",
		Resource: "things", ResourceRequest: true}
}

// TestBindingsBySubject checks that the informers of RBAC get an index by subject with the first
// authorization, if the server has a Gate and the gate RBACIndex is on. Otherwise they
// never get it.
func TestBindingsBySubject(t *testing.T) {
	for _, tc := range []struct{ gate, index bool }{{true, true}, {true, false}, {false, true}, {false, false}} {
		gate := tc.gate
		featuregatetesting.SetFeatureGatesDuringTest(t, utilfeature.DefaultFeatureGate, featuregatetesting.FeatureOverrides{
			features.GranularAuthorization: gate, features.RBACIndex: tc.index,
		})
		factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
		inner, _, err := configured.Config{
			VersionedInformerFactory: factory,
			AuthorizationConfiguration: &authzconfig.AuthorizationConfiguration{
				Authorizers: []authzconfig.AuthorizerConfiguration{{Type: "RBAC", Name: "rbac"}},
			},
		}.New(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		authorizer := granular.Wrap(inner)
		indexes := func() (int, int) {
			return len(factory.Rbac().V1().RoleBindings().Informer().GetIndexer().GetIndexers()),
				len(factory.Rbac().V1().ClusterRoleBindings().Informer().GetIndexer().GetIndexers())
		}
		roles, clusterRoles := indexes()

		ask := func(verb string) {
			t.Helper()
			if decision, _, err := authorizer.Authorize(t.Context(), attributes(verb)); decision != upstream.DecisionNoOpinion || err != nil {
				t.Fatal(decision, err)
			}
		}
		if r, c := indexes(); r != roles || c != clusterRoles {
			t.Errorf("gate %t: there is an index before anything is asked", gate)
		}
		if of := granular.GateFrom(authorizer); (of != nil) != gate {
			t.Fatalf("gate %t: there is a Gate: %t", gate, of != nil)
		}
		more := 0
		if gate && tc.index {
			more = 1
		}
		ask("get")
		if r, c := indexes(); r != roles+more || c != clusterRoles+more {
			t.Errorf("gate %t, index %t: %d more indexes of role bindings after a read", gate, tc.index, r-roles)
		}
		ask("update")
		under := rbacindex.For(t.Context(), attributes("update"))
		if decision, _, err := inner.Authorize(under, attributes("update")); decision != upstream.DecisionNoOpinion || err != nil {
			t.Fatal(decision, err)
		}
		if r, c := indexes(); r != roles+more || c != clusterRoles+more {
			t.Errorf("gate %t, index %t: %d more indexes of role bindings, %d of cluster role bindings, wanted %d of each", gate, tc.index, r-roles, c-clusterRoles, more)
		}
	}
}

// TestSelection checks that a selected role restricts the authorizer and the listed rules of a
// server if SelectedAuthority is on, with GranularAuthorization and without. If SelectedAuthority
// is off, a selection has no effect.
func TestSelection(t *testing.T) {
	for _, tc := range []struct{ gate, selection bool }{{true, true}, {false, true}, {true, false}, {false, false}} {
		featuregatetesting.SetFeatureGatesDuringTest(t, utilfeature.DefaultFeatureGate, featuregatetesting.FeatureOverrides{
			features.GranularAuthorization: tc.gate, features.SelectedAuthority: tc.selection,
		})
		inner, rules, err := configured.Config{
			VersionedInformerFactory: informers.NewSharedInformerFactory(fake.NewClientset(), 0),
			AuthorizationConfiguration: &authzconfig.AuthorizationConfiguration{
				Authorizers: []authzconfig.AuthorizerConfiguration{{Type: "AlwaysAllow", Name: "alwaysallow"},
					{Type: "RBAC", Name: "rbac"}},
			},
		}.New(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		authorizer := granular.Wrap(inner)
		a := attributes("get")
		a.User = &user.DefaultInfo{Name: "jane", Groups: []string{user.SystemPrivilegedGroup},
			Extra: map[string][]string{authorityselected.Key: {`{"authorityReference":{"kind":"ClusterRole","name":"none"}}`}}}
		want := upstream.DecisionAllow
		if tc.selection {
			want = upstream.DecisionNoOpinion
		}
		if got, reason, err := authorizer.Authorize(t.Context(), a); got != want || err != nil {
			t.Errorf("%+v: decision %v, %s, error %v", tc, got, reason, err)
		}
		found, _, _, err := authorityselected.Rules(rules).RulesFor(t.Context(), a.User, "n")
		if (len(found) == 0) != tc.selection || err != nil {
			t.Errorf("%+v: rules %v, error %v", tc, found, err)
		}
		if of := granular.GateFrom(authorizer); (of != nil) != tc.gate {
			t.Errorf("%+v: there is a Gate: %t", tc, of != nil)
		}
	}
}

// TestAuthorityGroup checks that the API group authority.kube-granular.dev has its version, its
// schemas and its place in discovery if its feature gate is on, and none of them if it is off.
// All types that the schemas refer to must exist.
func TestAuthorityGroup(t *testing.T) {
	version := v1alpha1.SchemeGroupVersion
	if !legacyscheme.Scheme.IsVersionRegistered(version) {
		t.Error("the types are not known")
	}
	for _, gate := range []bool{true, false} {
		featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.ProtectedAttributes, gate)
		if on := controlplane.DefaultAPIResourceConfigSource().ResourceEnabled(version.WithResource("protectedattributes")); on != gate {
			t.Errorf("gate %t: the version is enabled: %t", gate, on)
		}
		upstreams := controlplaneapiserver.DefaultGenericAPIServicePriorities()
		before := len(upstreams)
		if _, there := groups.Priorities(upstreams)[version]; there != gate || len(upstreams) != before {
			t.Errorf("gate %t: it has a place in discovery: %t", gate, there)
		}
		ref := func(path string) spec.Ref { return spec.MustCreateRef(path) }
		definitions := groups.Definitions(generatedopenapi.GetOpenAPIDefinitions)(ref)
		own := 0
		for name, definition := range definitions {
			if !strings.HasPrefix(name, "dev.kube-granular.api.authority.") {
				continue
			}
			own++
			for _, other := range definition.Dependencies {
				if _, ok := definitions[other]; !ok {
					t.Errorf("%s refers to %s, which is missing", name, other)
				}
			}
		}
		if (own > 0) != gate {
			t.Errorf("gate %t: %d schemas", gate, own)
		}
	}
}

// TestProtection checks that a server has protected attributes if ProtectedAttributes is on,
// whatever GranularAuthorization is, and that the provider of the API group uses them. Two
// servers must not share them. A server that does not serve both kinds does not start.
func TestProtection(t *testing.T) {
	for _, tc := range []struct{ granular, protected bool }{{true, true}, {true, false}, {false, true}, {false, false}} {
		featuregatetesting.SetFeatureGatesDuringTest(t, utilfeature.DefaultFeatureGate, featuregatetesting.FeatureOverrides{
			features.GranularAuthorization: tc.granular, features.ProtectedAttributes: tc.protected,
		})
		inner := upstream.Authorizer(gate.New(nil))
		one, other := granular.Wrap(inner), granular.Wrap(inner)
		if (one == inner) != (!tc.granular && !tc.protected) {
			t.Errorf("%+v: the authorizer is the configured one: %t", tc, one == inner)
		}
		if of := protectionOf(one); (of != nil) != tc.protected || of != nil && of == protectionOf(other) {
			t.Errorf("%+v: %p and %p", tc, of, protectionOf(other))
		}
	}
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.ProtectedAttributes, true)
	config := completedConfig()
	provider := newShared().authorityProvider(config, fake.NewClientset()).(*authorityregistry.Provider)
	if provider.Observe == nil {
		t.Error("the provider tells nobody")
	}
	if len(config.VersionedInformers.Rbac().V1().RoleBindings().Informer().GetIndexer().GetIndexers()) < 2 {
		t.Error("bindings are not found by role")
	}
	kind := authorityregistry.Kind{ListWatch: &cache.ListWatch{}}
	for want, kinds := range map[string]authorityregistry.Kinds{
		"": {Namespaced: kind, Cluster: kind},
		"the resource protectedattributes.authority.kube-granular.dev":        {Cluster: kind},
		"the resource clusterprotectedattributes.authority.kube-granular.dev": {Namespaced: kind},
	} {
		run, err := provider.Use(authorityregistry.Opened{Attributes: kinds})
		if (run == nil) != (want != "") || (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", want, err)
		}
	}
}

// TestFieldPermissionsOfServers checks that a server has FieldPermissions if both gates are on, that two servers do not
// share them, that the provider of the API group uses them, and that a server without their storage does not start.
func TestFieldPermissionsOfServers(t *testing.T) {
	for _, tc := range []struct{ granular, fields bool }{{true, true}, {true, false}, {false, false}} {
		featuregatetesting.SetFeatureGatesDuringTest(t, utilfeature.DefaultFeatureGate, featuregatetesting.FeatureOverrides{
			features.GranularAuthorization: tc.granular, features.FieldPermissions: tc.fields,
		})
		inner := upstream.Authorizer(gate.New(nil))
		one, other := granular.Wrap(inner), granular.Wrap(inner)
		if of := fieldIndexOf(one); (of != nil) != tc.fields || of != nil && of == fieldIndexOf(other) {
			t.Errorf("%+v: %p and %p", tc, of, fieldIndexOf(other))
		}
		provider := newShared().authorityProvider(completedConfig(), fake.NewClientset()).(*authorityregistry.Provider)
		if (provider.FieldPermissions != nil) != tc.fields || authorityEnabled() != tc.fields {
			t.Errorf("%+v: served: %v", tc, provider.FieldPermissions != nil)
		}
		if _, err := provider.Use(authorityregistry.Opened{}); (err != nil) != tc.fields {
			t.Errorf("%+v: without storage: %v", tc, err)
		}
	}
}

// completedConfig returns the configuration of a server with the installed authorizer, which serves all resources but those in off.
func completedConfig(off ...schema.GroupVersionResource) controlplaneapiserver.CompletedConfig {
	resources := controlplane.DefaultAPIResourceConfigSource()
	resources.DisableResources(off...)
	server := genericapiserver.NewConfig(legacyscheme.Codecs)
	server.Authorization.Authorizer = granular.Wrap(gate.New(nil))
	config := controlplaneapiserver.Config{Generic: server, Extra: controlplaneapiserver.Extra{
		APIResourceConfigSource: resources,
		VersionedInformers:      informers.NewSharedInformerFactory(fake.NewClientset(), 0),
	}}
	server.Serializer, server.ExternalAddress = legacyscheme.Codecs, "localhost:1"
	server.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	return config.Complete()
}

// TestServersWithoutRoles checks that a server that does not serve a resource of RBAC does not start with a gate that reads it, and
// that FieldPermissions alone start no informer of it, which would never sync.
func TestServersWithoutRoles(t *testing.T) {
	kind := authorityregistry.Kind{ListWatch: &cache.ListWatch{}}
	opened := authorityregistry.Opened{Attributes: authorityregistry.Kinds{Namespaced: kind, Cluster: kind}, FieldPermissions: kind.ListWatch,
		Delegations: &authorityregistry.DelegationStorage{}, Policies: kind.ListWatch}
	for _, tc := range []struct {
		gate      featuregate.Feature
		overrides featuregatetesting.FeatureOverrides
		starts    bool
	}{
		{features.ProtectedAttributes, featuregatetesting.FeatureOverrides{features.ProtectedAttributes: true}, false},
		{features.AuthorityDelegation,
			featuregatetesting.FeatureOverrides{features.SelectedAuthority: true, features.AuthorityDelegation: true}, false},
		{features.FieldPermissions,
			featuregatetesting.FeatureOverrides{features.GranularAuthorization: true, features.FieldPermissions: true}, true},
	} {
		t.Run(string(tc.gate), func(t *testing.T) {
			featuregatetesting.SetFeatureGatesDuringTest(t, utilfeature.DefaultFeatureGate, tc.overrides)
			for _, off := range []string{"roles", "rolebindings", "clusterroles", "clusterrolebindings", ""} {
				var config controlplaneapiserver.CompletedConfig
				if off == "" {
					config = completedConfig()
				} else {
					config = completedConfig(rbacv1.SchemeGroupVersion.WithResource(off))
				}
				provider := newShared().authorityProvider(config, fake.NewClientset()).(*authorityregistry.Provider)
				_, err := provider.Use(opened)
				says := "the feature gate " + string(tc.gate) + " is on, but --runtime-config turns the resource " + off +
					".rbac.authorization.k8s.io off"
				if starts := tc.starts || off == ""; starts != (err == nil) || err != nil && err.Error() != says {
					t.Errorf("without %q: %v", off, err)
				}
				if provider.BootstrapRoles != (off == "") {
					t.Errorf("without %q: the server maintains bootstrap roles: %t", off, provider.BootstrapRoles)
				}
				if !tc.starts {
					continue
				}
				ctx, cancel := context.WithCancel(t.Context())
				config.VersionedInformers.StartWithContext(ctx)
				reads := 0
				for resource := range config.VersionedInformers.WaitForCacheSync(ctx.Done()) {
					if resource.Elem().PkgPath() == reflect.TypeFor[rbacv1.Role]().PkgPath() {
						reads++
					}
				}
				cancel()
				config.VersionedInformers.Shutdown()
				if (reads > 0) != (off == "") {
					t.Errorf("without %q: %d informers of RBAC", off, reads)
				}
			}
		})
	}
}

// TestReadsAreIndependent checks that the FieldPermissions, policies and attributes of a server are read also if some of them can't be
// read: those that are known are enforced.
func TestReadsAreIndependent(t *testing.T) {
	featuregatetesting.SetFeatureGatesDuringTest(t, utilfeature.DefaultFeatureGate, featuregatetesting.FeatureOverrides{
		features.GranularAuthorization: true, features.FieldPermissions: true, features.ProtectedAttributes: true,
		features.SelectedAuthority: true, features.AuthorityDelegation: true,
	})
	for _, unread := range []string{"attributes", "cluster attributes", "delegations", "policies", "field permissions"} {
		t.Run(unread+" are not read", func(t *testing.T) {
			watched := make(chan string, 10)
			source := func(name string, list runtime.Object) *cache.ListWatch {
				return &cache.ListWatch{
					ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
						if name == unread {
							<-ctx.Done()
							return nil, ctx.Err()
						}
						return list, nil
					},
					WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
						watched <- name
						return watch.NewFake(), nil
					},
				}
			}
			meta := metav1.ListMeta{ResourceVersion: "5"}
			opened := authorityregistry.Opened{
				Attributes: authorityregistry.Kinds{
					Namespaced: authorityregistry.Kind{Example: &authority.ProtectedAttribute{},
						ListWatch: source("attributes", &authority.ProtectedAttributeList{ListMeta: meta})},
					Cluster: authorityregistry.Kind{Example: &authority.ClusterProtectedAttribute{},
						ListWatch: source("cluster attributes", &authority.ClusterProtectedAttributeList{ListMeta: meta})},
				},
				Delegations: &authorityregistry.DelegationStorage{
					ListWatch: source("delegations", &v1alpha1.AuthorityDelegationList{ListMeta: meta})},
				Policies:         source("policies", &v1alpha1.AuthorityDelegationPolicyList{ListMeta: meta}),
				FieldPermissions: source("field permissions", &v1alpha1.FieldPermissionList{ListMeta: meta}),
			}
			config := completedConfig()
			run, err := newShared().authorityProvider(config, fake.NewClientset()).(*authorityregistry.Provider).Use(opened)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- run(ctx, &rest.Config{Host: "localhost:1"}) }()
			names := map[string]bool{}
			err = wait.PollUntilContextTimeout(ctx, time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
				select {
				case name := <-watched:
					names[name] = true
				default:
				}
				return len(names) == 4, nil
			})
			if err != nil || names[unread] {
				t.Errorf("read were %v: %v", names, err)
			}
			select {
			case err := <-ended:
				t.Errorf("the server counts as ready: %v", err)
			default:
			}
			cancel()
			if err := <-ended; err == nil {
				t.Error("the server ended, and counts as ready")
			}
		})
	}
}

// TestDelegating checks that users write nothing before the storage of delegations and policies is open,
// that a server which does not open both fails, and that the rest is complete afterwards.
func TestDelegating(t *testing.T) {
	featuregatetesting.SetFeatureGatesDuringTest(t, utilfeature.DefaultFeatureGate, featuregatetesting.FeatureOverrides{
		features.SelectedAuthority: true, features.AuthorityDelegation: true,
	})
	s := newShared()
	provider := s.authorityProvider(completedConfig(), fake.NewClientset()).(*authorityregistry.Provider)
	if provider.Delegations == nil || provider.Policies == nil {
		t.Fatal("the provider serves no delegations or policies")
	}
	ctx := genericapirequest.WithUser(t.Context(), &user.DefaultInfo{Name: "jane"})
	refused := func() bool {
		check := s.selectionOrNil().Commit(ctx, false)
		return check != nil && apierrors.IsServiceUnavailable(check.Begin(nil))
	}
	stored := &authorityregistry.DelegationStorage{
		Create: func(context.Context, *v1alpha1.AuthorityDelegation) (*v1alpha1.AuthorityDelegation, error) {
			return nil, nil
		},
		Renew: func(context.Context, *v1alpha1.AuthorityDelegation, time.Time) error { return nil },
	}
	for _, opened := range []authorityregistry.Opened{{}, {Delegations: stored}, {Policies: &cache.ListWatch{}}} {
		if _, err := provider.Use(opened); err == nil || !strings.Contains(err.Error(), "AuthorityDelegation") {
			t.Errorf("opened %+v: error %v", opened, err)
		}
		if !refused() {
			t.Errorf("opened %+v: a user may write", opened)
		}
	}
	if run, err := provider.Use(authorityregistry.Opened{Delegations: stored, Policies: &cache.ListWatch{}}); run == nil || err != nil {
		t.Fatalf("nothing is run, or it fails: %v", err)
	}
	if p := s.policies.Load(); p.Policies == nil || p.Issuer == nil || p.Labels == nil || p.Create == nil || p.Renew == nil {
		t.Errorf("the issuer is not complete: %+v", p)
	}
	if refused() {
		t.Error("a user may not write, though the storage is open")
	}
}
