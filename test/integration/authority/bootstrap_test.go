// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"strings"
	"testing"

	"kube-granular.dev/pkg/registry/authority"
	"kube-granular.dev/test/integration/harness"
)

// refusal is a policy that refuses the bootstrap roles of the project.
const refusal = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-roles}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - apiGroups: [rbac.authorization.k8s.io]
      apiVersions: ["*"]
      resources: [clusterroles, clusterrolebindings]
      operations: [CREATE, UPDATE]
  validations:
  - {expression: '!object.metadata.name.startsWith("system:kube-granular:")'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-roles}
spec: {policyName: no-roles, validationActions: [Deny]}
`

// TestBootstrapRolesRefused turns the gate on in a cluster whose policy refuses its bootstrap roles. The server starts, and writes
// the roles once the policy is gone. Until then nobody has what they grant.
//
// Attack: an admission policy or webhook that refuses the bootstrap roles of a gate, so that each server with the gate ends again
// Answer: the server serves and enforces, and tries again
// Was: got through
func TestBootstrapRolesRefused(t *testing.T) {
	endpoint, _ := storage(t)
	c, stop := start(t, "--etcd-servers", endpoint)
	harness.MustKubectl(t, c, refusal, "create", "-f", "-")
	stop()

	c, _ = start(t, "--etcd-servers", endpoint, "--feature-gates", gateOn)
	roles := []string{"get", "clusterroles", authority.ViewRole, authority.ManageRole, authority.ControllersRole}
	if out, err := harness.Kubectl(t, c, "", roles...); err == nil || !strings.Contains(out, "NotFound") {
		t.Errorf("the policy refuses nothing: %s", out)
	}
	namespace(t, c, "kubectl")
	harness.MustKubectl(t, c, manifest, "create", "-f", "-")
	viewer := []string{"auth", "can-i", "list", "protectedattributes", "--as=vic", "--namespace=default"}
	harness.MustKubectl(t, c, "", "create", "rolebinding", "vic", "--clusterrole=view", "--user=vic", "--namespace=default")
	if out, err := harness.Kubectl(t, c, "", viewer...); err == nil || !strings.HasPrefix(out, "no") {
		t.Errorf("a viewer, without the role: %s", out)
	}
	harness.MustKubectl(t, c, "", "delete", "validatingadmissionpolicybindings,validatingadmissionpolicies", "no-roles")
	harness.Until(t, "the roles are written", func() bool {
		_, err := harness.Kubectl(t, c, "", roles...)
		return err == nil
	})
}
