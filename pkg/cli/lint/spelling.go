// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/rolecheck"
	"kube-granular.dev/pkg/suggest"
)

// maxMistakes is the maximum number of mistakes in the verbs of one role that are reported.
const maxMistakes = 1000

// checkSpelling reports what RBAC accepts and never matches: misspellings of granular, parameters
// that no object has, and resources that do not exist or are not in a namespace. kind is the kind of
// the object, and empty inside a delegation.
func (l *objectLinter) checkSpelling(r *rule, kind string) {
	granular := false
	for _, node := range r.verbs {
		if rolecheck.IsPermission(node.Value) {
			granular = true
			l.checkParameter(node)
		} else if meant := meantVerb(node.Value); meant != "" {
			granular = true
			l.report(node, Error, "%q is no verb that Kubernetes knows; did you mean %s?", node.Value, meant)
		}
	}
	if !granular || r.any() {
		return
	}
	for _, resource := range r.resources {
		l.checkResource(r, resource, kind)
	}
}

// meantVerb returns the verb that a misspelling of granular means, or "".
func meantVerb(verb string) string {
	verb = strings.TrimSpace(verb)
	prefix, rest := verb, ""
	if index := strings.IndexAny(verb, ":.("); index >= 0 {
		prefix, rest = verb[:index], verb[index+1:]
		if verb[index] == '(' {
			rest = ""
		}
	}
	if suggest.Nearest(strings.ToLower(prefix), []string{permission.General}) == "" {
		return ""
	}
	if rest == "" {
		return permission.General
	}
	return permission.General + ":" + rest
}

// checkParameter reports parameters that no object has.
func (l *objectLinter) checkParameter(node *yaml.Node) {
	verb, err := permission.Parse(strings.TrimSpace(node.Value))
	if err != nil || !verb.Parameterized {
		return
	}
	name := strings.ToLower(verb.Permission)
	if verb.Parameter == "" {
		// A toleration of everything has no key, and a rule of an ingress for all hosts has no host.
		if !strings.HasSuffix(name, "toleration") && name != "route" {
			l.report(node, Error, "%s has an empty parameter and never matches", node.Value)
		}
		return
	}
	switch {
	case strings.HasSuffix(name, "taint") || strings.HasSuffix(name, "toleration"):
		if strings.ContainsAny(verb.Parameter, "=:") {
			l.report(node, Error, "%s never matches: the parameter is only the key, without a value and an effect", node.Value)
		}
	case strings.HasSuffix(name, "imagefrom"):
		if image, hub := strings.CutPrefix(verb.Parameter, "docker.io/"); hub && image != "library" && !strings.Contains(image, "/") {
			l.report(node, Warning, "%s does not match the image %s: the official images are docker.io/library/%s, and only in this spelling", node.Value, image, image)
		}
	}
}

// checkResource reports a resource that does not exist, because its group or its plural is wrong, or
// that is not in a namespace although the role is.
func (l *objectLinter) checkResource(r *rule, resource, kind string) {
	plain, sub, found := strings.Cut(resource, "/")
	if found {
		sub = "/" + sub
	}
	if rolecheck.IsBuiltIn(plain) {
		if kind == "Role" && slices.Contains(clusterScoped, plain) {
			l.report(r.node, Error, "%s is not in a namespace, so a Role can't grant anything on it: use a ClusterRole and a ClusterRoleBinding", plain)
		}
		return
	}
	name, group, _ := strings.Cut(plain, ".")
	meant := rolecheck.Meant(name)
	if len(meant) == 0 || slices.ContainsFunc(meant, func(m string) bool {
		_, apiGroup, _ := strings.Cut(m, ".")
		return apiGroup == group && strings.HasPrefix(m, name+".")
	}) {
		return
	}
	plural, ownGroup, _ := strings.Cut(meant[0], ".")
	switch {
	case plural != name:
		l.report(r.node, Error, "there is no resource %s; did you mean %s%s of the group %q?", resource, plural, sub, ownGroup)
	case group == "" || !strings.Contains(group, ".") || isMistakenGroup(group):
		l.report(r.node, Error, "%s%s is of the group %q, not %q", name, sub, ownGroup, group)
	}
}

// isMistakenGroup reports whether an API group with a dot is a built-in one, or similar to one. Other
// groups below k8s.io, such as metrics.k8s.io, are those of servers beside the API server. They may have
// resources with the names of built-in ones.
func isMistakenGroup(group string) bool {
	groups := rolecheck.Groups()
	return slices.Contains(groups, group) || suggest.Misspelled(group, groups) != ""
}

// clusterScoped are the built-in resources that are not in a namespace. Namespaces are left out: a Role
// in a namespace can grant verbs on this namespace.
var clusterScoped = []string{
	"nodes", "persistentvolumes", "clusterroles.rbac.authorization.k8s.io", "clusterrolebindings.rbac.authorization.k8s.io",
	"customresourcedefinitions.apiextensions.k8s.io", "apiservices.apiregistration.k8s.io", "storageclasses.storage.k8s.io",
	"csidrivers.storage.k8s.io", "csinodes.storage.k8s.io", "volumeattachments.storage.k8s.io", "priorityclasses.scheduling.k8s.io",
	"ingressclasses.networking.k8s.io", "runtimeclasses.node.k8s.io", "certificatesigningrequests.certificates.k8s.io",
	"validatingwebhookconfigurations.admissionregistration.k8s.io", "mutatingwebhookconfigurations.admissionregistration.k8s.io",
	"validatingadmissionpolicies.admissionregistration.k8s.io", "validatingadmissionpolicybindings.admissionregistration.k8s.io",
	"flowschemas.flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
}
