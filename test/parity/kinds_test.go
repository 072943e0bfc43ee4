// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/test/integration/etcd"
)

const some = "^(configmaps|pods|deployments|clusterroles)$"

var kinds = flag.String("kinds", some, "a regular expression of the resources whose objects live")

// client sends the requests of a test through the tee.
type client struct {
	*testing.T
	tee  *tee
	user []string
}

func (c client) do(method, path, contentType string, body any) answer {
	c.Helper()
	target, err := url.Parse(path)
	if err != nil {
		c.Fatal(err)
	}
	text, ok := body.(string)
	if !ok && body != nil {
		bytes, err := json.Marshal(body)
		if err != nil {
			c.Fatal(err)
		}
		text = string(bytes)
	}
	request, err := http.NewRequestWithContext(c.Context(), method, path, nil)
	if err != nil {
		c.Fatal(err)
	}
	out := call{method: method, path: target.Path, query: target.Query(), body: []byte(text), user: c.user}
	out.header = http.Header{"Accept": {mediaJSON}}
	if contentType != "" {
		out.header.Set("Content-Type", contentType)
	}
	if out.info, err = c.tee.paths.NewRequestInfo(request); err != nil {
		c.Fatal(err)
	}
	a, err := c.tee.do(c.Context(), out)
	if err != nil {
		c.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

// resource is a resource of the server with an object of upstream's test data.
type resource struct {
	schema.GroupVersionResource
	namespaced   bool
	verbs        []string
	kind         string
	object       map[string]any
	subresources []string
}

func (r resource) path(namespace string) string {
	path := "/apis/" + r.Group + "/" + r.Version
	if r.Group == "" {
		path = "/api/" + r.Version
	}
	if r.namespaced {
		path += "/namespaces/" + namespace
	}
	return path + "/" + r.Resource
}

// resources returns what the leader serves and upstream has test data for.
func resources(t *testing.T, config *rest.Config, namespace string) []resource {
	t.Helper()
	finder, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := finder.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	found := map[schema.GroupVersionResource]*resource{}
	for gvr, data := range etcd.GetEtcdStorageDataForNamespace(namespace) {
		object := map[string]any{}
		if err := json.Unmarshal([]byte(data.Stub), &object); err != nil {
			t.Fatal(err)
		}
		found[gvr] = &resource{GroupVersionResource: gvr, object: object}
	}
	served := []resource{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			main, subresource, _ := strings.Cut(r.Name, "/")
			known := found[gv.WithResource(main)]
			switch {
			case known == nil:
			case subresource != "":
				known.subresources = append(known.subresources, subresource)
			default:
				known.namespaced, known.verbs, known.kind = r.Namespaced, r.Verbs, r.Kind
			}
		}
	}
	for _, r := range found {
		if slices.Contains(r.verbs, "create") && slices.Contains(r.verbs, "get") {
			r.object["apiVersion"], r.object["kind"] = r.GroupVersion().String(), r.kind
			served = append(served, *r)
		}
	}
	slices.SortFunc(served, func(a, b resource) int { return strings.Compare(a.String(), b.String()) })
	return served
}

// live sends what clients send in the life of an object, right and wrong, as the administrator, as a user who may only read,
// and as one who may do nothing.
func (c client) live(r resource, namespace string) {
	collection := r.path(namespace)
	metadata := r.object["metadata"].(map[string]any)
	named := metadata["name"].(string)
	object := collection + "/" + named
	labelled := func(value string) map[string]any {
		out := maps.Clone(r.object)
		m := maps.Clone(metadata)
		m["labels"], m["name"] = map[string]any{"parity.example.com/turn": value}, named
		out["metadata"] = m
		return out
	}
	reader, nobody := c, c
	reader.user, nobody.user = []string{"parity-reader"}, []string{"parity-nobody"}
	began := c.version(collection)

	c.do("GET", object, "", nil)
	generated := labelled("generated")
	generated["metadata"] = map[string]any{"generateName": "parity-", "labels": map[string]any{}}
	c.do("POST", collection+"?dryRun=All", mediaJSON, generated)
	twice := strings.Replace(text(labelled("0")), "{", `{"unknownField":1,"kind":"`+r.kind+`",`, 1)
	c.do("POST", collection+"?fieldValidation=Strict", mediaJSON, twice)
	c.do("POST", collection+"?fieldValidation=Warn&dryRun=All", mediaJSON, twice)
	c.do("POST", collection, mediaJSON, `{`)
	c.do("POST", collection, mediaJSON, `{"kind":"Other","apiVersion":"v1"}`)
	for _, who := range []client{nobody, reader, c} {
		who.do("POST", collection, mediaJSON, labelled("1"))
		who.do("GET", object, "", nil)
		who.do("GET", collection+"?limit=1", "", nil)
		who.do("GET", collection+"?labelSelector=parity.example.com/turn&resourceVersion=0", "", nil)
		who.do("GET", collection+"?fieldSelector=metadata.name="+url.QueryEscape(named), "", nil)
	}
	c.do("POST", collection, mediaJSON, labelled("1"))
	stored := func() map[string]any {
		value := map[string]any{}
		if err := json.Unmarshal(c.do("GET", object, "", nil).body, &value); err != nil {
			c.Fatal(err)
		}
		return value
	}
	for _, who := range []client{nobody, reader, c} {
		live := stored()
		if m, ok := live["metadata"].(map[string]any); ok && m["name"] == named {
			m["labels"] = map[string]any{"parity.example.com/turn": "2"}
			who.do("PUT", object, mediaJSON, live)
			who.do("PUT", object, mediaJSON, live) // its version is old now
			delete(m, "resourceVersion")
			m["annotations"] = map[string]any{"parity.example.com/a": "b"}
			who.do("PUT", object+"?fieldManager=parity", mediaJSON, live)
		}
		for _, patch := range []struct {
			query, media string
			body         any
		}{
			{"", mediaMerge, `{"metadata":{"labels":{"parity.example.com/turn":"3"}}}`},
			{"", mediaMerge, `{}`},
			{"", "application/json-patch+json", `[{"op":"add","path":"/metadata/labels/x","value":"y"}]`},
			{"", "application/json-patch+json", `[{"op":"test","path":"/metadata/labels/x","value":"z"}]`},
			{"", "application/strategic-merge-patch+json", `{"metadata":{"labels":{"$patch":"replace","parity.example.com/turn":"4"}}}`},
			{"?fieldManager=one", mediaApply, labelled("5")},
			{"?fieldManager=two", mediaApply, labelled("6")},
			{"?fieldManager=two&force=true", mediaApply, labelled("6")},
			{"?dryRun=All", mediaMerge, `{"metadata":{"finalizers":["parity.example.com/f"],"ownerReferences":null}}`},
			{"", mediaMerge, `{"metadata":{"resourceVersion":"1"}}`},
			{"", "text/plain", `{}`},
			{"", mediaMerge, `{"spec":1,"status":true}`},
		} {
			who.do("PATCH", object+patch.query, patch.media, patch.body)
		}
		for _, sub := range r.subresources {
			if slices.Contains([]string{"proxy", "exec", "attach", "portforward", "log", "eviction", "binding"}, sub) {
				continue
			}
			who.do("GET", object+"/"+sub, "", nil)
			who.do("PATCH", object+"/"+sub+"?dryRun=All", mediaMerge, `{"metadata":{"labels":{"parity.example.com/turn":"7"}},"spec":{"replicas":3}}`)
			who.do("PUT", object+"/"+sub+"?dryRun=All", mediaJSON, stored())
			who.do("PATCH", object+"/"+sub+"?fieldManager=sub&force=true&dryRun=All", mediaApply, labelled("8"))
		}
	}
	for _, who := range []client{nobody, reader, c} {
		who.do("DELETE", object+"?dryRun=All", "", nil)
		who.do("DELETE", object, mediaJSON, `{"preconditions":{"uid":"11111111-2222-3333-4444-555555555555"}}`)
		who.do("DELETE", collection+"?labelSelector=parity.example.com/turn=none", "", nil)
		who.do("DELETE", object+"?gracePeriodSeconds=0", mediaJSON, `{"propagationPolicy":"Background"}`)
		who.do("GET", object, "", nil)
		who.do("PUT", object, mediaJSON, labelled("9"))
	}
	c.do("DELETE", collection+"?labelSelector=parity.example.com/turn", "", nil)
	if slices.Contains(r.verbs, "watch") {
		c.watch(r, collection, named, began)
	}
	for _, verb := range []string{"get", "update", "patch", "granular", "bind", "readmetadata"} {
		asked := map[string]any{"group": r.Group, "resource": r.Resource, "verb": verb, "namespace": namespace}
		c.review("SelfSubjectAccessReview", map[string]any{"resourceAttributes": asked})
		c.review("SubjectAccessReview", map[string]any{"resourceAttributes": asked, "user": "parity-reader"})
	}
}

// review asks whether a user has a permission.
func (c client) review(kind string, spec map[string]any) {
	c.do("POST", "/apis/authorization.k8s.io/v1/"+strings.ToLower(kind)+"s", mediaJSON,
		map[string]any{"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec})
}

// lives runs all lives, one after the other.
func (c client) lives(config *rest.Config) {
	const namespace = "parity"
	named := func(kind, name string) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name}}
	}
	c.do("POST", "/api/v1/namespaces", mediaJSON, named("Namespace", namespace))
	c.do("POST", "/api/v1/namespaces/"+namespace+"/serviceaccounts", mediaJSON, named("ServiceAccount", "default"))
	c.do("PATCH", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/parity-reader?fieldManager=parity", mediaApply, fmt.Sprint(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: parity-reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: parity-reader}]
`))
	for _, path := range []string{"/api", "/apis", "/api/v1", "/apis/apps/v1", "/version", "/healthz", "/openapi/v3", "/nothing", "/apis/nothing.example.com/v1"} {
		c.do("GET", path, "", nil)
	}
	all := resources(c.T, config, namespace)
	chosen := regexp.MustCompile(*kinds)
	for i, r := range all {
		if !chosen.MatchString(r.Resource) {
			continue
		}
		c.Logf("%d of %d: %s", i+1, len(all), r)
		c.live(r, namespace)
	}
}
