// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/test/integration/harness"
)

// templateKind is a built-in kind with a pod template.
type templateKind struct {
	source, collection string
	// open is an object without TEMPLATE, which is the template. at are the fields that lead to it.
	open string
	at   []string
	// immutable is set if the template can't change after the create.
	immutable bool
	// scaled is set if the kind has a scale.
	scaled bool
}

var templateKinds = []templateKind{
	{"deployments.apps", "/apis/apps/v1/namespaces/default/deployments",
		`{"apiVersion":"apps/v1","kind":"Deployment","spec":{"selector":{"matchLabels":{"a":"b"}},"template":TEMPLATE}}`, []string{"spec", "template"}, false, true},
	{"replicasets.apps", "/apis/apps/v1/namespaces/default/replicasets",
		`{"apiVersion":"apps/v1","kind":"ReplicaSet","spec":{"selector":{"matchLabels":{"a":"b"}},"template":TEMPLATE}}`, []string{"spec", "template"}, false, true},
	{"replicationcontrollers", "/api/v1/namespaces/default/replicationcontrollers",
		`{"apiVersion":"v1","kind":"ReplicationController","spec":{"selector":{"a":"b"},"template":TEMPLATE}}`, []string{"spec", "template"}, false, true},
	{"statefulsets.apps", "/apis/apps/v1/namespaces/default/statefulsets",
		`{"apiVersion":"apps/v1","kind":"StatefulSet","spec":{"serviceName":"s","selector":{"matchLabels":{"a":"b"}},"template":TEMPLATE}}`, []string{"spec", "template"}, false, true},
	{"daemonsets.apps", "/apis/apps/v1/namespaces/default/daemonsets",
		`{"apiVersion":"apps/v1","kind":"DaemonSet","spec":{"selector":{"matchLabels":{"a":"b"}},"template":TEMPLATE}}`, []string{"spec", "template"}, false, false},
	{"jobs.batch", "/apis/batch/v1/namespaces/default/jobs",
		`{"apiVersion":"batch/v1","kind":"Job","spec":{"template":TEMPLATE}}`, []string{"spec", "template"}, true, false},
	{"cronjobs.batch", "/apis/batch/v1/namespaces/default/cronjobs",
		`{"apiVersion":"batch/v1","kind":"CronJob","spec":{"schedule":"0 0 * * *","jobTemplate":{"spec":{"template":TEMPLATE}}}}`, []string{"spec", "jobTemplate", "spec", "template"}, false, false},
	{"podtemplates", "/api/v1/namespaces/default/podtemplates", `{"apiVersion":"v1","kind":"PodTemplate","template":TEMPLATE}`, []string{"template"}, false, false},
}

// closedInTemplates are fields of pods, with a value in the specification of a pod.
var closedInTemplates = map[string]closedField{
	"the network": {path: ".spec.hostNetwork", permission: "example.com/hostNetwork", field: `{"hostNetwork":true}`},
	"the account": {path: ".spec.serviceAccountName", permission: "example.com/account", field: `{"serviceAccount":"default"}`},
	"privileges": {path: ".spec.containers[*].securityContext.allowPrivilegeEscalation", permission: "example.com/escalation",
		field: `{"containers":[{"name":"c","image":"i","securityContext":{"allowPrivilegeEscalation":true}}]}`},
}

// in returns a field of pods as one of the template of a kind.
func (k *templateKind) in(f closedField) closedField {
	template := `{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`
	if k.source == "jobs.batch" || k.source == "cronjobs.batch" {
		template = strings.Replace(template, `"spec":{`, `"spec":{"restartPolicy":"Never",`, 1)
	}
	f.source, f.version, f.collection = "pods", "v1", k.collection
	f.open, f.immutable = strings.Replace(k.open, "TEMPLATE", template, 1), k.immutable
	f.field = `{"spec":` + f.field + `}`
	for i := len(k.at) - 1; i >= 0; i-- {
		f.field = fmt.Sprintf(`{%q:%s}`, k.at[i], f.field)
	}
	return f
}

// templateVerb returns the verb of a permission of pods inside a pod template.
func templateVerb(f closedField) string {
	name := strings.TrimPrefix(f.permission, "example.com/")
	return "granular:example.com/podTemplate" + strings.ToUpper(name[:1]) + name[1:]
}

// TestTemplateKinds holds that the tests of this file have each kind in which entries of pods hold.
func TestTemplateKinds(t *testing.T) {
	known := map[string]bool{}
	for _, k := range templateKinds {
		known[k.source] = true
	}
	for _, resource := range overlay.Templates() {
		if !known[resource.String()] || len(known) != len(overlay.Templates()) {
			t.Errorf("%s is not tested", resource)
		}
	}
}

// TestTemplateExclusionHolds holds that holders of the ordinary verbs need the verb of an entry of pods, with the prefix of pod
// templates, in each way to write the field into a template, to change it and to remove it.
//
// Attack: a closed field of pods goes into a pod through the template of a Deployment, a CronJob or another kind
// Answer: 403 in each of the eight kinds with a template, and the refusal names the FieldPermission pods
func TestTemplateExclusionHolds(t *testing.T) {
	account(t)
	for name, closed := range closedInTemplates {
		put(t, server, "pods", v1alpha1.ModeEnforce, "v1", excluded(closed.path, closed.permission))
		for _, k := range templateKinds {
			f := k.in(closed)
			ways := f.ways(t)
			if !k.immutable {
				maps.Copy(ways, k.removals(t, f))
			}
			for way, send := range ways {
				t.Run(name+"/"+k.source+"/"+way, func(t *testing.T) {
					object := fmt.Sprintf("x%d", harness.Unique())
					path := f.collection + "/" + object
					if !strings.HasPrefix(way, "create") {
						before := parsed(t, f.open, object)
						if strings.HasPrefix(way, "removal") {
							before = withChange(before, parsed(t, f.field, ""))
						}
						server.MustSend(t, http.MethodPost, f.collection, harness.ContentTypes["json"], before)
					}
					server.Twins(t, path, "(excluded by FieldPermission pods)", []string{templateVerb(f), "create", "update", "patch", "get"},
						func(user string) harness.Answer { return send(t, user, object, path) })
				})
			}
		}
		remove(t, server, "pods")
	}
}

// removals returns the ways to remove the field of an object, and a dry run of an update.
func (k *templateKind) removals(t *testing.T, f closedField) map[string]func(t *testing.T, user, name, path string) harness.Answer {
	t.Helper()
	return map[string]func(t *testing.T, user, name, path string) harness.Answer{
		"removal by update": func(t *testing.T, user, name, path string) harness.Answer {
			o := server.LiveObject(t, path)
			fresh := parsed(t, f.open, name)
			harness.SetAt(o, harness.ValueAt(fresh, append(k.at, "spec")...), append(k.at, "spec")...)
			return server.Send(t, user, http.MethodPut, path, harness.ContentTypes["json"], o)
		},
		"removal by merge patch": func(t *testing.T, user, _, path string) harness.Answer {
			patch := `{"hostNetwork":null,"serviceAccount":null,"serviceAccountName":null,"containers":[{"name":"c","image":"i"}]}`
			body := `{"spec":` + patch + `}`
			for i := len(k.at) - 1; i >= 0; i-- {
				body = fmt.Sprintf(`{%q:%s}`, k.at[i], body)
			}
			return server.Send(t, user, http.MethodPatch, path, harness.ContentTypes["merge"], body)
		},
		"dry run of an update": func(t *testing.T, user, _, path string) harness.Answer {
			return server.Send(t, user, http.MethodPut, path+"?dryRun=All", harness.ContentTypes["json"], withChange(server.LiveObject(t, path), parsed(t, f.field, "")))
		},
	}
}

// TestTemplatesWithoutTheField holds that objects with a template that does not use a closed field are created, read and written
// back, labelled, applied and scaled by holders of the ordinary verbs, who also change its image.
func TestTemplatesWithoutTheField(t *testing.T) {
	account(t)
	user := caller(server, "create", "update", "patch", "get")
	fields := []v1alpha1.FieldEntry{excluded(".spec.restartPolicy", "example.com/restart")}
	for _, f := range closedInTemplates {
		fields = append(fields, excluded(f.path, f.permission))
	}
	for _, path := range []string{".spec.hostPID", ".spec.dnsConfig", ".spec.volumes[*].hostPath", ".metadata.finalizers"} {
		fields = append(fields, excluded(path, fmt.Sprintf("example.com/p%d", len(fields))))
	}
	for _, k := range templateKinds {
		t.Run(k.source, func(t *testing.T) {
			all := fields
			if k.source == "jobs.batch" || k.source == "cronjobs.batch" {
				all = fields[1:] // the default of the restart policy is not allowed there
			}
			put(t, server, "pods", v1alpha1.ModeEnforce, "v1", all...)
			f := k.in(closedInTemplates["the network"])
			object := fmt.Sprintf("x%d", harness.Unique())
			path := f.collection + "/" + object
			o := parsed(t, f.open, object)
			answers := []harness.Answer{
				server.Send(t, user, http.MethodPost, f.collection, harness.ContentTypes["json"], o),
				server.Send(t, user, http.MethodPut, path, harness.ContentTypes["json"], server.LiveObject(t, path)),
				server.Send(t, user, http.MethodPatch, path, harness.ContentTypes["merge"], `{"metadata":{"labels":{"a":"b"}}}`),
				server.Send(t, user, http.MethodPatch, path+"?fieldManager=l", harness.ContentTypes["apply"],
					map[string]any{"apiVersion": o["apiVersion"], "kind": o["kind"], "metadata": map[string]any{"name": object, "labels": map[string]any{"c": "d"}}}),
			}
			if !k.immutable {
				image := server.LiveObject(t, path)
				harness.ValueAt(image, append(k.at, "spec")...).(map[string]any)["containers"].([]any)[0].(map[string]any)["image"] = "j"
				answers = append(answers, server.Send(t, user, http.MethodPut, path, harness.ContentTypes["json"], image))
			}
			if k.scaled {
				answers = append(answers, server.Send(t, user, http.MethodPatch, path+"/scale", harness.ContentTypes["merge"], `{"spec":{"replicas":2}}`))
			}
			for i, a := range answers {
				if a.Code >= 300 || len(a.Warnings()) > 0 {
					t.Errorf("%d: %s %q", i, a, a.Warnings())
				}
			}
		})
	}
}

// TestTemplateInModeAudit holds that mode Audit refuses nothing, and warns of what it would refuse.
func TestTemplateInModeAudit(t *testing.T) {
	put(t, server, "pods", v1alpha1.ModeAudit, "v1", excluded(".spec.hostNetwork", "example.com/hostNetwork"))
	user := caller(server, "create")
	for _, k := range templateKinds {
		f := k.in(closedInTemplates["the network"])
		send := func(o map[string]any) harness.Answer {
			return server.Send(t, user, http.MethodPost, f.collection, harness.ContentTypes["json"], o)
		}
		a := send(withChange(parsed(t, f.open, fmt.Sprintf("x%d", harness.Unique())), parsed(t, f.field, "")))
		want := "." + strings.Join(k.at, ".") + ".spec.hostNetwork: this change would be refused if FieldPermission pods were enforced"
		if a.Code != http.StatusCreated || !strings.Contains(strings.Join(a.Warnings(), "; "), want) {
			t.Errorf("%s: %s %q", k.source, a, a.Warnings())
		}
		if a := send(parsed(t, f.open, fmt.Sprintf("x%d", harness.Unique()))); a.Code != http.StatusCreated || len(a.Warnings()) > 0 {
			t.Errorf("%s without the field: %s %q", k.source, a, a.Warnings())
		}
	}
	harness.Until(t, "the requests are counted", func() bool { return stored(t, server, "pods").Status.AuditViolations == int64(len(templateKinds)) })
}

// TestRevisionsOfTemplates holds that a ControllerRevision, from which controllers make pods, can't bring in a closed field.
//
// Attack: a closed field goes into a pod through the history of a StatefulSet or DaemonSet
// Answer: the data of a ControllerRevision is searched for the name of the field
func TestRevisionsOfTemplates(t *testing.T) {
	put(t, server, "pods", v1alpha1.ModeEnforce, "v1", excluded(".spec.hostNetwork", "example.com/hostNetwork"))
	const collection = "/apis/apps/v1/namespaces/default/controllerrevisions"
	revision := func(name, spec string) string {
		return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":%q},"revision":1,"data":{"spec":{"template":{"$patch":"replace","spec":%s}}}}`, name, spec)
	}
	for _, spec := range []string{`{"hostNetwork":true}`, `{"HOSTNETWORK":true}`} {
		for way, send := range map[string]func(user, name string) harness.Answer{
			"create": func(user, name string) harness.Answer {
				return server.Send(t, user, http.MethodPost, collection, harness.ContentTypes["json"], revision(name, spec))
			},
			"dry run": func(user, name string) harness.Answer {
				return server.Send(t, user, http.MethodPost, collection+"?dryRun=All", harness.ContentTypes["json"], revision(name, spec))
			},
			"apply": func(user, name string) harness.Answer {
				return server.Send(t, user, http.MethodPatch, collection+"/"+name+"?fieldManager=m&force=true", harness.ContentTypes["apply"], revision(name, spec))
			},
		} {
			t.Run(way+" "+spec, func(t *testing.T) {
				name := fmt.Sprintf("x%d", harness.Unique())
				server.Twins(t, collection+"/"+name, "(excluded by FieldPermission pods)",
					[]string{"granular:example.com/podTemplateHostNetwork", "create", "update", "patch", "get"}, func(user string) harness.Answer { return send(user, name) })
			})
		}
	}
	name := fmt.Sprintf("x%d", harness.Unique())
	if a := server.Send(t, caller(server, "create"), http.MethodPost, collection, harness.ContentTypes["json"], revision(name, `{"containers":[]}`)); a.Code != http.StatusCreated {
		t.Errorf("without the field: %s", a)
	}
}

// TestTemplatesOfTwo holds that a field which both the FieldPermission of pods and that of the kind close needs both verbs, that
// their authors are told, and that each is asked for its own bypass.
func TestTemplatesOfTwo(t *testing.T) {
	const says, own = "(excluded by FieldPermission ", ".spec.template.spec.hostNetwork"
	put(t, server, "deployments.apps", v1alpha1.ModeEnforce, "v1", excluded(own, "acme.example/network"))
	a := put(t, server, "pods", v1alpha1.ModeEnforce, "v1", excluded(".spec.hostNetwork", "example.com/hostNetwork"))
	if all := strings.Join(a.Warnings(), "; "); !strings.Contains(all, own+" of deployments.apps") {
		t.Errorf("warned %q", all)
	}
	f := templateKinds[0].in(closedInTemplates["the network"])
	ofPods, ofOwn := "granular:example.com/podTemplateHostNetwork", "granular:acme.example/podTemplateNetwork"
	for first, grants := range map[string][]string{"pods)": {ofPods, ofOwn, "create"}, "deployments.apps)": {ofOwn, ofPods, "create"}} {
		name := fmt.Sprintf("x%d", harness.Unique())
		server.Twins(t, f.collection+"/"+name, says+first, grants, func(user string) harness.Answer {
			return server.Send(t, user, http.MethodPost, f.collection, harness.ContentTypes["json"], withChange(parsed(t, f.open, name), parsed(t, f.field, "")))
		})
	}
	for names, want := range map[string]int{"pods": http.StatusForbidden, "deployments.apps": http.StatusForbidden, "pods deployments.apps": http.StatusCreated} {
		user := fmt.Sprintf("controller-%d", harness.Unique())
		server.Callers.AddCallerFunc(user, func(q harness.Question) bool {
			return q.Verb == "create" || q.Verb == "bypass" && q.Resource == "fieldpermissions" && strings.Contains(" "+names+" ", " "+q.Name+" ")
		})
		name := fmt.Sprintf("x%d", harness.Unique())
		if a := server.Send(t, user, http.MethodPost, f.collection, harness.ContentTypes["json"], withChange(parsed(t, f.open, name), parsed(t, f.field, ""))); a.Code != want {
			t.Errorf("bypass on %s: %s", names, a)
		}
	}
}

// TestRollbackOfTemplate holds that the annotation by which the deployment controller restores an older template needs bypass
// while a field of pods is closed.
func TestRollbackOfTemplate(t *testing.T) {
	put(t, server, "pods", v1alpha1.ModeEnforce, "v1", excluded(".spec.hostNetwork", "example.com/hostNetwork"))
	f := templateKinds[0].in(closedInTemplates["the network"])
	name := fmt.Sprintf("x%d", harness.Unique())
	path := f.collection + "/" + name
	server.MustSend(t, http.MethodPost, f.collection, harness.ContentTypes["json"], parsed(t, f.open, name))
	const asked = `{"metadata":{"annotations":{"deprecated.deployment.rollback.to":"1"}}}`
	server.Twins(t, path, "an annotation or label holds the value of a field", []string{"bypass", "patch", "get"}, func(user string) harness.Answer {
		return server.Send(t, user, http.MethodPatch, path, harness.ContentTypes["merge"], asked)
	})
}

// TestPathsOfPodsAreHeldInTemplates holds that each path of pods that takes an exclusion is closed in each kind with a template:
// the server accepts no path that can't be held there.
func TestPathsOfPodsAreHeldInTemplates(t *testing.T) {
	paths := []string{".spec.hostNetwork", ".spec.hostPID", ".spec.hostUsers", ".spec.dnsConfig", ".spec.volumes[*].hostPath", ".spec.securityContext.runAsUser",
		".spec.containers[*].resources.limits", ".spec.containers[*].command", ".spec.restartPolicy", ".spec.runtimeClassName", ".metadata.finalizers"}
	for i, path := range paths {
		a := server.Send(t, "", http.MethodPatch, fieldPermissions+"/pods?fieldManager=test&force=true&dryRun=All", harness.ContentTypes["apply"],
			object("pods", v1alpha1.ModeEnforce, "v1", excluded(path, fmt.Sprintf("example.com/p%d", i))))
		if a.Code >= 300 {
			t.Errorf("%s: %s", path, a)
		}
	}
	// What one kind with a template fills in is refused, with the name of the kind.
	a := server.Send(t, "", http.MethodPatch, fieldPermissions+"/pods?fieldManager=test&force=true&dryRun=All", harness.ContentTypes["apply"],
		object("pods", v1alpha1.ModeEnforce, "v1", excluded(".spec.ephemeralContainers[*].lifecycle", "example.com/l"), excluded(".spec.ephemeralContainers[*].lifecycle.postStart.httpGet.path", "example.com/p")))
	if a.Code != http.StatusUnprocessableEntity || !strings.Contains(a.Message(), "in deployments.apps: no exclusion is possible here: the server sets .spec.template.spec") {
		t.Error(a)
	}
}

// TestDocumentedTemplates enforces the object that the page about FieldPermissions shows for pod templates.
func TestDocumentedTemplates(t *testing.T) {
	page, err := os.ReadFile("../../../docs/field-permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Pod templates\n")
	_, block, _ := strings.Cut(section, "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	p := harness.FromYAML(t, block)
	harness.SetAt(p, "Enforce", "spec", "mode")
	server.MustSend(t, http.MethodPatch, fieldPermissions+"/pods?fieldManager=test&force=true", harness.ContentTypes["apply"], p)
	t.Cleanup(func() { remove(t, server, "pods") })
	f := templateKinds[0].in(closedInTemplates["the network"])
	name := fmt.Sprintf("x%d", harness.Unique())
	server.Twins(t, f.collection+"/"+name, "(excluded by FieldPermission pods)", []string{"granular:example.com/podTemplateHostNetwork", "create"}, func(user string) harness.Answer {
		return server.Send(t, user, http.MethodPost, f.collection, harness.ContentTypes["json"], withChange(parsed(t, f.open, name), parsed(t, f.field, "")))
	})
}
