// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package exclusions

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"kube-granular.dev/granular/overlay"
)

// TestRefusedExclusions has which exclusions of built-in kinds are refused, and why.
//
// Attack: an exclusion that the server can't hold is accepted, and everybody takes the field for closed
// Answer: it is refused when it is written, with the reason
// Attack: all addresses of a service are closed, and a change of its families takes one away; or the ports of nodes are closed, and
// a new port of the service gets one
// Was: got through
// Answer: 422 for the exclusion, which names the other field
// Attack: the annotation of a suggested priority level has the server replace its closed specification
// Was: got through
// Answer: 422 for the exclusion
func TestRefusedExclusions(t *testing.T) {
	for name, tc := range map[string]struct {
		source string
		fields []string
		want   string
	}{
		"external addresses":   {"services/v1", []string{".spec.externalIPs acme.io/a"}, ""},
		"a claim":              {"persistentvolumes/v1", []string{".spec.claimRef acme.io/a"}, ""},
		"rules":                {"ingresses.networking.k8s.io/v1", []string{".spec.rules acme.io/a"}, ""},
		"the network of a pod": {"pods/v1", []string{".spec.hostNetwork acme.io/a"}, ""},
		"paths of hosts":       {"pods/v1", []string{".spec.volumes[*].hostPath acme.io/a"}, ""},
		"finalizers":           {"nodes/v1", []string{".metadata.finalizers acme.io/a"}, ""},
		"a template":           {"deployments.apps/v1", []string{".spec.template.spec.hostNetwork acme.io/a"}, ""},
		"the whole":            {"deployments.apps/v1", []string{".spec acme.io/a"}, ""},
		"a status":             {"services/v1", []string{".status.loadBalancer acme.io/a"}, "write the status"},
		"one of two spellings": {"services/v1", []string{".spec.clusterIP acme.io/a"}, "the server also sets .spec.clusterIP because of .spec."},
		"both, and what removes them": {"services/v1", []string{".spec.clusterIP acme.io/a", ".spec.clusterIPs acme.io/a", ".spec.type acme.io/a"},
			"because of .spec.ipFamilies: exclude .spec.ipFamilies"},
		"all addresses": {"services/v1", []string{".spec.clusterIP acme.io/a", ".spec.clusterIPs acme.io/a", ".spec.type acme.io/a",
			".spec.ipFamilies acme.io/a", ".spec.ipFamilyPolicy acme.io/a"}, ""},
		"ports of nodes":           {"services/v1", []string{".spec.ports[*].nodePort acme.io/a"}, "because of .spec.allocateLoadBalancerNodePorts, which takes none"},
		"resources of a whole pod": {"pods/v1", []string{".spec.resources acme.io/a"}, "because of .spec.containers, which takes none"},
		"all ports": {"services/v1", []string{".spec.ports acme.io/a", ".spec.type acme.io/a", ".spec.allocateLoadBalancerNodePorts acme.io/a"},
			"the server sets .spec.allocateLoadBalancerNodePorts if"},
		"suggested levels":          {"prioritylevelconfigurations.flowcontrol.apiserver.k8s.io/v1", []string{".spec.limited acme.io/a"}, "apf.kubernetes.io/autoupdate-spec"},
		"suggested flows":           {"flowschemas.flowcontrol.apiserver.k8s.io/v1", []string{".spec acme.io/a"}, "apf.kubernetes.io/autoupdate-spec"},
		"a disk by its zone":        {"persistentvolumes/v1", []string{".spec.gcePersistentDisk.pdName acme.io/a"}, "the label topology.kubernetes.io/zone"},
		"a share by its group":      {"persistentvolumes/v1", []string{".spec.azureFile acme.io/a"}, "kubernetes.io/azure-file-resource-group"},
		"Secrets to pull images by": {"pods/v1", []string{".spec.imagePullSecrets acme.io/a"}, "by the service account"},
		"mounts": {"pods/v1", []string{".spec.containers[*].volumeMounts acme.io/a"},
			"whose name begins with kube-api-access-"},
		"a path of a mount": {"pods/v1", []string{".spec.initContainers[*].volumeMounts[*].mountPath acme.io/a"},
			"whose name begins with kube-api-access-"},
		"mounts in a template": {"jobs.batch/v1", []string{".spec.template.spec.containers[*].volumeMounts acme.io/a"},
			"exclude .spec.template as a whole"},
		"tolerations in a template": {"deployments.apps/v1", []string{".spec.template.spec.tolerations acme.io/a"},
			"admission adds tolerations; exclude .spec.template as a whole"},
		"both, one by another permission":   {"services/v1", []string{".spec.clusterIP acme.io/a", ".spec.clusterIPs acme.io/b", ".spec.type acme.io/a"}, "the server also sets .spec.clusterIP"},
		"a second permission inside":        {"services/v1", []string{".spec acme.io/a", ".spec.clusterIPs acme.io/b"}, "the server also sets .spec.clusterIP"},
		"a second permission for a source":  {"services/v1", []string{".spec acme.io/a", ".spec.type acme.io/b"}, "because of .spec.type"},
		"a source of data":                  {"persistentvolumeclaims/v1", []string{".spec.dataSource acme.io/a"}, "exclude .spec.dataSourceRef with the same permission"},
		"both sources of data":              {"persistentvolumeclaims/v1", []string{".spec.dataSource acme.io/a", ".spec.dataSourceRef acme.io/a"}, ""},
		"ports that the server allocates":   {"services/v1", []string{".spec.ports acme.io/a"}, "because of .spec.allocateLoadBalancerNodePorts, which takes none"},
		"a default":                         {"services/v1", []string{".spec.externalTrafficPolicy acme.io/a"}, "the server sets .spec.externalTrafficPolicy if"},
		"a default of an element":           {"pods/v1", []string{".spec.containers[*].imagePullPolicy acme.io/a"}, "the server sets .spec.containers[*].imagePullPolicy if"},
		"the selector of a controller":      {"replicationcontrollers/v1", []string{".spec.selector acme.io/a"}, "the server sets .spec.selector if"},
		"what is stored elsewhere":          {"secrets/v1", []string{".stringData acme.io/a"}, "the server does not store .stringData as it is sent"},
		"all of a service":                  {"services/v1", []string{".spec acme.io/a"}, ""},
		"where it is stored":                {"secrets/v1", []string{".data acme.io/a"}, ""},
		"the node of a pod":                 {"pods/v1", []string{".spec.nodeName acme.io/a"}, "a binding sets the node"},
		"all of a pod":                      {"pods/v1", []string{".spec acme.io/a"}, "a binding sets the node"},
		"what an annotation sets":           {"pods/v1", []string{".spec.securityContext acme.io/a"}, "an annotation sets the AppArmor profile"},
		"the same in a container":           {"pods/v1", []string{".spec.containers[*].securityContext acme.io/a"}, "an annotation sets the AppArmor profile"},
		"what is beside it":                 {"pods/v1", []string{".spec.containers[*].securityContext.privileged acme.io/a"}, ""},
		"what admission sets":               {"pods/v1", []string{".spec.priority acme.io/a"}, "admission sets it by the priority class"},
		"taints":                            {"nodes/v1", []string{".spec.taints acme.io/a"}, "when a node registers"},
		"a class by an annotation":          {"ingresses.networking.k8s.io/v1", []string{".spec.ingressClassName acme.io/a"}, "kubernetes.io/ingress.class"},
		"a profile in a template":           {"deployments.apps/v1", []string{".spec.template.spec.securityContext acme.io/a"}, "an annotation sets the AppArmor profile too; exclude .spec.template as a whole"},
		"a whole template":                  {"deployments.apps/v1", []string{".spec.template acme.io/a"}, ""},
		"a class in a claim of a pod":       {"pods/v1", []string{".spec.volumes[*].ephemeral.volumeClaimTemplate.spec acme.io/a"}, "storage-class means the same"},
		"a whole claim of a pod":            {"pods/v1", []string{".spec.volumes[*].ephemeral.volumeClaimTemplate acme.io/a"}, ""},
		"a class in a claim of a template":  {"jobs.batch/v1", []string{".spec.template.spec.volumes[*].ephemeral.volumeClaimTemplate.spec.storageClassName acme.io/a"}, "storage-class means the same"},
		"a class in a claim of a set":       {"statefulsets.apps/v1", []string{".spec.volumeClaimTemplates[*].spec acme.io/a"}, "storage-class means the same"},
		"a zone by a label":                 {"persistentvolumes/v1", []string{".spec.nodeAffinity acme.io/a"}, "topology.kubernetes.io/zone"},
		"a source of a volume":              {"persistentvolumes/v1", []string{".spec.csi acme.io/a"}, ""},
		"options of mounts":                 {"persistentvolumes/v1", []string{".spec.mountOptions acme.io/a"}, "volume.beta.kubernetes.io/mount-options"},
		"where traffic goes first":          {"services/v1", []string{".spec.trafficDistribution acme.io/a"}, "service.kubernetes.io/topology-mode"},
		"a class of storage":                {"persistentvolumeclaims/v1", []string{".spec.storageClassName acme.io/a"}, "storage-class means the same"},
		"a version with values in metadata": {"horizontalpodautoscalers.autoscaling/v1", []string{".spec.maxReplicas acme.io/a"}, "not enforced in version v1"},
		"the version without":               {"horizontalpodautoscalers.autoscaling/v2", []string{".spec.maxReplicas acme.io/a"}, ""},
		"a resource that no test knows":     {"leasecandidates.coordination.k8s.io/v1beta1", []string{".spec acme.io/a"}, "leader election"},
	} {
		t.Run(name, func(t *testing.T) {
			source, version, _ := strings.Cut(tc.source, "/")
			group := schema.ParseGroupResource(source).Group
			kind := schema.GroupVersionKind{Group: group, Version: version, Kind: resources[source].kind}
			if kind.Kind == "" {
				kind.Kind = "LeaseCandidate"
			}
			e := &overlay.Entries{Source: source, Version: version}
			for _, line := range tc.fields {
				path, permission, _ := strings.Cut(line, " ")
				parsed, err := overlay.ParsePath(path)
				if err != nil {
					t.Fatal(err)
				}
				e.Fields = append(e.Fields, overlay.Field{Path: parsed, Permission: permission, Excluded: true})
			}
			var got []string
			for _, p := range overlay.Check(modelsOf(t, kind), kind, e) {
				got = append(got, p.Message)
			}
			if all := strings.Join(got, "; "); tc.want == "" && got != nil || !strings.Contains(all, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
			for i := range e.Fields {
				e.Fields[i].Excluded = false
			}
			if problems := overlay.Check(modelsOf(t, kind), kind, e); problems != nil {
				t.Errorf("as names: %v", problems)
			}
		})
	}
}

// TestServedVersions holds that the table has each built-in version that is served, and none that is not tested.
func TestServedVersions(t *testing.T) {
	for name, r := range resources {
		for _, gv := range legacyscheme.Scheme.PrioritizedVersionsForGroup(schema.ParseGroupResource(name).Group) {
			kind := gv.WithKind(r.kind)
			if !legacyscheme.Scheme.Recognizes(kind) || removed(t, kind) {
				continue
			}
			finalizers, _ := overlay.ParsePath(".metadata.finalizers")
			e := &overlay.Entries{Source: name, Version: gv.Version, Fields: []overlay.Field{{Path: finalizers, Permission: "acme.io/a", Excluded: true}}}
			problems := overlay.Check(modelsOf(t, kind), kind, e)
			if want := withoutExclusions[name+"/"+gv.Version]; (problems != nil) != (want != "") {
				t.Errorf("%s: %v, want %q", kind, problems, want)
			}
		}
	}
}
