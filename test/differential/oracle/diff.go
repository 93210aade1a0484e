package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	_ "unsafe" // for go:linkname

	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/diff/testdata"
	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/utils/kube/scheme"
	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	openapiproto "k8s.io/kube-openapi/pkg/util/proto"

	"sigs.k8s.io/yaml"

	"github.com/argoproj/argo-cd/v3/common"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	argodiff "github.com/argoproj/argo-cd/v3/util/argo/diff"
	"github.com/argoproj/argo-cd/v3/util/argo/normalizers"
	"github.com/argoproj/argo-cd/v3/util/settings"
)

const manager = "argocd-controller"

type diffCase struct {
	Target            json.RawMessage                      `json:"target"`
	Live              json.RawMessage                      `json:"live"`
	Predicted         json.RawMessage                      `json:"predicted"`
	IgnoreDifferences []v1alpha1.ResourceIgnoreDifferences `json:"ignoreDifferences"`
	ConfigMap         map[string]string                    `json:"configMap"`
	IncludeMutations  bool                                 `json:"includeMutations"`
}

type diffAnswer struct {
	Modified  bool            `json:"modified"`
	Live      json.RawMessage `json:"live"`
	Predicted json.RawMessage `json:"predicted"`
	// SameStored: the API server stores both alike, so that a sync changes nothing.
	SameStored bool `json:"sameStored,omitempty"`
}

func diffArea(input json.RawMessage) (any, error) {
	return compare(input, nil)
}

// fixedAnswer stands for an API server that answers a dry run.
type fixedAnswer string

func (a fixedAnswer) Run(context.Context, *unstructured.Unstructured, string) (string, error) {
	return string(a), nil
}

func dryRunArea(input json.RawMessage) (any, error) {
	var c diffCase
	if err := json.Unmarshal(input, &c); err != nil {
		return nil, err
	}
	return compare(input, func(b *argodiff.DiffConfigBuilder) {
		b.WithServerSideDiff(true)
		b.WithServerSideDryRunner(fixedAnswer(c.Predicted))
		b.WithIgnoreMutationWebhook(!c.IncludeMutations)
	})
}

func compare(input json.RawMessage, more func(*argodiff.DiffConfigBuilder)) (any, error) {
	var c diffCase
	if err := json.Unmarshal(input, &c); err != nil {
		return nil, err
	}
	s, err := settingsOf(c.ConfigMap)
	if err != nil {
		return nil, err
	}
	builder := argodiff.NewDiffConfigBuilder().
		WithDiffSettings(c.IgnoreDifferences, s.overrides, s.ignoreAggregatedRoles, normalizers.IgnoreNormalizerOpts{}).
		WithTracking(s.labelKey, s.trackingMethod).
		WithNoCache().
		WithGVKParser(openAPI()).
		WithManager(manager)
	if more != nil {
		more(builder)
	}
	config, err := builder.Build()
	if err != nil {
		return nil, err
	}
	result, err := argodiff.StateDiff(context.Background(), objectOf(c.Live), objectOf(c.Target), config)
	if err != nil {
		return nil, err
	}
	answer := diffAnswer{Modified: result.Modified, Live: result.NormalizedLive, Predicted: result.PredictedLive}
	answer.SameStored = result.Modified && storedAlike(answer.Live, answer.Predicted)
	return answer, nil
}

func storedAlike(live, predicted json.RawMessage) bool {
	objects := []runtime.Object{}
	for _, data := range []json.RawMessage{live, predicted} {
		object := objectOf(data)
		if object == nil {
			return false
		}
		typed, err := typedObject(data, object.GroupVersionKind())
		if err != nil {
			return false
		}
		objects = append(objects, typed)
	}
	return equality.Semantic.DeepEqual(objects[0], objects[1])
}

// objectOf parses an object as a client of the API server does: integers stay exact.
func objectOf(data json.RawMessage) *unstructured.Unstructured {
	var object map[string]any
	if len(data) > 0 {
		must(utiljson.Unmarshal(data, &object))
	}
	if object == nil {
		return nil
	}
	return &unstructured.Unstructured{Object: object}
}

type parsedSettings struct {
	overrides             map[string]v1alpha1.ResourceOverride
	ignoreAggregatedRoles bool
	labelKey              string
	trackingMethod        string
}

var (
	settingsLock  sync.Mutex
	knownSettings = map[string]parsedSettings{}
)

// settingsOf reads argocd-cm as the controller does. Cached, because many cases share one.
func settingsOf(data map[string]string) (parsedSettings, error) {
	key, err := json.Marshal(data)
	if err != nil {
		return parsedSettings{}, err
	}
	settingsLock.Lock()
	defer settingsLock.Unlock()
	if known, ok := knownSettings[string(key)]; ok {
		return known, nil
	}
	parsed, err := readSettings(data)
	if err != nil {
		return parsedSettings{}, err
	}
	if len(knownSettings) > 2000 {
		clear(knownSettings)
	}
	knownSettings[string(key)] = parsed
	return parsed, nil
}

//go:linkname splitKeys github.com/argoproj/argo-cd/v3/util/settings.(*SettingsManager).appendResourceOverridesFromSplitKeys
func splitKeys(m *settings.SettingsManager, data map[string]string, overrides map[string]v1alpha1.ResourceOverride) error

//go:linkname ignoreStatus github.com/argoproj/argo-cd/v3/util/settings.addStatusOverrideToGK
func ignoreStatus(overrides map[string]v1alpha1.ResourceOverride, groupKind string)

// readSettings does what GetResourceOverrides does, without the informers that it starts.
func readSettings(data map[string]string) (parsed parsedSettings, err error) {
	options := settings.GetDefaultDiffOptions()
	if err := yaml.Unmarshal([]byte(data["resource.compareoptions"]), &options); err != nil {
		return parsed, err
	}
	parsed.ignoreAggregatedRoles = options.IgnoreAggregatedRoles
	parsed.overrides = map[string]v1alpha1.ResourceOverride{}
	if err := yaml.Unmarshal([]byte(data["resource.customizations"]), &parsed.overrides); err != nil {
		return parsed, err
	}
	if err := splitKeys(nil, data, parsed.overrides); err != nil {
		return parsed, err
	}
	switch options.IgnoreResourceStatusField {
	case settings.IgnoreResourceStatusInNone, "off", "false":
	case settings.IgnoreResourceStatusInCRD:
		ignoreStatus(parsed.overrides, "apiextensions.k8s.io/CustomResourceDefinition")
	default:
		ignoreStatus(parsed.overrides, "*/*")
	}
	parsed.labelKey = cmp.Or(data["application.instanceLabelKey"], common.LabelKeyAppInstance)
	parsed.trackingMethod = cmp.Or(data["application.resourceTrackingMethod"], string(v1alpha1.TrackingMethodAnnotation))
	return parsed, nil
}

// openAPI has the types of the document that the original's own tests use.
var openAPI = sync.OnceValue(func() *managedfields.GvkParser {
	document := &openapi_v2.Document{}
	must(proto.Unmarshal(testdata.OpenAPIV2Doc, document))
	models, err := openapiproto.NewOpenAPIData(document)
	must(err)
	parser, err := managedfields.NewGVKParser(models, false)
	must(err)
	return parser
})

func must(err error) {
	if err != nil {
		panic(err)
	}
}

type applyCase struct {
	Live    json.RawMessage `json:"live"`
	Applied []struct {
		Manager string          `json:"manager"`
		Update  bool            `json:"update"`
		Object  json.RawMessage `json:"object"`
	} `json:"applied"`
}

// applyArea lets managers apply or update an object in turn, and returns it with its managed fields.
func applyArea(input json.RawMessage) (any, error) {
	var c applyCase
	if err := json.Unmarshal(input, &c); err != nil {
		return nil, err
	}
	if len(c.Applied) == 0 {
		return nil, errors.New("nothing to apply")
	}
	gvk := objectOf(c.Applied[0].Object).GroupVersionKind()
	fields, err := managedfields.NewDefaultFieldManager(
		managedfields.NewSchemeTypeConverter(scheme.Scheme, scheme.StaticParser()),
		runtime.UnsafeObjectConvertor(scheme.Scheme), scheme.Scheme, scheme.Scheme, gvk, gvk.GroupVersion(), "", nil)
	if err != nil {
		return nil, err
	}
	now, err := typedObject(c.Live, gvk)
	if err != nil {
		return nil, err
	}
	for _, step := range c.Applied {
		if step.Update {
			var next runtime.Object
			if next, err = typedObject(step.Object, gvk); err == nil {
				now, err = fields.Update(now, next, step.Manager)
			}
		} else {
			now, err = fields.Apply(now, objectOf(step.Object), step.Manager, true)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step.Manager, err)
		}
	}
	return plainObject(now)
}

// typedObject is what the API server stores: unknown fields are dropped, defaults are filled in.
func typedObject(data json.RawMessage, gvk schema.GroupVersionKind) (runtime.Object, error) {
	typed, err := scheme.Scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	if len(data) > 0 && string(data) != "null" {
		if err := json.Unmarshal(data, typed); err != nil {
			return nil, err
		}
		scheme.Scheme.Default(typed)
	}
	typed.GetObjectKind().SetGroupVersionKind(gvk)
	return typed, nil
}

func plainObject(object runtime.Object) (map[string]any, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var plain unstructured.Unstructured
	if err := json.Unmarshal(data, &plain.Object); err != nil {
		return nil, err
	}
	entries := plain.GetManagedFields()
	for i := range entries {
		entries[i].Time = nil
	}
	plain.SetManagedFields(entries)
	return plain.Object, nil
}
