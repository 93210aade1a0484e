package main

import (
	"encoding/json"

	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/health"

	"github.com/argoproj/argo-cd/v3/util/lua"
)

type healthCase struct {
	Object    json.RawMessage   `json:"object"`
	ConfigMap map[string]string `json:"configMap"`
}

type healthAnswer struct {
	Status  health.HealthStatusCode `json:"status"`
	Message string                  `json:"message"`
	Error   string                  `json:"error,omitempty"`
}

// healthArea answers null for a kind without a check. An error comes with a status.
func healthArea(input json.RawMessage) (any, error) {
	var c healthCase
	if err := json.Unmarshal(input, &c); err != nil {
		return nil, err
	}
	s, err := settingsOf(c.ConfigMap)
	if err != nil {
		return nil, err
	}
	status, err := health.GetResourceHealth(objectOf(c.Object), lua.ResourceHealthOverrides(s.overrides))
	if status == nil {
		return map[string]any{"none": true}, err
	}
	answer := healthAnswer{Status: status.Status, Message: status.Message}
	if err != nil {
		answer.Error = err.Error()
	}
	return answer, nil
}
