// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package wiring

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/protect"
	"kube-granular.dev/granular/protect/protecttest"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/gate"
	"kube-granular.dev/pkg/modelstest"
	"kube-granular.dev/pkg/protected"
	authorityregistry "kube-granular.dev/pkg/registry/authority"
)

// oracleKinds has the kinds of the oracle's resources, and the packages of their types. The
// oracle is the simple implementation of protected attributes in package protecttest.
var oracleKinds = map[string]struct {
	gvk.GroupVersionKind
	of string
}{
	"configmaps":        {gvk.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "core"},
	"namespaces":        {gvk.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "core"},
	"pods":              {gvk.GroupVersionKind{Version: "v1", Kind: "Pod"}, "core"},
	"deployments.apps":  {gvk.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, "apps"},
	"statefulsets.apps": {gvk.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}, "apps"},
	"cronjobs.batch":    {gvk.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"}, "batch"},
}

// oracleTargets returns the targets of the resources, as a server has them.
func oracleTargets() map[string]granular.Target {
	definitions := modelstest.BuiltIn()
	out := map[string]granular.Target{}
	for resource, kind := range oracleKinds {
		name := "io.k8s.api." + kind.of + "." + kind.Version + "." + kind.Kind
		models := modelstest.Marked(definitions, name, kind.GroupVersionKind)
		plural, _, _ := strings.Cut(resource, ".")
		out[resource] = granular.Target{
			Kind: kind.GroupVersionKind, Resource: kind.GroupVersion().WithResource(plural),
			Convertor: runtime.UnsafeObjectConvertor(legacyscheme.Scheme),
			Schema:    granular.NewLazySchema(func() map[string]*spec.Schema { return models }),
		}
	}
	return out
}

// verbs is an authorizer that allows some verbs.
type verbs struct {
	upstream.Authorizer
	allowed []string
}

func (v *verbs) Authorize(_ context.Context, a upstream.Attributes) (upstream.Decision, string, error) {
	if slices.Contains(v.allowed, a.GetVerb()) {
		return upstream.DecisionAllow, "", nil
	}
	return upstream.DecisionNoOpinion, "", nil
}

// oracleProtection returns a Protection with a binding of every role to a group. The name of the
// group is the oracle's name for holding the role.
func oracleProtection(t *testing.T) *protected.Protection {
	t.Helper()
	var objects []runtime.Object
	for _, name := range []string{"a", "b", "c"} {
		bind := func(namespace, kind string) {
			group := kind + " " + name
			if namespace != "" {
				group += " in " + namespace
			}
			meta := metav1.ObjectMeta{Namespace: namespace, Name: kind + "-" + name}
			ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
			subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group}}
			if namespace == "" {
				objects = append(objects, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects})
			} else {
				objects = append(objects, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects})
			}
		}
		objects = append(objects, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}}, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}})
		bind("", "ClusterRole")
		bind("default", "ClusterRole")
		bind("default", "Role")
	}
	factory := informers.NewSharedInformerFactory(fake.NewClientset(objects...), 0)
	p := protected.New()
	if err := p.UseInformers(factory); err != nil {
		t.Fatal(err)
	}
	factory.StartWithContext(t.Context())
	t.Cleanup(factory.Shutdown)
	factory.WaitForCacheSync(t.Context().Done())
	p.SetKinds(authorityregistry.Kinds{}) // without a watch, only Observe changes attributes
	return p
}

// stored returns the attribute of an entry, as storage has it with a resource version.
func stored(e protect.Entry, version uint64) authority.Attribute {
	s := v1alpha1.ProtectedAttributeSpec{
		AttributeKind: v1alpha1.AttributeKind(e.Kind.String()), AttributeName: e.Key,
		ProtectedValues: e.ProtectedValues, AllowedValues: e.AllowedValues, Mode: v1alpha1.Mode(e.Mode),
	}
	if e.Role != (protect.RoleRef{}) {
		s.RoleRef = &v1alpha1.RoleReference{Kind: e.Role.Kind, Name: e.Role.Name}
	}
	for _, r := range e.Resources {
		s.Resources = append(s.Resources, v1alpha1.GroupResource(r))
	}
	for _, r := range e.ExcludeResources {
		s.ExcludeResources = append(s.ExcludeResources, v1alpha1.GroupResource(r))
	}
	meta := metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name, ResourceVersion: strconv.FormatUint(version, 10)}
	if e.Namespace == "" {
		return &authority.ClusterProtectedAttribute{ObjectMeta: meta, Spec: s}
	}
	return &authority.ProtectedAttribute{ObjectMeta: meta, Spec: s}
}

// oracleObject returns an object in the internal version, nil if content is nil.
func oracleObject(t *testing.T, kind gvk.GroupVersionKind, content map[string]any, stored bool) runtime.Object {
	t.Helper()
	if content == nil {
		return nil
	}
	whole := map[string]any{"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind}
	for k, v := range content {
		whole[k] = v
	}
	text, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	internal := gvk.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal}
	out, _, err := legacyscheme.Codecs.UniversalDecoder(internal).Decode(text, nil, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	accessor, err := meta.Accessor(out)
	if err != nil {
		t.Fatal(err)
	}
	accessor.SetName("x")
	if stored {
		accessor.SetUID("1")
	}
	return out
}

// TestOracleThroughTheGate checks that the Gate refuses the same random writes, with random
// attributes and callers, as an oracle that shares no code with it. The attributes come through
// the store's hook, the roles through informers, and the verbs through an authorizer.
func TestOracleThroughTheGate(t *testing.T) {
	const cases = 10000
	protection, authorizer, targets := oracleProtection(t), &verbs{}, oracleTargets()
	g := gate.New(authorizer, gate.WithProtection(protection))
	var resources []string
	for _, r := range protecttest.Resources() {
		if _, ok := oracleKinds[r]; ok { // leaves out custom resources
			resources = append(resources, r)
		}
	}
	version, refused, different := uint64(0), 0, 0
	for seed := range uint64(cases) {
		c := protecttest.Random(rand.New(rand.NewPCG(seed, 20)), resources...)
		for _, e := range c.Entries {
			version++
			protection.Observe(stored(e, version), false)
		}
		caller := &user.DefaultInfo{Name: "jane"}
		authorizer.allowed = nil
		holds := c.Holds
		for _, h := range c.Holds {
			if strings.HasPrefix(h, "granular:") {
				authorizer.allowed = append(authorizer.allowed, h)
				continue
			}
			caller.Groups = append(caller.Groups, h)
			if role, ok := strings.CutPrefix(h, "ClusterRole "); ok && !strings.Contains(role, " in ") {
				// A user who is bound in the cluster is bound in all namespaces.
				holds = append(holds, h+" in default", h+" in other")
			}
		}
		want, wouldFind := c.Verdict(holds)
		target := targets[c.Resource]
		verb := "update"
		if c.Old == nil {
			verb = "create"
		}
		ctx := genericapirequest.WithUser(t.Context(), caller)
		ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
			IsResourceRequest: true, Verb: verb, APIGroup: target.Resource.Group, APIVersion: target.Resource.Version,
			Resource: target.Resource.Resource, Namespace: c.Namespace, Name: "x",
		})
		old := oracleObject(t, target.Kind, c.Old, true)
		var err error
		if w := g.Begin(ctx, target); w != nil {
			sent := oracleObject(t, target.Kind, c.Sent, c.Old != nil)
			if err = w.Submitted(ctx, sent, old); err == nil {
				err = w.Observe(ctx, sent, old)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err = w.Verify(ctx, oracleObject(t, target.Kind, c.Final, c.Old != nil), old); err == nil {
				w.Respond(ctx, old)
			}
		}
		if err != nil && !apierrors.IsForbidden(err) {
			t.Fatal(err)
		}
		if (err != nil) != want {
			different++
			t.Errorf("seed %d: %s: refused: %v, by the oracle: %t", seed, c.Resource, err, want)
		}
		if want {
			refused++
		}
		for _, e := range c.Entries {
			found := protection.Violations(e.Namespace, e.Name)
			if wanted := err == nil && wouldFind[e.Name]; (found > 0) != wanted {
				different++
				t.Errorf("seed %d: %s: entry %s would refuse it: %d times, by the oracle: %t", seed, c.Resource, e.Name, found, wanted)
			}
			version++
			protection.Observe(stored(e, version), true)
		}
		protection.PruneViolations()
		if different > 10 {
			t.FailNow()
		}
	}
	t.Logf("%d cases, %d refused, %d differences", cases, refused, different)
	if refused < cases/20 || refused > cases/2 {
		t.Errorf("%d of %d cases are refused: that tests one side alone", refused, cases)
	}
}
