package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/generated/openapi"
)

// Description is what the generator writes into diff/schema/schema-data.ts and diff/normalize/default-data.ts.
type Description struct {
	Kinds     map[string]string                    `json:"kinds"`
	CoreTypes []string                             `json:"coreTypes"`
	Types     map[string]Type                      `json:"types"`
	Defaults  map[string]map[string]any            `json:"defaults"`
	Differing map[string]map[string]map[string]any `json:"differing"`
}

// Type is one struct: its fields in order, and whether it is atomic for server-side apply.
type Type struct {
	Atomic bool     `json:"atomic,omitempty"`
	Fields []string `json:"fields"`
}

type describer struct {
	scheme      *runtime.Scheme
	definitions map[string]common.OpenAPIDefinition
	names       map[reflect.Type]string
	taken       map[string]reflect.Type
	types       map[string]Type
}

func describe() Description {
	scheme := newScheme()
	d := &describer{
		scheme:      scheme,
		definitions: openapi.GetOpenAPIDefinitions(func(path string) spec.Ref { return spec.MustCreateRef(path) }),
		names:       map[reflect.Type]string{},
		taken:       map[string]reflect.Type{},
		types:       map[string]Type{},
	}
	kinds := keptKinds(scheme)
	roots := map[schema.GroupVersionKind]reflect.Type{}
	for _, gvk := range kinds {
		roots[gvk] = scheme.AllKnownTypes()[gvk]
	}
	core := coreTypes(scheme)
	d.nameAll(roots, core)
	out := Description{Kinds: map[string]string{}, Types: d.types}
	for gvk, root := range roots {
		out.Kinds[gvk.GroupVersion().String()+" "+gvk.Kind] = d.names[root]
	}
	for structType, name := range d.names {
		d.types[name] = d.describe(structType)
		if structType.PkgPath() == corePackage {
			out.CoreTypes = append(out.CoreTypes, name)
		}
	}
	sort.Strings(out.CoreTypes)
	out.Defaults, out.Differing = d.defaults(roots)
	return out
}

// nameAll names the struct types. Types of core/v1 and meta/v1 keep their names, which
// knownTypeFields uses; then stable types do, if the name is free. Others get their package as a
// prefix.
func (d *describer) nameAll(roots map[schema.GroupVersionKind]reflect.Type, more []reflect.Type) {
	seen := map[reflect.Type]bool{}
	for _, root := range roots {
		d.collect(root, seen)
	}
	for _, root := range more {
		d.collect(root, seen)
	}
	all := make([]reflect.Type, 0, len(seen))
	for structType := range seen {
		all = append(all, structType)
	}
	sort.Slice(all, func(i, j int) bool { return rank(all[i]) < rank(all[j]) })
	for _, structType := range all {
		name := structType.Name()
		if d.taken[name] != nil {
			parts := strings.Split(structType.PkgPath(), "/")
			name = strings.Join(parts[len(parts)-2:], ".") + "." + name
		}
		if d.taken[name] != nil {
			panic("two types named " + name)
		}
		d.taken[name] = structType
		d.names[structType] = name
	}
}

const corePackage = "k8s.io/api/core/v1"

// coreTypes returns the structs of core/v1 that no kept kind has a field of: lists and options of
// requests, and structs that are embedded or written as text. PodStatusResult is gone in 1.37.
func coreTypes(scheme *runtime.Scheme) []reflect.Type {
	types := []reflect.Type{
		reflect.TypeFor[corev1.AvoidPods](), reflect.TypeFor[corev1.EphemeralContainerCommon](), reflect.TypeFor[corev1.List](),
		reflect.TypeFor[corev1.PersistentVolumeSource](), reflect.TypeFor[corev1.PodSignature](), reflect.TypeFor[corev1.Preconditions](),
		reflect.TypeFor[corev1.PreferAvoidPodsEntry](), reflect.TypeFor[corev1.ProbeHandler](), reflect.TypeFor[corev1.VolumeSource](),
	}
	for _, known := range scheme.KnownTypes(corev1.SchemeGroupVersion) {
		if known.PkgPath() == corePackage && known.Name() != "PodStatusResult" {
			types = append(types, known)
		}
	}
	return types
}

func rank(t reflect.Type) string {
	path := t.PkgPath()
	switch {
	case path == corePackage:
		return "0" + t.String()
	case path == "k8s.io/apimachinery/pkg/apis/meta/v1":
		return "1" + t.String()
	case strings.HasSuffix(path, "/v1"):
		return "2" + path + t.String()
	}
	return "3" + path + t.String()
}

func (d *describer) collect(t reflect.Type, seen map[reflect.Type]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		d.collect(t.Elem(), seen)
	case reflect.Struct:
		if seen[t] || scalar(t) != "" {
			return
		}
		seen[t] = true
		for _, field := range fields(t) {
			d.collect(field.Type, seen)
		}
	}
}

// fields returns the JSON fields of a struct, with those of embedded structs.
func fields(t reflect.Type) []reflect.StructField {
	var all []reflect.StructField
	for i := range t.NumField() {
		field := t.Field(i)
		name, options := jsonName(field)
		switch {
		case name == "-" || !field.IsExported():
		case field.Anonymous && (name == "" || strings.Contains(options, "inline")):
			all = append(all, fields(field.Type)...)
		default:
			all = append(all, field)
		}
	}
	return all
}

func jsonName(field reflect.StructField) (string, string) {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name, options
}

var scalars = map[reflect.Type]string{
	reflect.TypeOf(resource.Quantity{}):    "q",
	reflect.TypeOf(intstr.IntOrString{}):   "o",
	reflect.TypeOf(metav1.Time{}):          "t",
	reflect.TypeOf(metav1.MicroTime{}):     "u",
	reflect.TypeOf(metav1.Duration{}):      "d",
	reflect.TypeOf(runtime.RawExtension{}): "r",
	reflect.TypeOf(metav1.FieldsV1{}):      "r",
}

// scalar returns the kind of a type without fields, "" for other types. Structs that marshal
// themselves are opaque.
func scalar(t reflect.Type) string {
	if kind, known := scalars[t]; known {
		return kind
	}
	type marshaler interface{ MarshalJSON() ([]byte, error) }
	of := reflect.TypeFor[marshaler]()
	if t.Kind() == reflect.Struct && (t.Implements(of) || reflect.PointerTo(t).Implements(of)) {
		return "r"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "b"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint8, reflect.Int16, reflect.Uint64, reflect.Uint16, reflect.Int8:
		return "i"
	case reflect.Float32, reflect.Float64:
		return "f"
	case reflect.String:
		return "s"
	case reflect.Interface:
		return "r"
	}
	return ""
}

func (d *describer) kind(t reflect.Type) string {
	if kind := scalar(t); kind != "" {
		return kind
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + d.kind(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "y"
		}
		return "[" + d.kind(t.Elem())
	case reflect.Map:
		if t.Name() == "ResourceList" {
			return "{m"
		}
		return "{" + d.kind(t.Elem())
	}
	if name, known := d.names[t]; known {
		return name
	}
	panic("a field of " + t.String())
}

// `name?:kind~mergeKey^%keys=`, as diff/schema/schema-data.ts explains it.
func (d *describer) describe(t reflect.Type) Type {
	definition := d.definition(t)
	described := Type{Atomic: text(definition.Extensions, "x-kubernetes-map-type") == "atomic", Fields: []string{}}
	for _, field := range fields(t) {
		name, options := jsonName(field)
		entry := name
		if strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero") {
			entry += "?"
		}
		kind := d.kind(field.Type)
		entry += ":" + kind
		strategies := strings.Split(field.Tag.Get("patchStrategy"), ",")
		for _, strategy := range strategies {
			switch strategy {
			case "retainKeys":
				entry += "^"
			case "replace":
				entry += "!"
			}
		}
		entry += ownership(definition.Properties[name].Extensions, kind)
		for _, strategy := range strategies {
			if strategy == "merge" {
				entry += "~" + field.Tag.Get("patchMergeKey")
			}
		}
		described.Fields = append(described.Fields, entry)
	}
	return described
}

// ownership encodes how server-side apply owns a field: `%a,b` is a list by keys, `%` a set, `=` an
// atomic map. Nothing: an atomic list, or a granular map.
func ownership(extensions spec.Extensions, kind string) string {
	switch text(extensions, "x-kubernetes-list-type") {
	case "set":
		return "%"
	case "map":
		keys, _ := extensions["x-kubernetes-list-map-keys"].([]interface{})
		names := make([]string, 0, len(keys))
		for _, key := range keys {
			names = append(names, fmt.Sprint(key))
		}
		return "%" + strings.Join(names, ",")
	}
	if text(extensions, "x-kubernetes-map-type") == "atomic" && !strings.HasPrefix(kind, "[") {
		return "="
	}
	return ""
}

func text(extensions spec.Extensions, key string) string {
	value, _ := extensions[key].(string)
	return value
}

// definition returns the OpenAPI schema of a struct, an empty one if the server publishes none.
func (d *describer) definition(t reflect.Type) spec.Schema {
	type named interface{ OpenAPIModelName() string }
	if model, ok := reflect.New(t).Interface().(named); ok {
		return d.definitions[model.OpenAPIModelName()].Schema
	}
	return spec.Schema{}
}
