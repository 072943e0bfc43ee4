// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package roles

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/cli/changes"
)

// kubelet begins the lines about what the admission plugin NodeRestriction leaves to kubelets.
const kubelet = "The admission plugin NodeRestriction lets a kubelet (system:node:NAME) change only "

// enforcement begins the lines about what a new owner of an object takes besides.
const enforcement = "The admission plugin OwnerReferencesPermissionEnforcement, if the server has it, also needs "

// owners is the verb for the owners of an object.
const owners = permission.General + ":ownerReferences"

// signer ends the lines about the admission plugins that ask for a verb on a signer.
const signer = "a resource name of signers.certificates.k8s.io"

// demand returns what the server wants for a write of a resource, with its subresource, after it has
// authorized the request, or "". Most demands come from admission plugins. A role with the verbs of the
// changed fields does not meet them.
func demand(written schema.GroupResource) string {
	return map[schema.GroupResource]string{
		{Resource: "nodes"}:                                    kubelet + "its own node, and none of its taints, owner references and restricted labels.",
		{Resource: "nodes/status"}:                             kubelet + "the status of its own node.",
		{Resource: "pods/status"}:                              kubelet + "the status of pods on its own node, and not their labels.",
		{Resource: "persistentvolumeclaims/status"}:            kubelet + "the capacity, the allocated resources and the conditions of a claim.",
		{Group: "storage.k8s.io", Resource: "csinodes"}:        kubelet + "the object with its own name.",
		{Group: "storage.k8s.io", Resource: "csinodes/status"}: kubelet + "the object with its own name.",
		{Group: "coordination.k8s.io", Resource: "leases"}:     kubelet + "the lease with its own name, in the namespace kube-node-lease.",
		{Group: "certificates.k8s.io", Resource: "certificatesigningrequests/approval"}: "The admission plugin CertificateApproval " +
			"also needs the verb approve on the signer of the request, " + signer + ".",
		{Group: "certificates.k8s.io", Resource: "certificatesigningrequests/status"}: "The admission plugin CertificateSigning " +
			"also needs the verb sign on the signer of the request, " + signer + ", if the certificate or a condition changes.",
		{Group: "certificates.k8s.io", Resource: "clustertrustbundles"}: "The admission plugin ClusterTrustBundleAttest " +
			"also needs the verb attest on the signer of the bundle, " + signer + ", if it has one.",
		{Group: "resource.k8s.io", Resource: "resourceclaims/status"}: "The server also needs update or patch on " +
			"resourceclaims/binding for the allocation and the consumers of a claim, and arbitrary-node:update or " +
			"arbitrary-node:patch on resourceclaims/driver for the status of devices.",
	}[written]
}

// admissionNotes returns lines about what the server wants for a request after it has authorized the
// request. The role does not contain it: it may depend on the user and on the plugins of the server.
func admissionNotes(r *changes.DryRun) (out []string) {
	written, place := r.Kind.Resource.GroupResource(), r.Kind.String()
	if r.Subresource != "" {
		written.Resource += "/" + r.Subresource
		place += "/" + r.Subresource
	}
	if note := demand(written); note != "" {
		out = append(out, note)
	}
	changed, blocked := r.Owners()
	if !changed || written == (schema.GroupResource{Resource: "pods/status"}) {
		return out
	}
	var needs []string
	if !r.Creates {
		needs = append(needs, "the verb delete on "+place)
	}
	if len(blocked) > 0 {
		needs = append(needs, "the verb update on the subresource finalizers of the new owners with blockOwnerDeletion: "+
			strings.Join(blocked, ", "))
	}
	if len(needs) > 0 {
		out = append(out, enforcement+strings.Join(needs, ", and ")+".")
	}
	return out
}

// Demands returns lines about what the server wants for the writes that a rule allows, after it has
// authorized them. An audit log does not show that, because the server asks itself.
func Demands(r rbacv1.PolicyRule) (out []string) {
	writes := func(verb string) bool {
		return verb == "create" || verb == "update" || verb == "patch" || verb == permission.General
	}
	if !slices.ContainsFunc(r.Verbs, writes) {
		return nil
	}
	for _, group := range r.APIGroups {
		for _, resource := range r.Resources {
			written := schema.GroupResource{Group: group, Resource: resource}
			if note := demand(written); note != "" {
				out = append(out, note)
			}
			if slices.Contains(r.Verbs, owners) && written != (schema.GroupResource{Resource: "pods/status"}) {
				out = append(out, enforcement+"the verb delete on "+written.String()+
					", and the verb update on the subresource finalizers of new owners with blockOwnerDeletion.")
			}
		}
	}
	return out
}
