// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"net/url"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// IsRehearsal reports whether a request of an audit log is one by which this plugin asks what would be allowed:
// a dry run, or a review of the caller's own rights. Anybody may send the user agent. But such a request
// changes nothing, so whoever does only takes verbs from its own role. A dry run of another client, such as
// kubectl apply --dry-run=server, is a use: pipelines send them to check a change, and fail if they are
// refused.
func IsRehearsal(userAgent, uri string, of schema.GroupResource) bool {
	if !strings.HasPrefix(userAgent, Product+"/") {
		return false
	}
	if of.Group == authorizationv1.GroupName && strings.HasPrefix(of.Resource, "selfsubject") {
		return true
	}
	_, text, _ := strings.Cut(uri, "?")
	query, err := url.ParseQuery(text)
	return err == nil && slices.Contains(query["dryRun"], metav1.DryRunAll)
}
