// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/overlay"
)

// bypassingSome is an authorizer that allows the verb "bypass" on some FieldPermissions.
type bypassingSome struct {
	grants
	names []string
}

func (b *bypassingSome) Authorize(ctx context.Context, a upstream.Attributes) (upstream.Decision, string, error) {
	if a.GetVerb() == BypassVerb && a.GetResource() == FieldBypassResource && slices.Contains(b.names, a.GetName()) {
		return upstream.DecisionAllow, "", nil
	}
	return b.grants.Authorize(ctx, a)
}

// inTemplates has the entries that hold for a resource.
func inTemplates(source string, own, pods *overlay.Entries) *fieldPermissions {
	return &fieldPermissions{entries: map[string]*overlay.Entries{source: overlay.InForce(gvk.ParseGroupResource(source), own, pods)}}
}

// deploymentWith returns a Deployment with an addition to its template, after the specification.
func deploymentWith(t testing.TB, template, metadata string) apiruntime.Object {
	t.Helper()
	return stored(t, at("apps/v1/Deployment", `"metadata": PLACE, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}},
		"spec": {"containers": [{"name": "c", "image": "i"}]`+template+`}}}`, metadata))
}

// TestEntriesOfPodsInTemplates writes the template of a Deployment in which entries of pods hold, alone and together with
// entries of deployments. In mode Audit it checks what is counted.
//
// Attack: two FieldPermissions close one field of a template, and the verb of either opens it
// Answer: a caller needs a verb of each, and bypass on one does not open what the other closes
func TestEntriesOfPodsInTemplates(t *testing.T) {
	const (
		net, own   = ".spec.hostNetwork acme.io/net excluded", ".spec.template.spec.hostNetwork acme.io/own excluded"
		ofPods     = `granular:acme.io/podTemplateNet`
		ofOwn      = `granular:acme.io/podTemplateOwn`
		saysPods   = "(excluded by FieldPermission pods)"
		saysOwn    = "(excluded by FieldPermission deployments.apps)"
		hostNet    = `, "hostNetwork": true`
		dns, other = `, "dnsConfig": {"nameservers": ["192.0.2.1"]}`, `, "nodeName": "n"`
		finalizer  = `}, "metadata": {"labels": {"a": "b"}, "finalizers": ["acme.io/x"]`
	)
	for name, tc := range map[string]struct {
		own, pods               []string
		ownEnforced, podsAudits bool
		change                  string
		allow, bypass           []string
		marked                  bool
		says                    string
		counted                 []string
	}{
		"of pods":                        {pods: []string{net}, change: hostNet, says: saysPods},
		"of pods, its verb":              {pods: []string{net}, change: hostNet, allow: []string{ofPods}},
		"of pods, the verb of pods":      {pods: []string{net}, change: hostNet, allow: []string{"granular:acme.io/net"}, says: saysPods},
		"of pods, bypass":                {pods: []string{net}, change: hostNet, bypass: []string{"pods"}},
		"of pods, bypass of another":     {pods: []string{net}, change: hostNet, bypass: []string{"deployments.apps"}, says: saysPods},
		"of pods, another field":         {pods: []string{net}, change: other},
		"of pods, only counted":          {pods: []string{net}, podsAudits: true, change: hostNet, counted: []string{"pods .spec.template.spec.hostNetwork jane"}},
		"of pods, counted, its verb":     {pods: []string{net}, podsAudits: true, change: hostNet, allow: []string{ofPods}},
		"of pods, granular":              {pods: []string{net}, change: hostNet, marked: true, allow: []string{"granular:specification"}, says: saysPods},
		"of pods, granular, its verb":    {pods: []string{net}, change: hostNet, marked: true, allow: []string{ofPods}},
		"a name":                         {pods: []string{".spec.dnsConfig acme.io/dns"}, change: dns, marked: true, allow: []string{"granular:acme.io/podTemplateDns"}},
		"a name, without it":             {pods: []string{".spec.dnsConfig acme.io/dns"}, change: dns, marked: true, says: "cannot change .spec.template"},
		"a name is part of update":       {pods: []string{".spec.dnsConfig acme.io/dns"}, change: dns},
		"both":                           {pods: []string{net}, own: []string{own}, ownEnforced: true, change: hostNet, says: saysOwn},
		"both, one verb":                 {pods: []string{net}, own: []string{own}, ownEnforced: true, change: hostNet, allow: []string{ofOwn}, says: saysPods},
		"both, the other verb":           {pods: []string{net}, own: []string{own}, ownEnforced: true, change: hostNet, allow: []string{ofPods}, says: saysOwn},
		"both, both verbs":               {pods: []string{net}, own: []string{own}, ownEnforced: true, change: hostNet, allow: []string{ofOwn, ofPods}},
		"both, granular, one verb":       {pods: []string{net}, own: []string{own}, ownEnforced: true, change: hostNet, marked: true, allow: []string{"granular:specification", ofOwn}, says: saysPods},
		"both, granular, both verbs":     {pods: []string{net}, own: []string{own}, ownEnforced: true, change: hostNet, marked: true, allow: []string{ofOwn, ofPods}},
		"both, one bypass":               {pods: []string{net}, own: []string{own}, ownEnforced: true, change: hostNet, bypass: []string{"pods"}, says: saysOwn},
		"both, the other bypass":         {pods: []string{net}, own: []string{own}, ownEnforced: true, change: hostNet, bypass: []string{"deployments.apps"}, says: saysPods},
		"both, both bypasses":            {pods: []string{net}, own: []string{own}, ownEnforced: true, change: hostNet, bypass: []string{"deployments.apps", "pods"}},
		"both, a verb and a bypass":      {pods: []string{net}, own: []string{own}, ownEnforced: true, change: hostNet, allow: []string{ofOwn}, bypass: []string{"pods"}},
		"one permission in both":         {pods: []string{net}, own: []string{".spec.template.spec.hostNetwork acme.io/net excluded"}, ownEnforced: true, change: hostNet, allow: []string{ofPods}},
		"one around":                     {pods: []string{net}, own: []string{".spec.template acme.io/all excluded"}, ownEnforced: true, change: hostNet, allow: []string{"granular:acme.io/all"}, says: saysPods},
		"one around, both verbs":         {pods: []string{net}, own: []string{".spec.template acme.io/all excluded"}, ownEnforced: true, change: hostNet, allow: []string{"granular:acme.io/all", ofPods}},
		"a name inside":                  {pods: []string{".spec.dnsConfig acme.io/dns excluded"}, own: []string{".spec.template.spec.dnsConfig.nameservers acme.io/servers"}, ownEnforced: true, change: dns, allow: []string{"granular:acme.io/podTemplateServers"}, says: saysPods},
		"a name of pods inside":          {own: []string{".spec.template.spec.dnsConfig acme.io/dns excluded"}, pods: []string{".spec.dnsConfig.nameservers acme.io/servers"}, ownEnforced: true, change: dns, allow: []string{"granular:acme.io/podTemplateServers"}, says: saysOwn},
		"one counted":                    {pods: []string{net}, own: []string{own}, change: hostNet, allow: []string{ofPods}, counted: []string{"deployments.apps .spec.template.spec.hostNetwork jane"}},
		"one counted, the other refuses": {pods: []string{net}, own: []string{own}, change: hostNet, says: saysPods},
		"the other counted":              {pods: []string{net}, podsAudits: true, own: []string{own}, ownEnforced: true, change: hostNet, allow: []string{ofOwn}, counted: []string{"pods .spec.template.spec.hostNetwork jane"}},
		"the other counted, bypass":      {pods: []string{net}, podsAudits: true, own: []string{own}, ownEnforced: true, change: hostNet, bypass: []string{"deployments.apps"}, counted: []string{"pods .spec.template.spec.hostNetwork jane"}},
		"both counted":                   {pods: []string{net}, podsAudits: true, own: []string{own}, change: hostNet, counted: []string{"deployments.apps .spec.template.spec.hostNetwork jane"}},
		"neither counts, both verbs":     {pods: []string{net}, podsAudits: true, own: []string{own}, change: hostNet, allow: []string{ofOwn, ofPods}},
		"the replicas of the kind":       {pods: []string{net}, own: []string{".spec.replicas acme.io/r excluded"}, ownEnforced: true, change: hostNet, allow: []string{"granular:acme.io/r"}, says: saysPods},
		"finalizers of a pod":            {pods: []string{".metadata.finalizers acme.io/f excluded"}, change: finalizer, says: saysPods},
		"finalizers of a pod, its verb":  {pods: []string{".metadata.finalizers acme.io/f excluded"}, change: finalizer, allow: []string{"granular:acme.io/podTemplateF"}},
	} {
		t.Run(name, func(t *testing.T) {
			var own *overlay.Entries
			if tc.own != nil {
				own = entriesOf(t, "deployments.apps", tc.ownEnforced, tc.own...)
			}
			f := inTemplates("deployments.apps", own, entriesOf(t, "pods", !tc.podsAudits, tc.pods...))
			of := endpoint(t, kindNamed("apps/v1/Deployment"), "deployments")
			closed, open := deploymentWith(t, tc.change, bare), deploymentWith(t, "", bare)
			for way, objects := range map[string][2]apiruntime.Object{"set": {open, closed}, "removed": {closed, open}} {
				f.counted = nil
				ctx := contextOf("update", of, "n", "x")
				if tc.marked {
					ctx, _ = granular.WithMarker(ctx)
				}
				w := New(&bypassingSome{grants{allow: tc.allow}, tc.bypass}, WithFieldPermissions(f)).Begin(ctx, of)
				if w == nil {
					if tc.says != "" || tc.counted != nil {
						t.Errorf("%s: nothing is verified", way)
					}
					continue
				}
				err := verify(t, w, ctx, objects[1], objects[0])
				wantError(t, err, tc.says)
				if err == nil {
					w.Respond(ctx, objects[1])
				}
				if !slices.Equal(f.counted, tc.counted) {
					t.Errorf("%s: counted %q", way, f.counted)
				}
			}
		})
	}
}

// TestEntriesOfPodsAndRollback checks that an exclusion of pods refuses the annotation by which the deployment controller
// restores an older template, and that the controller may clear it.
//
// Attack: the annotation for a rollback restores a template with a field that is closed now
// Answer: a kind in which entries exclude fields refuses a change of the annotation, unless the caller has bypass
func TestEntriesOfPodsAndRollback(t *testing.T) {
	of := endpoint(t, kindNamed("apps/v1/Deployment"), "deployments")
	asked, without := deploymentWith(t, "", `{"annotations": {"deprecated.deployment.rollback.to": "1"}}`), deploymentWith(t, "", bare)
	pods := entriesOf(t, "pods", true, ".spec.hostNetwork acme.io/net excluded")
	own := entriesOf(t, "deployments.apps", true, ".metadata.finalizers acme.io/f excluded")
	const refused = "an annotation or label holds the value of a field"
	for name, tc := range map[string]struct {
		own      *overlay.Entries
		old, new apiruntime.Object
		bypass   []string
		says     string
	}{
		"asked for":                     {old: without, new: asked, says: refused},
		"cleared":                       {old: asked, new: without, says: refused},
		"cleared, bypassed":             {old: asked, new: without, bypass: []string{"pods"}},
		"both, one bypassed":            {own: own, old: asked, new: without, bypass: []string{"pods"}, says: refused},
		"both, the other bypassed":      {own: own, old: asked, new: without, bypass: []string{"deployments.apps"}, says: refused},
		"both, both bypassed":           {own: own, old: asked, new: without, bypass: []string{"deployments.apps", "pods"}},
		"nothing is changed":            {old: asked, new: asked},
		"entries that only have a name": {own: entriesOf(t, "deployments.apps", true, ".spec.replicas acme.io/r"), old: asked, new: without, bypass: []string{"pods"}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := contextOf("update", of, "n", "x")
			w := New(&bypassingSome{names: tc.bypass}, WithFieldPermissions(inTemplates("deployments.apps", tc.own, pods))).Begin(ctx, of)
			wantError(t, verify(t, w, ctx, tc.new, tc.old), tc.says)
		})
	}
}

// TestEntriesOfPodsInRevisions writes ControllerRevisions, from whose data controllers make pods.
//
// Attack: a ControllerRevision has a template with a closed field, spelled in capitals, by another name, or at another depth
// Answer: the data is searched for the names on the path of the field, whatever their case and depth
func TestEntriesOfPodsInRevisions(t *testing.T) {
	of := endpoint(t, kindNamed("apps/v1/ControllerRevision"), "controllerrevisions")
	revision := func(data string) apiruntime.Object {
		return stored(t, at("apps/v1/ControllerRevision", `"metadata": PLACE, "revision": 1, "data": `+data, bare))
	}
	template := func(spec string) string { return `{"spec": {"template": {"$patch": "replace", "spec": ` + spec + `}}}` }
	const refused = "(excluded by FieldPermission pods)"
	for name, tc := range map[string]struct {
		entry, data   string
		allow, bypass []string
		marked        bool
		audits        bool
		says          string
		counted       int
	}{
		"without the field":      {data: template(`{"containers": [{"name": "c", "image": "i"}]}`)},
		"with it":                {data: template(`{"hostNetwork": true}`), says: `cannot change .data[.spec.hostNetwork]`},
		"its verb":               {data: template(`{"hostNetwork": true}`), allow: []string{"granular:acme.io/podTemplateX"}},
		"bypass":                 {data: template(`{"hostNetwork": true}`), bypass: []string{"pods"}},
		"in capitals":            {data: template(`{"HostNetwork": true}`), says: refused},
		"another letter":         {data: template(`{"ho\u017ftNetwor\u212a": true}`), says: refused},
		"in a list":              {data: `{"spec": [{"a": [{"hostNetwork": true}]}]}`, says: refused},
		"alone":                  {data: `{"hostNetwork": null}`, says: refused},
		"a directive":            {data: template(`{"hostNetwork": {"$patch": "delete"}}`), says: refused},
		"an element of a list":   {entry: ".spec.volumes[*].hostPath", data: template(`{"volumes": [{"name": "a"}, {"name": "b", "hostPath": {"path": "/"}}]}`), says: refused},
		"other elements":         {entry: ".spec.volumes[*].hostPath", data: template(`{"volumes": [{"name": "a", "emptyDir": {}}], "hostPath": 1}`)},
		"a list of another kind": {entry: ".spec.volumes[*].hostPath", data: template(`{"volumes": {"a": {"hostPath": {"path": "/"}}}}`), says: refused},
		"the other name":         {entry: ".spec.serviceAccountName", data: template(`{"serviceAccount": "x"}`), says: refused},
		"no object":              {data: `"hostNetwork"`},
		"only counted":           {data: template(`{"hostNetwork": true}`), audits: true, counted: 1},
		"counted, its verb":      {data: template(`{"hostNetwork": true}`), audits: true, allow: []string{"granular:acme.io/podTemplateX"}},
		"granular":               {data: template(`{"hostNetwork": true}`), marked: true, allow: []string{"granular:data", "granular:revision"}, says: "cannot change .data"},
	} {
		t.Run(name, func(t *testing.T) {
			entry := tc.entry
			if entry == "" {
				entry = ".spec.hostNetwork"
			}
			f := inTemplates("controllerrevisions.apps", nil, entriesOf(t, "pods", !tc.audits, entry+" acme.io/x excluded"))
			now := revision(tc.data)
			ctx := contextOf("create", of, "n", "x")
			if tc.marked {
				ctx, _ = granular.WithMarker(ctx)
			}
			g := New(&bypassingSome{grants{allow: tc.allow}, tc.bypass}, WithFieldPermissions(f))
			w := g.Begin(ctx, of)
			err := verify(t, w, ctx, now, nil)
			wantError(t, err, tc.says)
			if err == nil {
				w.Respond(ctx, now)
			}
			if len(f.counted) != tc.counted {
				t.Errorf("counted %q", f.counted)
			}
			// What is stored already can be labelled.
			labelled := stored(t, at("apps/v1/ControllerRevision", `"metadata": PLACE, "revision": 1, "data": `+tc.data, envDev))
			ctx = contextOf("update", of, "n", "x")
			w = g.Begin(ctx, of)
			wantError(t, verify(t, w, ctx, labelled, now), "")
		})
	}
	if !json.Valid([]byte(template("{}"))) {
		t.Fatal("the test data is wrong")
	}
}

// TestTemplatesWithoutEntries checks that a kind with a pod template costs nothing while no entry holds in it.
func TestTemplatesWithoutEntries(t *testing.T) {
	of := endpoint(t, kindNamed("apps/v1/Deployment"), "deployments")
	ctx := contextOf("update", of, "n", "x")
	f := inTemplates("deployments.apps", nil, entriesOf(t, "pods", true, ".metadata.ownerReferences acme.io/o excluded"))
	for name, g := range map[string]*Gate{"none": New(&grants{}), "pods have some": New(&grants{}, WithFieldPermissions(constantDeployments{f}))} {
		if n := testing.AllocsPerRun(100, func() {
			if g.Begin(ctx, of) != nil {
				t.Fatal("something is verified")
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// constantDeployments looks up entries of deployments as the server does: without building a name.
type constantDeployments struct{ *fieldPermissions }

func (c constantDeployments) Entries(string, string) (*overlay.Entries, bool) {
	return c.entries["deployments.apps"], true
}

// BenchmarkTemplateWithEntries measures an ordinary update of a Deployment's label: without entries, and with entries of pods,
// which hold in its template.
func BenchmarkTemplateWithEntries(b *testing.B) {
	lines := []string{".spec.hostNetwork acme.io/hostNetwork excluded", ".spec.hostPID acme.io/hostPID excluded"}
	const deploymentsName, deployments = "deployments", "deployments.apps"
	for name, options := range map[string][]Option{
		"none":     nil,
		"enforced": {WithFieldPermissions(inTemplates(deployments, nil, entriesOf(b, "pods", true, lines...)))},
		"audited":  {WithFieldPermissions(inTemplates(deployments, nil, entriesOf(b, "pods", false, lines...)))},
	} {
		b.Run(name, func(b *testing.B) {
			of := endpoint(b, kindNamed("apps/v1/Deployment"), deploymentsName)
			g, ctx := New(&grants{}, options...), contextOf("update", of, "n", "x")
			old, changed := deploymentWith(b, "", bare), deploymentWith(b, "", envDev)
			b.ReportAllocs()
			for b.Loop() {
				pass(b, g, ctx, of, changed, old)
			}
		})
	}
}
