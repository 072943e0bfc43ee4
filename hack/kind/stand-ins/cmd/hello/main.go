// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// The command hello responds to requests on port 8080 with the name of its pod. The tests of a
// cluster deploy it.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
)

func main() {
	name, err := os.Hostname()
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello from", name) })
	log.Fatal(http.ListenAndServe(":8080", nil))
}
