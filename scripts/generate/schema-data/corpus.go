package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Example is one manifest and the object that the server would store: the round trip through its
// type as Argo CD does it (remarshal: only fields of the manifest), then the changes by defaulting
// (applyPatch).
type Example struct {
	Raw    map[string]any `json:"raw"`
	Stored map[string]any `json:"stored"`
}

// writeCorpus prints one manifest for every struct type, with all its fields set where the type
// occurs first, and three random manifests of each kind.
func writeCorpus(encoder *json.Encoder) {
	scheme := newScheme()
	kinds := keptKinds(scheme)
	sort.Slice(kinds, func(i, j int) bool { return kinds[i].String() < kinds[j].String() })
	seen := map[reflect.Type]bool{}
	for _, gvk := range kinds {
		hash := fnv.New64a()
		fmt.Fprint(hash, gvk)
		w := &writer{random: rand.New(rand.NewPCG(hash.Sum64(), 1))}
		root := scheme.AllKnownTypes()[gvk]
		w.cover(root, nil, map[reflect.Type]bool{}, seen, func(path []string) {
			w.whole = path
			emit(encoder, scheme, gvk, w.object(root))
		})
		for range 3 {
			w.whole = nil
			emit(encoder, scheme, gvk, w.object(root))
		}
	}
}

func emit(encoder *json.Encoder, scheme *runtime.Scheme, gvk schema.GroupVersionKind, raw map[string]any) {
	raw["apiVersion"], raw["kind"] = gvk.GroupVersion().String(), gvk.Kind
	text := asText(raw)
	object, err := scheme.New(gvk)
	if err != nil {
		panic(err)
	}
	if err := json.Unmarshal([]byte(text), object); err != nil {
		panic(fmt.Errorf("%s: %w", text, err))
	}
	var again map[string]any
	if err := json.Unmarshal([]byte(text), &again); err != nil {
		panic(err)
	}
	before := plain(object)
	stored := only(before, again).(map[string]any)
	scheme.Default(object)
	stored = over(stored, before, plain(object)).(map[string]any)
	delete(stored, "status")
	if err := encoder.Encode(Example{Raw: again, Stored: stored}); err != nil {
		panic(err)
	}
}

// only removes the fields that the manifest does not have.
func only(value, manifest any) any {
	switch v := value.(type) {
	case map[string]any:
		wanted, is := manifest.(map[string]any)
		if !is {
			return v
		}
		kept := map[string]any{}
		for key, member := range v {
			if other, there := wanted[key]; there {
				kept[key] = only(member, other)
			}
		}
		return kept
	case []any:
		wanted, is := manifest.([]any)
		if !is {
			return v
		}
		kept := make([]any, len(v))
		for i := range v {
			kept[i] = v[i]
			if i < len(wanted) {
				kept[i] = only(v[i], wanted[i])
			}
		}
		return kept
	}
	return value
}

// over applies the changes between before and after to the value.
func over(value, before, after any) any {
	if asText(before) == asText(after) {
		return value
	}
	switch a := after.(type) {
	case map[string]any:
		v, _ := value.(map[string]any)
		b, _ := before.(map[string]any)
		result := map[string]any{}
		for key, member := range v {
			if _, still := a[key]; still || b[key] == nil {
				result[key] = member
			}
		}
		for key, member := range a {
			if asText(b[key]) != asText(member) {
				result[key] = over(v[key], b[key], member)
			}
		}
		return result
	case []any:
		v, _ := value.([]any)
		b, _ := before.([]any)
		if len(v) != len(a) || len(b) != len(a) {
			return after
		}
		for i := range v {
			v[i] = over(v[i], b[i], a[i])
		}
		return v
	}
	return after
}

type writer struct {
	random *rand.Rand
	// Path to the struct that is written with all its fields, nil for a random manifest. Other fields
	// are chosen at random, less often if there is such a path.
	whole []string
}

func (w *writer) object(root reflect.Type) map[string]any {
	object := w.value("", root, []string{}).(map[string]any)
	object["metadata"] = map[string]any{"name": "x"}
	delete(object, "status")
	return object
}

// cover calls visit with the path to each struct type that was not seen before.
func (w *writer) cover(t reflect.Type, path []string, above, seen map[reflect.Type]bool, visit func([]string)) {
	t = inner(t)
	if t.Kind() != reflect.Struct || scalar(t) != "" || above[t] {
		return
	}
	above[t] = true
	if !seen[t] {
		seen[t] = true
		visit(append([]string{}, path...))
	}
	for _, field := range fields(t) {
		if name, _ := jsonName(field); name != "metadata" && name != "status" {
			w.cover(field.Type, append(path, name), above, seen, visit)
		}
	}
	delete(above, t)
}

// place reports whether the path is the one to the whole struct, or leads towards it.
func (w *writer) place(path []string) (whole, onTheWay bool) {
	if w.whole == nil || len(path) > len(w.whole) {
		return false, false
	}
	for i, step := range path {
		if w.whole[i] != step {
			return false, false
		}
	}
	return len(path) == len(w.whole), len(path) < len(w.whole)
}

func (w *writer) value(name string, t reflect.Type, path []string) any {
	if kind := scalar(t); kind != "" {
		return w.scalar(name, kind, t)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return w.value(name, t.Elem(), path)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return w.bytes()
		}
		items := make([]any, 0, 2)
		for range w.count() {
			items = append(items, w.value(name, t.Elem(), path))
		}
		return items
	case reflect.Map:
		members := map[string]any{}
		for i := range w.count() {
			members[fmt.Sprintf("k%d", i)] = w.value(name, t.Elem(), path)
		}
		return members
	}
	members := map[string]any{}
	whole, onTheWay := w.place(path)
	for _, field := range fields(t) {
		member, _ := jsonName(field)
		here := append(append([]string{}, path...), member)
		isStruct := inner(field.Type).Kind() == reflect.Struct && scalar(inner(field.Type)) == ""
		switch {
		case member == "apiVersion" && len(path) == 0 || member == "kind" && len(path) == 0 || member == "metadata" || member == "status":
		case onTheWay && (w.whole[len(path)] == member):
			members[member] = w.value(member, field.Type, here)
		case required[member] && (isStruct || chosen[member]):
			members[member] = w.value(member, field.Type, here)
		case onTheWay && !isStruct && w.random.IntN(3) > 0, onTheWay && isStruct:
		case w.whole != nil && isStruct && w.random.IntN(4) > 0:
		case !whole && w.random.IntN(2+len(path)) > 0:
		case len(path) > 10:
		case podOnly[strings.Join(here, ".")]:
		default:
			members[member] = w.value(member, field.Type, here)
		}
	}
	return members
}

// required lists fields that every manifest has, and fields that the server would make up.
var required = map[string]bool{
	"spec": true, "template": true, "jobTemplate": true, "taint": true, "roleRef": true, "timeAdded": true, "signerName": true, "usages": true,
}

// podOnly lists fields whose defaults are sums over the containers of a Pod. A comparison keeps their
// live values, so diff/ need not compute them.
var podOnly = map[string]bool{"spec.resources": true}

func (w *writer) count() int {
	if w.whole != nil {
		return 1
	}
	return w.random.IntN(3)
}

func (w *writer) bytes() string {
	text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("driftless", 1+w.random.IntN(9))))
	if w.random.IntN(2) == 0 || len(text) < 20 {
		return text
	}
	return text[:20] + "\n" + text[20:] + "\r\n"
}

func (w *writer) one(of ...any) any {
	return of[w.random.IntN(len(of))]
}

func (w *writer) scalar(name, kind string, t reflect.Type) any {
	switch kind {
	case "b":
		return w.random.IntN(2) == 0
	case "i":
		return w.one(0, 1, 3, 443)
	case "f":
		return w.one(0.5, 2)
	case "q":
		return w.one("1000m", "0.5", "1024Mi", 2, "1e3", "1500u", "100n", "1.5Gi", "0")
	case "o":
		return w.one(0, 80, "http", "25%")
	case "t":
		return w.one("2026-01-02T03:04:05Z", "2026-01-02T03:04:05+02:00", "2026-01-02T03:04:05.678Z")
	case "u":
		return w.one("2026-01-02T03:04:05.000000Z", "2026-01-02T03:04:05.123456+02:00")
	case "d":
		return w.one("90m", "1h30m0s", "8760h", "1.5s")
	case "r":
		if t.Kind() == reflect.Interface || t.Name() == "RawExtension" || t.Name() == "JSON" {
			return map[string]any{"a": 0, "b": []any{}}
		}
		return map[string]any{}
	}
	if choices, known := texts[name]; known {
		return w.one(choices...)
	}
	return w.one("x", "y")
}

// texts lists values of fields on which defaults depend.
var texts = map[string][]any{
	"type":              {"RollingUpdate", "Recreate", "OnDelete", "ClusterIP", "NodePort", "LoadBalancer", "ExternalName", "Container", "Container", "Pod", ""},
	"kind":              {"User", "Group", "ServiceAccount", "Cat"},
	"image":             {"a", "a:latest", "a:1", "r:5000/a", "a@sha256:" + strings.Repeat("0", 64), "r.io/b/a:latest"},
	"reference":         {"a", "a:latest", "a:1"},
	"sessionAffinity":   {"None", "ClientIP", ""},
	"protocol":          {"TCP", "UDP", ""},
	"allocationMode":    {"All", "ExactCount", ""},
	"scope":             {"*", "Namespaced", ""},
	"path":              {"", "/", "/x"},
	"concurrencyPolicy": {"Allow", "Forbid", ""},
}

func sortedKeys(object map[string]any) []string {
	return slices.Sorted(maps.Keys(object))
}
