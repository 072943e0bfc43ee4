// What judges the library by the engine of Cedar. It is built in the workspace that go.work makes, in
// which v0.0.0 of a module is what lies in its folder.
module kube-granular.dev/test/cedar

go 1.26.0

godebug default=go1.26

require (
	github.com/cedar-policy/cedar-go v1.9.1
	k8s.io/client-go v0.0.0
	k8s.io/kube-openapi v0.0.0-20260721132016-d427ff9ee9ad
	k8s.io/kubernetes v0.0.0
	kube-granular.dev/granular v0.0.0
	sigs.k8s.io/yaml v1.6.0
)

require (
	github.com/go-json-experiment/json v1.27.2 // indirect
	golang.org/x/exp v0.0.0-20220921023135-46d9e7742f1e // indirect
)

replace (
	k8s.io/kubernetes v0.0.0 => ../../upstream/kubernetes
	kube-granular.dev/granular => ../../staging/src/kube-granular.dev/granular
)
