// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	numbers "k8s.io/apimachinery/pkg/util/json"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/apiserver/pkg/storage"
)

// pruning is the codec of a version of things. It prunes the fields of spec that the version of the
// object lacks, sets the defaults of that version, and converts the object to its own version.
type pruning struct {
	version  string
	fields   map[string][]string       // of spec, by version
	defaults map[string]map[string]any // of spec, by version
}

func (c pruning) Identifier() runtime.Identifier { return "pruning" }

func (c pruning) Encode(obj runtime.Object, w io.Writer) error {
	return json.NewEncoder(w).Encode(obj.(*unstructured.Unstructured).Object)
}

func (c pruning) Decode(data []byte, _ *gvk.GroupVersionKind, _ runtime.Object) (runtime.Object, *gvk.GroupVersionKind, error) {
	u := &unstructured.Unstructured{}
	if err := numbers.Unmarshal(data, &u.Object); err != nil {
		return nil, nil, err
	}
	source := u.GroupVersionKind()
	spec, _ := u.Object["spec"].(map[string]any)
	var unknown []error
	prune := func(version string) {
		for _, name := range slices.Sorted(maps.Keys(spec)) {
			if !slices.Contains(c.fields[version], name) {
				unknown = append(unknown, fmt.Errorf(`unknown field "%s"`, "spec."+name)) // as upstream writes it
				delete(spec, name)
			}
		}
	}
	prune(source.Version)
	for name, value := range c.defaults[source.Version] {
		if _, set := spec[name]; !set && spec != nil {
			spec[name] = value
		}
	}
	own := slices.Clone(unknown)
	for name := range u.Object {
		if strings.HasPrefix(name, "metadata.") {
			own = append(own, fmt.Errorf("unknown field %q", name))
			delete(u.Object, name)
		}
	}
	prune(c.version)
	u.SetAPIVersion("example.com/" + c.version)
	if _, ok := u.Object["strange"]; ok {
		own = append(own, errors.New(`unknown field "metadata.strange"`))
	}
	if len(own) > 0 {
		return u, &source, runtime.NewStrictDecodingError(own)
	}
	return u, &source, nil
}

// renaming is the conversion webhook of things: size in v1 is trigger in v2, unless the status has
// the field force, and hint in v1 is secret in v2.
type renaming struct {
	runtime.ObjectConvertor
	calls, objects int
	fails          bool
}

func (c *renaming) ConvertToVersion(in runtime.Object, version runtime.GroupVersioner) (runtime.Object, error) {
	if _, scale := in.(*autoscalingv1.Scale); scale {
		return in, nil
	}
	if c.calls++; c.fails {
		return nil, errors.New("it fails")
	}
	list := in.(*unstructured.UnstructuredList).DeepCopy()
	for i := range list.Items {
		c.objects++
		spec, _ := list.Items[i].Object["spec"].(map[string]any)
		if spec["size"] != nil {
			spec["trigger"] = spec["size"]
			delete(spec, "size")
		}
		if spec["hint"] != nil {
			spec["secret"] = spec["hint"]
			delete(spec, "hint")
		}
		if status, ok := list.Items[i].Object["status"].(map[string]any); ok {
			if force, ok := status["force"]; ok && force == nil {
				delete(spec, "trigger")
			} else if ok {
				spec["trigger"] = force
			}
			if status["hint"] != nil {
				spec["secret"] = status["hint"]
			}
			delete(list.Items[i].Object, "status")
		}
		list.Items[i].SetGroupVersionKind(version.(gvk.GroupVersion).WithKind("Thing"))
	}
	return list, nil
}

// storedTarget returns the target of a thing that is written in v1 and stored as v2. The field
// secret of spec is only in v2, and so is low, which has a default. data is what is stored; if it is
// empty, there is no object. edits are pairs of texts: the first is replaced by the second in the
// schema of v2.
func storedTarget(t testing.TB, data string, excluded bool, edits ...string) granular.Target {
	t.Helper()
	v2 := strings.Replace(strings.Replace(things, `"version": "v1"`, `"version": "v2"`, 1), `"trigger": {`,
		fmt.Sprintf(`"secret": {"type": "string", "x-kubernetes-permission-verb": "secret", "x-kubernetes-permission-excluded": %t},
		"low": {"type": "string", "x-kubernetes-permission-verb": "low"}, "image": {"type": "string"}, "count": {"type": "integer"},
		"trigger": {`, excluded), 1)
	v2 = strings.NewReplacer(edits...).Replace(v2)
	out := target(t, "")
	out.Convertor = &renaming{}
	out.Schema = granular.NewSchema(models(t, map[string]string{
		"thing":   strings.Replace(things, "EXCLUDED", "false", 1),
		"thingV2": strings.Replace(v2, "EXCLUDED", "false", 1),
		"thingV0": strings.NewReplacer("EXCLUDED", "false", `"version": "v2"`, `"version": "v0"`, `"trigger": {`, fmt.Sprintf(
			`"old": {"type": "integer", "x-kubernetes-permission-verb": "old", "x-kubernetes-permission-excluded": %t}, "trigger": {`, excluded)).Replace(v2),
		"scale": scaleModel,
	}))
	out.Schema.Excludes = []gvk.GroupVersionKind{}
	if excluded {
		out.Schema.Excludes = append(out.Schema.Excludes, thingV2)
	}
	out.Schema.Stored = &granular.Stored{Kind: thingV2, Versions: map[string]*granular.StoredVersion{}}
	for _, version := range []string{"v0", "v1", "v2"} {
		v := out.Schema.Stored.Add(version, false, []string{"spec", "size"})
		v.StorageCodec(pruning{version: version,
			fields: map[string][]string{"v0": {"size", "old", "secret"}, "v1": {"size", "only1"}, "v2": {"size", "secret", "low", "trigger", "image", "count"},
				"v3": {"size"}},
			defaults: map[string]map[string]any{"v2": {"low": "d"}}})
		v.Read = func(_ context.Context, name string) (*granular.StoredObject, error) {
			if data == "" || name != "t" {
				return nil, storage.NewKeyNotFoundError("t", 0)
			}
			raw := &granular.StoredObject{Data: []byte(data)}
			raw.ResourceVersion = "5"
			return raw, nil
		}
	}
	return out
}

// storedAs returns the data of a thing that is stored in a version.
func storedAs(version, spec string) string {
	return `{"apiVersion":"example.com/` + version + `","kind":"Thing","metadata":{"name":"t","uid":"1"},"spec":` + spec + `}`
}

func versioned(t testing.TB, spec, resourceVersion string) runtime.Object {
	if spec == "" {
		return nil
	}
	u := object(t, "{}")
	if err := numbers.Unmarshal([]byte(`{"metadata":{"name":"t","uid":"1"},"spec":`+spec+"}"), &u.Object); err != nil {
		t.Fatal(err)
	}
	u.SetResourceVersion(resourceVersion)
	return u
}

// TestJudgedAsStored checks how a write is verified in the version in which the object is stored.
func TestJudgedAsStored(t *testing.T) {
	const one, two = `{"size":1}`, `{"size":2}`
	for name, tc := range map[string]struct {
		stored                    string // the object as it is stored
		old, observed, final      string // the specification in v1
		ordinary, excluded        bool   // the caller holds the ordinary verb; secret is excluded
		webhook, fails, same, own bool   // the conversion; the schemas are equal; the request is in v2
		revision                  string
		allow                     []string
		says, internal            string
		conflict                  bool
		calls                     int
		subresource, status       string // the subresource; the status that the caller sends and the server drops
	}{
		"nothing is hidden":                                   {stored: storedAs("v2", one), old: one, observed: one, final: one},
		"a hidden field is lost":                              {stored: storedAs("v2", `{"size":1,"secret":"s"}`), old: one, observed: one, final: one, says: "cannot change .spec.secret of version v2"},
		"with its permission":                                 {stored: storedAs("v2", `{"size":1,"secret":"s"}`), old: one, observed: one, final: one, allow: []string{"granular:secret"}},
		"a change that is shown":                              {stored: storedAs("v2", one), old: one, observed: two, final: two, allow: []string{"granular:size"}},
		"without its permission":                              {stored: storedAs("v2", one), old: one, observed: two, final: two, says: "cannot change .spec.size in"},
		"a default of the stored version":                     {stored: storedAs("v2", `{"size":1,"low":"d"}`), old: one, observed: one, final: one},
		"another value than the default":                      {stored: storedAs("v2", `{"size":1,"low":"x"}`), old: one, observed: one, final: one, says: "cannot change .spec.low of version v2"},
		"a field of the version alone":                        {stored: storedAs("v2", one), old: one, observed: `{"size":1,"only1":1}`, final: `{"size":1,"only1":1}`, allow: []string{"granular:specification"}},
		"admission's change":                                  {stored: storedAs("v2", one), old: one, observed: one, final: two},
		"a new object":                                        {observed: one, final: one, allow: []string{"granular:metadata", "granular:size"}},
		"equal schemas":                                       {same: true, stored: storedAs("v2", `{"size":1,"secret":"s"}`), old: one, observed: one, final: one},
		"a webhook, nothing is hidden":                        {webhook: true, stored: storedAs("v2", `{"trigger":1}`), old: one, observed: one, final: one, calls: 1},
		"a webhook, a hidden field is lost":                   {webhook: true, stored: storedAs("v2", `{"trigger":1,"secret":"s"}`), old: one, observed: one, final: one, says: "cannot change .spec.secret of version v2", calls: 1},
		"a webhook moves a field":                             {webhook: true, stored: storedAs("v2", `{"trigger":1}`), old: one, observed: two, final: two, allow: []string{"granular:size"}, says: "cannot change .spec.trigger of version v2", calls: 1},
		"with both permissions":                               {webhook: true, stored: storedAs("v2", `{"trigger":1}`), old: one, observed: two, final: two, allow: []string{"granular:size", "granular:trigger"}, calls: 1},
		"a webhook moves admission's field":                   {webhook: true, stored: storedAs("v2", `{"trigger":1}`), old: one, observed: one, final: two, calls: 1},
		"equal schemas and a webhook":                         {webhook: true, same: true, stored: storedAs("v2", `{"trigger":1,"secret":"s"}`), old: one, observed: one, final: one, says: "cannot change .spec.secret of version v2", calls: 1},
		"a webhook fails":                                     {webhook: true, fails: true, stored: storedAs("v2", one), old: one, observed: one, final: one, internal: "its conversion failed", calls: 1},
		"a webhook and a new object":                          {webhook: true, observed: one, final: one, allow: []string{"granular:metadata", "granular:size"}, says: "cannot change .spec.trigger of version v2", calls: 1},
		"a field of no version":                               {stored: storedAs("v2", `{"size":1,"gone":1}`), old: one, observed: one, final: one, allow: []string{"granular:specification", "get"}, says: "spec.gone is stored and in no version: a holder of update must rewrite the object"},
		"without get":                                         {stored: storedAs("v2", `{"size":1,"gone":1}`), old: one, observed: one, final: one, says: "a field is stored and in no version"},
		"through the stored version":                          {own: true, stored: storedAs("v2", `{"size":1,"gone":1}`), old: one, observed: one, final: one, allow: []string{"get"}, says: "spec.gone is stored and in no version"},
		"the stored version, nothing lost":                    {own: true, stored: storedAs("v2", `{"size":1,"secret":"s"}`), old: `{"size":1,"secret":"s"}`, observed: `{"size":1,"secret":"s"}`, final: `{"size":1,"secret":"s"}`},
		"an older version":                                    {stored: storedAs("v0", `{"size":1,"old":1}`), old: one, observed: one, final: one, says: "cannot change .spec.old of version v0"},
		"an older version, nothing lost":                      {stored: storedAs("v0", one), old: one, observed: one, final: one},
		"an older version, the stored one":                    {own: true, stored: storedAs("v0", `{"size":1,"old":1}`), old: one, observed: one, final: one, says: "cannot change .spec.old of version v0"},
		"an older version, not served":                        {stored: storedAs("v3", one), old: one, observed: one, final: one, says: "it is stored in version v3, which its definition does not have"},
		"written meanwhile":                                   {revision: "4", stored: storedAs("v2", one), old: one, observed: one, final: one, conflict: true},
		"deleted meanwhile":                                   {old: one, observed: one, final: one, conflict: true},
		"an ordinary caller":                                  {ordinary: true, excluded: true, stored: storedAs("v2", `{"size":1,"secret":"s"}`), old: one, observed: two, final: two, says: "cannot change .spec.secret of version v2"},
		"an ordinary caller, covered":                         {ordinary: true, excluded: true, stored: storedAs("v2", `{"size":1,"secret":"s"}`), old: one, observed: two, final: two, allow: []string{"granular:secret"}},
		"an ordinary caller, a webhook":                       {ordinary: true, excluded: true, webhook: true, stored: storedAs("v2", `{"trigger":1,"secret":"s"}`), old: one, observed: two, final: two, says: "cannot change .spec.secret of version v2", calls: 1},
		"an ordinary caller rewrites":                         {ordinary: true, excluded: true, stored: storedAs("v2", `{"size":1,"gone":1}`), old: one, observed: one, final: one},
		"an ordinary caller, not served":                      {ordinary: true, excluded: true, stored: storedAs("v3", one), old: one, observed: one, final: one, says: "it is stored in version v3, which its definition does not have"},
		"an ordinary caller, an older version":                {ordinary: true, excluded: true, stored: storedAs("v0", `{"size":1,"old":1}`), old: one, observed: one, final: one, says: "cannot change .spec.old of version v0"},
		"an older version, covered":                           {ordinary: true, excluded: true, stored: storedAs("v0", `{"size":1,"old":1}`), old: one, observed: one, final: one, allow: []string{"granular:old"}},
		"an older version, none is hidden":                    {ordinary: true, excluded: true, stored: storedAs("v0", one), old: one, observed: two, final: two},
		"the caller sends what is hidden in the status":       {webhook: true, stored: storedAs("v2", `{"trigger":1,"secret":"s"}`), old: one, observed: one, final: one, status: `{"hint":"s"}`, says: "cannot change .spec.secret of version v2", calls: 1},
		"the caller sends it, covered":                        {webhook: true, stored: storedAs("v2", `{"trigger":1,"secret":"s"}`), old: one, observed: one, final: one, status: `{"hint":"s"}`, allow: []string{"granular:secret"}, calls: 1},
		"the caller sends it, nothing is hidden":              {webhook: true, stored: storedAs("v2", `{"trigger":1}`), old: one, observed: one, final: one, status: `{"hint":"s"}`, calls: 1},
		"the caller sends what is hidden beside its status":   {webhook: true, subresource: "status", stored: storedAs("v2", `{"trigger":1,"secret":"s"}`), old: one, observed: `{"size":1,"hint":"s"}`, final: one, says: "cannot change .spec.secret of version v2", calls: 1},
		"beside its status, covered":                          {webhook: true, subresource: "status", stored: storedAs("v2", `{"trigger":1,"secret":"s"}`), old: one, observed: `{"size":1,"hint":"s"}`, final: one, allow: []string{"granular:secret", "granular:specification"}, calls: 1},
		"beside its status, nothing is hidden":                {webhook: true, subresource: "status", stored: storedAs("v2", `{"trigger":1}`), old: one, observed: `{"size":1,"hint":"s"}`, final: one, calls: 1},
		"admission drops what the caller sends":               {webhook: true, stored: storedAs("v2", `{"trigger":1,"secret":"s"}`), old: one, observed: `{"size":1,"hint":"s"}`, final: one, says: "cannot change .spec.secret of version v2", calls: 1},
		"admission drops it, covered":                         {webhook: true, stored: storedAs("v2", `{"trigger":1,"secret":"s"}`), old: one, observed: `{"size":1,"hint":"s"}`, final: one, allow: []string{"granular:secret"}, calls: 1},
		"a status that hides the caller's change":             {webhook: true, stored: storedAs("v2", `{"trigger":1}`), old: one, observed: two, final: two, status: `{"force":1}`, allow: []string{"granular:size"}, says: "cannot change .spec.trigger of version v2", calls: 1},
		"a status that hides it, covered":                     {webhook: true, stored: storedAs("v2", `{"trigger":1}`), old: one, observed: two, final: two, status: `{"force":1}`, allow: []string{"granular:size", "granular:trigger"}, calls: 1},
		"a status that hides a new object":                    {webhook: true, observed: one, final: one, status: `{"force":null}`, allow: []string{"granular:metadata", "granular:size"}, says: "cannot change .spec.trigger of version v2", calls: 1},
		"a specification that hides the change of its status": {webhook: true, subresource: "status", stored: storedAs("v2", `{"trigger":1}`), old: one, observed: two, final: one, calls: 1},
	} {
		t.Run(name, func(t *testing.T) {
			target := storedTarget(t, tc.stored, tc.excluded)
			target.Subresource = tc.subresource
			convertor := target.Convertor.(*renaming)
			convertor.fails = tc.fails
			stored := target.Schema.Stored
			stored.Webhook = tc.webhook
			stored.Versions["v1"].Same = tc.same
			request := "v1"
			if tc.own {
				target.Kind, request = thingV2, "v2"
			}
			if tc.stored != "" && (tc.own || strings.Contains(tc.stored, "gone") || !strings.Contains(tc.stored, "/v2")) {
				// The storage has read the object before it is updated.
				if _, _, err := stored.Versions[request].StorageCodec(stored.Versions[request].Codec).Decode([]byte(tc.stored), nil, nil); err != nil {
					t.Fatal(err)
				}
			}
			in := func(spec, revision string) runtime.Object {
				out := versioned(t, spec, revision)
				if out != nil {
					out.GetObjectKind().SetGroupVersionKind(target.Kind)
				}
				return out
			}
			if tc.revision == "" {
				tc.revision = "5"
			}
			ctx := requestContext("update")
			var marker *granular.Marker
			if !tc.ordinary {
				ctx, marker = granular.WithMarker(ctx)
			}
			w := New(&grants{allow: tc.allow}).Begin(ctx, target)
			if w == nil {
				t.Fatal("the request is not verified")
			}
			observed := in(tc.observed, "")
			if tc.status != "" {
				stored.Versions["v1"].Status = true
				observed.(*unstructured.Unstructured).Object["status"] = object(t, tc.status).Object
			}
			if err := w.Observe(ctx, observed, in(tc.old, tc.revision)); err != nil {
				t.Fatal(err)
			}
			err := w.Verify(ctx, in(tc.final, ""), in(tc.old, tc.revision))
			switch {
			case tc.conflict:
				if !apierrors.IsConflict(err) || marker.Consume() == nil {
					t.Errorf("got %v, wanted a conflict", err)
				}
			case tc.internal != "":
				if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), tc.internal) || marker.Consume() == nil {
					t.Errorf("got %v, wanted a 500 with %q", err, tc.internal)
				}
			default:
				judged(t, err, marker, tc.says)
			}
			if convertor.calls != tc.calls {
				t.Errorf("%d calls of the webhook, wanted %d", convertor.calls, tc.calls)
			}
		})
	}
}

// TestStoredScale checks that the scale of a version that hides a stored field can't erase it, and
// that the replicas themselves need no permission of the stored version.
func TestStoredScale(t *testing.T) {
	granular.Install(func(a upstream.Authorizer) upstream.Authorizer { return a })
	defer granular.Install(nil)
	shared := []string{`"type": "integer", "x-kubernetes-permission-verb": "size"`, `"type": "integer"`}
	atomic := append([]string{`"x-kubernetes-permission-verb": "specification",`, `"x-kubernetes-permission-verb": "specification", "x-kubernetes-map-type": "atomic",`}, shared...)
	own := []string{`"x-kubernetes-permission-verb": "size"`, `"x-kubernetes-permission-verb": "size", "x-kubernetes-permission-excluded": true`}
	const two = 2
	count := []string{"spec", "count"}
	for name, tc := range map[string]struct {
		spec     string
		replicas int32
		webhook  bool
		v2       []string // edits of the schema
		path     []string // of the replicas in v2, if it is not that of v1
		allow    string
		says     string
	}{
		"nothing is hidden":                  {spec: `{"size":1}`, replicas: two},
		"a hidden field":                     {spec: `{"size":1,"secret":"s"}`, replicas: two, says: "cannot change .spec.secret of version v2"},
		"a hidden field alone":               {spec: `{"size":1,"secret":"s"}`, replicas: 1, says: "cannot change .spec.secret of version v2"},
		"a webhook drops the replicas":       {spec: `{"size":1,"trigger":1}`, replicas: 1, webhook: true, says: "cannot change .spec.size of version v2"},
		"a webhook moves a change of them":   {spec: `{"trigger":1}`, replicas: two, webhook: true, says: "cannot change .spec.trigger of version v2"},
		"one permission, nothing is hidden":  {spec: `{"size":1}`, replicas: two, v2: shared},
		"one permission, a hidden field":     {spec: `{"size":1,"image":"i"}`, replicas: two, v2: shared, says: "cannot change .spec.image of version v2"},
		"one permission, covered":            {spec: `{"size":1,"image":"i"}`, replicas: two, v2: shared, allow: "granular:specification"},
		"an atomic map, nothing is hidden":   {spec: `{"size":1}`, replicas: two, v2: atomic},
		"an atomic map, a hidden field":      {spec: `{"size":1,"image":"i"}`, replicas: two, v2: atomic, says: "cannot change .spec.image of version v2"},
		"replicas elsewhere":                 {spec: `{"size":1,"count":9}`, replicas: two, path: count, allow: "granular:size", says: "cannot change .spec.count of version v2"},
		"replicas elsewhere, none is hidden": {spec: `{"size":1}`, replicas: two, path: count, allow: "granular:size"},
		"without the permission of the size": {spec: `{"size":1}`, replicas: two, path: count, says: "cannot change .spec.size of version v2"},
		"excluded replicas":                  {spec: `{"size":1}`, replicas: two, v2: own, says: "cannot change .spec.size of version v2"},
		"excluded replicas, covered":         {spec: `{"size":1}`, replicas: two, v2: own, allow: "granular:size"},
		"no replicas are stored":             {spec: `{}`, replicas: two},
		"a text in place of the replicas":    {spec: `{"size":"x"}`, replicas: two, says: "cannot change .spec.size of version v2"},
	} {
		target := storedTarget(t, storedAs("v2", tc.spec), false, tc.v2...)
		target.Schema.Stored.Webhook = tc.webhook
		if tc.path != nil {
			target.Schema.Stored.Versions["v2"].Replicas = tc.path
		}
		target.Scale = &granular.Scale{Kind: thing, Path: []string{"spec", "size"}}
		target.Kind, target.Subresource = autoscalingv1.SchemeGroupVersion.WithKind("Scale"), "scale"
		ctx, marker := granular.WithMarker(requestContext("update"))
		w := New(&grants{allow: []string{"granular:replicas", tc.allow}}).Begin(ctx, target)
		was, now := &autoscalingv1.Scale{}, &autoscalingv1.Scale{}
		was.UID, now.UID, was.Spec.Replicas, now.Spec.Replicas = "1", "1", 1, tc.replicas
		if err := w.Observe(ctx, now, was); err != nil {
			t.Fatal(err)
		}
		final := fmt.Sprintf(`{"size":%d}`, tc.replicas)
		scaled := granular.WithScaled(ctx, versioned(t, final, ""), versioned(t, `{"size":1}`, "5"))
		t.Run(name, func(t *testing.T) { judged(t, w.Verify(scaled, now, was), marker, tc.says) })
	}
}

// TestStoredCosts checks that the stored object is not read if the request is in the stored version
// and the server has read only objects that this version shows completely, and for ordinary callers
// if nothing is excluded.
func TestStoredCosts(t *testing.T) {
	whole := storedAs("v2", `{"size":1,"secret":"s"}`)
	target := storedTarget(t, whole, false)
	target.Kind = thingV2
	own := target.Schema.Stored.Versions["v2"]
	own.Read = func(context.Context, string) (*granular.StoredObject, error) {
		t.Error("the stored object is read")
		return nil, errors.New("not to be read")
	}
	codec := own.StorageCodec(own.Codec)
	if _, _, err := codec.Decode([]byte(whole), nil, nil); err != nil || own.Hides() {
		t.Errorf("%v, hides %t", err, own.Hides())
	}
	raw := &granular.StoredObject{}
	if _, _, err := codec.Decode([]byte(whole), nil, raw); err != nil || string(raw.Data) != whole || string(raw.DeepCopyObject().(*granular.StoredObject).Data) != whole {
		t.Errorf("%v, read %q", err, raw.Data)
	}
	ctx, marker := granular.WithMarker(requestContext("update"))
	w := New(&grants{}).Begin(ctx, target)
	obj := versioned(t, `{"size":1,"secret":"s"}`, "5")
	obj.GetObjectKind().SetGroupVersionKind(thingV2)
	judged(t, verify(t, w, ctx, obj, obj), marker, "")
	if w := New(&grants{}).Begin(requestContext("update"), target); w != nil {
		t.Error("an ordinary caller is verified, and nothing is excluded")
	}
	for name, data := range map[string]string{"an unknown field": storedAs("v2", `{"gone":1}`), "another version": storedAs("v1", `{"size":1}`)} {
		of := storedTarget(t, data, false).Schema.Stored.Versions["v2"]
		if _, _, err := of.StorageCodec(of.Codec).Decode([]byte(data), nil, nil); err != nil || !of.Hides() {
			t.Errorf("%s: %v, hides %t", name, err, of.Hides())
		}
	}
	if _, _, err := codec.Decode([]byte("{"), nil, nil); err == nil || own.Hides() {
		t.Errorf("malformed data: %v", err)
	}
}

// TestWithoutDefaults checks which values withoutDefaults leaves out.
func TestWithoutDefaults(t *testing.T) {
	for _, tc := range []struct{ read, written, want string }{
		{`{"a":1,"b":2}`, `{"a":1}`, `{"a":1}`},
		{`{"a":{"b":1,"c":2}}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`},
		{`{"a":[{"b":1,"c":2}]}`, `{"a":[{"b":1}]}`, `{"a":[{"b":1}]}`},
		{`{"a":[1,2]}`, `{"a":[1]}`, `{"a":[1,2]}`},
		{`{"a":[{"b":1}]}`, `{"a":"x"}`, `{"a":[{"b":1}]}`},
		{`{"a":{"b":1}}`, `{"a":"x"}`, `{"a":{}}`},
		{`{"a":1}`, `{"a":2,"b":1}`, `{"a":1}`},
	} {
		var read, written any
		if json.Unmarshal([]byte(tc.read), &read) != nil || json.Unmarshal([]byte(tc.written), &written) != nil {
			t.Fatal(tc)
		}
		got, err := json.Marshal(withoutDefaults(read, written))
		if err != nil || string(got) != tc.want {
			t.Errorf("%s, written %s: %s, %v", tc.read, tc.written, got, err)
		}
	}
}

// TestFieldOfMetadata checks that only fields of the root's own metadata count as such, and not fields
// whose path looks like one.
func TestFieldOfMetadata(t *testing.T) {
	const root = `{"apiVersion":"example.com/v2","kind":"Thing","metadata":{"name":"t"},`
	for name, tc := range map[string]struct{ data, want string }{
		"a field of metadata":               {root + `"strange":1,"spec":{"size":1}}`, ""},
		"a field of the specification":      {root + `"spec":{"gone":1}}`, `unknown field "spec.gone"`},
		"both":                              {root + `"strange":1,"spec":{"gone":1}}`, `unknown field "spec.gone"`},
		"a name that has a quote":           {root + `"spec":{"x\"metadata.y":1}}`, `unknown field "spec.x"metadata.y"`},
		"a field at the root":               {root + `"metadata.secret":1,"spec":{"size":1}}`, `unknown field "metadata.secret"`},
		"a field of metadata, and the root": {root + `"strange":1,"metadata.strange":1,"spec":{"size":1}}`, `unknown field "metadata.strange"`},
	} {
		version := storedTarget(t, "", false).Schema.Stored.Versions["v2"]
		_, _, unknown, err := decodeStored(version, []byte(tc.data))
		if got := fmt.Sprint(unknown); err != nil || got != tc.want && (unknown != nil || tc.want != "") {
			t.Errorf("%s: got %v, %v", name, unknown, err)
		}
	}
	if got := prefixOfMetadata([]byte("{")); got != "" {
		t.Errorf("of malformed data it is %q", got)
	}
}
