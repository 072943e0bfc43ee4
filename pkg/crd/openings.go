// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/granular"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"kube-granular.dev/granular/schema"
)

// Opening is one way in which an update of a definition weakens what the definition excludes. An
// excluded field needs its permission from every caller, also from one that holds update.
type Opening struct {
	// Version is the version in which the field opens. It is empty if the whole definition is
	// affected.
	Version string
	// Field is the path of the field in the custom resource, such as .spec.secret. If Version is
	// empty, it is a path in the definition.
	Field string
	// What says what happens to the field.
	What string

	// way leads to the field. base is the stored version with which Version is compared.
	way  []schema.Step
	base string
}

// String returns a phrase for a message, such as "version v1: .spec.secret is no longer excluded".
func (o Opening) String() string {
	if o.Version == "" {
		return fmt.Sprintf("%s %s", o.Field, o.What)
	}
	return fmt.Sprintf("version %s: %s %s", o.Version, o.Field, o.What)
}

// Changed returns the path of the field of the definition that the update changes.
func (o Opening) Changed() string {
	if o.Version == "" {
		return o.Field
	}
	return versionsField
}

const (
	versionsField   = ".spec.versions"
	conversionField = ".spec.conversion"
	unknownField    = ".spec.preserveUnknownFields"
)

// Openings returns what newCRD weakens of that which oldCRD excludes. It is empty if everybody who
// may change an excluded field after the update may do so before it.
//
// Each version of newCRD is compared with one of oldCRD, also if it is not used: objects may be stored in
// it, and the server reads them by its schema. A version is compared with the one of the same name, and with
// the stored version if it comes into use or is new.
func (v *Validator) Openings(newCRD, oldCRD *apiextensions.CustomResourceDefinition) []Opening {
	out := v.outliving(newCRD, oldCRD)
	if !Uses(oldCRD) || apiequality.Semantic.DeepEqual(newCRD.Spec, oldCRD.Spec) {
		return out
	}
	if base := v.compiledVersions(oldCRD); slices.ContainsFunc(base, (*crdVersion).excludes) {
		out = append(out, v.openedVersions(newCRD, base)...)
		if what := v.conversionOpened(newCRD, oldCRD); what != "" {
			out = append(out, Opening{Field: conversionField, What: what})
		}
		if ptr.Deref(oldCRD.Spec.PreserveUnknownFields, false) && !ptr.Deref(newCRD.Spec.PreserveUnknownFields, false) {
			out = append(out, Opening{Field: unknownField,
				What: "is false now, so that the server drops what excluded fields contain and no schema has"})
		}
	}
	if !Uses(newCRD) {
		out = append(out, Opening{Field: versionsField, What: "have no permission extension any more"})
	}
	return out
}

// Uses reports whether some version of a definition has a permission extension.
func Uses(crd *apiextensions.CustomResourceDefinition) bool {
	if crd.Spec.Validation != nil && granular.Uses(crd.Spec.Validation.OpenAPIV3Schema) {
		return true
	}
	return slices.ContainsFunc(crd.Spec.Versions, func(v apiextensions.CustomResourceDefinitionVersion) bool {
		return v.Schema != nil && granular.Uses(v.Schema.OpenAPIV3Schema)
	})
}

// compiledVersions returns the versions that have a schema. The stored version is the first. A version
// whose schema does not compile has no tree.
func (v *Validator) compiledVersions(crd *apiextensions.CustomResourceDefinition) []*crdVersion {
	var out []*crdVersion
	trees := map[*apiextensions.JSONSchemaProps]*schema.Tree{}
	for _, version := range versionsOf(crd) {
		tree, known := trees[version.schema]
		if !known {
			if compiled, err := v.compile(version.schema); err == nil {
				tree = compiled
			}
			trees[version.schema] = tree
		}
		version.tree = tree
		if stored := slices.ContainsFunc(crd.Spec.Versions, func(s apiextensions.CustomResourceDefinitionVersion) bool {
			return s.Name == version.name && s.Storage
		}); stored {
			out = slices.Insert(out, 0, version)
		} else {
			out = append(out, version)
		}
	}
	return out
}

// excludes reports whether a version has an excluded permission. If its schema does not compile,
// excludes reports whether the schema mentions one.
func (v *crdVersion) excludes() bool {
	if v.tree == nil {
		return granular.Excludes(v.full)
	}
	return v.tree.HasExcluded()
}

// openedVersions compares the versions of an updated definition with the stored definition, whose
// versions are base. One of them excludes something.
func (v *Validator) openedVersions(newCRD *apiextensions.CustomResourceDefinition, base []*crdVersion) []Opening {
	var out []Opening
	updated := v.compiledVersions(newCRD)
	for i := range newCRD.Spec.Versions {
		name := newCRD.Spec.Versions[i].Name
		named := func(v *crdVersion) bool { return v.name == name }
		inUse := newCRD.Spec.Versions[i].Served || newCRD.Spec.Versions[i].Storage
		var compared []*crdVersion
		former := slices.IndexFunc(base, named)
		if former >= 0 {
			compared = append(compared, base[former])
		}
		starts := former < 0 || inUse && !base[former].inUse // to be used
		if starts && former != 0 {
			compared = append(compared, base[0])
		}
		index, seen := slices.IndexFunc(updated, named), map[string]bool{}
		for _, stored := range compared {
			switch {
			case !stored.excludes() && (stored.name != name || inUse && !starts):
			case index < 0:
				out = append(out, Opening{Version: name, Field: versionsField, What: "has no schema any more", base: stored.name})
			case !stored.excludes():
				// It has no excluded field to compare, but values in it can be those of excluded fields of other versions.
				if where, what := schemaDifference(stored.full, updated[index].full, "", true); what != "" {
					out = append(out, Opening{Version: name, Field: cmp.Or(where, "."), base: stored.name,
						What: fmt.Sprintf("gets another %s, by which objects that are stored in the version are read", what)})
				}
			default:
				c := comparison{stored: stored, updated: updated[index], seen: seen}
				c.compare()
				out = append(out, c.found...)
			}
		}
	}
	if !hasWebhook(newCRD.Spec.Conversion) {
		return out
	}
	for _, stored := range base {
		named := func(v apiextensions.CustomResourceDefinitionVersion) bool { return v.Name == stored.name }
		if !slices.ContainsFunc(newCRD.Spec.Versions, named) {
			out = append(out, Opening{Version: stored.name, Field: versionsField, base: stored.name,
				What: "loses it; if a webhook converts, one of the name could come back with the excluded fields elsewhere"})
		}
	}
	return out
}

// conversionOpened returns what the update opens by its conversion, or "". A conversion webhook can
// change every field when the server converts an object. So it is an opening if a definition gets a
// webhook, or one at another address. Its certificates and the versions of its review don't matter.
// Without the webhook that it had, a field that versions have at different places would be lost.
func (v *Validator) conversionOpened(newCRD, oldCRD *apiextensions.CustomResourceDefinition) string {
	updated, stored := newCRD.Spec.Conversion, oldCRD.Spec.Conversion
	before, after := hasWebhook(stored), hasWebhook(updated)
	switch {
	case after && !before:
		return "gets a webhook, which can change every field"
	case after && !reflect.DeepEqual(addressOf(updated), addressOf(stored)):
		return "gets a webhook at another address, which can change every field"
	case before && !after:
		versions := v.compiledVersions(newCRD)
		for _, version := range versions {
			version.inUse = true // objects may be stored in it
		}
		if len(disagreements(newCRD, versions)) > 0 {
			return "has no webhook any more, and versions have excluded fields at different places"
		}
	}
	return ""
}

// hasWebhook reports whether a webhook converts.
func hasWebhook(c *apiextensions.CustomResourceConversion) bool {
	return c != nil && c.Strategy == apiextensions.WebhookConverter
}

func addressOf(c *apiextensions.CustomResourceConversion) any {
	if c.WebhookClientConfig == nil {
		return nil
	}
	config := *c.WebhookClientConfig
	config.CABundle = nil
	return config
}
