// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// platforms are the supported platforms, as GOOS/GOARCH.
var platforms = []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64", "windows/amd64", "windows/arm64"}

// program is a program that a release has an archive of, for each platform.
type program struct {
	name string
	// module is the folder of the module, if it is not built in the workspace with Kubernetes.
	module string
	// completion is the script in the folder of the program with which kubectl completes arguments.
	completion string
	manPages   bool
	// linuxOnly is set for programs that run beside a server.
	linuxOnly bool
	krew      description
}

// description is what krew shows of a plugin. It has no name if krew can't install the plugin: it calls a plugin
// create-lns by another command than `kubectl create lns`.
type description struct{ name, short, long, caveats string }

var programs = []program{
	{name: "kubectl-granular", completion: "kubectl_complete-granular", manPages: true, krew: description{
		"granular", "See, ask and grant permissions of single fields",
		"A server that authorizes single fields asks for a verb where a field changes,\n" +
			"such as granular:replicas or granular:label(example.com). These commands show which\n" +
			"field has which verb, who holds them, and make the roles that grant them.\n",
		"The server must publish permissions of fields: a kube-granular kube-apiserver with the\n" +
			"feature gate GranularAuthorization. The archive has man pages, and\n" +
			"kubectl_complete-granular for the path, with which kubectl completes arguments.\n"}},
	{name: "kubectl-with", krew: description{
		"with", "Run kubectl with the rights of one role",
		"Runs any command of kubectl with the rights that a role or a delegation gives, and\nno others.\n",
		"The server must be a kube-granular kube-apiserver with the feature gate SelectedAuthority.\n"}},
	{name: "kubectl-sudo", module: "tenancy", completion: "kubectl_complete-sudo", krew: description{
		"sudo", "Act with nearly all rights in a tenant",
		"Runs a command of kubectl as a sudoer of a tenant, requests sudo, and answers requests.\n",
		"The cluster must have the controller of tenants of kube-granular.\n"}},
	{name: "kubectl-lns", module: "tenancy", completion: "kubectl_complete-lns", krew: description{
		"lns", "See and change tenants",
		"Shows tenants and who may do what in them, and changes their lists.\n",
		"The cluster must have the controller of tenants of kube-granular.\n"}},
	{name: "kubectl-create-lns", module: "tenancy"},
	{name: "kube-granular", linuxOnly: true},
	{name: "tenancy-controller", module: "tenancy", linuxOnly: true},
}

// names returns the names of all programs.
func names() []string {
	var list []string
	for _, p := range programs {
		list = append(list, p.name)
	}
	return list
}

// executable returns the name of the program's binary on an operating system.
func (p program) executable(system string) string {
	if system == "windows" {
		return p.name + ".exe"
	}
	return p.name
}
