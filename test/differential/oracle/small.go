package main

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/argoproj/argo-cd/v3/controller/sharding"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/argo"
)

type trackingCase struct {
	Object         json.RawMessage         `json:"object"`
	Live           json.RawMessage         `json:"live"`
	App            string                  `json:"app"`
	Namespace      string                  `json:"namespace"`
	Method         v1alpha1.TrackingMethod `json:"method"`
	LabelKey       string                  `json:"labelKey"`
	InstallationID string                  `json:"installationId"`
}

// trackingArea marks an object as the repo-server does, and reads the mark of a live one.
func trackingArea(input json.RawMessage) (any, error) {
	var c trackingCase
	if err := json.Unmarshal(input, &c); err != nil {
		return nil, err
	}
	tracking := argo.NewResourceTracking()
	marked := objectOf(c.Object)
	answer := map[string]any{}
	if err := tracking.SetAppInstance(marked, c.LabelKey, c.App, c.Namespace, c.Method, c.InstallationID); err != nil {
		answer["error"] = err.Error()
	} else {
		answer["marked"] = marked.Object
	}
	answer["app"] = tracking.GetAppName(objectOf(c.Live), c.LabelKey, c.Method, c.InstallationID)
	return answer, nil
}

type shardingCase struct {
	Algorithm string `json:"algorithm"`
	Replicas  int    `json:"replicas"`
	Clusters  []struct {
		// The JSON of a cluster has no ID.
		ID string `json:"id"`
		v1alpha1.Cluster
	} `json:"clusters"`
}

func shardingArea(input json.RawMessage) (any, error) {
	var c shardingCase
	if err := json.Unmarshal(input, &c); err != nil {
		return nil, err
	}
	cache := sharding.NewClusterSharding(nil, 0, c.Replicas, c.Algorithm)
	clusters := &v1alpha1.ClusterList{}
	for _, each := range c.Clusters {
		each.Cluster.ID = each.ID
		clusters.Items = append(clusters.Items, each.Cluster)
	}
	cache.Init(clusters, &v1alpha1.ApplicationList{})
	return cache.GetDistribution(), nil
}

type quantityCase struct {
	Text resource.Quantity `json:"text"`
}

func quantityArea(input json.RawMessage) (any, error) {
	var c quantityCase
	if err := json.Unmarshal(input, &c); err != nil {
		return nil, err
	}
	return map[string]any{"text": c.Text.String(), "milli": c.Text.MilliValue()}, nil
}
