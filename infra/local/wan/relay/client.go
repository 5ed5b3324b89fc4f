package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Client asks a relay over its unix socket.
type Client struct {
	socket string
	http   *http.Client
}

// mostAnswer bounds an answer: some hundred thousand packets.
const mostAnswer = 256 << 20

// NewClient makes a client of the relay with that socket. Close it.
func NewClient(socket string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
	return &Client{socket: socket, http: &http.Client{
		Transport: &http.Transport{DialContext: dial, MaxIdleConns: 1}, Timeout: time.Minute,
	}}
}

// Close lets go of the connection.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Links reports on links: those that From, To and Path of the query leave.
func (c *Client) Links(ctx context.Context, q Query) (out Links, err error) {
	return out, c.get(ctx, "links", q, &out)
}

// Flows reports on flows, each link's latest first.
func (c *Client) Flows(ctx context.Context, q Query) (out []Flow, err error) {
	return out, c.get(ctx, "flows", q, &out)
}

// Packets reports on the packets that still have a record, link by link, in the order of their
// ends: for those that arrived, the order of arrival.
func (c *Client) Packets(ctx context.Context, q Query) (out []Packet, err error) {
	return out, c.get(ctx, "packets", q, &out)
}

// Settled waits until no packet of the links that a query leaves is on its way. Of a packet that
// was sent this very moment the relay may not know yet.
func (c *Client) Settled(ctx context.Context, q Query) (Links, error) {
	for {
		links, err := c.Links(ctx, q)
		if err != nil {
			return links, err
		}
		var flying uint64
		for _, l := range links.Links {
			flying += l.InFlight()
		}
		if flying == 0 {
			return links, nil
		}
		select {
		case <-ctx.Done():
			return links, fmt.Errorf("waiting for %d packets on their way: %w", flying, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (c *Client) get(ctx context.Context, what string, q Query, to any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://wan/"+what+"?"+q.values().Encode(), nil)
	if err != nil {
		return fmt.Errorf("asking the relay for %s: %w", what, err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("asking the relay at %q for %s: %w", c.socket, what, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	if err != nil {
		return fmt.Errorf("reading the relay's %s: %w", what, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("asking the relay for %s: %s", what, strings.TrimSpace(string(body)))
	}
	if err := json.Unmarshal(body, to); err != nil {
		return fmt.Errorf("reading the relay's %s: %w", what, err)
	}
	return nil
}
