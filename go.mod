module kube-granular.dev

go 1.26.0

godebug default=go1.26

require kube-granular.dev/granular v0.0.0

replace kube-granular.dev/granular => ./staging/src/kube-granular.dev/granular

// The upstream this series is made for. hack/upstream copies these very modules,
// verified by go.sum, into upstream/kubernetes and applies patches/ to them.
require (
	k8s.io/kubernetes v1.37.1
	k8s.io/api v0.37.1
	k8s.io/apiextensions-apiserver v0.37.1
	k8s.io/apimachinery v0.37.1
	k8s.io/apiserver v0.37.1
	k8s.io/cli-runtime v0.37.1
	k8s.io/client-go v0.37.1
	k8s.io/cloud-provider v0.37.1
	k8s.io/cluster-bootstrap v0.37.1
	k8s.io/code-generator v0.37.1
	k8s.io/component-base v0.37.1
	k8s.io/component-helpers v0.37.1
	k8s.io/controller-manager v0.37.1
	k8s.io/cri-api v0.37.1
	k8s.io/cri-client v0.37.1
	k8s.io/cri-streaming v0.37.1
	k8s.io/csi-translation-lib v0.37.1
	k8s.io/dynamic-resource-allocation v0.37.1
	k8s.io/endpointslice v0.37.1
	k8s.io/externaljwt v0.37.1
	k8s.io/kms v0.37.1
	k8s.io/kube-aggregator v0.37.1
	k8s.io/kube-controller-manager v0.37.1
	k8s.io/kube-proxy v0.37.1
	k8s.io/kube-scheduler v0.37.1
	k8s.io/kubectl v0.37.1
	k8s.io/kubelet v0.37.1
	k8s.io/metrics v0.37.1
	k8s.io/mount-utils v0.37.1
	k8s.io/pod-security-admission v0.37.1
	k8s.io/sample-apiserver v0.37.1
	k8s.io/sample-cli-plugin v0.37.1
	k8s.io/sample-controller v0.37.1
	k8s.io/streaming v0.37.1
)

// k8s.io/kubernetes asks for its staging modules as v0.0.0, which only its own
// repository can satisfy. Pinning that one version leaves the workspace alone.
replace (
	k8s.io/api v0.0.0 => k8s.io/api v0.37.1
	k8s.io/apiextensions-apiserver v0.0.0 => k8s.io/apiextensions-apiserver v0.37.1
	k8s.io/apimachinery v0.0.0 => k8s.io/apimachinery v0.37.1
	k8s.io/apiserver v0.0.0 => k8s.io/apiserver v0.37.1
	k8s.io/cli-runtime v0.0.0 => k8s.io/cli-runtime v0.37.1
	k8s.io/client-go v0.0.0 => k8s.io/client-go v0.37.1
	k8s.io/cloud-provider v0.0.0 => k8s.io/cloud-provider v0.37.1
	k8s.io/cluster-bootstrap v0.0.0 => k8s.io/cluster-bootstrap v0.37.1
	k8s.io/code-generator v0.0.0 => k8s.io/code-generator v0.37.1
	k8s.io/component-base v0.0.0 => k8s.io/component-base v0.37.1
	k8s.io/component-helpers v0.0.0 => k8s.io/component-helpers v0.37.1
	k8s.io/controller-manager v0.0.0 => k8s.io/controller-manager v0.37.1
	k8s.io/cri-api v0.0.0 => k8s.io/cri-api v0.37.1
	k8s.io/cri-client v0.0.0 => k8s.io/cri-client v0.37.1
	k8s.io/cri-streaming v0.0.0 => k8s.io/cri-streaming v0.37.1
	k8s.io/csi-translation-lib v0.0.0 => k8s.io/csi-translation-lib v0.37.1
	k8s.io/dynamic-resource-allocation v0.0.0 => k8s.io/dynamic-resource-allocation v0.37.1
	k8s.io/endpointslice v0.0.0 => k8s.io/endpointslice v0.37.1
	k8s.io/externaljwt v0.0.0 => k8s.io/externaljwt v0.37.1
	k8s.io/kms v0.0.0 => k8s.io/kms v0.37.1
	k8s.io/kube-aggregator v0.0.0 => k8s.io/kube-aggregator v0.37.1
	k8s.io/kube-controller-manager v0.0.0 => k8s.io/kube-controller-manager v0.37.1
	k8s.io/kube-proxy v0.0.0 => k8s.io/kube-proxy v0.37.1
	k8s.io/kube-scheduler v0.0.0 => k8s.io/kube-scheduler v0.37.1
	k8s.io/kubectl v0.0.0 => k8s.io/kubectl v0.37.1
	k8s.io/kubelet v0.0.0 => k8s.io/kubelet v0.37.1
	k8s.io/metrics v0.0.0 => k8s.io/metrics v0.37.1
	k8s.io/mount-utils v0.0.0 => k8s.io/mount-utils v0.37.1
	k8s.io/pod-security-admission v0.0.0 => k8s.io/pod-security-admission v0.37.1
	k8s.io/sample-apiserver v0.0.0 => k8s.io/sample-apiserver v0.37.1
	k8s.io/sample-cli-plugin v0.0.0 => k8s.io/sample-cli-plugin v0.37.1
	k8s.io/sample-controller v0.0.0 => k8s.io/sample-controller v0.37.1
	k8s.io/streaming v0.0.0 => k8s.io/streaming v0.37.1
)
