// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fieldpermissiontest has resources for tests of FieldPermissions: Resources that know all built-in kinds
// of the core, apps and autoscaling groups, and the definitions that a test gives.
//
// The invariant: the models are those that a server serves.
//
// Only tests import the package.
package fieldpermissiontest

import (
	"context"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"        // a built-in group
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install" // a built-in group
	_ "k8s.io/kubernetes/pkg/apis/core/install"        // a built-in group
	generatedopenapi "k8s.io/kubernetes/pkg/generated/openapi"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/pkg/fieldpermission"
)

// served are the resources of the built-in groups and versions that the server of the tests serves.
var served = map[string][]metav1.APIResource{
	"v1":             {{Name: "services", Kind: "Service"}, {Name: "pods", Kind: "Pod"}, {Name: "configmaps", Kind: "ConfigMap"}},
	"apps/v1":        {{Name: "deployments", Kind: "Deployment"}, {Name: "deployments/scale", Kind: "Scale"}},
	"autoscaling/v1": {{Name: "horizontalpodautoscalers", Kind: "HorizontalPodAutoscaler"}},
	"autoscaling/v2": {{Name: "horizontalpodautoscalers", Kind: "HorizontalPodAutoscaler"}},
}

// Resources returns the resources of a server with some definitions.
func Resources(definitions ...*apiextensionsv1.CustomResourceDefinition) *fieldpermission.Resources {
	return &fieldpermission.Resources{
		Schemes: []*runtime.Scheme{legacyscheme.Scheme},
		OpenAPI: genericapiserver.DefaultOpenAPIV3Config(generatedopenapi.GetOpenAPIDefinitions, openapi.NewDefinitionNamer(legacyscheme.Scheme)),
		Discover: func(groupVersion string) (*metav1.APIResourceList, error) {
			if found, ok := served[groupVersion]; ok {
				return &metav1.APIResourceList{GroupVersion: groupVersion, APIResources: found}, nil
			}
			return nil, apierrors.NewNotFound(apiextensionsv1.Resource("groupversions"), groupVersion)
		},
		Definition: func(_ context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
			for _, crd := range definitions {
				if crd.Name == name {
					return crd.DeepCopy(), nil
				}
			}
			return nil, apierrors.NewNotFound(apiextensionsv1.Resource("customresourcedefinitions"), name)
		},
	}
}

// Definition parses a definition.
func Definition(t testing.TB, text string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(text), crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

// Applications is a definition with the shape of Argo CD's Application, in two versions.
const Applications = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: applications.argoproj.io}
spec:
  group: argoproj.io
  scope: Namespaced
  names: {plural: applications, singular: application, kind: Application, listKind: ApplicationList}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: &schema
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              project: {type: string}
              destination: &destination
                type: object
                properties: {server: {type: string}, namespace: {type: string}, name: {type: string}}
              sources:
                type: array
                items: {type: object, properties: {repoURL: {type: string}, path: {type: string}}}
              syncPolicy:
                type: object
                properties:
                  automated: {type: object, properties: {prune: {type: boolean}, selfHeal: {type: boolean}}}
                  syncOptions: {type: array, items: {type: string}}
              secret:
                type: string
                x-kubernetes-permission-verb: secretOfAuthor
                x-kubernetes-permission-excluded: true
              info: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
  - name: v1
    served: true
    storage: false
    schema: *schema
`
