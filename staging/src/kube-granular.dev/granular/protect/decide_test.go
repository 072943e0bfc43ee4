// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kube-granular.dev/granular/change"
)

// longKey is a valid key that is longer than the parameter of a verb.
var (
	longDomain = strings.Repeat("a.", 110) + "example.com"
	longKey    = longDomain + "/" + strings.Repeat("k", 60)
)

func shownKey(key string) string {
	a := change.Attribute{Path: change.Path{{Field: "metadata"}, {Field: "labels"}}, Key: key}
	return a.String()
}

func labels(text string) string { return "metadata: {labels: {" + text + "}}" }

func template(text string) string {
	return "spec: {template: {metadata: {labels: {" + text + "}}}}"
}

func TestDecide(t *testing.T) {
	prodAndDev := []Entry{env("prod", only("prod")), env("dev", only("dev"))}
	allowProdAndDev := []Entry{env("prod", allowed("prod")), env("dev", allowed("dev"))}
	both := []Entry{env("platform"), env("tenant", in("default"))}
	for _, test := range []struct {
		name    string
		entries []Entry
		write   write
		// want is empty if the write is admitted, and otherwise names the key and what is missing.
		want  string
		asked []string
	}{
		{"nothing is protected", nil, write{new: labels("env: prod")}, "", nil},
		{"set", []Entry{env("p")}, write{new: labels("env: prod")}, `.metadata.labels[env]: ClusterRole p`,
			values("ClusterRole p")},
		{"set by a holder", []Entry{env("p")}, write{new: labels("env: prod"), holds: values("ClusterRole p")}, "",
			values("ClusterRole p")},
		{"changed", []Entry{env("p")}, write{old: labels("env: a"), new: labels("env: b")},
			`.metadata.labels[env]: ClusterRole p`, values("ClusterRole p")},
		{"changed by a holder", []Entry{env("p")},
			write{old: labels("env: a"), new: labels("env: b"), holds: values("ClusterRole p")}, "",
			values("ClusterRole p")},
		{"removed", []Entry{env("p")}, write{old: labels("env: a"), new: "{}"},
			`.metadata.labels[env]: ClusterRole p`, values("ClusterRole p")},
		{"removed by a holder", []Entry{env("p")},
			write{old: labels("env: a"), new: "{}", holds: values("ClusterRole p")}, "", values("ClusterRole p")},
		{"the empty value is a value", []Entry{env("p")}, write{new: labels(`env: ""`)},
			`.metadata.labels[env]: ClusterRole p`, values("ClusterRole p")},
		{"emptied", []Entry{env("p", only("prod"))}, write{old: labels("env: prod"), new: labels(`env: ""`)},
			`.metadata.labels[env]: ClusterRole p`, values("ClusterRole p")},
		{"a bystander", []Entry{env("p")}, write{old: labels("env: prod, a: b"), new: labels("env: prod, a: c")},
			"", nil},
		{"a bystander of an object in violation", []Entry{env("p", allowed("prod"))},
			write{old: labels("env: other"), new: labels("env: other, a: c")}, "", nil},
		{"another key", []Entry{env("p")}, write{new: labels("environment: prod, en: v")}, "", nil},
		{"the same key of the other kind", []Entry{env("p")}, write{new: "metadata: {annotations: {env: prod}}"},
			"", nil},
		{"an annotation", []Entry{env("p", annotation)}, write{new: "metadata: {annotations: {env: prod}}"},
			`.metadata.annotations[env]: ClusterRole p`, values("ClusterRole p")},

		{"a free value", prodAndDev, write{old: labels("env: test"), new: labels("env: play")}, "", nil},
		{"entering a protected value", prodAndDev, write{old: labels("env: test"), new: labels("env: prod")},
			`.metadata.labels[env]: ClusterRole prod`, values("ClusterRole prod")},
		{"leaving a protected value", prodAndDev, write{old: labels("env: prod"), new: labels("env: test")},
			`.metadata.labels[env]: ClusterRole prod`, values("ClusterRole prod")},
		{"prod into another's dev", prodAndDev, write{old: labels("env: prod"), new: labels("env: dev"), holds: values("ClusterRole prod")},
			`.metadata.labels[env]: ClusterRole dev`, values("ClusterRole prod", "ClusterRole dev")},
		{"another's prod into dev", prodAndDev, write{old: labels("env: prod"), new: labels("env: dev"), holds: values("ClusterRole dev")},
			`.metadata.labels[env]: ClusterRole prod`, values("ClusterRole prod")},
		{"prod into dev by who holds both", prodAndDev, write{old: labels("env: prod"), new: labels("env: dev"), holds: values("ClusterRole prod", "ClusterRole dev")},
			"", values("ClusterRole prod", "ClusterRole dev")},

		{"allowed: one's own value", allowProdAndDev,
			write{new: labels("env: dev"), holds: values("ClusterRole dev")}, "", values("ClusterRole dev")},
		{"allowed: another's value", allowProdAndDev,
			write{new: labels("env: prod"), holds: values("ClusterRole dev")},
			`.metadata.labels[env]: ClusterRole prod`, values("ClusterRole prod")},
		{"allowed: nobody's value", allowProdAndDev,
			write{new: labels("env: test"), holds: values("ClusterRole dev", "ClusterRole prod")},
			`.metadata.labels[env]: Nobody`, nil},
		{"allowed: another's value goes", allowProdAndDev,
			write{old: labels("env: prod"), new: "{}", holds: values("ClusterRole dev")},
			`.metadata.labels[env]: ClusterRole prod`, values("ClusterRole prod")},
		{"allowed beside protected: a free one is none", []Entry{env("a", allowed("dev")), env("p", only("prod"))}, write{new: labels("env: test"), holds: values("ClusterRole a", "ClusterRole p")},
			`.metadata.labels[env]: Nobody`, nil},

		{"any role will do", []Entry{env("a"), env("b")},
			write{new: labels("env: prod"), holds: values("ClusterRole b")}, "",
			values("ClusterRole a", "ClusterRole b")},
		{"what is held already comes first", []Entry{env("a", only("prod")), env("b")},
			write{old: labels("env: dev"), new: labels("env: prod"), holds: values("ClusterRole a", "ClusterRole b")},
			"", values("ClusterRole b")},
		{"whatever order they come in", []Entry{env("b"), env("a")},
			write{new: labels("env: prod"), holds: values("ClusterRole b")}, "",
			values("ClusterRole a", "ClusterRole b")},
		{"no role", []Entry{env("a"), env("b")}, write{new: labels("env: prod")},
			`.metadata.labels[env]: ClusterRole a, ClusterRole b`, values("ClusterRole a", "ClusterRole b")},

		// Every scope must admit the change, that of the cluster and that of the namespace.
		{"a tenant admits itself", both, write{new: labels("env: prod"), holds: values("ClusterRole tenant in default")},
			`.metadata.labels[env]: ClusterRole platform`, values("ClusterRole platform")},
		{"the cluster alone does not do", both, write{new: labels("env: prod"), holds: values("ClusterRole platform")},
			`.metadata.labels[env] in default: ClusterRole tenant in default`, values("ClusterRole platform", "ClusterRole tenant in default")},
		{"every scope admits", both, write{new: labels("env: prod"), holds: values("ClusterRole platform", "ClusterRole tenant in default")},
			"", values("ClusterRole platform", "ClusterRole tenant in default")},
		{"a binding in the namespace is none of the cluster", []Entry{env("p"), env("p", in("default"))}, write{new: labels("env: prod"), holds: values("ClusterRole p in default")},
			`.metadata.labels[env]: ClusterRole p`, values("ClusterRole p")},
		{"a tenant leaves the value unprotected", []Entry{env("p"), env("tenant", in("default"), only("other"))}, write{new: labels("env: prod"), holds: values("ClusterRole tenant in default")},
			`.metadata.labels[env]: ClusterRole p`, values("ClusterRole p")},
		{"an entry of the same scope leaves the value unprotected", []Entry{env("p"), env("q", only("other"))}, write{new: labels("env: prod"), holds: values("ClusterRole q")},
			`.metadata.labels[env]: ClusterRole p`, values("ClusterRole p")},
		{"another namespace", []Entry{env("t", in("other"))}, write{new: labels("env: prod")}, "", nil},
		{"a role of the namespace", []Entry{env("t", in("default"), byRole)},
			write{new: labels("env: prod"), holds: values("Role t in default")}, "", values("Role t in default")},
		{"a cluster role of its name", []Entry{env("t", in("default"), byRole)}, write{new: labels("env: prod"), holds: values("ClusterRole t in default")},
			`.metadata.labels[env] in default: Role t in default`, values("Role t in default")},

		// For authorizers, the Namespace default is an object in namespace default. Here it is
		// not.
		{"a namespace object, by its own namespace", []Entry{env("t", in("default"))},
			write{resource: "namespaces", new: labels("env: prod")}, "", nil},
		{"a namespace object, by the cluster", []Entry{env("p"), env("t", in("default"))}, write{resource: "namespaces", new: labels("env: prod"), holds: values("ClusterRole t in default")},
			`.metadata.labels[env]: ClusterRole p`, values("ClusterRole p")},

		{"the verb", []Entry{env("v", byVerb)}, write{new: labels("env: prod")},
			`.metadata.labels[env]: granular:protectedLabel(env)`, values("granular:protectedLabel(env)")},
		{"held", []Entry{env("v", byVerb)},
			write{new: labels("env: prod"), holds: values("granular:protectedLabel(env)")}, "",
			values("granular:protectedLabel(env)")},
		{"of an annotation", []Entry{env("v", byVerb, annotation)}, write{new: "metadata: {annotations: {env: prod}}", holds: values("granular:protectedLabel(env)")},
			`.metadata.annotations[env]: granular:protectedAnnotation(env)`, values("granular:protectedAnnotation(env)")},
		{"asked once for both scopes", []Entry{env("v", byVerb), env("w", byVerb, in("default"))}, write{old: labels("env: a"), new: labels("env: b"), holds: values("granular:protectedLabel(env)")},
			"", values("granular:protectedLabel(env)")},

		{"a key too long for a verb", []Entry{env("d", key(longDomain+"/*"), byVerb)}, write{new: labels(longKey + ": a")},
			shownKey(longKey) + ": Nobody", nil},
		{"such a key by a role", []Entry{env("d", key(longDomain+"/*"))}, write{new: labels(longKey + ": a"), holds: values("ClusterRole d")}, "", values("ClusterRole d")},
		{"a domain", []Entry{env("d", key("example.com/*"))}, write{new: labels("example.com/a: b")}, `.metadata.labels[example.com/a]: ClusterRole d`, values("ClusterRole d")},
		{"its verb has the full key", []Entry{env("d", key("example.com/*"), byVerb)}, write{new: labels("example.com/a: b")},
			`.metadata.labels[example.com/a]: granular:protectedLabel(example.com/a)`, values("granular:protectedLabel(example.com/a)")},
		{"neither more nor less than the domain", []Entry{env("d", key("example.com/*"))}, write{new: labels(`example.com: b, a.example.com/a: b, example.comm/a: b, example.co/a: b, "/a": b, a: b`)}, "", nil},
		{"a domain and a key", []Entry{env("d", key("example.com/*")), env("k", key("example.com/a"))}, write{new: labels("example.com/a: b"), holds: values("ClusterRole d")},
			"", values("ClusterRole k", "ClusterRole d")},
		{"what the server sets is in no domain", []Entry{env("d", key("kubernetes.io/*"))}, write{resource: "namespaces", new: labels("kubernetes.io/metadata.name: default")}, "", nil},
		{"nor is it protected by name", []Entry{env("d", key("kubernetes.io/metadata.name"))},
			write{resource: "namespaces", new: labels("kubernetes.io/metadata.name: default")}, "", nil},
		{"more than one slash", []Entry{env("d", key("example.com/*"))}, write{new: labels(`"example.com/a/b": c`)}, `.metadata.labels[example.com/a/b]: ClusterRole d`, values("ClusterRole d")},

		{"a template", []Entry{env("p")}, write{resource: "deployments.apps", new: template("env: prod")},
			`.spec.template.metadata.labels[env]: ClusterRole p`, values("ClusterRole p")},
		{"a template and the object: asked once", []Entry{env("p")},
			write{resource: "deployments.apps",
				new:   "{metadata: {labels: {env: prod}}, " + template("env: prod") + "}",
				holds: values("ClusterRole p")}, "", values("ClusterRole p")},
		{"a template whose image changes", []Entry{env("p")},
			write{resource: "deployments.apps", old: template("env: prod"),
				new: "spec: {replicas: 2, template: {metadata: {labels: {env: prod}}, spec: {nodeName: n}}}"}, "", nil},

		// A filter of resources applies to the objects that labels and annotations are copied to.
		{"pods: laundered through a deployment", []Entry{env("p", forResources("pods"))}, write{resource: "deployments.apps", new: template("env: prod")},
			`.spec.template.metadata.labels[env]: ClusterRole p`, values("ClusterRole p")},
		{"pods: the deployment's own label", []Entry{env("p", forResources("pods"))},
			write{resource: "deployments.apps", new: labels("env: prod")}, "", nil},
		{"deployments: the pods' label", []Entry{env("p", forResources("deployments.apps"))},
			write{resource: "deployments.apps", new: template("env: prod")}, "", nil},
		{"replica sets: from the template of a deployment", []Entry{env("p", forResources("replicasets.apps"))}, write{resource: "deployments.apps", new: template("env: prod")},
			`.spec.template.metadata.labels[env]: ClusterRole p`, values("ClusterRole p")},
		{"replica sets: from annotations of a deployment", []Entry{env("p", annotation, forResources("replicasets.apps"))}, write{resource: "deployments.apps", new: "metadata: {annotations: {env: prod}}"},
			`.metadata.annotations[env]: ClusterRole p`, values("ClusterRole p")},
		{"deployments: from annotations of a replica set that is rolled back to", []Entry{env("p", annotation, forResources("deployments.apps"))}, write{resource: "replicasets.apps", new: "metadata: {annotations: {env: prod}}"},
			`.metadata.annotations[env]: ClusterRole p`, values("ClusterRole p")},
		{"pods: through a cron job", []Entry{env("p", forResources("pods"))}, write{resource: "cronjobs.batch", new: "spec: {jobTemplate: {spec: {" + template("env: prod")[7:] + "}}"},
			`.spec.jobTemplate.spec.template.metadata.labels[env]: ClusterRole p`, values("ClusterRole p")},
		{"pods: the job template", []Entry{env("p", forResources("pods"))},
			write{resource: "cronjobs.batch", new: "spec: {jobTemplate: {metadata: {labels: {env: prod}}}}"}, "",
			nil},
		{"jobs: the job template", []Entry{env("p", forResources("jobs.batch"))}, write{resource: "cronjobs.batch", new: "spec: {jobTemplate: {metadata: {labels: {env: prod}}}}"},
			`.spec.jobTemplate.metadata.labels[env]: ClusterRole p`, values("ClusterRole p")},
		{"claims: of a stateful set", []Entry{env("p", forResources("persistentvolumeclaims"))}, write{resource: "statefulsets.apps", new: "spec: {volumeClaimTemplates: [{metadata: {name: d, labels: {env: prod}}}]}"},
			`.spec.volumeClaimTemplates[*].metadata.labels[env]: ClusterRole p`, values("ClusterRole p")},
		{"claims: by the selector of a stateful set", []Entry{env("p", forResources("persistentvolumeclaims"))}, write{resource: "statefulsets.apps", new: template("env: prod")},
			`.spec.template.metadata.labels[env]: ClusterRole p`, values("ClusterRole p")},
		{"claims: of a pod", []Entry{env("p", forResources("persistentvolumeclaims"))}, write{new: "spec: {volumes: [{name: v, ephemeral: {volumeClaimTemplate: {metadata: {labels: {env: prod}}}}}]}"},
			`.spec.volumes[name="v"].ephemeral.volumeClaimTemplate.metadata.labels[env]: ClusterRole p`, values("ClusterRole p")},
		{"slices: by a service", []Entry{env("p", forResources("endpointslices.discovery.k8s.io"))},
			write{resource: "services", new: labels("env: prod")}, `.metadata.labels[env]: ClusterRole p`,
			values("ClusterRole p")},
		{"slices: by endpoints", []Entry{env("p", annotation, forResources("endpointslices.discovery.k8s.io"))},
			write{resource: "endpoints", new: "metadata: {annotations: {env: prod}}"},
			`.metadata.annotations[env]: ClusterRole p`, values("ClusterRole p")},
		{"slices: a service's annotations stay",
			[]Entry{env("p", annotation, forResources("endpointslices.discovery.k8s.io"))},
			write{resource: "services", new: "metadata: {annotations: {env: prod}}"}, "", nil},
		{"pods: a topology label of a node", []Entry{env("p", key("topology.kubernetes.io/zone"), forResources("pods"))}, write{resource: "nodes", new: labels("topology.kubernetes.io/zone: a")},
			`.metadata.labels[topology.kubernetes.io/zone]: ClusterRole p`, values("ClusterRole p")},
		{"pods: another label of a node", []Entry{env("p", forResources("pods"))},
			write{resource: "nodes", new: labels("env: prod")}, "", nil},
		{"pods: a template nobody knows", []Entry{env("p", forResources("pods"))}, write{resource: "fleets.example.com", new: template("env: prod")},
			`.spec.template.metadata.labels[env]: ClusterRole p`, values("ClusterRole p")},
		{"pods: labels in no scope", []Entry{env("p", forResources("pods"))}, write{resource: "fleets.example.com", new: "spec: {podLabels: {env: prod}}"},
			`.spec.podLabels[env]: ClusterRole p`, values("ClusterRole p")},
		{"pods: a custom resource's own", []Entry{env("p", forResources("pods"))},
			write{resource: "fleets.example.com", new: labels("env: prod")}, "", nil},
		{"all but pods", []Entry{env("p", notResources("pods"))}, write{new: labels("env: prod")}, "", nil},
		{"all but pods: another", []Entry{env("p", notResources("pods"))},
			write{resource: "configmaps", new: labels("env: prod")}, `.metadata.labels[env]: ClusterRole p`,
			values("ClusterRole p")},
		{"all but pods: replica sets come out too", []Entry{env("p", notResources("pods"))}, write{resource: "deployments.apps", new: template("env: prod")},
			`.spec.template.metadata.labels[env]: ClusterRole p`, values("ClusterRole p")},
		{"all but fleets: a template nobody knows", []Entry{env("p", notResources("fleets.example.com"))}, write{resource: "fleets.example.com", new: template("env: prod")},
			`.spec.template.metadata.labels[env]: ClusterRole p`, values("ClusterRole p")},
		{"filters of two entries are no alternatives", []Entry{env("p", forResources("pods")), env("c", forResources("configmaps"))}, write{new: labels("env: prod"), holds: values("ClusterRole c")},
			`.metadata.labels[env]: ClusterRole p`, values("ClusterRole p")},

		{"audit refuses nothing", []Entry{env("p", audit)}, write{new: labels("env: prod")}, "",
			values("ClusterRole p")},
		{"audit admits nothing", []Entry{env("p"), env("a", audit)},
			write{new: labels("env: prod"), holds: values("ClusterRole a")}, `.metadata.labels[env]: ClusterRole p`,
			values("ClusterRole p")},
		{"a mode nobody knows is enforced", []Entry{env("p", func(e *Entry) { e.Mode = "audit" })},
			write{new: labels("env: prod")}, `.metadata.labels[env]: ClusterRole p`, values("ClusterRole p")},

		{"a value that is no string", []Entry{env("p", only("prod"))}, write{resource: "fleets.example.com", new: template("env: 5"), holds: values("ClusterRole p")},
			`.spec.template.metadata.labels[env]: Nobody`, nil},
		{"such a value is not the empty one", []Entry{env("p", allowed(""))}, write{resource: "fleets.example.com", new: template("env: 5"), holds: values("ClusterRole p")},
			`.spec.template.metadata.labels[env]: Nobody`, nil},
		{"both lists, which no validation lets pass: the key is protected whole", []Entry{env("p", only("prod"), allowed("dev"))}, write{new: labels("env: test"), holds: values("ClusterRole p")},
			`.metadata.labels[env]: Nobody`, nil},
		{"such a value, by who may set any", []Entry{env("p")},
			write{resource: "fleets.example.com", new: template("env: 5"), holds: values("ClusterRole p")}, "",
			values("ClusterRole p")},
		{"labels that are none", []Entry{env("p")}, write{resource: "fleets.example.com", new: "spec: {template: {metadata: {labels: [env]}}}", holds: values("ClusterRole p")},
			`.spec.template.metadata.labels: Unreadable`, nil},
		{"labels that are none and are not protected", []Entry{env("p", annotation)},
			write{resource: "fleets.example.com", new: "spec: {template: {metadata: {labels: [env]}}}"}, "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			refusal, _, c, err := test.write.run(t, test.entries)
			if err != nil {
				t.Fatal(err)
			}
			if got := shown(refusal); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if diff := cmp.Diff(test.asked, c.asked); diff != "" {
				t.Errorf("asked: %s", diff)
			}
			if refusal == nil {
				return
			}
			for _, outline := range []bool{false, true} {
				message := refusal.Message(outline)
				for _, value := range []string{"prod", "test", "play"} {
					if strings.Contains(strings.NewReplacer(`Role "prod"`, "").Replace(message), value) {
						t.Errorf("the message shows a value: %s", message)
					}
				}
			}
		})
	}
}

func shown(r *Refusal) string {
	if r == nil {
		return ""
	}
	out := r.Attribute.String()
	if r.Namespace != "" {
		out += " in " + r.Namespace
	}
	var refs []string
	for _, ref := range r.References {
		refs = append(refs, short(ref))
	}
	if r.Reason != NotHeld {
		refs = append(refs, r.Reason.String())
	}
	return out + ": " + strings.Join(refs, ", ")
}

func TestHolderFails(t *testing.T) {
	for _, test := range []struct {
		name    string
		entries []Entry
		write   write
		fails   bool
		unsure  int
	}{
		{"on what is concerned", []Entry{env("p")},
			write{new: labels("env: prod"), holds: values("fails ClusterRole p")}, true, 0},
		{"on an alternative that is needed", []Entry{env("a"), env("b")},
			write{new: labels("env: prod"), holds: values("fails ClusterRole b")}, true, 0},
		{"on an alternative that is not", []Entry{env("a"), env("b")},
			write{new: labels("env: prod"), holds: values("ClusterRole a", "fails ClusterRole b")}, false, 0},
		{"on what is not concerned", []Entry{env("p")},
			write{old: labels("env: prod"), new: labels("env: prod, a: b"), holds: values("fails ClusterRole p")},
			false, 0},
		{"on what audits", []Entry{env("p", audit)},
			write{new: labels("env: prod"), holds: values("fails ClusterRole p")}, false, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			refusal, findings, _, err := test.write.run(t, test.entries)
			if errors.Is(err, errHolder) != test.fails || (err != nil) != test.fails || refusal != nil {
				t.Errorf("%v, %v", refusal, err)
			}
			unsure := 0
			for _, f := range findings {
				if f.Undecided {
					unsure++
				}
			}
			if unsure != test.unsure {
				t.Errorf("%d findings that are unsure, want %d", unsure, test.unsure)
			}
		})
	}
}

func TestFindings(t *testing.T) {
	for _, test := range []struct {
		name    string
		entries []Entry
		write   write
		want    []string
	}{
		{"would be refused", []Entry{env("p", audit)}, write{new: labels("env: prod")}, values("env : p")},
		{"would be admitted", []Entry{env("p", audit)},
			write{new: labels("env: prod"), holds: values("ClusterRole p")}, nil},
		{"admitted by an entry that is enforced", []Entry{env("p", audit), env("q")},
			write{new: labels("env: prod"), holds: values("ClusterRole q")}, nil},
		{"of two that audit, by one", []Entry{env("p", audit), env("q", audit)},
			write{new: labels("env: prod"), holds: values("ClusterRole q")}, nil},
		{"of two that audit, by none", []Entry{env("p", audit), env("q", audit)}, write{new: labels("env: prod")},
			values("env : p q")},
		{"a value that is free", []Entry{env("p", audit, only("prod"))}, write{new: labels("env: dev")}, nil},
		{"in each scope", []Entry{env("p", audit), env("q", audit, in("default"))}, write{new: labels("env: prod")},
			values("env : p", "env default: q")},
		{"both sides, once", []Entry{env("p", audit, only("prod")), env("d", audit, only("dev"))},
			write{old: labels("env: prod"), new: labels("env: dev")}, values("env : d p")},
		{"both sides by one entry, once", []Entry{env("p", audit)},
			write{old: labels("env: prod"), new: labels("env: dev")}, values("env : p")},
		{"nothing of a refused write", []Entry{env("p", audit), env("q", in("default"))},
			write{new: labels("env: prod")}, nil},
		{"what can't be read", []Entry{env("p", audit)},
			write{resource: "fleets.example.com", new: "spec: {template: {metadata: {labels: [env]}}}"},
			values(" : p")},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, findings, _, err := test.write.run(t, test.entries)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range findings {
				got = append(got, f.Attribute.Key+" "+f.Namespace+": "+strings.Join(f.Entries, " "))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
