// Asks OPA's evaluator the questions of the benchmark: a prepared query for each set of policies, with inputs that are parsed before. Reads JSON from
// the standard input, and prints the CPU time of each round in nanoseconds, all threads, and the answers of the last one, as JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"syscall"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/version"
)

type question struct {
	Set   int             `json:"set"`
	Input json.RawMessage `json:"input"`
}

type work struct {
	// Rego modules; the package of each one defines `allow`.
	Modules   []string   `json:"modules"`
	Packages  []string   `json:"packages"`
	Questions []question `json:"questions"`
	Warmup    int        `json:"warmup"`
	Rounds    int        `json:"rounds"`
}

type figures struct {
	Version string  `json:"version"`
	CPU     []int64 `json:"cpuNs"`
	Answers []bool  `json:"answers"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var todo work
	if err := json.NewDecoder(os.Stdin).Decode(&todo); err != nil {
		return err
	}
	queries, err := prepare(todo.Modules, todo.Packages)
	if err != nil {
		return err
	}
	inputs := make([]ast.Value, len(todo.Questions))
	for i, asked := range todo.Questions {
		var value any
		if err := json.Unmarshal(asked.Input, &value); err != nil {
			return err
		}
		if inputs[i], err = ast.InterfaceToValue(value); err != nil {
			return err
		}
	}
	found := figures{Version: version.Version, Answers: make([]bool, len(inputs))}
	ctx := context.Background()
	for round := range todo.Warmup + todo.Rounds {
		before := cpu()
		for i, input := range inputs {
			result, err := queries[todo.Questions[i].Set].Eval(ctx, rego.EvalParsedInput(input))
			if err != nil {
				return err
			}
			found.Answers[i] = result.Allowed()
		}
		if round >= todo.Warmup {
			found.CPU = append(found.CPU, cpu()-before)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(found)
}

func prepare(modules, packages []string) ([]rego.PreparedEvalQuery, error) {
	parsed := make(map[string]string, len(modules))
	for i, text := range modules {
		parsed[fmt.Sprintf("%d.rego", i)] = text
	}
	compiler, err := ast.CompileModules(parsed)
	if err != nil {
		return nil, err
	}
	queries := make([]rego.PreparedEvalQuery, len(packages))
	for i, name := range packages {
		query := rego.New(rego.Compiler(compiler), rego.Query("data."+name+".allow"))
		if queries[i], err = query.PrepareForEval(context.Background()); err != nil {
			return nil, err
		}
	}
	return queries, nil
}

func cpu() int64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return used.Utime.Nano() + used.Stime.Nano()
}
