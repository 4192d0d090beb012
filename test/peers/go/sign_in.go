package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// signIn is a client that signs in by itself: it is told the address of a server, where a browser returns and the era,
// says where a browser has to go and is told where it ended up. Then each line it is told is the name of a tool to
// call, or "list"; an empty one ends it.
func signIn() {
	lines := bufio.NewScanner(os.Stdin)
	told := func() string {
		lines.Scan()
		return lines.Text()
	}
	endpoint, redirect, era := told(), told(), told()
	login, err := newLogin(redirect, func(url string) string {
		fmt.Println(url)
		return told()
	})
	if err != nil {
		panic(err)
	}
	options := &mcp.ClientSessionOptions{}
	if era == "legacy" {
		options.ProtocolVersion = "2025-11-25"
	}
	transport := &mcp.StreamableClientTransport{Endpoint: endpoint, OAuthHandler: login}
	client := mcp.NewClient(&mcp.Implementation{Name: "go", Version: "1"}, nil)
	session, err := client.Connect(context.Background(), transport, options)
	if err != nil {
		panic(err)
	}
	fmt.Println()
	for order := told(); order != ""; order = told() {
		answer, _ := json.Marshal(outcome(carryOut(session, order)))
		fmt.Println(string(answer))
	}
	_ = session.Close()
}

func newLogin(redirect string, browse func(url string) string) (*auth.AuthorizationCodeHandler, error) {
	return auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{
				ClientName:              "go",
				RedirectURIs:            []string{redirect},
				GrantTypes:              []string{"authorization_code", "refresh_token"},
				ResponseTypes:           []string{"code"},
				TokenEndpointAuthMethod: "none",
			},
		},
		AuthorizationCodeFetcher: func(_ context.Context, to *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			landed, err := url.Parse(browse(to.URL))
			if err != nil {
				return nil, err
			}
			query := landed.Query()
			return &auth.AuthorizationResult{
				Code:  query.Get("code"),
				State: query.Get("state"),
				Iss:   query.Get("iss"),
			}, nil
		},
	})
}

func carryOut(session *mcp.ClientSession, order string) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	if order == "list" {
		return plain(session.ListTools(ctx, nil))
	}
	return plain(session.CallTool(ctx, &mcp.CallToolParams{Name: order, Arguments: map[string]any{}}))
}
