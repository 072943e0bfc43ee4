module kube-granular.dev/granular

go 1.26.0

godebug default=go1.26
