// Apart from go.work.
// The driver of browsers is nothing that the project itself needs.
module kube-granular.dev/test/ui

go 1.26.0

require (
	github.com/chromedp/cdproto v0.159.0
	github.com/chromedp/chromedp v0.23.0
	kube-granular.dev v0.0.0
)

require github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect

replace kube-granular.dev => ../..

replace kube-granular.dev/api => ../../api

replace kube-granular.dev/granular => ../../staging/src/kube-granular.dev/granular
