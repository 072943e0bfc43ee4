// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package concurrency

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"kube-granular.dev/granular/corpus"
	"kube-granular.dev/test/integration/harness"
)

// writers sends requests as the users of this test.
type writers struct {
	// clients are several, so that requests use more than one connection.
	clients []*harness.Client
	// role counts the changes of the flipping user's role, twice each: when the change begins
	// and when it is known to the server. So the user surely lacks the verb flipped if role
	// modulo 4 is 0, and surely holds it if it is 2.
	role  atomic.Int64
	count atomic.Int64
}

const (
	apps    = "/apis/apps/v1/namespaces/concurrency/deployments/"
	widgets = "/apis/concurrency.example.com/v1/namespaces/concurrency/widgets/"
)

// requests are the kinds of requests, with the kinds of changes that each makes.
var requests = []struct {
	name    string
	widget  bool
	changes []string
}{
	{"label", false, []string{"label own"}},
	{"label", true, []string{"label own"}},
	{"other", false, []string{"label other"}},
	{"other", true, []string{"label other"}},
	{"annotation", false, []string{"annotation"}},
	{"annotation", true, []string{"annotation"}},
	{"replicas", false, []string{"replicas"}},
	{"scale", false, []string{"replicas"}},
	{"history", false, []string{"replicas", "history"}},
	{"condition", false, []string{"condition own"}},
	{"template", false, []string{"template label"}},
	{"mixed", false, []string{"label own", "replicas"}},
	{"everything", false, []string{"label own", "label other", "annotation", "replicas"}},
	{"put", false, []string{"label own"}},
	{"put", true, []string{"label own", "label other"}},
	{"apply", false, []string{"annotation", "replicas"}},
}

// one makes a random request and returns it with its answer.
func (w *writers) one(ctx context.Context, random *rand.Rand) (attempt, error) {
	kind := requests[random.IntN(len(requests))]
	names := slices.Sorted(maps.Keys(users))
	a := attempt{id: int(w.count.Add(1)), user: names[random.IntN(len(names))], changes: kind.changes}
	a.object = fmt.Sprintf("%sd%d", apps, random.IntN(6))
	if kind.widget {
		a.object = fmt.Sprintf("%sw%d", widgets, random.IntN(3))
	}
	client := w.clients[random.IntN(len(w.clients))]
	method, path, contentType := http.MethodPatch, a.object, "application/merge-patch+json"
	body := content(a.id, a.changes)
	switch kind.name {
	case "scale":
		path += "/scale"
	case "condition":
		path += "/status"
	case "put":
		method, contentType = http.MethodPut, "application/json"
		_, live, err := send(ctx, client, "", http.MethodGet, path, "", nil)
		if err != nil {
			return a, err
		}
		object := map[string]any{}
		if err := json.Unmarshal([]byte(live), &object); err != nil {
			return a, fmt.Errorf("%s: %w: %s", path, err, live)
		}
		body = corpus.Overlay(object, body)
	case "apply":
		contentType = "application/apply-patch+yaml"
		body["apiVersion"], body["kind"] = "apps/v1", "Deployment"
		harness.SetAt(body, strings.TrimPrefix(a.object, apps), "metadata", "name")
	}
	path += fmt.Sprintf("?fieldManager=r%d", a.id)
	if kind.name == "apply" {
		path += "&force=true"
	}
	data, err := json.Marshal(body)
	if err != nil {
		return a, err
	}
	a.before = w.role.Load()
	a.status, a.answer, err = send(ctx, client, a.user, method, path, contentType, data)
	a.after = w.role.Load()
	return a, err
}

// content returns the fields that the request with this number writes.
func content(id int, changes []string) map[string]any {
	value, out := fmt.Sprintf("r%d", id), map[string]any{}
	for _, change := range changes {
		switch change {
		case "label own":
			harness.SetAt(out, value, "metadata", "labels", "own.example.com/a")
		case "label other":
			harness.SetAt(out, value, "metadata", "labels", "other.example.com/a")
		case "annotation":
			harness.SetAt(out, value, "metadata", "annotations", "own.example.com/a")
		case "replicas":
			harness.SetAt(out, id, "spec", "replicas")
		case "history":
			harness.SetAt(out, id, "spec", "revisionHistoryLimit")
		case "condition own":
			harness.SetAt(out, []any{map[string]any{"type": "Own", "status": "True", "reason": value}}, "status", "conditions")
		case "template label":
			harness.SetAt(out, value, "spec", "template", "metadata", "labels", "own.example.com/a")
		}
	}
	return out
}

// send makes one request as a user, or as the administrator if user is empty.
func send(ctx context.Context, client *harness.Client, user, method, path, contentType string, body []byte) (int, string, error) {
	a, err := client.Do(ctx, harness.Call{As: harness.Impersonating(user), Method: method, Path: path, ContentType: contentType, Body: body})
	return a.Code, strings.TrimSpace(string(a.Body)), err
}
