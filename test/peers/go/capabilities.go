package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func each(steps ...func() (any, error)) (any, error) {
	var all []any
	for _, step := range steps {
		one, err := step()
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func (p *peer) tools(filter func(string) bool) ([]string, error) {
	listed, err := p.session.ListTools(context.Background(), nil)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, tool := range listed.Tools {
		if filter(tool.Name) {
			names = append(names, tool.Name)
		}
	}
	sort.Strings(names)
	return names, nil
}

func isEarly(name string) bool { return !strings.HasPrefix(name, "late_") }

func listTools(p *peer) (any, error) { return p.tools(isEarly) }

func results(p *peer) (any, error) {
	return each(
		func() (any, error) { return p.call("echo", map[string]any{"text": "a \u00e9\u2028\U0001f600"}) },
		func() (any, error) { return p.call("structured", map[string]any{"n": 3}) },
		func() (any, error) { return p.call("fail", map[string]any{}) },
	)
}

func calling(name string) func(p *peer) (any, error) {
	return func(p *peer) (any, error) { return p.call(name, map[string]any{}) }
}

func asking(name string) func(p *peer) (any, error) {
	return func(p *peer) (any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), p.patience)
		defer cancel()
		answer, err := p.callFor(ctx, name, map[string]any{})
		if ctx.Err() != nil {
			return nil, errors.New("no answer")
		}
		return answer, err
	}
}

func hearing(tool string, arguments any, count int) func(p *peer) (any, error) {
	return func(p *peer) (any, error) {
		if tool == "log" && !p.isModern() {
			if err := p.session.SetLoggingLevel(context.Background(), &mcp.SetLoggingLevelParams{Level: "debug"}); err != nil {
				return nil, err
			}
		}
		answer, err := p.call(tool, arguments)
		messages := func() []any {
			return slices.DeleteFunc(p.soFar(), func(one any) bool { _, isName := one.(string); return isName })
		}
		until(func() bool { return len(messages()) >= count }, p.patience)
		return []any{answer, messages()}, err
	}
}

func resources(p *peer) (any, error) {
	ctx := context.Background()
	listed, err := p.session.ListResources(ctx, nil)
	if err != nil {
		return nil, err
	}
	uris := []string{}
	for _, one := range listed.Resources {
		uris = append(uris, one.URI)
	}
	sort.Strings(uris)
	templates, err := p.session.ListResourceTemplates(ctx, nil)
	if err != nil || len(templates.ResourceTemplates) == 0 {
		return nil, fmt.Errorf("templates: %v %w", templates, err)
	}
	read := func(uri string) func() (any, error) {
		return func() (any, error) { return plain(p.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})) }
	}
	contents, err := each(read("test://static"), read("test://item/7"))
	return []any{uris, templates.ResourceTemplates[0].URITemplate, contents}, err
}

func unknownResource(p *peer) (any, error) {
	return plain(p.session.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: "test://nowhere"}))
}

func prompts(p *peer) (any, error) {
	ctx := context.Background()
	listed, err := p.session.ListPrompts(ctx, nil)
	if err != nil {
		return nil, err
	}
	prompt, err := plain(p.session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "hello", Arguments: map[string]string{"who": "Ada"}}))
	return []any{len(listed.Prompts), listed.Prompts[0].Name, prompt}, err
}

func completion(p *peer) (any, error) {
	about := &mcp.CompleteReference{Type: "ref/prompt", Name: "hello"}
	params := &mcp.CompleteParams{Ref: about, Argument: mcp.CompleteParamsArgument{Name: "who", Value: "A"}}
	answer, err := p.session.Complete(context.Background(), params)
	if err != nil {
		return nil, err
	}
	return answer.Completion.Values, nil
}

func subscription(p *peer) (any, error) {
	if err := p.session.Subscribe(context.Background(), &mcp.SubscribeParams{URI: watched}); err != nil {
		return nil, err
	}
	// Subscribe of 2026-07-28 returns before the server has acknowledged the stream.
	if p.isModern() {
		time.Sleep(200 * time.Millisecond)
	}
	if _, err := p.call("touch", map[string]any{}); err != nil {
		return nil, err
	}
	heard := until(p.has("updated "+watched), p.patience)
	return heard, p.session.Unsubscribe(context.Background(), &mcp.UnsubscribeParams{URI: watched})
}

func listChanged(p *peer) (any, error) {
	late := fmt.Sprintf("late_%08x", rand.Uint32())
	if _, err := p.call("add_tool", map[string]any{"name": late}); err != nil {
		return nil, err
	}
	heard := until(p.has("tools"), p.patience)
	listed := until(func() bool {
		found, err := p.tools(func(name string) bool { return name == late })
		return err == nil && len(found) == 1
	}, p.patience)
	answer, err := p.call(late, map[string]any{})
	if err != nil {
		return nil, err
	}
	_, err = p.call("remove_tool", map[string]any{"name": late})
	return []any{heard, listed, answer}, err
}

func cancel(p *peer) (any, error) {
	key := fmt.Sprint(rand.Uint64())
	stands := func(how string) func() bool {
		return func() bool {
			answer, err := p.call("slow_state", keyed{key})
			return err == nil && strings.Contains(fmt.Sprint(answer), how)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan string, 1)
	go func() {
		_, err := p.callFor(ctx, "slow", keyed{key})
		ended <- fmt.Sprint(errors.Is(err, context.Canceled))
	}()
	until(stands("running"), callTime)
	stop()
	how := "no answer"
	select {
	case how = <-ended:
	case <-time.After(p.patience):
	}
	return []any{how, until(stands("cancelled"), p.patience)}, nil
}

func state(p *peer) (any, error) {
	return each(
		func() (any, error) { return p.call("remember", map[string]any{"value": "blue"}) },
		func() (any, error) { return p.call("recall", map[string]any{}) },
	)
}

func burst(p *peer) (any, error) {
	var done sync.WaitGroup
	answered := make(chan bool, 50)
	for n := range 50 {
		done.Go(func() {
			answer, err := p.call("echo", map[string]any{"text": fmt.Sprint("<", n, ">")})
			answered <- err == nil && strings.Contains(fmt.Sprint(answer), fmt.Sprint("<", n, ">"))
		})
	}
	done.Wait()
	close(answered)
	right := 0
	for ok := range answered {
		if ok {
			right++
		}
	}
	return right, nil
}

var capabilities = []struct {
	name string
	do   func(p *peer) (any, error)
}{
	{"tools", listTools}, {"results", results}, {"unknown tool", calling("nothing_like_it")}, {"protocol error", calling("needs_url")},
	{"progress", hearing("progress", map[string]any{"steps": 3}, 3)}, {"log messages", hearing("log", map[string]any{}, 2)},
	{"sampling", asking("sample")}, {"elicitation", asking("elicit")}, {"roots", asking("roots")}, {"input required", calling("confirm")},
	{"resources", resources}, {"unknown resource", unknownResource}, {"prompts", prompts}, {"completion", completion},
	{"subscription", subscription}, {"list changed", listChanged}, {"cancel", cancel}, {"state", state}, {"50 at once", burst},
}
