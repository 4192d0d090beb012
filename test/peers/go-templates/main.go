// The real engine of Go's templates: reads a JSON array of templates with their data, and writes what each gives.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"text/template"
)

type task struct {
	Template string         `json:"template"`
	Data     map[string]any `json:"data"`
}

type outcome struct {
	Output string `json:"output"`
	// Stage is "parse" or "execute" where it failed.
	Stage string `json:"stage,omitempty"`
	Error string `json:"error,omitempty"`
}

var functions = template.FuncMap{
	"json": func(value any) (string, error) {
		text, err := json.Marshal(value)
		return string(text), err
	},
	"fromJson": func(text string) (any, error) {
		var value any
		err := json.Unmarshal([]byte(text), &value)
		return value, err
	},
	"quote": func(text string) string { return fmt.Sprintf("%q", text) },
}

func expand(t task) (result outcome) {
	parsed, err := template.New("template").Funcs(functions).Parse(t.Template)
	if err != nil {
		return outcome{Stage: "parse", Error: err.Error()}
	}
	var output bytes.Buffer
	if err := parsed.Execute(&output, t.Data); err != nil {
		return outcome{Stage: "execute", Error: err.Error()}
	}
	return outcome{Output: output.String()}
}

func main() {
	var tasks []task
	if err := json.NewDecoder(os.Stdin).Decode(&tasks); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	results := make([]outcome, len(tasks))
	for index, t := range tasks {
		results[index] = expand(t)
	}
	if err := json.NewEncoder(os.Stdout).Encode(results); err != nil {
		os.Exit(1)
	}
}
