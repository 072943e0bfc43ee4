// What measures kube-granular. It is built in the workspace that go.work makes, in which
// v0.0.0 of a module is what lies in its folder.
module kube-granular.dev/test/bench

go 1.26.0

godebug default=go1.26

require (
	github.com/google/go-cmp v0.7.0
	github.com/spf13/cobra v1.10.2
	go.etcd.io/etcd/client/v3 v3.7.0
	golang.org/x/sys v0.47.0
	k8s.io/api v0.0.0
	k8s.io/apimachinery v0.0.0
	k8s.io/client-go v0.0.0
	k8s.io/kube-openapi v0.0.0-20260721132016-d427ff9ee9ad
	k8s.io/kubernetes v0.0.0
	kube-granular.dev v0.0.0
	kube-granular.dev/granular v0.0.0
	sigs.k8s.io/structured-merge-diff/v6 v6.4.2
)

replace (
	k8s.io/kubernetes v0.0.0 => ../../upstream/kubernetes
	kube-granular.dev => ../..
	kube-granular.dev/granular => ../../staging/src/kube-granular.dev/granular
)
