// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protecttest

import (
	"fmt"
	"maps"
	"slices"
)

// slot is one map of labels or annotations in an object of the oracle.
type slot struct {
	// Place is the part of the object that contains the slot, such as template. If this part is a
	// list or a map of elements, Elem is the name of the element. If not, Elem is empty.
	Place, Elem string
	// Kind is Label or Annotation.
	Kind string
	// Out has the resources that the attributes end up in, separated by spaces. "*" means any
	// resource.
	Out string
}

// slots are the slots of each resource, written by hand.
var slots = map[string][]slot{
	"configmaps": {{Place: "own", Kind: "Label", Out: "configmaps"}, {Place: "own", Kind: "Annotation", Out: "configmaps"}},
	"namespaces": {{Place: "own", Kind: "Label", Out: "namespaces"}, {Place: "own", Kind: "Annotation", Out: "namespaces"}},
	"pods": {
		{Place: "own", Kind: "Label", Out: "pods"}, {Place: "own", Kind: "Annotation", Out: "pods"},
		{Place: "volume", Elem: "u", Kind: "Label", Out: "persistentvolumeclaims"},
		{Place: "volume", Elem: "v", Kind: "Label", Out: "persistentvolumeclaims"},
	},
	"deployments.apps": {
		{Place: "own", Kind: "Label", Out: "deployments.apps"}, {Place: "own", Kind: "Annotation", Out: "deployments.apps replicasets.apps"},
		{Place: "template", Kind: "Label", Out: "pods replicasets.apps"}, {Place: "template", Kind: "Annotation", Out: "pods"},
	},
	"statefulsets.apps": {
		{Place: "own", Kind: "Label", Out: "statefulsets.apps"},
		{Place: "template", Kind: "Label", Out: "pods controllerrevisions.apps persistentvolumeclaims"},
		{Place: "claim", Elem: "u", Kind: "Label", Out: "persistentvolumeclaims"},
		{Place: "claim", Elem: "v", Kind: "Annotation", Out: "persistentvolumeclaims"},
	},
	"cronjobs.batch": {
		{Place: "own", Kind: "Label", Out: "cronjobs.batch"}, {Place: "job", Kind: "Label", Out: "jobs.batch"},
		{Place: "job", Kind: "Annotation", Out: "jobs.batch"},
		{Place: "jobpod", Kind: "Label", Out: "pods jobs.batch"}, {Place: "jobpod", Kind: "Annotation", Out: "pods"},
	},
	"fleets.example.com": {
		{Place: "own", Kind: "Label", Out: "fleets.example.com"}, {Place: "pod", Kind: "Label", Out: "*"},
		{Place: "template", Kind: "Annotation", Out: "*"},
		{Place: "named", Elem: "u", Kind: "Label", Out: "*"}, {Place: "named", Elem: "v", Kind: "Label", Out: "*"},
		{Place: "listed", Elem: "u", Kind: "Label", Out: "*"}, {Place: "listed", Elem: "v", Kind: "Label", Out: "*"},
		{Place: "mapped", Elem: "u", Kind: "Annotation", Out: "*"}, {Place: "mapped", Elem: "v", Kind: "Annotation", Out: "*"},
	},
}

// thing is an object of the oracle: the content of each slot.
type thing map[slot]map[string]string

func (o thing) clone() thing {
	out := thing{}
	for s, m := range o {
		out[s] = maps.Clone(m)
	}
	return out
}

// object returns the thing as an API object. Elements of lists are in random order.
func (o thing) object(r Source) map[string]any {
	if o == nil {
		return nil
	}
	root := map[string]any{}
	enter := func(fields ...string) map[string]any {
		current := root
		for _, f := range fields {
			if current[f] == nil {
				current[f] = map[string]any{}
			}
			current = current[f].(map[string]any)
		}
		return current
	}
	lists := map[string]map[string]map[string]any{}
	for s, m := range o {
		values := map[string]any{}
		for k, v := range m {
			values[k] = v
		}
		name := map[string]string{"Label": "labels", "Annotation": "annotations"}[s.Kind]
		switch s.Place {
		case "own":
			enter("metadata")[name] = values
		case "template":
			enter("spec", "template", "metadata")[name] = values
		case "job":
			enter("spec", "jobTemplate", "metadata")[name] = values
		case "jobpod":
			enter("spec", "jobTemplate", "spec", "template", "metadata")[name] = values
		case "pod":
			enter("spec")["podLabels"] = values
		case "mapped":
			enter("spec", "mapped", s.Elem, "metadata")[name] = values
		default:
			if lists[s.Place] == nil {
				lists[s.Place] = map[string]map[string]any{}
			}
			if lists[s.Place][s.Elem] == nil {
				lists[s.Place][s.Elem] = map[string]any{}
			}
			lists[s.Place][s.Elem][name] = values
		}
	}
	for place, elems := range lists {
		var list []any
		for elem, metadata := range elems {
			switch place {
			case "volume":
				list = append(list, map[string]any{"name": elem,
					"ephemeral": map[string]any{"volumeClaimTemplate": map[string]any{"metadata": metadata}}})
			case "claim":
				metadata["name"] = elem
				list = append(list, map[string]any{"metadata": metadata})
			default:
				list = append(list, map[string]any{"name": elem, "metadata": metadata, "engine": fmt.Sprint(r.IntN(2))})
			}
		}
		if r.IntN(2) == 0 {
			slices.Reverse(list)
		}
		field := map[string]string{"volume": "volumes", "claim": "volumeClaimTemplates", "named": "named", "listed": "listed"}[place]
		enter("spec")[field] = list
	}
	return root
}
