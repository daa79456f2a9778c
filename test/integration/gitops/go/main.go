// Judges Kubernetes objects as Argo CD and Flux do.
//
// Standard input is a list of {"lua": "…", "object": {…}}; standard output is a list of {"argo": {"status", "message"}, "kstatus": {"status", "message"}}.
// A script runs with the libraries that Argo CD opens for health checks, and `obj` is the object.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubejson "k8s.io/apimachinery/pkg/util/json"
)

type question struct {
	Lua    string          `json:"lua"`
	Object json.RawMessage `json:"object"`
}

type verdict struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

type answer struct {
	Argo    verdict `json:"argo"`
	Kstatus verdict `json:"kstatus"`
}

func main() {
	var questions []question
	if err := json.NewDecoder(os.Stdin).Decode(&questions); err != nil {
		fail(err)
	}
	answers := make([]answer, 0, len(questions))
	for _, asked := range questions {
		// Kubernetes' own decoder: whole numbers are int64, as kstatus needs them.
		var object map[string]any
		if err := kubejson.Unmarshal(asked.Object, &object); err != nil {
			fail(err)
		}
		argo, err := judgeByLua(asked.Lua, object)
		if err != nil {
			fail(err)
		}
		result, err := status.Compute(&unstructured.Unstructured{Object: object})
		if err != nil {
			fail(err)
		}
		answers = append(answers, answer{argo, verdict{result.Status.String(), result.Message}})
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		fail(err)
	}
}

func judgeByLua(script string, object map[string]any) (verdict, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{
		{lua.LoadLibName, lua.OpenPackage},
		{lua.BaseLibName, lua.OpenBase},
		{lua.TabLibName, lua.OpenTable},
	} {
		err := state.CallByParam(lua.P{Fn: state.NewFunction(library.open), NRet: 0, Protect: true}, lua.LString(library.name))
		if err != nil {
			return verdict{}, err
		}
	}
	state.SetGlobal("obj", toLua(state, object))
	if err := state.DoString(script); err != nil {
		return verdict{}, err
	}
	result, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return verdict{}, fmt.Errorf("the script returned %s instead of a table", state.Get(-1).Type())
	}
	return verdict{lua.LVAsString(result.RawGetString("status")), lua.LVAsString(result.RawGetString("message"))}, nil
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch typed := value.(type) {
	case map[string]any:
		table := state.CreateTable(0, len(typed))
		for key, entry := range typed {
			table.RawSetString(key, toLua(state, entry))
		}
		return table
	case []any:
		table := state.CreateTable(len(typed), 0)
		for _, entry := range typed {
			table.Append(toLua(state, entry))
		}
		return table
	case string:
		return lua.LString(typed)
	case int64:
		return lua.LNumber(typed)
	case float64:
		return lua.LNumber(typed)
	case bool:
		return lua.LBool(typed)
	default:
		return lua.LNil
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
