// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	authority "kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
)

// serverKeys are the label and annotation keys that the API server and upstream's controllers set
// and depend on. The values of the inner maps are the components that set the keys. An attribute
// for such a key is not valid: it would break that component, or requests of users would be refused
// because of values that the users did not set. An attribute for a whole domain does not protect
// the keys of this list.
var serverKeys = map[authority.AttributeKind]map[string]string{
	authority.AttributeLabel: {
		"kubernetes.io/service-name":               "the endpoint slice controller",
		"service.kubernetes.io/headless":           "the endpoint slice controller",
		"endpoints.kubernetes.io/managed-by":       "the endpoints controller",
		"endpointslice.kubernetes.io/managed-by":   "the endpoint slice controller",
		"kubernetes.io/metadata.name":              "the API server",
		"pod-template-hash":                        "the deployment controller",
		"controller-revision-hash":                 "the daemon set and stateful set controllers",
		"controller.kubernetes.io/hash":            "the daemon set and stateful set controllers",
		"pod-template-generation":                  "the daemon set controller",
		"statefulset.kubernetes.io/pod-name":       "the stateful set controller",
		"apps.kubernetes.io/pod-index":             "the stateful set controller",
		"controller-uid":                           "the job controller",
		"job-name":                                 "the job controller",
		"batch.kubernetes.io/controller-uid":       "the job controller",
		"batch.kubernetes.io/job-name":             "the job controller",
		"batch.kubernetes.io/job-completion-index": "the job controller",
	},
	authority.AttributeAnnotation: {
		"batch.kubernetes.io/job-tracking":                 "the job controller",
		"endpoints.kubernetes.io/last-change-trigger-time": "the endpoint slice controller",
		"endpoints.kubernetes.io/over-capacity":            "the endpoints controller",
		"deployment.kubernetes.io/revision":                "the deployment controller",
		"deployment.kubernetes.io/revision-history":        "the deployment controller",
		"deployment.kubernetes.io/desired-replicas":        "the deployment controller",
		"deployment.kubernetes.io/max-replicas":            "the deployment controller",
		"deprecated.daemonset.template.generation":         "the API server",
		"deprecated.deployment.rollback.revision":          "the API server",
		"batch.kubernetes.io/job-completion-index":         "the job controller",
		"batch.kubernetes.io/job-index-failure-count":      "the job controller",
		"batch.kubernetes.io/cronjob-scheduled-timestamp":  "the cron job controller",
	},
}

// Domain returns the domain of an attribute name that stands for all keys in that domain. For
// "example.com/*" it returns "example.com" and true. For a name that stands for one key it returns
// false.
func Domain(attributeName string) (string, bool) {
	return strings.CutSuffix(attributeName, "/*")
}

func name(spec *authority.ProtectedAttributeSpec, path *field.Path) (errs field.ErrorList) {
	if spec.AttributeName == "" {
		return field.ErrorList{field.Required(path, `must be a key such as "example.com/tier", or a domain such as "example.com/*"`)}
	}
	if domain, ok := Domain(spec.AttributeName); ok {
		for _, wrong := range utilvalidation.IsDNS1123Subdomain(domain) {
			errs = append(errs, field.Invalid(path, spec.AttributeName, `the part before "/*" is not a domain: `+wrong))
		}
	} else {
		key := spec.AttributeName
		if spec.AttributeKind == authority.AttributeAnnotation {
			key = strings.ToLower(key) // upstream validates annotation keys in lower case too
		}
		for _, wrong := range content.IsLabelKey(key) {
			errs = append(errs, field.Invalid(path, spec.AttributeName, `is neither a key nor a domain of the form "example.com/*": `+wrong))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	if domain, _, _ := strings.Cut(spec.AttributeName, "/"); spec.AttributeKind == authority.AttributeAnnotation &&
		strings.HasSuffix(domain, selection.StampSuffix) {
		return field.ErrorList{field.Invalid(path, spec.AttributeName,
			"is in a domain where only the API server writes annotations, as stamps of delegations, so it can't be protected")}
	}
	if who, ok := serverKeys[spec.AttributeKind][spec.AttributeName]; ok {
		return field.ErrorList{field.Invalid(path, spec.AttributeName,
			fmt.Sprintf("is a key that %s sets on objects of any caller, so it can't be protected", who))}
	}
	return nil
}
