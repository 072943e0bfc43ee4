// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Command tenancy-controller is the tenancy controller with BigQuery as an additional database
// for the billing table.
package main

import (
	"kube-granular.dev/tenancy/bigquery/table"
	"kube-granular.dev/tenancy/internal/billing/store"
	"kube-granular.dev/tenancy/internal/command"
)

func main() {
	store.Register("bigquery", func(c store.Config) (store.Table, error) { return table.Open(c) })
	command.Main()
}
