// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metatable "k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
)

// table implements rest.TableConvertor with fixed columns. Cells are of the types that JSON decodes to, such
// as string and int64: the audit log copies a table if its policy omits managed fields, and upstream's
// copy panics for other types.
type table struct {
	columns []metav1.TableColumnDefinition
	cells   func(runtime.Object) ([]any, error)
}

var _ rest.TableConvertor = table{}

// attributeTable has the columns of protected attributes for kubectl get.
var attributeTable = table{columns: columns, cells: func(obj runtime.Object) ([]any, error) {
	attribute, ok := obj.(authority.Attribute)
	if !ok {
		return nil, fmt.Errorf("%T is not a protected attribute", obj)
	}
	return cells(attribute), nil
}}

var columns = []metav1.TableColumnDefinition{
	{Name: "Name", Type: "string", Format: "name", Description: "The name of the object."},
	{Name: "Kind", Type: "string", Description: "Whether a label or an annotation is protected."},
	{Name: "Attribute", Type: "string", Description: "The key that is protected, or the domain whose keys are protected."},
	{Name: "Role", Type: "string", Description: "The role whose holders may change the label or annotation, or <verb> if a verb is needed instead."},
	{Name: "Mode", Type: "string", Description: "Whether requests are refused, or only audited."},
	{Name: "Accepted", Type: "string", Description: "Whether the attribute is in effect."},
	{Name: "Age", Type: "string", Description: "The time since the object was created."},
	{Name: "Values", Type: "string", Priority: 1, Description: "The values that are protected, or that the role may set."},
	{Name: "Resources", Type: "string", Priority: 1, Description: "The resources whose objects are protected."},
	{Name: "Holders", Type: "integer", Priority: 1, Description: "The number of subjects that hold the role."},
	{Name: "Violations", Type: "integer", Priority: 1,
		Description: "The number of requests that the mode Audit allowed and Enforce would refuse."},
}

// ConvertToTable implements rest.TableConvertor.
func (t table) ConvertToTable(_ context.Context, object runtime.Object, options runtime.Object) (*metav1.Table, error) {
	out := &metav1.Table{}
	if o, ok := options.(*metav1.TableOptions); !ok || !o.NoHeaders {
		out.ColumnDefinitions = t.columns
	}
	add := func(object runtime.Object) error {
		cells, err := t.cells(object)
		if err != nil {
			return err
		}
		out.Rows = append(out.Rows, metav1.TableRow{Cells: cells, Object: runtime.RawExtension{Object: object}})
		return nil
	}
	if list, err := meta.ListAccessor(object); err == nil && meta.IsListType(object) {
		out.ResourceVersion, out.Continue, out.RemainingItemCount = list.GetResourceVersion(), list.GetContinue(), list.GetRemainingItemCount()
		return out, meta.EachListItem(object, add)
	}
	if common, err := meta.CommonAccessor(object); err == nil {
		out.ResourceVersion = common.GetResourceVersion()
	}
	return out, add(object)
}

func cells(a authority.Attribute) []any {
	meta, spec, status := a.Parts()
	accepted := "Unknown"
	for _, c := range status.Conditions {
		if c.Type == v1alpha1.ConditionAccepted {
			accepted = string(c.Status)
		}
	}
	return []any{
		meta.Name, string(spec.AttributeKind), spec.AttributeName, roleOf(spec), string(spec.Mode), accepted,
		metatable.ConvertToHumanReadableDateType(meta.CreationTimestamp),
		valuesOf(spec), resourcesOf(spec), status.HolderCount, status.AuditViolations,
	}
}

func roleOf(spec *v1alpha1.ProtectedAttributeSpec) string {
	if spec.RoleRef == nil {
		return "<verb>"
	}
	return spec.RoleRef.Kind + "/" + spec.RoleRef.Name
}

func valuesOf(spec *v1alpha1.ProtectedAttributeSpec) string {
	switch {
	case len(spec.ProtectedValues) > 0:
		return firstThree(spec.ProtectedValues)
	case len(spec.AllowedValues) > 0:
		return "only " + firstThree(spec.AllowedValues)
	}
	return "<all>"
}

func resourcesOf(spec *v1alpha1.ProtectedAttributeSpec) string {
	names := func(all []v1alpha1.GroupResource) (out []string) {
		for _, r := range all {
			out = append(out, strings.TrimSuffix(r.Resource+"."+r.Group, "."))
		}
		return out
	}
	text := "<all>"
	if len(spec.Resources) > 0 {
		text = firstThree(names(spec.Resources))
	}
	if len(spec.ExcludeResources) > 0 {
		text += " but " + firstThree(names(spec.ExcludeResources))
	}
	return text
}

// firstThree returns a text with at most three of the values, and the number of the other values.
func firstThree(all []string) string {
	if more := len(all) - 3; more > 0 {
		return fmt.Sprintf("%s + %d more", strings.Join(all[:3], ","), more)
	}
	return strings.Join(all, ",")
}
