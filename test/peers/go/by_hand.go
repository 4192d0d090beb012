package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bearer sends a token that is set by hand.
type bearer struct{ token string }

func (b *bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(request)
}

// byHand is a client over HTTP+SSE, for which the SDK has no way to sign in: it is told the address of a server. Then
// each line is a token, after the word "token", with which it connects anew, or the name of a tool, or "list"; an empty
// one ends it.
func byHand() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Scan()
	endpoint := lines.Text()
	var session *mcp.ClientSession
	for lines.Scan() && lines.Text() != "" {
		var answer any
		var err error
		if token, isToken := strings.CutPrefix(lines.Text(), "token "); isToken {
			session, err = connectWith(endpoint, token)
		} else {
			answer, err = carryOut(session, lines.Text())
		}
		said, _ := json.Marshal(outcome(answer, err))
		fmt.Println(string(said))
	}
}

func connectWith(endpoint, token string) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "go", Version: "1"}, nil)
	transport := &mcp.SSEClientTransport{Endpoint: endpoint, HTTPClient: &http.Client{Transport: &bearer{token}}}
	return client.Connect(context.Background(), transport, nil)
}
