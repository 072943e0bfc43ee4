// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package exclusions

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"kube-granular.dev/granular/overlay"
)

// kindsByDefinition returns the kinds of all versions that are served, by the name of their definition.
func kindsByDefinition(t *testing.T) map[string]schema.GroupVersionKind {
	t.Helper()
	out := map[string]schema.GroupVersionKind{}
	for kind := range legacyscheme.Scheme.AllKnownTypes() {
		if strings.HasSuffix(kind.Kind, "List") || kind.Version == "__internal" || !legacyscheme.Scheme.IsVersionRegistered(kind.GroupVersion()) || removed(t, kind) {
			continue
		}
		obj, err := legacyscheme.Scheme.New(kind)
		if err != nil {
			t.Fatal(err)
		}
		if named, ok := obj.(interface{ OpenAPIModelName() string }); ok && definitions()[named.OpenAPIModelName()] != nil {
			out[named.OpenAPIModelName()] = kind
		}
	}
	return out
}

// noTemplates are resources whose specification other kinds contain, and of which no controller makes objects from it.
var noTemplates = map[string]string{
	"podtemplates":      "its definition is that of every pod template, in which entries of pods hold",
	"persistentvolumes": "an attachment of a volume that no PersistentVolume describes",
	"subjectaccessreviews.authorization.k8s.io": "a question, which nobody stores",
}

func resourceOf(kind schema.GroupVersionKind) string {
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	return plural.GroupResource().String()
}

// TestIndirectWriters compares the templates in the table of indirect writers with those that the kinds of a server contain, and
// checks that each path in the table is that of a field.
//
// Attack: a closed field of a claim is set in the template of a StatefulSet, whose controller makes the claim
// Answer: open, because the controller writes for others; the author is warned, and the plan names the template
// Attack: the claims that pods use are closed, and the template of a StatefulSet has the name of somebody else's claim; or the owners
// of pods are closed, and the selector of a ReplicaSet takes them over
// Was: open, and nobody was warned
// Answer: open, because the controller writes for others; the author is warned
// Held by: TestIndirectWarnings
// Attack: the claim of a volume is closed, also in claims, and a claim selects the volume by its labels; or the owners of a claim are
// closed, and a StatefulSet of the right name becomes one; or the labels of a pod let its owner go
// Was: open, and nobody was warned
// Answer: open, because the controller writes for others; the author is warned of each field that it reads
// Held by: TestIndirectWarnings
// Attack: the finalizers of claims are closed, and the template of a StatefulSet has one
// Was: open, and nobody was warned
// Answer: open, because the controller copies the metadata of the template; the author is warned
// Held by: TestIndirectWarnings
func TestIndirectWriters(t *testing.T) {
	kinds := kindsByDefinition(t)
	specs := map[string]string{} // the definition of a specification, and its resource
	for name, kind := range kinds {
		if definitions()[name+"Spec"] != nil && kind.Kind != "Pod" {
			specs[name+"Spec"] = resourceOf(kind)
		}
	}
	// metadata are those fields of metadata that take exclusions and that no controller sets for each object anew.
	metadata := []string{".metadata.finalizers", ".metadata.ownerReferences"}
	var found, want []string
	for name, kind := range kinds {
		places(definitions()[name], "", []string{name}, func(definition, path string) bool {
			whole, ok := kinds[definition]
			if _, described := definitions()[definition].Properties["metadata"]; ok && described && path != "" {
				for _, copied := range metadata {
					if !slices.ContainsFunc(overlay.IndirectWriters(), func(w overlay.Indirect) bool {
						return w.Resource == resourceOf(whole) && w.Path == copied && w.Source == resourceOf(kind) &&
							slices.Contains(w.SourcePaths, strings.TrimSuffix(path, "[*]"))
					}) {
						t.Errorf("%s%s is a whole object: who copies its %s?", resourceOf(kind), path, copied)
					}
				}
			}
			if resource := specs[definition]; resource != "" && resource != resourceOf(kind) && noTemplates[resource] == "" {
				found = append(found, resource+" in "+resourceOf(kind)+path)
			}
			return kind.Kind == "Pod" || definition != podSpec
		})
	}
	for _, w := range overlay.IndirectWriters() {
		if w.Template {
			want = append(want, w.Resource+" in "+w.Source+w.SourcePaths[0])
		}
		checkField(t, kinds, w.Resource, w.Path)
		for _, path := range w.SourcePaths {
			if !w.AddOn {
				checkField(t, kinds, w.Source, path)
			}
		}
	}
	slices.Sort(found)
	slices.Sort(want)
	if found = slices.Compact(found); !slices.Equal(found, want) {
		t.Errorf("found %q\nwant %q", found, want)
	}
}

// ownWrites has the rights of controllers to write resources that take exclusions, as CONTROLLER RESOURCE, which they use for
// nobody else, with what they write.
var ownWrites = map[string]string{
	"cronjob cronjobs.batch":        "the status",
	"deployment deployments.apps":   "the status, and a rollback, which package gate stops",
	"deployment pods":               "nothing",
	"generic-garbage-collector *.*": "owners and finalizers, for whoever may delete the owner with its dependents left; pages say so",
	"job jobs.batch":                "the status",
	"kube-apiserver-serving-clustertrustbundle-publisher clustertrustbundles.certificates.k8s.io": "a bundle of the server's own, by a flag",
	"legacy-service-account-token-cleaner secrets":                                                "a label",
	"node nodes":                                   "taints and labels; the specification of a node takes no exclusion",
	"persistent-volume-binder pods":                "a pod of a template by a flag, which scrubs a volume",
	"pv-protection persistentvolumes":              "its own finalizer",
	"pvc-protection persistentvolumeclaims":        "its own finalizer",
	"replicaset replicasets.apps":                  "the status",
	"replication replicationcontrollers":           "the status",
	"root-ca-cert-publisher configmaps":            "a ConfigMap of its own, by a flag",
	"service-account serviceaccounts":              "the account default, without anything in it",
	"service-cidrs servicecidrs.networking.k8s.io": "its own finalizer",
	"storage-version-migrator *.*":                 "objects as they are",
	"ttl nodes":                                    "an annotation",
	"volumeattributesclass-protection volumeattributesclasses.storage.k8s.io": "its own finalizer",
}

// TestControllerRights checks that the table of indirect writers has each controller that may write a resource which takes
// exclusions, or that we know what it writes. Which fields it writes of a resource in the table, no right tells.
//
// Attack: a controller that bypasses exclusions writes a closed field for others, and no table has it
// Answer: each right of each controller is in the table that authors are warned by, or has a reason
func TestControllerRights(t *testing.T) {
	writers := map[string]bool{}
	for _, w := range overlay.IndirectWriters() {
		writers[strings.ReplaceAll(strings.TrimSuffix(w.By, "-controller"), "-", "")+" "+w.Resource] = true
	}
	found := map[string]bool{}
	for _, role := range bootstrappolicy.ControllerRoles() {
		by := strings.TrimSuffix(strings.TrimPrefix(role.Name, "system:controller:"), "-controller")
		for _, rule := range role.Rules {
			writes := func(verb string) bool { return slices.Contains([]string{"create", "update", "patch", "*"}, verb) }
			if !slices.ContainsFunc(rule.Verbs, writes) {
				continue
			}
			for _, group := range rule.APIGroups {
				for _, plural := range rule.Resources {
					resource := schema.GroupResource{Group: group, Resource: plural}.String()
					if _, takes := resources[resource]; !takes && plural != "*" || writers[strings.ReplaceAll(by, "-", "")+" "+resource] {
						continue
					}
					found[by+" "+resource] = true
				}
			}
		}
	}
	for _, right := range slices.Sorted(maps.Keys(found)) {
		if ownWrites[right] == "" {
			t.Errorf("%s: neither the table of package overlay nor ownWrites has it", right)
		}
	}
	for _, right := range slices.Sorted(maps.Keys(ownWrites)) {
		if !found[right] {
			t.Errorf("ownWrites has %s, which no controller may write, or the table has it too", right)
		}
	}
}

// checkField checks that some version of a resource has a field.
func checkField(t *testing.T, kinds map[string]schema.GroupVersionKind, resource, path string) {
	t.Helper()
	parsed, err := overlay.ParsePath(path)
	if err != nil {
		t.Fatal(path, err)
	}
	for _, kind := range kinds {
		if resourceOf(kind) != resource {
			continue
		}
		e := &overlay.Entries{Source: resource, Version: kind.Version, Fields: []overlay.Field{{Path: parsed, Permission: "example.com/a"}}}
		_, outcomes, err := overlay.Apply(modelsOf(t, kind), kind, e, true)
		if err == nil && outcomes[0].State == overlay.Active {
			return
		}
	}
	t.Errorf("%s has no field %s", resource, path)
}
