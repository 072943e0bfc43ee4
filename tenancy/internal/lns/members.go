// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lns

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/create"
	"kube-granular.dev/tenancy/internal/kubectl"
)

// memberList is one of the lists of people in a spec.
type memberList struct {
	// field is the name of the list in the spec.
	field string
	// of returns the list, and granted those of the list who have permissions.
	of, granted func(*v1alpha1.LNamespace) []v1alpha1.Subject
}

var lists = []memberList{
	{"users", func(t *v1alpha1.LNamespace) []v1alpha1.Subject { return t.Spec.Users },
		func(t *v1alpha1.LNamespace) []v1alpha1.Subject { return t.Status.Granted.Users }},
	{"managers", func(t *v1alpha1.LNamespace) []v1alpha1.Subject { return t.Spec.Managers },
		func(t *v1alpha1.LNamespace) []v1alpha1.Subject { return t.Status.Granted.Managers }},
	{"sudoers", func(t *v1alpha1.LNamespace) []v1alpha1.Subject { return t.Spec.Sudoers },
		func(t *v1alpha1.LNamespace) []v1alpha1.Subject { return t.Status.Granted.Sudoers }},
}

// listNames are the names of the lists.
func listNames() []string {
	var out []string
	for _, l := range lists {
		out = append(out, l.field)
	}
	return out
}

func newAdd(o *options) *cobra.Command {
	return newMembers(o, &cobra.Command{
		Use:   "add NAME users|managers|sudoers WHO...",
		Short: "Add people to a list of a tenant",
		Long: `Add people to a list of a tenant.

WHO is the name of a user, group:NAME or serviceaccount:NAMESPACE:NAME. Who is in the list
already stays. What others change at the same time is not lost.

With --until, the entries end. Of somebody in the list, it prolongs the end, and never shortens it:
remove the entry first.`,
		Example: `  # Ada and a group become users of the tenant books
  kubectl lns add books users ada group:readers

  # Ben becomes a user until the end of the year
  kubectl lns add books users ben --until 2099-12-31T23:59:59Z

  # Would the server allow it?
  kubectl lns add books sudoers ada --dry-run=server`,
		ValidArgsFunction: o.complete(o.completeName, completeList),
	}, addition, func(cmd *cobra.Command) { create.AddUntil(cmd, "the entries end") })
}

func newRemove(o *options) *cobra.Command {
	return newMembers(o, &cobra.Command{
		Use:   "remove NAME users|managers|sudoers WHO...",
		Short: "Remove people from a list of a tenant",
		Long: `Remove people from a list of a tenant.

WHO is the name of a user, group:NAME or serviceaccount:NAMESPACE:NAME. If somebody is not in
the list, the command changes nothing. What others change at the same time is not lost.`,
		Example: `  # Ada leaves the list of sudoers of the tenant books
  kubectl lns remove books sudoers ada`,
		ValidArgsFunction: o.complete(o.completeName, completeList, o.completeMember),
	}, removal, nil)
}

// newMembers completes a command that changes one list. operations returns the JSON patch for the
// entries of the list and the subjects that the user named.
func newMembers(o *options, cmd *cobra.Command,
	operations func(object *unstructured.Unstructured, field string, who []v1alpha1.Subject) ([]operation, error),
	addFlags func(*cobra.Command)) *cobra.Command {
	c := &changer{options: o}
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) < 3 {
			return errors.New("want the NAME of an LNamespace, a list, and who")
		}
		if !slices.Contains(listNames(), args[1]) {
			return fmt.Errorf("%q is no list; want one of %v", args[1], listNames())
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		until := ""
		if cmd.Flags().Lookup("until") != nil {
			var err error
			if until, err = create.Until(cmd.Flags(), time.Now()); err != nil {
				return kubectl.UsageError(cmd, err)
			}
		}
		var who []v1alpha1.Subject
		for _, word := range args[2:] {
			s, err := create.Subject(word)
			if err != nil {
				return err
			}
			if s.Name == "" {
				return fmt.Errorf("%q names nobody", word)
			}
			if s.Until = until; !slices.Contains(who, s) {
				who = append(who, s)
			}
		}
		return c.run(cmd, args[0], func(object *unstructured.Unstructured) ([]operation, error) {
			return operations(object, args[1], who)
		})
	}
	c.addFlags(cmd)
	if addFlags != nil {
		addFlags(cmd)
	}
	return cmd
}

// addition returns the operations that add subjects at the end of a list. An entry that ends earlier does not count as
// the same: one without an end is added beside it, and one with an end replaces it.
func addition(object *unstructured.Unstructured, field string, who []v1alpha1.Subject) ([]operation, error) {
	entries, err := entriesOf(object, field)
	if err != nil {
		return nil, err
	}
	var added []any
	var replaced []operation
	for _, s := range who {
		if slices.Contains(entries, s) {
			continue
		}
		index, err := prolonged(object, field, entries, s)
		if err != nil {
			return nil, err
		}
		if index >= 0 {
			replaced = append(replaced, operation{Op: "replace", Path: fmt.Sprintf("/spec/%s/%d/until", field, index), Value: s.Until})
			continue
		}
		entry, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&s)
		if err != nil {
			return nil, err
		}
		added = append(added, entry)
	}
	if len(added) > 0 && len(entries) == 0 {
		return setField(object, added, "spec", field), nil
	}
	out := replaced
	for _, entry := range added {
		out = append(out, operation{Op: "add", Path: "/spec/" + field + "/-", Value: entry})
	}
	return out, nil
}

// prolonged returns the index of the entry whose end a subject with an end replaces, or -1. It returns an error if an
// entry of the subject ends later, because the end would change nothing.
func prolonged(object *unstructured.Unstructured, field string, entries []v1alpha1.Subject, s v1alpha1.Subject) (int, error) {
	last := -1
	end, ends := s.End()
	if !ends {
		return last, nil
	}
	for i, entry := range entries {
		if !entry.Same(s) {
			continue
		}
		last = i
		if other, ends := entry.End(); !ends || other.After(end) {
			return -1, fmt.Errorf("LNamespace %q: spec.%s has %s %q already, and its entry ends later or never; "+
				"remove it first: kubectl lns remove %s %s %s",
				object.GetName(), field, s.Kind, inside(s), object.GetName(), field, text(s))
		}
	}
	return last, nil
}

// removal returns the operations that remove all entries of the subjects from a list, whenever they end.
func removal(object *unstructured.Unstructured, field string, who []v1alpha1.Subject) ([]operation, error) {
	entries, err := entriesOf(object, field)
	if err != nil {
		return nil, err
	}
	for _, s := range who {
		if !slices.ContainsFunc(entries, s.Same) {
			return nil, fmt.Errorf("LNamespace %q: spec.%s has no %s %q", object.GetName(), field, s.Kind, inside(s))
		}
	}
	var out []operation
	for i, s := range slices.Backward(entries) { // so that the indices of the others stay
		if slices.ContainsFunc(who, s.Same) {
			out = append(out, operation{Op: "remove", Path: fmt.Sprintf("/spec/%s/%d", field, i)})
		}
	}
	return out, nil
}

// entriesOf returns the subjects of a list, in the order of its entries.
func entriesOf(object *unstructured.Unstructured, field string) ([]v1alpha1.Subject, error) {
	list, _, err := unstructured.NestedSlice(object.Object, "spec", field)
	if err != nil {
		return nil, fmt.Errorf("LNamespace %q: %w", object.GetName(), err)
	}
	var out []v1alpha1.Subject
	for i, entry := range list {
		fields, ok := entry.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("LNamespace %q: spec.%s[%d] is no object", object.GetName(), field, i)
		}
		s := v1alpha1.Subject{}
		for key, to := range map[string]*string{"kind": (*string)(&s.Kind), "name": &s.Name, "namespace": &s.Namespace, "until": &s.Until} {
			if *to, _, err = unstructured.NestedString(fields, key); err != nil {
				return nil, fmt.Errorf("LNamespace %q: spec.%s[%d]: %w", object.GetName(), field, i, err)
			}
		}
		s.Kind = cmp.Or(s.Kind, v1alpha1.UserKind)
		out = append(out, s)
	}
	return out, nil
}
