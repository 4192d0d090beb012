package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const callTime = 20 * time.Second

type order struct {
	URL       string   `json:"url"`
	Transport string   `json:"transport"`
	Era       string   `json:"era"`
	Only      []string `json:"only"`
	PatienceS float64  `json:"patienceS"`
}

// peer is one connection, and what it has heard.
type peer struct {
	session  *mcp.ClientSession
	patience time.Duration
	lock     sync.Mutex
	heard    []any
}

func (p *peer) hear(what any) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.heard = append(p.heard, what)
}

func (p *peer) soFar() []any {
	p.lock.Lock()
	defer p.lock.Unlock()
	return append([]any{}, p.heard...)
}

func (p *peer) has(what any) func() bool {
	return func() bool {
		for _, one := range p.soFar() {
			if one == what {
				return true
			}
		}
		return false
	}
}

func until(isSo func() bool, patience time.Duration) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if isSo() {
			return true
		}
	}
	return false
}

func (p *peer) isModern() bool { return p.session.InitializeResult().ProtocolVersion >= "2026" }

func (p *peer) callFor(ctx context.Context, name string, arguments any) (any, error) {
	params := &mcp.CallToolParams{Name: name, Arguments: arguments, Meta: mcp.Meta{"progressToken": name}}
	if p.isModern() {
		params.Meta["io.modelcontextprotocol/logLevel"] = "debug"
	}
	result, err := p.session.CallTool(ctx, params)
	return plain(result, err)
}

func (p *peer) call(name string, arguments any) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	return p.callFor(ctx, name, arguments)
}

// plain is a result without what names its server, its revision and how long it may be kept.
func plain(result any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	var seen map[string]any
	text, err := json.Marshal(result)
	if err == nil {
		err = json.Unmarshal(text, &seen)
	}
	for _, key := range []string{"_meta", "resultType", "ttlMs", "cacheScope"} {
		delete(seen, key)
	}
	return seen, err
}

func outcome(answer any, err error) any {
	var refused *jsonrpc.Error
	if err == nil {
		return map[string]any{"ok": answer}
	}
	if errors.As(err, &refused) {
		return map[string]any{"error": refused}
	}
	return map[string]any{"failed": err.Error()}
}

func connect(what order) (*peer, error) {
	p := &peer{patience: time.Duration(what.PatienceS * float64(time.Second))}
	client := mcp.NewClient(&mcp.Implementation{Name: "go", Version: "1"}, &mcp.ClientOptions{
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: "none", Content: &mcp.TextContent{Text: "sampled"}}, nil
		},
		ElicitationHandler: func(_ context.Context, asked *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"colour": "red"}}, nil
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { p.hear("tools") },
		ResourceUpdatedHandler: func(_ context.Context, update *mcp.ResourceUpdatedNotificationRequest) {
			p.hear("updated " + update.Params.URI)
		},
		LoggingMessageHandler: func(_ context.Context, log *mcp.LoggingMessageRequest) {
			p.hear([]any{log.Params.Level, log.Params.Data})
		},
		ProgressNotificationHandler: func(_ context.Context, step *mcp.ProgressNotificationClientRequest) {
			p.hear([]any{step.Params.Progress, step.Params.Total, step.Params.Message})
		},
	})
	client.AddRoots(&mcp.Root{URI: "file:///home/ada", Name: "home"})
	options := &mcp.ClientSessionOptions{}
	if what.Era == "legacy" {
		options.ProtocolVersion = "2025-11-25"
	}
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: what.URL}
	if what.Transport == "HTTP+SSE" {
		transport = &mcp.SSEClientTransport{Endpoint: what.URL}
	}
	var err error
	p.session, err = client.Connect(context.Background(), transport, options)
	return p, err
}

func run(what order) map[string]any {
	p, err := connect(what)
	if err != nil {
		return map[string]any{"connect": outcome(nil, err)}
	}
	seen := map[string]any{"revision": p.session.InitializeResult().ProtocolVersion}
	for _, one := range capabilities {
		if !slices.Contains(what.Only, one.name) {
			continue
		}
		p.lock.Lock()
		p.heard = []any{}
		p.lock.Unlock()
		seen[one.name] = outcome(one.do(p))
	}
	_ = p.session.Close()
	if p, err = connect(what); err != nil {
		seen["reconnect"] = outcome(nil, err)
		return seen
	}
	seen["reconnect"] = outcome(listTools(p))
	_ = p.session.Close()
	return seen
}

// drive carries out the runs of standard input, one after the other, and prints what each saw.
func drive() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var what order
		if err := json.Unmarshal(lines.Bytes(), &what); err != nil {
			panic(err)
		}
		seen, _ := json.Marshal(run(what))
		fmt.Println(string(seen))
	}
}
