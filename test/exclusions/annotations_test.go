// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package exclusions

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/granular/overlay"
)

// annotationFields has each annotation that upstream's sources name by a constant, with the field that means the same, as
// RESOURCE PATH, or "" if there is none. Such a field takes no exclusion: who may write annotations would set it all the same.
var annotationFields = map[string]string{
	"alpha.kubernetes.io/provided-node-ip":                            "",
	"apf.kubernetes.io/autoupdate-spec":                               "",
	"applyset.kubernetes.io/additional-namespaces":                    "",
	"applyset.kubernetes.io/contains-group-kinds":                     "",
	"applyset.kubernetes.io/contains-group-resources":                 "",
	"applyset.kubernetes.io/tooling":                                  "",
	"audit.k8s.io/truncated":                                          "",
	"authentication.kubernetes.io/issued-credential-id":               "",
	"authorization.k8s.io/decision":                                   "",
	"authorization.k8s.io/reason":                                     "",
	"autoscaling.alpha.kubernetes.io/behavior":                        "",
	"autoscaling.alpha.kubernetes.io/conditions":                      "",
	"autoscaling.alpha.kubernetes.io/current-metrics":                 "",
	"autoscaling.alpha.kubernetes.io/metrics":                         "",
	"autoscaling.alpha.kubernetes.io/scale-down-tolerance":            "",
	"autoscaling.alpha.kubernetes.io/scale-up-tolerance":              "",
	"batch.kubernetes.io/":                                            "",
	"container.apparmor.security.beta.kubernetes.io/":                 "pods .spec.securityContext.appArmorProfile",
	"container.seccomp.security.alpha.kubernetes.io/":                 "",
	"control-plane.alpha.kubernetes.io/leader":                        "",
	"controller.kubernetes.io/pod-deletion-cost":                      "",
	"csi.volume.kubernetes.io/nodeid":                                 "",
	"deployment.kubernetes.io/desired-replicas":                       "",
	"deployment.kubernetes.io/max-replicas":                           "",
	"deployment.kubernetes.io/revision":                               "",
	"deployment.kubernetes.io/revision-history":                       "",
	"endpoints.kubernetes.io/last-change-trigger-time":                "",
	"endpoints.kubernetes.io/over-capacity":                           "",
	"flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares":     "",
	"ingressclass.kubernetes.io/is-default-class":                     "",
	"k8s.io/deprecated":                                               "",
	"k8s.io/initial-events-end":                                       "",
	"k8s.io/removed-release":                                          "",
	"kubeadm.kubernetes.io/component-config.hash":                     "",
	"kubeadm.kubernetes.io/etcd.advertise-client-urls":                "",
	"kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint": "",
	"kubectl.kubernetes.io/default-container":                         "",
	"kubectl.kubernetes.io/last-applied-configuration":                "",
	"kubectl.kubernetes.io/original-command":                          "",
	"kubernetes.io/azure-file-resource-group":                         "",
	"kubernetes.io/change-cause":                                      "",
	"kubernetes.io/config.hash":                                       "",
	"kubernetes.io/config.mirror":                                     "",
	"kubernetes.io/config.seen":                                       "",
	"kubernetes.io/config.source":                                     "",
	"kubernetes.io/createdby":                                         "",
	"kubernetes.io/description":                                       "",
	"kubernetes.io/enforce-mountable-secrets":                         "",
	"kubernetes.io/ingress.class":                                     "ingresses.networking.k8s.io .spec.ingressClassName",
	"kubernetes.io/limit-ranger":                                      "",
	"kubernetes.io/peer-advertise-address":                            "",
	"kubernetes.io/service-account-token":                             "",
	"kubernetes.io/service-account.name":                              "",
	"kubernetes.io/service-account.uid":                               "",
	"mutation.webhook.admission.k8s.io/":                              "",
	"node.alpha.kubernetes.io/ttl":                                    "",
	"patch.webhook.admission.k8s.io/":                                 "",
	"pv.beta.kubernetes.io/gid":                                       "",
	"pv.kubernetes.io/bind-completed":                                 "",
	"pv.kubernetes.io/bound-by-controller":                            "",
	"pv.kubernetes.io/migrated-to":                                    "",
	"pv.kubernetes.io/provisioned-by":                                 "",
	"rbac.authorization.kubernetes.io/autoupdate":                     "",
	"resource.kubernetes.io/extended-resource-claim":                  "",
	"resource.kubernetes.io/pod-claim-name":                           "",
	"scheduler.alpha.kubernetes.io/preferAvoidPods":                   "",
	"scheduler.alpha.kubernetes.io/taints":                            "",
	"scheduler.alpha.kubernetes.io/tolerations":                       "",
	"seccomp.security.alpha.kubernetes.io/pod":                        "",
	"service.beta.kubernetes.io/load-balancer-source-ranges":          "services .spec.loadBalancerSourceRanges",
	"service.kubernetes.io/topology-aware-hints":                      "services .spec.trafficDistribution",
	"service.kubernetes.io/topology-mode":                             "services .spec.trafficDistribution",
	"storage.alpha.kubernetes.io/migrated-plugins":                    "",
	"storageclass.beta.kubernetes.io/is-default-class":                "",
	"storageclass.kubernetes.io/is-default-class":                     "",
	"validating.webhook.admission.k8s.io/":                            "",
	"volume.alpha.kubernetes.io/pre-resize-capacity":                  "",
	"volume.beta.kubernetes.io/mount-options":                         "persistentvolumes .spec.mountOptions",
	"volume.beta.kubernetes.io/storage-class":                         "persistentvolumes .spec.storageClassName",
	"volume.kubernetes.io/selected-node":                              "",
	"volume.kubernetes.io/storage-provisioner":                        "",
	"volume.kubernetes.io/storage-resizer":                            "",
	"volumes.kubernetes.io/controller-managed-attach-detach":          "",
}

// annotationKey matches a key with a domain.
var annotationKey = regexp.MustCompile(`^[a-z0-9.-]+\.[a-z0-9-]+/`)

// TestAnnotationFields checks that we know of each annotation in upstream's sources whether it sets a field.
//
// Attack: an annotation sets what an excluded field sets, as that of the mount options of a volume does
// Answer: got through; now 422 for the exclusion
func TestAnnotationFields(t *testing.T) {
	found := map[string]string{}
	root := filepath.Join("..", "..", "upstream", "kubernetes")
	for _, folder := range []string{"pkg", "plugin", "cmd", "staging/src/k8s.io"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(entry.Name(), "generated") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil || !bytes.Contains(text, []byte("nnotation")) {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, key := range annotationsIn(file) {
				found[key] = path
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if _, known := annotationFields[key]; !known {
			t.Errorf("%s, in %s, is not in annotationFields", key, found[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(annotationFields)) {
		if found[key] == "" {
			t.Errorf("%s is in annotationFields and not in upstream's sources", key)
		}
		resource, path, closed := strings.Cut(annotationFields[key], " ")
		if !closed {
			continue
		}
		parsed, err := overlay.ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		kind := gvkschema.GroupVersionKind{Group: gvkschema.ParseGroupResource(resource).Group, Version: "v1", Kind: resources[resource].kind}
		problems := overlay.Check(modelsOf(t, kind), kind, &overlay.Entries{Source: resource, Version: "v1",
			Fields: []overlay.Field{{Path: parsed, Permission: "acme.io/a", Excluded: true}}})
		if len(problems) != 1 || !strings.Contains(problems[0].Message, "annotation") {
			t.Errorf("an exclusion of %s %s, which %s sets: %v", resource, path, key, problems)
		}
	}
}

// annotationsIn returns the keys of annotations that a file declares as constants or variables: their names or comments
// say that they are annotations.
func annotationsIn(file *ast.File) (keys []string) {
	for _, declaration := range file.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range group.Specs {
			values, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			text := values.Doc.Text() + values.Comment.Text()
			for _, name := range values.Names {
				text += name.Name
			}
			if len(group.Specs) == 1 {
				text += group.Doc.Text()
			}
			if !strings.Contains(strings.ToLower(text), "annotation") {
				continue
			}
			for _, value := range values.Values {
				literal, ok := value.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					continue
				}
				if key, err := strconv.Unquote(literal.Value); err == nil && annotationKey.MatchString(key) {
					keys = append(keys, key)
				}
			}
		}
	}
	return keys
}
