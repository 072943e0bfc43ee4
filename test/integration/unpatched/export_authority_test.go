// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package unpatched

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"kube-granular.dev/test/integration/harness"
)

const (
	boxDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crates.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: crates, kind: Crate}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              replicas: {type: integer}
              size: {type: integer}
              danger: {type: string}
              policy: {type: object, properties: {mode: {type: string}, level: {type: string}}}
          status: {type: object, properties: {replicas: {type: integer}}}
`
	crate = `
apiVersion: example.com/v1
kind: Crate
metadata: {name: a, namespace: default}
spec: {replicas: 1, size: 1, danger: none, policy: {mode: a, level: b}}
`
	// authorityFile has what an administrator of a patched server wrote, and roles of ordinary callers.
	authorityFile = `
apiVersion: authority.kube-granular.dev/v1alpha1
kind: ClusterProtectedAttribute
metadata: {name: env}
spec: {attributeKind: Label, attributeName: env, protectedValues: [prod], roleRef: {kind: ClusterRole, name: release-manager}}
---
apiVersion: authority.kube-granular.dev/v1alpha1
kind: ProtectedAttribute
metadata: {name: zone, namespace: default}
spec: {attributeKind: Annotation, attributeName: net.example/zone}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: release-manager}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: release-manager}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: rita}]
---
apiVersion: authority.kube-granular.dev/v1alpha1
kind: FieldPermission
metadata: {name: crates.example.com}
spec:
  version: v1
  mode: Enforce
  fields:
  - {path: .spec.policy, permission: example.com/policy, excluded: true}
  - {path: .spec.danger, permission: example.com/danger, excluded: true}
  - {path: .spec.replicas, permission: example.com/replicas, excluded: true}
---
apiVersion: authority.kube-granular.dev/v1alpha1
kind: FieldPermission
metadata: {name: deployments.apps}
spec:
  version: v1
  mode: Enforce
  fields:
  - {path: .spec.replicas, permission: example.com/size, excluded: true}
---
apiVersion: authority.kube-granular.dev/v1alpha1
kind: FieldPermission
metadata: {name: pods}
spec:
  version: v1
  mode: Enforce
  fields:
  - {path: .spec.ephemeralContainers, permission: example.com/debugging, excluded: true}
  - {path: .spec.hostNetwork, permission: example.com/network, excluded: true}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: sizer}
rules:
- {apiGroups: [example.com], resources: [crates], verbs: [get, granular, "granular:specification", "granular:example.com/policy"]}
- {apiGroups: [example.com], resources: [crates/scale], verbs: [get, granular, "granular:replicas", "granular:example.com/replicas"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: sizer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: sizer}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: sam}]
`
	// everybody may write everything in the ordinary way.
	everybody = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: writer}
rules:
- {apiGroups: ["", apps, example.com, coordination.k8s.io], resources: ["*"], verbs: [get, create, update, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: writer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: writer}
subjects:
- {kind: User, apiGroup: rbac.authorization.k8s.io, name: olga}
- {kind: User, apiGroup: rbac.authorization.k8s.io, name: rita}
- {kind: User, apiGroup: rbac.authorization.k8s.io, name: vera}
- {kind: ServiceAccount, name: replicaset-controller, namespace: kube-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: verbs}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: ["granular:protectedAnnotation(net.example/zone)"]}
- {apiGroups: [example.com], resources: [crates], verbs: ["granular:example.com/danger"]}
- {apiGroups: [apps], resources: [deployments, deployments/scale], verbs: ["granular:example.com/podTemplateNetwork", "granular:example.com/size"]}
- {apiGroups: [""], resources: [pods, pods/ephemeralcontainers], verbs: ["granular:example.com/debugging"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: verbs}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: verbs}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: vera}]
`
	debugged = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: default}
---
apiVersion: v1
kind: Pod
metadata: {name: debugged, namespace: default}
spec: {containers: [{name: a, image: "registry.example/a:1"}], automountServiceAccountToken: false}
`
	podPath   = "/api/v1/namespaces/default/pods/debugged"
	debugging = `{"spec":{"ephemeralContainers":[{"name":"debugger","image":"registry.example/debug:1"}]}}`
	// hostNetwork is a patch of a template.
	hostNetwork = `{"spec":{"template":{"spec":{"hostNetwork":true}}}}`
	cratePath   = "/apis/example.com/v1/namespaces/default/crates/a"
)

// TestExportedAuthority checks that exported protected attributes and FieldPermissions hold on a server without patches: for each
// that is refused, a holder of its role or verb may do the same.
//
// Attack: on a server without patches, a protected label in the object, in a pod template, in a claim template, or in a new object
// Answer: 403 of the exported policy
//
// Attack: on a server without patches, a field that an exported FieldPermission excludes: by update, in a new object, by scale
// Answer: 403 of the exported policy
func TestExportedAuthority(t *testing.T) {
	s := startStock(t)
	s.must(t, "kubectl", boxDefinition, "apply", "-f", "-")
	s.must(t, "kubectl", "", "wait", "--for=condition=Established", "crd/crates.example.com")
	harness.Until(t, "crates are served", func() bool {
		_, err := s.run(t, "kubectl", crate, "apply", "-f", "-")
		return err == nil
	})
	s.must(t, "kubectl", exportedObjects+"---"+debugged+"---"+everybody, "apply", "-f", "-")
	dir := t.TempDir()
	for name, text := range map[string]string{"authority.yaml": authorityFile, "crates.yaml": boxDefinition} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	exported := s.must(t, "kubectl-granular", "", "export", "vap", "-f", filepath.Join(dir, "authority.yaml"), "-f", filepath.Join(dir, "crates.yaml"))
	s.must(t, "kubectl", exported, "apply", "-f", "-")
	patch := func(user, path, body string) (int, string) {
		return s.send(t, harness.Call{As: rest.ImpersonationConfig{UserName: user}, Method: http.MethodPatch, Path: path + "?dryRun=All", ContentType: asMerge, Body: body})
	}
	harness.Until(t, "the policies are in force", func() bool {
		one, first := patch("olga", configMapPath, `{"metadata":{"labels":{"env":"prod"}}}`)
		two, second := patch("olga", cratePath, `{"spec":{"danger":"x"}}`)
		three, third := patch("olga", cratePath+"/scale", `{"spec":{"replicas":9}}`)
		four, _ := patch("olga", deploymentPath+"/scale", `{"spec":{"replicas":9}}`)
		five, _ := patch("olga", podPath+"/ephemeralcontainers", debugging)
		six, _ := patch("olga", configMapPath, `{"metadata":{"annotations":{"net.example/zone":"a"}}}`)
		seven, _ := patch("olga", deploymentPath, hostNetwork)
		return one == http.StatusForbidden && two == one && three == one && four == one && five == one && six == one && seven == one && strings.Contains(first+second+third, "protected-attributes")
	})
	const template = `{"spec":{"template":{"metadata":{"labels":{"env":"prod"}}}}}`
	for _, tc := range []struct {
		name, user, path, body string
		allowed                bool
	}{
		{"a label", "olga", configMapPath, `{"metadata":{"labels":{"env":"prod"}}}`, false},
		{"a label, by a holder", "rita", configMapPath, `{"metadata":{"labels":{"env":"prod"}}}`, true},
		{"a free value", "olga", configMapPath, `{"metadata":{"labels":{"env":"dev"}}}`, true},
		{"another field", "olga", configMapPath, `{"data":{"color":"green"}}`, true},
		{"a template", "olga", deploymentPath, template, false},
		{"a template, by a holder", "rita", deploymentPath, template, true},
		{"a template, by a controller", "system:serviceaccount:kube-system:replicaset-controller", deploymentPath, template, true},
		{"a volume's claim", "olga", deploymentPath, `{"spec":{"template":{"spec":{"volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{"metadata":{"labels":{"env":"prod"}},` +
			`"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}}}]}}}}`, false},
		{"an annotation", "olga", configMapPath, `{"metadata":{"annotations":{"net.example/zone":"a"}}}`, false},
		{"an annotation, by its verb", "vera", configMapPath, `{"metadata":{"annotations":{"net.example/zone":"a"}}}`, true},
		{"an annotation, by the verb on another resource", "vera", deploymentPath, `{"metadata":{"annotations":{"net.example/zone":"a"}}}`, false},
		{"the annotation of a rollback", "olga", deploymentPath, `{"metadata":{"annotations":{"deprecated.deployment.rollback.to":"1"}}}`, false},
		{"the label of a custom resource", "olga", cratePath, `{"metadata":{"labels":{"env":"prod"}}}`, false},
		{"an excluded field", "olga", cratePath, `{"spec":{"danger":"x"}}`, false},
		{"an excluded field, by its verb", "vera", cratePath, `{"spec":{"danger":"x"}}`, true},
		{"two, with the verb for one", "vera", cratePath, `{"spec":{"danger":"x","policy":{"mode":"z"}}}`, false},
		{"an excluded object goes", "olga", cratePath, `{"spec":{"policy":null}}`, false},
		{"a field beside", "olga", cratePath, `{"spec":{"size":2}}`, true},
		{"replicas", "olga", cratePath, `{"spec":{"replicas":2}}`, false},
		{"replicas by scale", "olga", cratePath + "/scale", `{"spec":{"replicas":2}}`, false},
		{"replicas by scale, by its verb", "sam", cratePath + "/scale", `{"spec":{"replicas":2}}`, true},
		{"replicas of a built-in kind", "olga", deploymentPath, `{"spec":{"replicas":2}}`, false},
		{"replicas of a built-in kind, by their verb", "vera", deploymentPath, `{"spec":{"replicas":2}}`, true},
		{"replicas of a built-in kind by scale", "olga", deploymentPath + "/scale", `{"spec":{"replicas":2}}`, false},
		{"replicas of a built-in kind by scale, by their verb", "vera", deploymentPath + "/scale", `{"spec":{"replicas":2}}`, true},
		{"a subresource that sends the object", "olga", podPath + "/ephemeralcontainers", debugging, false},
		{"a subresource that sends the object, by its verb", "vera", podPath + "/ephemeralcontainers", debugging, true},
		{"a field of pods in a template", "olga", deploymentPath, hostNetwork, false},
		{"a field of pods in a template, by its verb", "vera", deploymentPath, hostNetwork, true},
		{"another field of a template", "olga", deploymentPath, `{"spec":{"template":{"spec":{"hostname":"a"}}}}`, true},
		{"a granular caller", "sam", cratePath, `{"spec":{"size":2,"policy":{"mode":"z"}}}`, true},
		{"a granular caller and another excluded field", "sam", cratePath, `{"spec":{"size":2,"danger":"x"}}`, false},
		{"a granular caller and a label", "sam", cratePath, `{"metadata":{"labels":{"a":"b"}}}`, false},
	} {
		if code, answer := patch(tc.user, tc.path, tc.body); (code == http.StatusOK) != tc.allowed || !tc.allowed && code != http.StatusForbidden {
			t.Errorf("%s: %d, wanted allowed %v: %.500s", tc.name, code, tc.allowed, answer)
		}
	}
	for user, allowed := range map[string]bool{"olga": false, "rita": true} {
		code, answer := s.send(t, harness.Call{As: rest.ImpersonationConfig{UserName: user}, Method: http.MethodPost, ContentType: asJSON,
			Path: "/api/v1/namespaces/default/configmaps?dryRun=All", Body: `{"metadata":{"name":"new","labels":{"env":"prod"}}}`})
		if (code == http.StatusCreated) != allowed {
			t.Errorf("a create by %s: %d %.300s", user, code, answer)
		}
	}
	if code, answer := s.send(t, harness.Call{As: rest.ImpersonationConfig{UserName: "olga"}, Method: http.MethodPost, ContentType: asJSON,
		Path: "/apis/example.com/v1/namespaces/default/crates?dryRun=All",
		Body: `{"apiVersion":"example.com/v1","kind":"Crate","metadata":{"name":"b"},"spec":{"danger":"x"}}`}); code != http.StatusForbidden {
		t.Errorf("a create with an excluded field: %d %.300s", code, answer)
	}
}
