package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/generated/openapi"
)

// Merge is one server-side apply: the applied manifest, the live object and the result of the API
// server's field manager. A null result means no change.
type Merge struct {
	Target map[string]any `json:"target"`
	Live   map[string]any `json:"live"`
	After  map[string]any `json:"after"`
}

var merged = []schema.GroupVersionKind{
	{Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"},
	{Group: "", Version: "v1", Kind: "Pod"},
	{Group: "", Version: "v1", Kind: "Service"},
	{Group: "", Version: "v1", Kind: "ConfigMap"},
	{Group: "", Version: "v1", Kind: "ServiceAccount"},
	{Group: "", Version: "v1", Kind: "PersistentVolumeClaim"},
	{Group: "", Version: "v1", Kind: "LimitRange"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"},
	{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceClaim"},
	{Group: "batch", Version: "v1", Kind: "Job"},
}

func writeMerges(encoder *json.Encoder) {
	scheme := newScheme()
	models := map[string]*spec.Schema{}
	for name, definition := range openapi.GetOpenAPIDefinitions(func(path string) spec.Ref {
		return spec.MustCreateRef("#/definitions/" + path)
	}) {
		model := definition.Schema
		models[name] = &model
	}
	for _, gvk := range merged {
		model, _ := reflect.New(scheme.AllKnownTypes()[gvk]).Interface().(interface{ OpenAPIModelName() string })
		models[model.OpenAPIModelName()].AddExtension("x-kubernetes-group-version-kind", []interface{}{
			map[string]interface{}{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind},
		})
	}
	types, err := managedfields.NewTypeConverter(models, false)
	if err != nil {
		panic(err)
	}
	for _, gvk := range merged {
		manager, err := managedfields.NewDefaultFieldManager(types, runtime.UnsafeObjectConvertor(scheme), scheme, scheme, gvk, gvk.GroupVersion(), "", nil)
		if err != nil {
			panic(err)
		}
		hash := fnv.New64a()
		fmt.Fprint(hash, gvk)
		w := &writer{random: rand.New(rand.NewPCG(hash.Sum64(), 2))}
		for written := 0; written < 8; {
			if example, ok := w.merge(scheme, manager, gvk); ok {
				written++
				if err := encoder.Encode(example); err != nil {
					panic(err)
				}
			}
		}
	}
}

// merge builds a live object (our apply, then at random an apply by a second manager and an update
// by a third one), then applies a changed manifest. It returns false for invalid manifests.
func (w *writer) merge(scheme *runtime.Scheme, manager *managedfields.FieldManager, gvk schema.GroupVersionKind) (Merge, bool) {
	ours := w.applied(scheme, gvk)
	live, err := scheme.New(gvk)
	if err != nil {
		panic(err)
	}
	live.GetObjectKind().SetGroupVersionKind(gvk)
	steps := []func() (runtime.Object, error){
		func() (runtime.Object, error) { return manager.Apply(live, ours, "argocd-controller", true) },
		func() (runtime.Object, error) { return manager.Apply(live, w.applied(scheme, gvk), "other", true) },
		func() (runtime.Object, error) {
			next, err := scheme.New(gvk)
			if err != nil {
				return nil, err
			}
			changed := w.mutated(plain(live)).(map[string]any)
			changed["metadata"] = plain(live)["metadata"]
			text := asText(changed)
			if err := json.Unmarshal([]byte(text), next); err != nil {
				return nil, err
			}
			scheme.Default(next)
			return manager.Update(live, next, "editor")
		},
	}
	for i, step := range steps {
		if i > 0 && w.random.IntN(2) == 0 {
			continue
		}
		next, err := step()
		if err != nil {
			return Merge{}, false
		}
		live = next
	}
	target := &unstructured.Unstructured{Object: w.mutated(ours.Object).(map[string]any)}
	target.SetGroupVersionKind(gvk)
	target.SetName("x")
	before := withoutTimes(live)
	sent := runtime.DeepCopyJSON(target.Object)
	after, err := manager.Apply(live.DeepCopyObject(), target, "argocd-controller", true)
	if err != nil {
		return Merge{}, false
	}
	return Merge{Target: sent, Live: before, After: withoutTimes(after)}, true
}

func (w *writer) applied(scheme *runtime.Scheme, gvk schema.GroupVersionKind) *unstructured.Unstructured {
	object := w.object(scheme.AllKnownTypes()[gvk])
	for w.size(object) > 60 {
		object = w.object(scheme.AllKnownTypes()[gvk])
	}
	object["apiVersion"], object["kind"] = gvk.GroupVersion().String(), gvk.Kind
	object["metadata"].(map[string]any)["labels"] = map[string]any{"a": w.one("x", "y"), fmt.Sprint("b", w.random.IntN(3)): "z"}
	var again map[string]any
	if err := json.Unmarshal([]byte(asText(object)), &again); err != nil {
		panic(err)
	}
	return &unstructured.Unstructured{Object: integers(again).(map[string]any)}
}

func (w *writer) size(value any) int {
	total := 1
	switch v := value.(type) {
	case map[string]any:
		for _, member := range v {
			total += w.size(member)
		}
	case []any:
		for _, item := range v {
			total += w.size(item)
		}
	}
	return total
}

func integers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			v[key] = integers(member)
		}
	case []any:
		for i, item := range v {
			v[i] = integers(item)
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return value
}

// mutated returns a copy with some leaves changed, and some members and items removed.
func (w *writer) mutated(value any) any {
	switch v := value.(type) {
	case map[string]any:
		result := map[string]any{}
		for _, key := range sortedKeys(v) {
			if w.random.IntN(8) > 0 || required[key] || key == "metadata" || key == "apiVersion" || key == "kind" {
				result[key] = w.mutated(v[key])
			}
		}
		if len(result) == 0 {
			return v
		}
		return result
	case []any:
		result := []any{}
		for _, item := range v {
			if w.random.IntN(4) > 0 {
				result = append(result, w.mutated(item))
			}
		}
		return result
	case string:
		if w.random.IntN(12) == 0 && (v == "x" || v == "y") {
			return "w"
		}
	case bool:
		return v != (w.random.IntN(6) == 0)
	}
	return value
}

func withoutTimes(object runtime.Object) map[string]any {
	copied := object.DeepCopyObject()
	accessor := copied.(metav1.Object)
	entries := accessor.GetManagedFields()
	for i := range entries {
		entries[i].Time = nil
	}
	// Entries of the same second have no defined order.
	slices.SortFunc(entries, func(a, b metav1.ManagedFieldsEntry) int {
		return strings.Compare(string(a.Operation)+a.Manager, string(b.Operation)+b.Manager)
	})
	accessor.SetManagedFields(entries)
	return plain(copied)
}
