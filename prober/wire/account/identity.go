package account

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// tokenTries bounds how an identity's endpoint is asked. The SDK has no limit on a try by
// default, so that an endpoint that accepts and stays silent would hold its caller for ever.
var tokenTries = policy.RetryOptions{MaxRetries: 3, TryTimeout: 6 * time.Second, RetryDelay: 500 * time.Millisecond, MaxRetryDelay: 4 * time.Second}

// tokenTime bounds all the tries together. It is less than what any caller gives one request to
// storage, so that the error says that it was the identity and not storage.
const tokenTime = 15 * time.Second

// identity asks for tokens within a bounded time, and says what to do when there is none.
type identity struct {
	azcore.TokenCredential
	account string
}

// GetToken gets a token for storage.
func (i identity) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	bounded, cancel := context.WithTimeout(ctx, tokenTime)
	defer cancel()
	token, err := i.TokenCredential.GetToken(bounded, o)
	switch {
	case err == nil:
		return token, nil
	case ctx.Err() != nil:
		return azcore.AccessToken{}, fmt.Errorf("getting a token for storage account %q: %w", i.account, ctx.Err())
	}
	return azcore.AccessToken{}, &tokenError{i.account, err}
}

// tokenError is a failed request for a token on one line; the SDK's own fills a page.
type tokenError struct {
	account string
	cause   error
}

const maxTokenErrorText = 1000

func (e *tokenError) Error() string {
	var lines []string
	for line := range strings.Lines(e.cause.Error()) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "To troubleshoot") {
			continue
		}
		lines = append(lines, line)
	}
	text := strings.Join(lines, " ")
	if len(text) > maxTokenErrorText {
		text = strings.ToValidUTF8(text[:maxTokenErrorText], "") + "…"
	}
	return fmt.Sprintf("getting a token for storage account %q: %s (in Azure: assign a managed identity, and set %s if it is user-assigned; at a terminal: az login)",
		e.account, text, EnvClientID)
}

func (e *tokenError) Unwrap() error { return e.cause }

// NonRetriable tells the SDK that trying again is no use: that was done.
func (e *tokenError) NonRetriable() {}

// Denied says what to do about an answer by which storage refused who asked; it is empty when
// the HTTP status is of another kind. The code is the service's, such as AuthorizationPermissionMismatch.
func Denied(status int, code string) string {
	switch {
	case status == 401, status == 403 && code == "AuthenticationFailed":
		return "storage does not accept the token or key: is it of this account's tenant, not expired or rotated, and this machine's clock right?"
	case status == 403 && code == "AuthorizationFailure":
		return "storage refuses this identity or this network: see its roles (docs/security.md) and the account's firewall"
	case status == 403:
		return "storage refuses this identity: give it the roles in docs/security.md, which take some minutes to hold"
	}
	return ""
}
