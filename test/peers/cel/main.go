// Program peer says what cel-go, the reference implementation of CEL, makes of conditions over one map of claims. It
// reads one JSON document {"claims": {}, "expressions": []} and writes a JSON array with a verdict for each expression.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
)

type questions struct {
	Claims      map[string]any `json:"claims"`
	Expressions []string       `json:"expressions"`
}

// verdict is "true", "false", "absent" (a key or an index that is not there), "failed" or "refused" (no expression).
func verdict(env *cel.Env, expression string, claims map[string]any) string {
	// Not type-checked: claims have the types that they happen to have.
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		return "refused"
	}
	program, err := env.Program(parsed)
	if err != nil {
		return "refused"
	}
	value, _, err := program.Eval(map[string]any{"claims": claims})
	switch {
	case err != nil && (strings.Contains(err.Error(), "no such key") || strings.Contains(err.Error(), "index out of bounds")):
		return "absent"
	case err != nil:
		return "failed"
	case value.Type() == types.BoolType:
		return fmt.Sprint(value.Value())
	default:
		return "failed"
	}
}

func main() {
	env, err := cel.NewEnv(cel.Variable("claims", cel.DynType))
	if err != nil {
		log.Fatal(err)
	}
	var asked questions
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		log.Fatal(err)
	}
	verdicts := make([]string, len(asked.Expressions))
	for index, expression := range asked.Expressions {
		verdicts[index] = verdict(env, expression, asked.Claims)
	}
	if err := json.NewEncoder(os.Stdout).Encode(verdicts); err != nil {
		log.Fatal(err)
	}
}
