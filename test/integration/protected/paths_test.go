// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"kube-granular.dev/test/integration/harness"
)

const (
	envLabel = `{"attributeKind":"Label","attributeName":"env","protectedValues":["prod"],"roleRef":{"kind":"ClusterRole","name":"releaser"}}`
	netAnno  = `{"attributeKind":"Annotation","attributeName":"example.com/net","roleRef":{"kind":"ClusterRole","name":"releaser"}}`
	// writing are rules with all ordinary verbs that writers need, and with no permission verb.
	writing = `[{"apiGroups":["*"],"resources":["*"],"verbs":["get","list","create","update","patch","delete","deletecollection"]}]`
)

// once creates two users: "other" may write everything, and "holder" may too and also holds the
// role "releaser".
var once sync.Once

func withPeople(t *testing.T) {
	t.Helper()
	once.Do(func() {
		grant(t, "writer", writing, "other", "holder")
		grant(t, "releaser", `[{"apiGroups":["example.com"],"resources":["probe"],"verbs":["get"]}]`, "holder")
	})
	allowed(t, "other", "update", "apps", "deployments")
	allowed(t, "holder", "get", "example.com", "probe")
}

// request is one request of a test. USER in its path and body stands for the name of the user.
type request struct {
	method, path, way, body string
	// edit, if set, makes the body from the stored object.
	edit func(map[string]any)
}

func (r request) send(t *testing.T, user, ns string) harness.Answer {
	t.Helper()
	path := strings.ReplaceAll(strings.Replace(r.path, "NS", ns, 1), "USER", user)
	body := strings.ReplaceAll(r.body, "USER", user)
	if r.edit != nil {
		body = edited(t, strings.TrimSuffix(strings.TrimSuffix(path, "?dryRun=All"), "/finalize"), r.edit)
	}
	return send(t, user, r.method, path, r.way, body)
}

const (
	containers = `"automountServiceAccountToken":false,"containers":[{"name":"c","image":"i"}]`
	podSpec    = `"spec":{` + containers + `}`
	template   = `"template":{"metadata":{"labels":{"app":"x"}},` + podSpec + `}`
	prodTempl  = `"template":{"metadata":{"labels":{"app":"x","env":"prod"}},` + podSpec + `}`
	selector   = `"selector":{"matchLabels":{"app":"x"}}`
	always     = `"restartPolicy":"Never",`
)

// fixtures are objects that the administrator creates. Only the pod "labelled" has a protected
// label.
var fixtures = []struct{ path, body string }{
	{"NS/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},` + podSpec + `}`},
	{"NS/pods",
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"labelled","labels":{"env":"prod"}},` + podSpec + `}`},
	{"NS/replicationcontrollers",
		`{"apiVersion":"v1","kind":"ReplicationController","metadata":{"name":"x"},"spec":{"selector":{"app":"x"},` + template + `}}`},
	{"NS/podtemplates", `{"apiVersion":"v1","kind":"PodTemplate","metadata":{"name":"x"},` + template + `}`},
	{"NS/services", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"ports":[{"port":80}]}}`},
	{"apps/deployments",
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"},"spec":{` + selector + `,` + template + `}}`},
	{"apps/replicasets",
		`{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"x"},"spec":{` + selector + `,` + template + `}}`},
	{"apps/daemonsets",
		`{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"x"},"spec":{` + selector + `,` + template + `}}`},
	{"apps/statefulsets",
		`{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"x"},"spec":{"serviceName":"x",` + selector + `,` + template + `}}`},
	{"batch/cronjobs",
		`{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"x"},"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{"spec":{` + always + containers + `}}}}}}`},
	{"batch/jobs",
		`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"x"},"spec":{"suspend":true,"template":{"spec":{` + always + containers + `}}}}`},
}

// where returns the path of a collection in a namespace: NS/pods for the core group, or
// apps/deployments.
func where(path, ns string) string {
	group, resource, _ := strings.Cut(path, "/")
	if group == "NS" {
		return "/api/v1/namespaces/" + ns + "/" + resource
	}
	return "/apis/" + group + "/v1/namespaces/" + ns + "/" + resource
}

// paths are all the ways to write labels and annotations. An object named "x" is one of the
// fixtures.
var paths = []struct {
	name string
	request
	says string
}{
	{"create",
		request{"POST", "NS/pods", "",
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"env":"prod"}},` + podSpec + `}`, nil},
		"cannot change .metadata.labels[env]"},
	{"create with an annotation",
		request{"POST", "NS/pods", "",
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a2","annotations":{"example.com/net":"x"}},` + podSpec + `}`,
			nil},
		"cannot change .metadata.annotations[example.com/net]"},
	{"create with a generated name",
		request{"POST", "NS/pods", "",
			`{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"a","labels":{"env":"prod"}},` + podSpec + `}`,
			nil},
		"labels[env]"},
	{"dry run",
		request{"POST", "NS/pods?dryRun=All", "",
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"dry","labels":{"env":"prod"}},` + podSpec + `}`,
			nil},
		"labels[env]"},
	{"create by apply",
		request{"PATCH", "NS/pods/applied?fieldManager=m", "apply",
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"applied","labels":{"env":"prod"}},` + podSpec + `}`,
			nil},
		"labels[env]"},
	{"create by put",
		request{"PUT", "coordination.k8s.io/leases/l", "",
			`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"l","labels":{"env":"prod"}}}`,
			nil},
		"labels[env]"},
	{"put",
		request{"PUT", "NS/pods/p", "", "", func(o map[string]any) { harness.SetAt(o, "prod", "metadata", "labels", "env") }},
		"labels[env]"},
	{"put as dry run",
		request{"PUT", "NS/pods/p?dryRun=All", "", "",
			func(o map[string]any) { harness.SetAt(o, "x", "metadata", "annotations", "example.com/net") }},
		"annotations[example.com/net]"},
	{"remove by put",
		request{"PUT", "NS/pods/labelled", "", "", func(o map[string]any) { harness.SetAt(o, nil, "metadata", "labels") }},
		"labels[env]"},
	{"merge patch",
		request{"PATCH", "NS/pods/p", "merge", `{"metadata":{"annotations":{"example.com/net":"1"}}}`, nil},
		"annotations[example.com/net]"},
	{"JSON patch",
		request{"PATCH", "NS/pods/p", "jsonpatch",
			`[{"op":"replace","path":"/metadata/annotations/example.com~1net","value":"2"}]`, nil},
		"annotations[example.com/net]"},
	{"strategic patch",
		request{"PATCH", "NS/pods/p", "strategic", `{"metadata":{"annotations":{"$patch":"replace","x":"y"}}}`, nil},
		"annotations[example.com/net]"},
	{"apply",
		request{"PATCH", "NS/services/x?fieldManager=m", "apply",
			`{"apiVersion":"v1","kind":"Service","metadata":{"name":"x","labels":{"env":"prod"}}}`, nil},
		"labels[env]"},
	{"take away by apply",
		request{"PATCH", "NS/services/x?fieldManager=m", "apply",
			`{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"}}`, nil},
		"labels[env]"},
	{"forced apply",
		request{"PATCH", "NS/services/x?fieldManager=n&force=true", "apply",
			`{"apiVersion":"v1","kind":"Service","metadata":{"name":"x","labels":{"env":"prod"}}}`, nil},
		"labels[env]"},
	{"status of a pod, labels",
		request{"PATCH", "NS/pods/p/status", "merge", `{"metadata":{"labels":{"env":null}}}`, nil}, `labels[env]`},
	{"status of a pod, annotations",
		request{"PATCH", "NS/pods/p/status", "merge", `{"metadata":{"annotations":{"example.com/net":"3"}}}`, nil},
		`through \"pods/status\"`},
	{"status of a deployment",
		request{"PATCH", "apps/deployments/x/status", "merge",
			`{"metadata":{"annotations":{"example.com/net":"3"}}}`, nil},
		`through \"deployments/status\"`},
	{"ephemeral containers",
		request{"PUT", "NS/pods/p/ephemeralcontainers", "", "",
			func(o map[string]any) { harness.SetAt(o, "prod", "metadata", "labels", "env") }},
		dropped},
	{"resize",
		request{"PUT", "NS/pods/p/resize", "", "",
			func(o map[string]any) { harness.SetAt(o, "prod", "metadata", "labels", "env") }},
		dropped},
	{"template of a deployment",
		request{"PATCH", "apps/deployments/x", "merge",
			`{"spec":{"template":{"metadata":{"labels":{"env":"prod"}}}}}`, nil},
		".spec.template.metadata.labels[env]"},
	{"annotation of a deployment",
		request{"PATCH", "apps/deployments/x", "merge", `{"metadata":{"annotations":{"example.com/net":"4"}}}`, nil},
		"annotations[example.com/net]"},
	{"a deployment",
		request{"POST", "apps/deployments", "",
			`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"y"},"spec":{` + selector + `,` + prodTempl + `}}`,
			nil},
		".spec.template.metadata.labels[env]"},
	{"template of a replica set",
		request{"PATCH", "apps/replicasets/x", "merge",
			`{"spec":{"template":{"metadata":{"labels":{"env":"prod"}}}}}`, nil},
		".spec.template.metadata.labels[env]"},
	{"template of a daemon set",
		request{"PATCH", "apps/daemonsets/x", "merge",
			`{"spec":{"template":{"metadata":{"labels":{"env":"prod"}}}}}`, nil},
		".spec.template.metadata.labels[env]"},
	{"template of a stateful set",
		request{"PATCH", "apps/statefulsets/x", "merge",
			`{"spec":{"template":{"metadata":{"labels":{"env":"prod"}}}}}`, nil},
		".spec.template.metadata.labels[env]"},
	{"claims of a stateful set",
		request{"POST", "apps/statefulsets", "",
			`{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"y"},"spec":{"serviceName":"x",` + selector + `,` + template + `,"volumeClaimTemplates":[{"metadata":{"name":"v","labels":{"env":"prod"}},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1"}}}}]}}`,
			nil},
		".spec.volumeClaimTemplates[*].metadata.labels[env]"},
	{"claims of a pod",
		request{"POST", "NS/pods", "",
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"claims"},"spec":{` + containers + `,"volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{"metadata":{"labels":{"env":"prod"}},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1"}}}}}}]}}`,
			nil},
		"volumeClaimTemplate.metadata.labels[env]"},
	{"template of a replication controller",
		request{"PATCH", "NS/replicationcontrollers/x", "merge",
			`{"spec":{"template":{"metadata":{"labels":{"env":"prod"}}}}}`, nil},
		".spec.template.metadata.labels[env]"},
	{"a pod template",
		request{"PATCH", "NS/podtemplates/x", "merge", `{"template":{"metadata":{"labels":{"env":"prod"}}}}`, nil},
		".template.metadata.labels[env]"},
	{"template of a job",
		request{"POST", "batch/jobs", "",
			`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"y","labels":{"a":"b"}},"spec":{"template":{"metadata":{"labels":{"env":"prod"}},"spec":{` + always + containers + `}}}}`,
			nil},
		".spec.template.metadata.labels[env]"},
	{"job template of a cron job",
		request{"PATCH", "batch/cronjobs/x", "merge",
			`{"spec":{"jobTemplate":{"metadata":{"labels":{"env":"prod"}}}}}`, nil},
		".spec.jobTemplate.metadata.labels[env]"},
	{"pod template of a cron job",
		request{"PATCH", "batch/cronjobs/x", "merge",
			`{"spec":{"jobTemplate":{"spec":{"template":{"metadata":{"annotations":{"example.com/net":"1"}}}}}}}`,
			nil},
		".spec.jobTemplate.spec.template.metadata.annotations[example.com/net]"},
	{"data of a controller revision",
		request{"POST", "apps/controllerrevisions", "",
			`{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"y"},"revision":1,"data":{"spec":{"template":{"metadata":{"labels":{"env":"prod"}}}}}}`,
			nil},
		".data.spec.template.metadata.labels[env]"},
	{"a resource claim template",
		request{"POST", "resource.k8s.io/resourceclaimtemplates", "",
			`{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate","metadata":{"name":"y"},"spec":{"metadata":{"labels":{"env":"prod"}},"spec":{}}}`,
			nil},
		".spec.metadata.labels[env]"},
	{"a namespace", request{"PATCH", "SELF", "merge", `{"metadata":{"labels":{"env":"prod"}}}`, nil}, "labels[env]"},
	{"finalize of a namespace",
		request{"PUT", "SELF/finalize", "", "",
			func(o map[string]any) { harness.SetAt(o, "x", "metadata", "annotations", "example.com/net") }},
		"annotations[example.com/net]"},
	{"status of a namespace",
		request{"PATCH", "SELF/status", "merge", `{"metadata":{"annotations":{"example.com/net":"z"}}}`, nil},
		"annotations[example.com/net]"},
	{"binding",
		request{"POST", "NS/pods/bound/binding", "",
			`{"apiVersion":"v1","kind":"Binding","metadata":{"name":"bound","annotations":{"example.com/net":"z"}},"target":{"kind":"Node","name":"n"}}`,
			nil},
		`annotations[example.com/net]`},
	{"bindings",
		request{"POST", "NS/bindings", "",
			`{"apiVersion":"v1","kind":"Binding","metadata":{"name":"legacy","labels":{"env":"prod"}},"target":{"kind":"Node","name":"n"}}`,
			nil},
		`labels[env]`},
}

// dropped marks a path on which the server keeps no labels that a caller sends.
const dropped = "dropped"

// TestPaths sends each request first as a user that does not hold the role of the attribute,
// and then as one that does.
//
// Attack: a protected label or annotation by all kinds of create, PUT, patch and apply; by dry run
// Answer: 403, nothing is stored; 2xx for a holder of the role
// Attack: the same through `pods/status`, the status of workloads, `namespaces/finalize` and `/status`
// Answer: 403; 2xx for a holder of the role
// Attack: the same through `pods/binding` and `bindings`, which merge labels and annotations into the pod
// Answer: 403; 201 for a holder of the role
// Attack: the same through ephemeral containers and resize
// Answer: the server drops it
// Attack: the same in the templates of every workload, claim and pod templates, the data of a ControllerRevision
// Answer: 403; 2xx for a holder of the role
func TestPaths(t *testing.T) {
	withPeople(t)
	const ns = "paths"
	namespace(t, ns)
	protect(t, "env", envLabel)
	protect(t, "net", netAnno)
	for _, name := range []string{"bound", "legacy"} {
		must(t, "POST", where("NS/pods", ns), "", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"`+name+`"},`+podSpec+`}`)
	}
	for _, f := range fixtures {
		must(t, http.MethodPost, where(f.path, ns), "", f.body)
	}
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			r := p.request
			switch {
			case strings.HasPrefix(r.path, "SELF"):
				r.path = strings.Replace(r.path, "SELF", "/api/v1/namespaces/"+ns, 1)
			case !strings.HasPrefix(r.path, "/"):
				r.path = where(r.path, ns)
			}
			stored := ""
			reads := r.method != http.MethodPost && !strings.Contains(p.name, "create")
			path, _, _ := strings.Cut(r.path, "?")
			path = strings.TrimSuffix(path, "/finalize") // finalize can't be read
			if reads {
				stored = must(t, http.MethodGet, path, "", "")
			}
			if p.says == dropped {
				for _, user := range []string{"other", "holder"} {
					if got := r.send(t, user, ns); got.Code >= 300 && got.Code != http.StatusUnprocessableEntity {
						t.Errorf("%s: %s", user, got)
					}
				}
				if now := must(t, http.MethodGet, path, "", ""); strings.Contains(now, `"prod"`) {
					t.Errorf("it was stored: %s", now)
				}
				return
			}
			if p.says != "" {
				got := r.send(t, "other", ns)
				refused(t, got, p.says)
				refused(t, got, `needs ClusterRole \"releaser\"`)
				if reads {
					if now := must(t, http.MethodGet, path, "", ""); now != stored {
						t.Errorf("it was refused and stored: %s", now)
					}
				}
			}
			if got := r.send(t, "holder", ns); p.says != "" && got.Code >= 300 {
				t.Errorf("who may: %s", got)
			}
		})
	}
	for name, key := range map[string]string{"bound": "example.com/net", "legacy": "env"} {
		if got := must(t, "GET", where("NS/pods/"+name, ns), "", ""); !strings.Contains(got, `"`+key+`"`) {
			t.Errorf("%s: the binding of who may left nothing of it: %s", name, got)
		}
	}
}
