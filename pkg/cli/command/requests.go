// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/changes"
	"kube-granular.dev/pkg/cli/kinds"
)

// patchTypes are the values of --type, as in kubectl patch.
var patchTypes = map[string]types.PatchType{
	"strategic": types.StrategicMergePatchType, "merge": types.MergePatchType, "json": types.JSONPatchType,
}

// changeFlags are the flags that describe a change, for can-i and role.
type changeFlags struct {
	files            resource.FilenameOptions
	replace          bool
	patch, patchType string
	subresource      string
	manager          string
}

func (o *changeFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().StringSliceVarP(&o.files.Filenames, "filename", "f", nil,
		"files with objects, as kubectl apply --server-side takes them; - is standard input")
	cmd.Flags().BoolVarP(&o.files.Recursive, "recursive", "R", false, "look for files inside the folders that --filename names")
	cmd.Flags().BoolVar(&o.replace, "replace", false,
		"with --filename: replace or create the objects, as kubectl replace does, instead of applying them")
	cmd.Flags().StringVar(&o.manager, "field-manager", "kubectl",
		"with --filename: the manager that applies; fields that it applied before and now leaves out are removed")
	cmd.Flags().StringVarP(&o.patch, "patch", "p", "", "a patch of RESOURCE/NAME, in JSON or YAML")
	cmd.Flags().StringVar(&o.patchType, "type", "",
		"the type of the patch: strategic, merge or json; the default is strategic, and merge for custom resources")
	cmd.Flags().StringVar(&o.subresource, "subresource", "", "the subresource to patch, such as status or scale")
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions([]string{"strategic", "merge", "json"},
		cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("subresource", cobra.FixedCompletions([]string{"status", "scale"}, cobra.ShellCompDirectiveNoFileComp))
}

// errNoChange is the error if no change is given, or more than one.
var errNoChange = errors.New("give exactly one change: -f FILE, or RESOURCE/NAME --patch PATCH, or -- kubectl ARGS")

// changeRequests are the requests that make up a change.
type changeRequests struct {
	rehearser *changes.DryRunner
	requests  []changes.Request
	reads     []changes.Read
}

// requests returns the requests that the flags and arguments of a command describe, in the namespace of the
// flags.
func (o *changeFlags) requests(cmd *cobra.Command, s *options, args []string) (*changeRequests, error) {
	namespace, _, err := s.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, err
	}
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		return o.requestsIn(cmd.Context(), s, namespace, args[:dash], args[dash:])
	}
	return o.requestsIn(cmd.Context(), s, namespace, args, nil)
}

// requestsIn returns the requests that the flags, the arguments before a kubectl command, and that command
// describe. It runs the command and records the requests that the command sends.
func (o *changeFlags) requestsIn(ctx context.Context, s *options, namespace string, before, command []string) (*changeRequests, error) {
	forms := 0
	for _, given := range []bool{len(o.files.Filenames) > 0, o.patch != "", len(command) > 0} {
		if given {
			forms++
		}
	}
	if forms != 1 {
		return nil, errNoChange
	}
	c, err := s.cluster()
	if err != nil {
		return nil, err
	}
	own, err := s.ownConfig()
	if err != nil {
		return nil, err
	}
	client, err := changes.NewClient(own)
	if err != nil {
		return nil, err
	}
	out := &changeRequests{rehearser: &changes.DryRunner{Kinds: c, Client: client}}
	switch {
	case len(command) > 0:
		if len(before) > 0 {
			return nil, errNoChange
		}
		if command, err = s.kubectlCommand(command); err != nil {
			return nil, err
		}
		recording, err := out.rehearser.Record(ctx, own, changes.Command{Args: command, Stdin: s.streams.In, Namespace: namespace})
		if err != nil {
			return nil, err
		}
		out.requests, out.reads = recording.Requests, recording.Reads
	case o.patch != "":
		request, err := o.requestFromPatch(c, before, namespace)
		if err != nil {
			return nil, err
		}
		out.requests = []changes.Request{*request}
		// kubectl patch reads the object before it sends the patch.
		resource := request.Kind.Resource
		out.reads = []changes.Read{{Verb: "get", Group: resource.Group, Resource: resource.Resource, Namespace: request.Namespace,
			Name: request.Name, Below: request.Subresource}}
	default:
		if len(before) > 0 {
			return nil, errNoChange
		}
		out.requests, err = o.requestsFromFiles(ctx, s, c, out.rehearser, namespace)
	}
	return out, err
}

// ownConfig returns the client configuration of the caller, without the impersonation of --as.
func (s *options) ownConfig() (*rest.Config, error) {
	config, err := s.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	if s.impersonates() {
		config = rest.CopyConfig(config)
		config.Impersonate = rest.ImpersonationConfig{}
	}
	return config, nil
}

// impersonates reports whether --as or --as-group is set.
func (s *options) impersonates() bool {
	return *s.flags.Impersonate != "" || len(*s.flags.ImpersonateGroup) > 0
}

func (o *changeFlags) requestFromPatch(c *kinds.Cluster, args []string, namespace string) (*changes.Request, error) {
	k, name, err := findObject(c, args)
	if err != nil {
		return nil, err
	}
	format, known := patchTypes[o.patchType]
	if o.patchType == "" {
		// The server has strategic merge patches only for the types that clients know too.
		format, known = types.StrategicMergePatchType, true
		if !scheme.Scheme.Recognizes(k.Kind) {
			format = types.MergePatchType
		}
	}
	if !known {
		return nil, fmt.Errorf("--type: %q is not supported, use one of strategic, merge, json", o.patchType)
	}
	body, err := yaml.YAMLToJSON([]byte(o.patch))
	if err != nil {
		return nil, fmt.Errorf("--patch is neither JSON nor YAML: %w", err)
	}
	out := &changes.Request{Verb: "patch", Kind: k, Name: name, Subresource: o.subresource, PatchType: format, Body: body, Query: strict()}
	if k.Namespaced {
		out.Namespace = namespace
	}
	return out, nil
}

// strict returns the query by which the server refuses unknown fields, instead of ignoring them.
func strict() url.Values { return url.Values{"fieldValidation": {metav1.FieldValidationStrict}} }

// kubectlCommands are the commands of kubectl that write, for a command without kubectl in front.
var kubectlCommands = []string{
	"annotate", "apply", "autoscale", "certificate", "cordon", "create", "drain", "edit", "expose", "label", "patch", "replace",
	"rollout", "run", "scale", "set", "taint", "uncordon",
}

// kubectlCommand returns a command that begins with kubectl. A bare command such as scale is
// completed, with a hint; another program is an error.
func (s *options) kubectlCommand(args []string) ([]string, error) {
	program := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	switch {
	case program == "kubectl" || strings.HasPrefix(program, "kubectl-"):
		return args, nil
	case slices.Contains(kubectlCommands, args[0]):
		printing.Fprintf(s.streams.ErrOut, "%s is taken as kubectl %s.\n", args[0], args[0])
		return append([]string{"kubectl"}, args...), nil
	}
	return nil, fmt.Errorf("%q is not kubectl; give a command of kubectl that writes, such as -- kubectl scale deployment web --replicas=3", args[0])
}

// findObject parses RESOURCE/NAME, or RESOURCE NAME.
func findObject(c *kinds.Cluster, args []string) (*kinds.Kind, string, error) {
	var resource, name string
	switch {
	case len(args) == 1 && strings.Count(args[0], "/") == 1:
		resource, name, _ = strings.Cut(args[0], "/")
	case len(args) == 2 && !strings.Contains(args[0], "/"):
		resource, name = args[0], args[1]
	}
	if resource == "" || name == "" {
		return nil, "", errors.New("no object is given; name one as RESOURCE/NAME, for example deployments/web")
	}
	k, err := c.Lookup(resource, "")
	return k, name, err
}

// requestsFromFiles returns the requests for the objects in files.
func (o *changeFlags) requestsFromFiles(ctx context.Context, s *options, c *kinds.Cluster, r *changes.DryRunner, namespace string) ([]changes.Request, error) {
	result := resource.NewBuilder(s.flags).Unstructured().Local().ContinueOnError().
		NamespaceParam(namespace).DefaultNamespace().FilenameParam(false, &o.files).Flatten().Do()
	infos, err := result.Infos()
	if err != nil {
		return nil, err
	}
	var out []changes.Request
	for _, info := range infos {
		u, ok := info.Object.(*unstructured.Unstructured)
		if !ok {
			return nil, fmt.Errorf("%s: not an object", info.Source)
		}
		gvk := u.GroupVersionKind()
		k, err := c.ForKind(gvk)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", info.Source, err)
		}
		if k.Namespaced {
			if u.GetNamespace() == "" {
				u.SetNamespace(namespace)
			}
		} else {
			u.SetNamespace("")
		}
		body, err := json.Marshal(u.Object)
		if err != nil {
			return nil, err
		}
		request := changes.Apply(k, u.GetNamespace(), u.GetName(), o.manager, body)
		if o.replace || u.GetName() == "" {
			request = changes.Request{Verb: "update", Kind: k, Namespace: u.GetNamespace(), Name: u.GetName(), Body: body, Query: strict()}
			stored, err := r.Stored(ctx, request)
			if err != nil {
				return nil, err
			}
			if stored == nil {
				request.Verb = "create"
			}
		}
		out = append(out, request)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: the files have no objects", strings.Join(slices.Clone(o.files.Filenames), ", "))
	}
	return out, nil
}
