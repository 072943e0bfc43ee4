// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Argo compares an object of a repository with the live one as Argo CD does, with the library that evaluates its jq
// path expressions. Argo CD itself can't be imported as a library.
//
//	argo CUSTOMISATION FILE LIVE
//
// CUSTOMISATION is the ConfigMap argocd-cm, or - for none. Of its keys, the program knows
// resource.customizations.ignoreDifferences for the kind of the object, and there jqPathExpressions and jsonPointers.
// It removes what they name from both objects and from the annotation of the last apply. Then it makes the three-way
// merge patch with which kubectl would apply the file. It prints Synced if this patch is empty, or OutOfSync and the
// patch.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/itchyny/gojq"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"sigs.k8s.io/yaml"
)

// patience is how long Argo CD lets one expression run.
const patience = time.Second

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: argo CUSTOMISATION FILE LIVE")
		os.Exit(2)
	}
	patch, err := compare(os.Args[1], os.Args[2], os.Args[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	if patch == "{}" {
		fmt.Println("Synced")
		return
	}
	fmt.Println("OutOfSync", patch)
}

// compare returns the patch that would apply the file to the live object.
func compare(customisation, file, live string) (string, error) {
	var ours, theirs map[string]any
	if err := errors.Join(read(file, &ours), read(live, &theirs)); err != nil {
		return "", err
	}
	object := &unstructured.Unstructured{Object: theirs}
	before := ours
	if last, ok := object.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; ok {
		before = nil // not the map of ours, into which Unmarshal would write
		if err := json.Unmarshal([]byte(last), &before); err != nil {
			return "", err
		}
		// kubectl writes an empty map, which is nobody's wish.
		if applied := (&unstructured.Unstructured{Object: before}); len(applied.GetAnnotations()) == 0 {
			unstructured.RemoveNestedField(before, "metadata", "annotations")
		}
	}
	ignored, err := ignoredIn(customisation, object)
	if err != nil {
		return "", err
	}
	var all [3][]byte
	for i, one := range []map[string]any{before, ours, theirs} {
		normalised, err := ignored.remove(one)
		if err != nil {
			return "", err
		}
		if all[i], err = json.Marshal(normalised); err != nil {
			return "", err
		}
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(all[0], all[1], all[2])
	return string(patch), err
}

func read(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return yaml.Unmarshal(text, into)
}

// differences are the fields whose differences are ignored.
type differences struct {
	JQPathExpressions []string `json:"jqPathExpressions"`
	JSONPointers      []string `json:"jsonPointers"`
}

// ignoredIn returns what a customisation ignores in objects of the kind of one object.
func ignoredIn(customisation string, object *unstructured.Unstructured) (out differences, err error) {
	if customisation == "-" {
		return out, nil
	}
	var settings corev1.ConfigMap
	if err := read(customisation, &settings); err != nil {
		return out, err
	}
	kind := object.GroupVersionKind()
	key := "resource.customizations.ignoreDifferences." + kind.Group + "_" + kind.Kind
	text, ok := settings.Data[key]
	if !ok {
		return out, fmt.Errorf("%s has no key %s", customisation, key)
	}
	return out, yaml.UnmarshalStrict([]byte(text), &out)
}

// remove returns an object without what is ignored.
func (d differences) remove(object map[string]any) (any, error) {
	expressions := d.JQPathExpressions
	for _, pointer := range d.JSONPointers {
		var path []string
		for _, part := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
			path = append(path, strings.NewReplacer("~1", "/", "~0", "~").Replace(part))
		}
		quoted, err := json.Marshal(path)
		if err != nil {
			return nil, err
		}
		expressions = append(expressions, fmt.Sprintf("getpath(%s)", quoted))
	}
	var out any = object
	for _, expression := range expressions {
		query, err := gojq.Parse("del(" + expression + ")")
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		results := query.RunWithContext(ctx, out)
		one, ok := results.Next()
		cancel()
		if err, failed := one.(error); failed || !ok {
			return nil, fmt.Errorf("%s: %w", expression, errors.Join(err, ctx.Err()))
		}
		out = one
	}
	return out, nil
}
