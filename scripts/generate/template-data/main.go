// Executes the templates of a file with Go's text/template and the functions of Argo CD's hydrator,
// and prints the file with the outputs. A template that Go refuses has none.
package main

import (
	"encoding/json"
	"os"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

type example struct {
	Template string  `json:"template"`
	Output   *string `json:"output"`
}

type examples struct {
	Data  map[string]any `json:"data"`
	Cases []example      `json:"cases"`
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	var all examples
	if err := json.Unmarshal(text, &all); err != nil {
		panic(err)
	}
	functions := sprig.GenericFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(functions, name)
	}
	for i := range all.Cases {
		all.Cases[i].Output = execute(all.Cases[i].Template, functions, all.Data)
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(all); err != nil {
		panic(err)
	}
}

func execute(text string, functions template.FuncMap, data map[string]any) *string {
	// Functions such as `set` change the data, so each template gets its own.
	encoded, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	var own map[string]any
	if err := json.Unmarshal(encoded, &own); err != nil {
		panic(err)
	}
	parsed, err := template.New("commit-template").Funcs(functions).Parse(text)
	if err != nil {
		return nil
	}
	var output strings.Builder
	if err := parsed.Execute(&output, own); err != nil {
		return nil
	}
	shown := output.String()
	return &shown
}
