// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"

	"kube-granular.dev/test/bench/requests/internal/process"
)

// nothingElse is the side of a caller that has only the verb granular: no permission for a field,
// and not the verb get.
const nothingElse = "nothing-else"

func newBodies(o *options) *cobra.Command {
	least, most := 0, 0
	cmd := o.command("bodies",
		"Measure request bodies of up to 3 MB that are large in different ways: each sent by a caller with update and patch, and by a caller with only the verb granular",
		func(ctx context.Context, s *session, run *Run) error {
			return s.bodies(ctx, least, most, run)
		},
		func(runs []Run) []Line {
			return slices.DeleteFunc(reportWhole(runs), func(l Line) bool { return l.Case == allTogether })
		})
	cmd.Flags().StringSliceVar(&o.only, "only", nil, "names of the bodies to measure, such as labels; empty means all")
	cmd.Flags().IntVar(&least, "least", 0, "smallest size to measure")
	cmd.Flags().IntVar(&most, "most", most, "largest size to measure; 0 means no limit")
	return cmd
}

// body is a kind of request body in several sizes, which is sent by a dry-run request.
type body struct {
	name string
	// resource is a key of bodyResources. A slash and a subresource may follow it.
	resource string
	sizes    []int
	// of returns the body of a size.
	of func(n int) string
}

// bodyResources maps the resources of bodies to the paths of their collections. held stands for an
// object of vasts for which the caller has the permission for the keys of the field computed. An
// expression determines which permission each of these keys needs.
var bodyResources = map[string]string{"configmaps": configMaps, "deployments": deployments, "vasts": vasts, "held": vasts}

const vasts = "/apis/" + group + "/v1/namespaces/%s/vasts"

// bodyObject is the name of the object that is written.
func bodyObject(resource string) string {
	if resource == "held" {
		return "held"
	}
	return "object"
}

// way is how a body is sent.
type way struct{ method, contentType, query string }

// wayOf returns the way to send the body with a name. Most bodies are merge patches.
func wayOf(name string) way {
	switch name {
	case "labels by PUT":
		return way{http.MethodPut, "application/json", ""}
	case "labels by a strategic patch", "labels to be kept":
		return way{http.MethodPatch, strategicPatch, ""}
	case "labels by an apply":
		return way{http.MethodPatch, applyPatch, "&fieldManager=bench&force=true"}
	case "labels by a JSON patch":
		return way{http.MethodPatch, "application/json-patch+json", ""}
	}
	return way{http.MethodPatch, mergePatch, ""}
}

// members returns the JSON of a map or a list with n members. member is a format for fmt, with the
// number of the member as its argument. open and closed are the texts around the members.
func members(open string, n int, member, closed string) string {
	var b bytes.Buffer
	b.WriteString(open)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, member, i)
	}
	b.WriteString(closed)
	return b.String()
}

// below returns the JSON of value inside levels nested objects, each with the single key a.
func below(levels int, value string) string {
	return strings.Repeat(`{"a":`, levels) + value + strings.Repeat(`}`, levels)
}

func bodies() []body {
	metadata := func(value string) string { return `{"metadata":` + value + `}` }
	spec := func(value string) string { return `{"spec":` + value + `}` }
	keys := func(n int) string { return members(`{`, n, `"k%d":"v"`, `}`) }
	labelled := func(n int) string {
		return members(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"object","labels":{`, n, `"l%d":"v"`, `}}}`)
	}
	return []body{
		{"labels", "configmaps", []int{1, 1000, 20_000, 100_000},
			func(n int) string { return metadata(members(`{"labels":{`, n, `"l%d":"v"`, `}}`)) }},
		{"labels by PUT", "configmaps", []int{1, 1000, 20_000, 100_000}, labelled},
		{"labels by a strategic patch", "configmaps", []int{1, 1000, 20_000}, labelled},
		{"labels to be kept", "configmaps", []int{1, 1000, 20_000}, func(n int) string {
			return metadata(`{"labels":{"l":"v","$retainKeys":` + members(`["l",`, n, `"l%d"`, `]`) + `}}`)
		}},
		{"labels by an apply", "configmaps", []int{1, 1000, 20_000}, labelled},
		{"labels by a JSON patch", "configmaps", []int{1, 1000, 10_000}, func(n int) string {
			return members(`[`, n, `{"op":"add","path":"/metadata/labels/l%d","value":"v"}`, `]`)
		}},
		{"annotations", "configmaps", []int{1, 1000, 20_000, 100_000},
			func(n int) string { return metadata(members(`{"annotations":{`, n, `"l%d":"v"`, `}}`)) }},
		{"finalizers", "configmaps", []int{1, 1000, 20_000, 100_000},
			func(n int) string { return metadata(members(`{"finalizers":[`, n, `"example.com/f%d"`, `]}`)) }},
		{"managed fields", "configmaps", []int{1, 1000, 20_000, 100_000}, func(n int) string {
			return metadata(`{"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":` + members(`{`, n, `"f:k%d":{}`, `}`) + `}}]}`)
		}},
		{"keys of data", "configmaps", []int{1, 1000, 20_000, 100_000}, func(n int) string { return members(`{"data":{`, n, `"k%d":"v"`, `}}`) }},
		{"bytes of a value", "configmaps", []int{3_000_000}, func(n int) string { return `{"data":{"k":"` + strings.Repeat("x", n) + `"}}` }},
		{"conditions", "deployments/status", []int{1, 1000, 10_000, 30_000}, func(n int) string {
			return members(`{"status":{"conditions":[`, n, `{"type":"T%d","status":"True","reason":"r"}`, `]}}`)
		}},
		{"containers", "deployments", []int{3, 1000, 5000, 20_000}, func(n int) string {
			return spec(`{"template":{"spec":` + members(`{"containers":[`, n, `{"name":"c%d","image":"i"}`, `]}`) + `}}`)
		}},
		{"keys with a permission", "vasts", []int{1, 1000, 20_000, 100_000}, func(n int) string { return spec(`{"keyed":` + keys(n) + `}`) }},
		{"keys with an expression", "vasts", []int{1, 1000, 20_000, 50_000}, func(n int) string { return spec(`{"computed":` + keys(n) + `}`) }},
		{"keys with an expression that is held", "held", []int{1000, 20_000, 50_000},
			func(n int) string { return spec(`{"computed":` + keys(n) + `}`) }},
		{"elements by key", "vasts", []int{1, 1000, 20_000, 50_000},
			func(n int) string { return spec(members(`{"slots":[`, n, `{"name":"n%d","v":"x"}`, `]}`)) }},
		{"elements by value", "vasts", []int{1, 1000, 20_000},
			func(n int) string { return spec(members(`{"taints":[`, n, `{"key":"k%d","v":"x"}`, `]}`)) }},
		{"elements of a set", "vasts", []int{1, 1000, 20_000, 100_000},
			func(n int) string { return spec(members(`{"set":[`, n, `"e%d"`, `]}`)) }},
		{"elements of an atomic list", "vasts", []int{1, 1000, 20_000, 100_000},
			func(n int) string { return spec(members(`{"list":[`, n, `"e%d"`, `]}`)) }},
		{"levels of what is not known", "vasts", []int{1, 1000, 3000},
			func(n int) string { return spec(`{"free":` + below(n, `{"k":"v"}`) + `}`) }},
		{"keys below 1000 levels", "vasts", []int{1, 1000, 20_000, 50_000},
			func(n int) string { return spec(`{"free":` + below(1000, keys(n)) + `}`) }},
		{"keys with a permission below 80 levels", "vasts", []int{1, 1000, 20_000, 50_000},
			func(n int) string { return spec(`{"deep":` + below(80, keys(n)) + `}`) }},
		{"keys with a permission below a key of 1 MB", "vasts", []int{1, 1000, 20_000, 50_000}, func(n int) string {
			return spec(`{"nested":{"` + strings.Repeat("x", 1_000_000) + `":` + keys(n) + `}}`)
		}},
	}
}

// vastKind returns the definition of the custom resource vasts, with the fields that the bodies set.
func vastKind() map[string]any {
	type m = map[string]any
	value := func(verb string, more m) m {
		out := m{"type": "string", "x-kubernetes-permission-verb": group + "/" + verb, "x-kubernetes-permission-parameterized-by": "key"}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
	keyed := func(items m) m {
		return m{"type": "object", "additionalProperties": items, "x-kubernetes-permission-parameter-source": "key"}
	}
	deep := keyed(value("deep", nil))
	for range 80 {
		deep = m{"type": "object", "properties": m{"a": deep}}
	}
	return definition("Vast", "vasts", m{
		"type": "object", "x-kubernetes-permission-verb": "specification",
		"properties": m{
			"keyed":    keyed(value("key", nil)),
			"computed": keyed(value("computed", m{"x-kubernetes-permission-parameter-expression": "[1,2,3,4,5,6,7,8,9,0].all(a,[1,2,3,4,5,6,7,8,9,0].all(b,[1,2,3,4,5,6,7,8,9,0].all(c,true)))?'x':'y'"})),
			"slots": m{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []string{"name"}, "items": m{
				"type": "object", "required": []string{"name"},
				"properties": m{"name": m{"type": "string", "x-kubernetes-permission-parameter-source": "key"}, "v": value("slot", nil)}}},
			"taints": m{"type": "array", "x-kubernetes-list-type": "atomic", "items": m{
				"type": "object", "x-kubernetes-permission-verb": group + "/taint", "x-kubernetes-permission-parameterized-by": "self.key",
				"properties": m{"key": m{"type": "string"}, "v": m{"type": "string"}}}},
			"set": m{"type": "array", "x-kubernetes-list-type": "set", "items": value("element", nil),
				"x-kubernetes-permission-parameter-source": "key"},
			"list":   m{"type": "array", "x-kubernetes-list-type": "atomic", "items": m{"type": "string"}},
			"free":   m{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
			"deep":   deep,
			"nested": m{"type": "object", "additionalProperties": keyed(value("nested", nil))},
		},
	})
}

// bodies makes one run of the command bodies.
func (s *session) bodies(ctx context.Context, least, most int, run *Run) (err error) {
	config := s.config(gateOn)
	config.Args = []string{"--request-timeout=" + enough.String()}
	server, err := s.stage.Start(ctx, config)
	if err != nil {
		return err
	}
	servers := []*process.Server{server}
	defer func() { err = joined(err, server.Stop) }()
	a := administrator{servers[0].Client(process.Administrator)}
	if err := a.define(ctx, vastKind(), "vasts"); err != nil {
		return err
	}
	for side, verbs := range map[string][]string{ordinary: {"get", "patch", "update"}, nothingElse: {"granular"}} {
		if err := a.bodiesFor(ctx, side, verbs); err != nil {
			return err
		}
	}
	var cases [][]*lane
	for _, b := range bodies() {
		if len(s.only) > 0 && !slices.Contains(s.only, b.name) {
			continue
		}
		for _, n := range b.sizes {
			if n < least || most > 0 && n > most {
				continue
			}
			text := []byte(b.of(n))
			var sides []*lane
			for _, side := range []string{ordinary, nothingElse} {
				l, err := b.lane(ctx, servers[0], side, text)
				if errors.Is(err, errTooLong) {
					s.say("skipped the case %d %s with a body of %d bytes: %v", n, b.name, len(text), fmt.Errorf("%s: %w", side, err))
					continue
				}
				if err != nil {
					return fmt.Errorf("%s, %d %s: %w", side, n, b.name, err)
				}
				l.Case = fmt.Sprintf("%d %s", n, b.name)
				sides = append(sides, l)
			}
			if len(sides) == 2 {
				cases = append(cases, sides)
			}
		}
	}
	if len(cases) == 0 {
		return fmt.Errorf("no body has one of the names %q and a size between --least and --most", s.only)
	}
	return s.sample(ctx, servers, cases, run)
}

// bodiesFor creates the objects of a side, and grants the caller the verbs for them.
func (a administrator) bodiesFor(ctx context.Context, side string, verbs []string) error {
	if err := a.namespace(ctx, side, nil); err != nil {
		return err
	}
	held := rule(group, []string{"granular:" + group + "/computed(x)"}, "vasts")
	held.ResourceNames = []string{bodyObject("held")}
	if err := a.grant(ctx, side, 1,
		rule("", verbs, "configmaps"), rule("apps", verbs, "deployments", "deployments/status"), rule(group, verbs, "vasts"), held); err != nil {
		return err
	}
	for resource, object := range map[string]any{"configmaps": configMap("object"), "deployments": deployment("object"),
		"vasts": custom("Vast", "object", map[string]any{}), "held": custom("Vast", "held", map[string]any{})} {
		if _, err := a.Ensure(ctx, fmt.Sprintf(bodyResources[resource], side), bodyObject(resource), object); err != nil {
			return err
		}
	}
	return nil
}

// errOtherwise and errTooLong are the reasons why a request can't be measured.
var (
	errOtherwise = errors.New("unexpected answer")
	errTooLong   = errors.New("no answer within the request timeout of the server")
)

// lane returns a lane that sends text as the body. To find out which status the lane must expect,
// it first sends one request. The server may reject the body as invalid, before or after it
// authorizes the fields.
func (b body) lane(ctx context.Context, server *process.Server, side string, text []byte) (*lane, error) {
	resource, sub, _ := strings.Cut(b.resource, "/")
	path := fmt.Sprintf(bodyResources[resource], side) + "/" + bodyObject(resource)
	if sub != "" {
		path += "/" + sub
	}
	client := server.Client(caller)
	w := wayOf(b.name)
	st := stream{method: w.method, path: path + "?dryRun=All" + w.query, contentType: w.contentType, encoding: asItIs{},
		edit: func(map[string]any, int) any { return text }}
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, enough, true, func(ctx context.Context) (bool, error) {
		status, answer, _, err := client.Do(ctx, st.method, st.path, st.contentType, text)
		if st.status = status; err != nil {
			return false, err
		}
		refused := status == http.StatusForbidden && strings.Contains(string(answer), "cannot change .")
		switch {
		case side == nothingElse && refused, side == ordinary && status == http.StatusOK, status == http.StatusUnprocessableEntity:
			return true, nil
		case status == http.StatusGatewayTimeout:
			return false, errTooLong
		case status == http.StatusForbidden:
			return false, nil // the role is not known yet
		}
		return false, fmt.Errorf("%w: %d %.300s", errOtherwise, status, answer)
	})
	return &lane{Side: side, server: server, client: client, stream: &st}, err
}

// enough is the timeout for the largest request on a busy machine.
const enough = time.Hour

// asItIs is the encoding of bodies that are already encoded. It does not decode answers.
type asItIs struct{}

func (asItIs) encode(object any) ([]byte, error) { return object.([]byte), nil }

func (asItIs) decode([]byte) (map[string]any, error) { return nil, nil }
