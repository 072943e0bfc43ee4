// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package draft

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/pkg/cli/roletest/format"
)

// lastApplied is an annotation with a copy of the object, as kubectl apply sent it.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// clean returns an object as a person would write it, without the values of a Secret.
func clean(o map[string]any) map[string]any {
	out := bare(o)
	hideStored(out)
	return out
}

// bare returns an object without what the server sets, and without owners and status.
func bare(o map[string]any) map[string]any {
	out := runtime.DeepCopyJSON(o)
	withoutServer(out)
	if metadata, ok := out["metadata"].(map[string]any); ok {
		delete(metadata, "ownerReferences")
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			delete(annotations, lastApplied)
		}
	}
	delete(out, "status")
	return out
}

// withoutServer removes what the server sets from an object or from a patch.
func withoutServer(o map[string]any) {
	if metadata, ok := o["metadata"].(map[string]any); ok {
		for _, name := range format.ServerOwned() {
			delete(metadata, name)
		}
	}
	spec, _ := o["spec"].(map[string]any)
	switch o["kind"] {
	case "Service":
		// Each server has addresses of its own.
		if spec["clusterIP"] != "None" {
			delete(spec, "clusterIP")
			delete(spec, "clusterIPs")
		}
		delete(spec, "healthCheckNodePort")
	case "Job":
		if spec["manualSelector"] != true {
			withoutSelector(spec)
		}
	}
}

// withoutSelector removes the selector of a job, which the server makes from its UID.
func withoutSelector(spec map[string]any) {
	delete(spec, "selector")
	template, _ := spec["template"].(map[string]any)
	metadata, _ := template["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	for _, name := range []string{"controller-uid", "job-name"} {
		delete(labels, name)
		delete(labels, "batch.kubernetes.io/"+name)
	}
}

// The values of Secrets in a test: those of the stored object, and others of a request, which changes them. As
// data they are valid for each type of Secret.
const (
	storedData, requestData = "e30=", "eyJhIjp7fX0="
	storedText, requestText = "{}", `{"a":{}}`
)

func isSecret(resource schema.GroupVersionResource) bool {
	return resource.Group == "" && resource.Resource == "secrets"
}

// hideStored replaces the values of a stored Secret. Other objects stay as they are.
func hideStored(o map[string]any) {
	if o["kind"] == "Secret" && o["apiVersion"] == "v1" {
		hide(o, storedData, storedText)
	}
}

// hideCopies replaces the copies of objects that kubectl apply keeps in an annotation.
func hideCopies(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, one := range value {
			if text, ok := one.(string); ok && (name == lastApplied || name == "value" && isCopy(value, text)) {
				value[name] = requestText
			} else {
				hideCopies(one)
			}
		}
	case []any:
		for _, one := range value {
			hideCopies(one)
		}
	}
}

// isCopy reports whether the value of an operation of a JSON patch is such a copy.
func isCopy(operation map[string]any, value string) bool {
	path, _ := operation["path"].(string)
	return value != "" && strings.HasSuffix(path, "/"+strings.ReplaceAll(lastApplied, "/", "~1"))
}

// hideRequest replaces the values in what is sent for a Secret: an object, a merge patch or a JSON patch.
func hideRequest(value any) {
	switch value := value.(type) {
	case map[string]any:
		hide(value, requestData, requestText)
	case []any:
		for _, one := range value {
			if operation, ok := one.(map[string]any); ok {
				hideOperation(operation)
			}
		}
	}
}

// hide replaces the values of data, and those of annotations: many clients keep a copy of the object there.
func hide(o map[string]any, data, text string) {
	replace(o["data"], data)
	replace(o["stringData"], text)
	if metadata, ok := o["metadata"].(map[string]any); ok {
		replace(metadata["annotations"], text)
	}
}

func replace(values any, replacement string) {
	m, _ := values.(map[string]any)
	for name, value := range m {
		// Null removes a value, and names that begin with $ are directives of patches.
		if value != nil && !strings.HasPrefix(name, "$") {
			m[name] = replacement
		}
	}
}

// hideOperation replaces the values of one operation of a JSON patch.
func hideOperation(operation map[string]any) {
	value, given := operation["value"]
	if !given {
		return
	}
	path, _ := operation["path"].(string)
	steps := strings.Split(strings.TrimPrefix(path, "/"), "/")
	data, text := requestData, requestText
	if operation["op"] == "test" {
		data, text = storedData, storedText
	}
	replacement := text
	if steps[0] == "data" {
		replacement = data
	}
	switch {
	case path == "":
		hideRequest(value)
	case steps[0] == "metadata" && len(steps) == 1:
		hideRequest(map[string]any{"metadata": value})
	case steps[0] == "metadata" && steps[1] != "annotations":
	case steps[0] != "data" && steps[0] != "stringData" && steps[0] != "metadata":
	case steps[0] != "metadata" && len(steps) == 1, steps[0] == "metadata" && len(steps) == 2:
		replace(value, replacement)
	default:
		operation["value"] = replacement
	}
}
