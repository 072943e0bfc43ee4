// What judges histories of several servers by a checker of linearizability. It is built in the workspace that
// go.work makes, in which v0.0.0 of a module is what lies in its folder.
module kube-granular.dev/test/history

go 1.26.0

godebug default=go1.26

require (
	github.com/anishathalye/porcupine v1.3.1
	k8s.io/api v0.0.0
	k8s.io/client-go v0.0.0
	k8s.io/kubernetes v0.0.0
	kube-granular.dev v0.0.0
	kube-granular.dev/api v0.0.0
)

replace (
	k8s.io/kubernetes v0.0.0 => ../../upstream/kubernetes
	kube-granular.dev => ../..
	kube-granular.dev/api => ../../api
)
