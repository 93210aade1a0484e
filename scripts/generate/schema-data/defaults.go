package main

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// defaults returns the defaults of every struct type. It puts each struct alone into an otherwise
// empty object and lets the server's code default the object. The second result lists the types
// whose defaults depend on their place, by place.
func (d *describer) defaults(roots map[schema.GroupVersionKind]reflect.Type) (map[string]map[string]any, map[string]map[string]map[string]any) {
	found := map[string]map[string]map[string]any{}
	for gvk, root := range roots {
		d.probe(gvk, root, nil, map[reflect.Type]bool{}, found)
	}
	same, differing := map[string]map[string]any{}, map[string]map[string]map[string]any{}
	for name, places := range found {
		texts := map[string]bool{}
		for _, members := range places {
			texts[asText(members)] = true
		}
		for place, members := range places {
			if len(texts) > 1 {
				if differing[name] == nil {
					differing[name] = map[string]map[string]any{}
				}
				differing[name][place] = members
			}
		}
		if common := inAll(places); len(common) > 0 {
			same[name] = common
		}
	}
	return same, differing
}

func inAll(places map[string]map[string]any) map[string]any {
	var common map[string]any
	for _, members := range places {
		if common == nil {
			common = maps.Clone(members)
		}
		maps.DeleteFunc(common, func(key string, value any) bool { return asText(members[key]) != asText(value) })
	}
	return common
}

func (d *describer) probe(gvk schema.GroupVersionKind, t reflect.Type, path []string, above map[reflect.Type]bool, found map[string]map[string]map[string]any) {
	t = inner(t)
	if t.Kind() != reflect.Struct || scalar(t) != "" || above[t] {
		return
	}
	above[t] = true
	name := d.names[t]
	if found[name] == nil {
		found[name] = map[string]map[string]any{}
	}
	place := gvk.GroupVersion().String() + " " + gvk.Kind + " " + strings.Join(path, ".")
	found[name][place] = d.filledIn(gvk, t, path)
	for _, field := range fields(t) {
		jsonField, _ := jsonName(field)
		if len(path) > 0 || (jsonField != "metadata" && jsonField != "status") {
			d.probe(gvk, field.Type, append(append([]string{}, path...), jsonField), above, found)
		}
	}
	delete(above, t)
}

func inner(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	return t
}

// always lists members that every manifest has: their defaults are probed at their own path.
var always = map[string]bool{"metadata": true, "spec": true, "template": true, "jobTemplate": true, "status": true}

func (d *describer) filledIn(gvk schema.GroupVersionKind, t reflect.Type, path []string) map[string]any {
	object, err := d.scheme.New(gvk)
	if err != nil {
		panic(err)
	}
	fill(reflect.ValueOf(object).Elem(), path)
	before := at(plain(object), path)
	d.scheme.Default(object)
	after := at(plain(object), path)
	members := map[string]any{}
	for key, value := range after {
		_, isMap := value.(map[string]any)
		if value == nil || always[key] && isMap || chosen[key] {
			continue
		}
		if before[key] == nil || empty(before[key]) && !empty(value) {
			members[key] = value
		}
	}
	return members
}

// chosen lists fields that the server derives from the time or from a certificate request.
var chosen = map[string]bool{"timeAdded": true, "signerName": true, "usages": true}

func empty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case int64:
		return v == 0
	case float64:
		return v == 0
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// fill creates empty values down to the path, with one item in every list and map on the way.
func fill(value reflect.Value, path []string) {
	switch value.Kind() {
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		fill(value.Elem(), path)
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		fill(value.Index(0), path)
	case reflect.Map:
		item := reflect.New(value.Type().Elem()).Elem()
		fill(item, path)
		value.Set(reflect.MakeMap(value.Type()))
		value.SetMapIndex(reflect.ValueOf("k").Convert(value.Type().Key()), item)
	case reflect.Struct:
		if len(path) == 0 {
			return
		}
		for _, field := range fields(value.Type()) {
			if name, _ := jsonName(field); name == path[0] {
				fill(value.FieldByName(field.Name), path[1:])
			}
		}
	}
}

func plain(object any) map[string]any {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		panic(err)
	}
	return content
}

// at returns the JSON of the struct at a path; lists and maps on the way have one item.
func at(value any, path []string) map[string]any {
	for {
		if list, is := value.([]any); is {
			if len(list) == 0 {
				return nil
			}
			value = list[0]
			continue
		}
		content, is := value.(map[string]any)
		if !is {
			return nil
		}
		if only, wrapped := content["k"]; wrapped && len(content) == 1 {
			value = only
			continue
		}
		if len(path) == 0 {
			return content
		}
		value, path = content[path[0]], path[1:]
	}
}

func asText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}
