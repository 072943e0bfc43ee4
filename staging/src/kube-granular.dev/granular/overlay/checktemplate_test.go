// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"fmt"
	"strings"
	"testing"

	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/overlay"
)

const deployment = `
deployment:
  type: object
  x-kubernetes-group-version-kind: [{group: apps, version: v1, kind: Deployment}]
  properties:
    spec:
      type: object
      properties:
        replicas: {type: integer}
        template:
          type: object
          x-kubernetes-permission-scope: podTemplate
          properties:
            metadata: {type: object, properties: {finalizers: {type: array, items: {type: string}}}}
            spec:
              type: object
              properties:
                hostNetwork: {type: boolean}
                hostPID: {type: boolean}
                containers:
                  type: array
                  x-kubernetes-list-type: map
                  x-kubernetes-list-map-keys: [name]
                  items: {type: object, properties: {name: {type: string}, imagePullPolicy: {type: string}}}
`

// TestCheckInForce checks which entries of pods and of deployments can't hold together, and which of them a problem names.
func TestCheckInForce(t *testing.T) {
	all := map[string]*spec.Schema{}
	if err := yaml.UnmarshalStrict([]byte(deployment), &all); err != nil {
		t.Fatal(err)
	}
	resource, kind := gvkschema.GroupResource{Group: "apps", Resource: "deployments"}, gvkschema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	for name, tc := range map[string]struct {
		own, pods []string
		// ofPods and ofOwn are the problems for the author of each.
		ofPods, ofOwn string
	}{
		"both hold": {[]string{".spec.replicas acme.io/r excluded"}, []string{".metadata.ownerReferences acme.io/o excluded", ".spec.hostNetwork acme.io/n excluded"}, "", ""},
		"the server fills it in": {nil, []string{".metadata.ownerReferences acme.io/o excluded", ".spec.containers[*].imagePullPolicy acme.io/n excluded"},
			"1 excluded in deployments.apps: no exclusion is possible here: the server sets", "-1  in deployments.apps: no exclusion is possible here"},
		"a name of that": {nil, []string{".spec.containers[*].imagePullPolicy acme.io/n"}, "", ""},
		"inside an exclusion": {nil, []string{".spec.containers acme.io/c excluded", ".spec.containers[*].imagePullPolicy acme.io/n"},
			"1 excluded in deployments.apps: no exclusion is possible here", "-1  in deployments.apps"},
		"inside one of the other": {[]string{".spec.template.spec.containers acme.io/c excluded"}, []string{".spec.containers[*].imagePullPolicy acme.io/n"}, "", ""},
		"one permission, not excluded": {[]string{".spec.replicas acme.io/r", ".spec.template.spec.hostPID acme.io/n"}, []string{".spec.hostNetwork acme.io/n excluded"},
			"0 excluded in deployments.apps: another entry has the same permission", "1 excluded in deployments.apps: another entry has the same permission"},
		"a name as in the scope": {[]string{".spec.replicas acme.io/podTemplateN excluded"}, []string{".spec.hostNetwork acme.io/n excluded"},
			"0 permission in deployments.apps: inside a scope", "-1  in deployments.apps: inside a scope"},
		"too long": {nil, []string{".spec.hostNetwork acme.io/n" + strings.Repeat("n", 60) + " excluded"}, "-1  in deployments.apps: the entries can't be enforced", "-1  in deployments.apps"},
		"no such field": {nil, []string{".spec.hostNetwork acme.io/n excluded", ".spec.subdomain acme.io/s excluded"},
			"1 path in deployments.apps: no permission is possible at this field", "-1  in deployments.apps"},
	} {
		var own *overlay.Entries
		if tc.own != nil {
			own = entries(t, tc.own...)
			own.Source = resource.String()
		}
		pods := ofPods(t, true, tc.pods...)
		for written, want := range map[*overlay.Entries]string{pods: tc.ofPods, own: tc.ofOwn} {
			var got []string
			for _, p := range overlay.CheckInForce(all, kind, resource, own, pods, written) {
				got = append(got, fmt.Sprintf("%d %s %s", p.Index, p.Part, p.Message))
			}
			if text := strings.Join(got, "; "); (text != "") != (want != "") || !strings.Contains(text, want) {
				t.Errorf("%s, written by the author of pods %t: %q, want %q", name, written == pods, text, want)
			}
		}
	}
	// What another version of the server stored for pods does not stop the author of another resource.
	unread := ofPods(t, true, ".spec.hostNetwork acme.io/n excluded")
	unread.Fields = append(unread.Fields, overlay.Field{Unread: ".later", Permission: "acme.io/later", Excluded: true})
	own := entries(t, ".spec.replicas acme.io/r excluded")
	if problems := overlay.CheckInForce(all, kind, resource, own, unread, own); len(problems) > 0 ||
		len(overlay.Shared(resource, own, unread)) > 0 {
		t.Errorf("with an entry of pods that can't be read: %v", problems)
	}
	if problems := overlay.CheckInForce(nil, kind, resource, entries(t, ".spec.x acme.io/a"), nil, nil); problems != nil {
		t.Errorf("without entries of pods: %v", problems)
	}
	if problems := overlay.CheckInForce(map[string]*spec.Schema{}, kind, resource, nil, ofPods(t, true, ".spec.hostNetwork acme.io/n excluded"), nil); len(problems) != 1 ||
		!strings.Contains(problems[0].Message, "in deployments.apps: the permissions of the kind can't be compiled") {
		t.Errorf("without a definition: %v", problems)
	}
}
