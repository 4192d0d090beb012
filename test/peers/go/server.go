package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type none struct{}

type sum struct {
	N     int     `json:"n"`
	Twice float64 `json:"twice"`
}

var (
	slow       sync.Map // How each call of the tool slow stands: running, cancelled or finished.
	remembered sync.Map // What the tool remember keeps for a session.
)

const watched = "test://watched"

func text(format string, values ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, values...)}}}
}

func add[In any](server *mcp.Server, name string, work func(context.Context, *mcp.CallToolRequest, In) (*mcp.CallToolResult, error)) {
	mcp.AddTool(server, &mcp.Tool{Name: name}, func(ctx context.Context, request *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		result, err := work(ctx, request, in)
		return result, nil, err
	})
}

func asJSON(value any, err error) (*mcp.CallToolResult, error) {
	if err != nil {
		return nil, err
	}
	answer, err := json.Marshal(value)
	return text("%s", answer), err
}

func addTools(server *mcp.Server) {
	add(server, "echo", func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Text string `json:"text"`
	}) (*mcp.CallToolResult, error) {
		return text("%s", in.Text), nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "structured"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		N int `json:"n"`
	}) (*mcp.CallToolResult, sum, error) {
		return nil, sum{N: in.N, Twice: 2 * float64(in.N)}, nil
	})
	add(server, "fail", func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, error) {
		return nil, errors.New("it does not work")
	})
	add(server, "needs_url", func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, error) {
		page := &mcp.ElicitParams{Mode: "url", Message: "sign in", URL: "https://example.com/", ElicitationID: "e1"}
		return nil, mcp.URLElicitationRequiredError([]*mcp.ElicitParams{page})
	})
	add(server, "progress", func(ctx context.Context, request *mcp.CallToolRequest, in struct {
		Steps int `json:"steps"`
	}) (*mcp.CallToolResult, error) {
		for step := 1; step <= in.Steps; step++ {
			progress := &mcp.ProgressNotificationParams{
				ProgressToken: request.Params.GetProgressToken(), Progress: float64(step), Total: float64(in.Steps), Message: fmt.Sprintf("step %d", step),
			}
			if err := request.Session.NotifyProgress(ctx, progress); err != nil {
				return nil, err
			}
		}
		return text("done"), nil
	})
	add(server, "log", func(ctx context.Context, request *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, error) {
		first := request.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "first"})
		second := request.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Data: "second"})
		return text("logged"), errors.Join(first, second)
	})
	addStates(server)
	addChanges(server)
}

type keyed struct {
	Key string `json:"key"`
}

func addStates(server *mcp.Server) {
	add(server, "slow", func(ctx context.Context, _ *mcp.CallToolRequest, in keyed) (*mcp.CallToolResult, error) {
		slow.Store(in.Key, "running")
		select {
		case <-ctx.Done():
			slow.Store(in.Key, "cancelled")
			return nil, ctx.Err()
		case <-time.After(10 * time.Second):
			slow.Store(in.Key, "finished")
			return text("finished"), nil
		}
	})
	add(server, "slow_state", func(_ context.Context, _ *mcp.CallToolRequest, in keyed) (*mcp.CallToolResult, error) {
		state, _ := slow.Load(in.Key)
		return text("%v", state), nil
	})
	add(server, "remember", func(_ context.Context, request *mcp.CallToolRequest, in struct {
		Value string `json:"value"`
	}) (*mcp.CallToolResult, error) {
		remembered.Store(request.Session, in.Value)
		return text("kept"), nil
	})
	add(server, "recall", func(_ context.Context, request *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, error) {
		if value, ok := remembered.Load(request.Session); ok {
			return text("%v", value), nil
		}
		return text("nothing"), nil
	})
}

type named struct {
	Name string `json:"name"`
}

func addChanges(server *mcp.Server) {
	add(server, "add_tool", func(_ context.Context, _ *mcp.CallToolRequest, in named) (*mcp.CallToolResult, error) {
		add(server, in.Name, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, error) {
			return text("late"), nil
		})
		return text("added"), nil
	})
	add(server, "remove_tool", func(_ context.Context, _ *mcp.CallToolRequest, in named) (*mcp.CallToolResult, error) {
		server.RemoveTools(in.Name)
		return text("removed"), nil
	})
	add(server, "touch", func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, error) {
		return text("touched"), server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: watched})
	})
}

func question() *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: "which?", RequestedSchema: map[string]any{
		"type": "object", "properties": map[string]any{"colour": map[string]any{"type": "string"}},
	}}
}

func addQuestions(server *mcp.Server) {
	add(server, "sample", func(ctx context.Context, request *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, error) {
		asked := []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "what?"}}}
		return asJSON(request.Session.CreateMessage(ctx, &mcp.CreateMessageParams{Messages: asked, MaxTokens: 9}))
	})
	add(server, "elicit", func(ctx context.Context, request *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, error) {
		return asJSON(request.Session.Elicit(ctx, question()))
	})
	add(server, "roots", func(ctx context.Context, request *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, error) {
		return asJSON(request.Session.ListRoots(ctx, nil))
	})
	add(server, "confirm", func(_ context.Context, request *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, error) {
		if answer, ok := request.Params.InputResponses["which"]; ok {
			return asJSON(answer, nil)
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"which": question()}, RequestState: "kept by the client"}, nil
	})
}

func contents(_ context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := request.Params.URI
	said := map[string]string{"test://static": "static text", watched: "watched text"}[uri]
	if said == "" {
		said = "item " + strings.TrimPrefix(uri, "test://item/")
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: said}}}, nil
}

func newServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "go", Version: "1"}, &mcp.ServerOptions{
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{"Ada"}}}, nil
		},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	addTools(server)
	addQuestions(server)
	server.AddResource(&mcp.Resource{URI: "test://static", Name: "static"}, contents)
	server.AddResource(&mcp.Resource{URI: watched, Name: "watched"}, contents)
	server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test://item/{number}", Name: "item"}, contents)
	arguments := []*mcp.PromptArgument{{Name: "who", Required: true}}
	server.AddPrompt(&mcp.Prompt{Name: "hello", Arguments: arguments}, func(_ context.Context, request *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		said := &mcp.TextContent{Text: "Say hello to " + request.Params.Arguments["who"] + "."}
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: said}}}, nil
	})
	return server
}

// serve serves each way on a port of its own, prints the URLs, and ends with standard input.
func serve() {
	streamable := func(options *mcp.StreamableHTTPOptions) http.Handler {
		server := newServer()
		return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, options)
	}
	overSSE := newServer()
	ways := map[string]http.Handler{
		"sse answers":  streamable(nil),
		"json answers": streamable(&mcp.StreamableHTTPOptions{JSONResponse: true}),
		"stateless":    streamable(&mcp.StreamableHTTPOptions{Stateless: true}),
		"HTTP+SSE":     mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return overSSE }, nil),
	}
	urls := map[string]string{}
	for way, handler := range ways {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		urls[way] = "http://" + listener.Addr().String() + "/mcp"
		go func() { _ = http.Serve(listener, handler) }()
	}
	line, _ := json.Marshal(urls)
	fmt.Println(string(line))
	_, _ = io.Copy(io.Discard, os.Stdin)
}
