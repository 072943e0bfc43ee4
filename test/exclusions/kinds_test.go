// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package exclusions

import (
	"k8s.io/apiserver/pkg/registry/rest"
	_ "k8s.io/kubernetes/pkg/api/testing" // installs all built-in kinds
	"k8s.io/kubernetes/pkg/registry/apps/controllerrevision"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/certificates/clustertrustbundle"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/node"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/podtemplate"
	"k8s.io/kubernetes/pkg/registry/core/replicationcontroller"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/flowschema"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/prioritylevelconfiguration"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/networking/ingressclass"
	"k8s.io/kubernetes/pkg/registry/networking/ipaddress"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/networking/servicecidr"
	"k8s.io/kubernetes/pkg/registry/node/runtimeclass"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/resource/deviceclass"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
	"k8s.io/kubernetes/pkg/registry/storage/csidriver"
	"k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattachment"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattributesclass"
)

// strategy is what the storage of a resource does to objects before it stores them.
type strategy interface {
	rest.RESTCreateStrategy
	rest.RESTUpdateStrategy
}

// resource is a built-in resource whose exclusions are tested.
type resource struct {
	kind string
	strategy
}

// resources are the built-in resources that take exclusions. A resource that is not here takes none.
var resources = map[string]resource{
	"configmaps":                               {"ConfigMap", configmap.Strategy},
	"controllerrevisions.apps":                 {"ControllerRevision", controllerrevision.Strategy},
	"cronjobs.batch":                           {"CronJob", cronjob.Strategy},
	"csidrivers.storage.k8s.io":                {"CSIDriver", csidriver.Strategy},
	"csistoragecapacities.storage.k8s.io":      {"CSIStorageCapacity", csistoragecapacity.Strategy},
	"clustertrustbundles.certificates.k8s.io":  {"ClusterTrustBundle", clustertrustbundle.Strategy},
	"daemonsets.apps":                          {"DaemonSet", daemonset.Strategy},
	"deployments.apps":                         {"Deployment", deployment.Strategy},
	"deviceclasses.resource.k8s.io":            {"DeviceClass", deviceclass.Strategy},
	"flowschemas.flowcontrol.apiserver.k8s.io": {"FlowSchema", flowschema.Strategy},
	"horizontalpodautoscalers.autoscaling":     {"HorizontalPodAutoscaler", horizontalpodautoscaler.Strategy},
	"ingressclasses.networking.k8s.io":         {"IngressClass", ingressclass.Strategy},
	"ingresses.networking.k8s.io":              {"Ingress", ingress.Strategy},
	"ipaddresses.networking.k8s.io":            {"IPAddress", ipaddress.Strategy},
	"jobs.batch":                               {"Job", job.Strategy},
	"limitranges":                              {"LimitRange", limitrange.Strategy},
	"networkpolicies.networking.k8s.io":        {"NetworkPolicy", networkpolicy.Strategy},
	"nodes":                                    {"Node", node.Strategy},
	"persistentvolumeclaims":                   {"PersistentVolumeClaim", persistentvolumeclaim.Strategy},
	"persistentvolumes":                        {"PersistentVolume", persistentvolume.Strategy},
	"poddisruptionbudgets.policy":              {"PodDisruptionBudget", poddisruptionbudget.Strategy},
	"pods":                                     {"Pod", pod.Strategy},
	"podtemplates":                             {"PodTemplate", podtemplate.Strategy},
	"priorityclasses.scheduling.k8s.io":        {"PriorityClass", priorityclass.Strategy},
	"prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": {"PriorityLevelConfiguration", prioritylevelconfiguration.Strategy},
	"replicasets.apps":                       {"ReplicaSet", replicaset.Strategy},
	"replicationcontrollers":                 {"ReplicationController", replicationcontroller.Strategy},
	"resourcequotas":                         {"ResourceQuota", resourcequota.Strategy},
	"runtimeclasses.node.k8s.io":             {"RuntimeClass", runtimeclass.Strategy},
	"secrets":                                {"Secret", secret.Strategy},
	"serviceaccounts":                        {"ServiceAccount", serviceaccount.Strategy},
	"servicecidrs.networking.k8s.io":         {"ServiceCIDR", servicecidr.Strategy},
	"services":                               {"Service", service.Strategy},
	"statefulsets.apps":                      {"StatefulSet", statefulset.Strategy},
	"storageclasses.storage.k8s.io":          {"StorageClass", storageclass.Strategy},
	"volumeattachments.storage.k8s.io":       {"VolumeAttachment", volumeattachment.Strategy},
	"volumeattributesclasses.storage.k8s.io": {"VolumeAttributesClass", volumeattributesclass.Strategy},
}

// withoutExclusions are versions in which the fields of a resource take no exclusions, with a reason.
var withoutExclusions = map[string]string{
	"horizontalpodautoscalers.autoscaling/v1": "annotations have the values of fields",
}
