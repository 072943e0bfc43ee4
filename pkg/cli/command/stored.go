// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/hidden"
	"kube-granular.dev/pkg/cli/output"
	"kube-granular.dev/pkg/cli/pages"
)

// hiddenFields is an object that may store fields which no version shows.
type hiddenFields struct {
	Namespace string   `json:"namespace,omitempty"`
	Name      string   `json:"name"`
	Fields    []string `json:"fields"`
}

func newStored(s *options) *cobra.Command {
	var format output.Flag
	cmd := &cobra.Command{
		Use:   "stored RESOURCE.GROUP",
		Short: "List custom resources that may store fields which no version shows",
		Long: `List custom resources that may store fields which no version shows, in all namespaces.

If a definition loses a field, stored objects keep it, but no version shows it, and the next write of
the object erases it. So the server refuses writes of callers without update, until a holder of
update has rewritten the object, for example by an empty patch. Put the field back into the
definition first if its value is still needed.

The command compares metadata.managedFields of each object with the schemas of the definition, because
no request returns such fields. It does not find fields of objects whose managed fields were reset. It
may still list an object that has been rewritten, as long as its managed fields name the field.`,
		Example: indentExamples(`
			# Which objects still have fields that their definition lost?
			kubectl granular stored widgets.widgets.example`),
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := format.Validate(); err != nil {
				return err
			}
			found, objects, err := s.hiddenFields(cmd, args[0])
			if err != nil {
				return err
			}
			err = format.Print(s.streams.Out, found, func(page *printing.Page) error {
				if len(found) == 0 {
					return nil
				}
				var rows [][]string
				for _, f := range found {
					rows = append(rows, []string{orNone(f.Namespace), f.Name, strings.Join(f.Fields, ",")})
				}
				return page.Table([]string{"NAMESPACE", "NAME", "FIELDS"}, rows)
			})
			if err != nil {
				return err
			}
			return printing.Fprintf(s.streams.ErrOut, "%d objects, %d with fields of no version\n", objects, len(found))
		},
	}
	format.AddTo(cmd)
	return cmd
}

// hiddenFields returns the objects of a custom resource that may store fields which no version
// shows, and the number of all objects.
func (s *options) hiddenFields(cmd *cobra.Command, name string) ([]hiddenFields, int, error) {
	definitions, err := connect(s.flags.ToRESTConfig, apiextensionsclient.NewForConfig)
	if err != nil {
		return nil, 0, err
	}
	crd, err := definitions.CustomResourceDefinitions().Get(cmd.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nil, 0, fmt.Errorf("read the definition: %w", err)
	}
	client, err := connect(s.flags.ToRESTConfig, metadata.NewForConfig)
	if err != nil {
		return nil, 0, err
	}
	resource := client.Resource(schema.GroupVersionResource{Group: crd.Spec.Group, Version: servedVersion(crd),
		Resource: crd.Spec.Names.Plural})
	schemas, out, objects := hidden.Schemas(crd), []hiddenFields{}, 0
	err = pages.Each(cmd.Context(), resource.List, func(object *metav1.PartialObjectMetadata) error {
		objects++
		fields, err := hidden.Fields(schemas, object.ManagedFields)
		if err == nil && len(fields) > 0 {
			out = append(out, hiddenFields{object.Namespace, object.Name, fields})
		}
		return err
	})
	return out, objects, err
}

// servedVersion returns the first version of a definition that is served.
func servedVersion(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, v := range crd.Spec.Versions {
		if v.Served {
			return v.Name
		}
	}
	return ""
}
