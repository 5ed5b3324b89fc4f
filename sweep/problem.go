package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/spf13/cobra"

	"isochrone/prober/wire/account"
	"isochrone/sweep/answers"
	"isochrone/sweep/config"
)

// The exit codes. They are documented in the help and promised to scripts.
const (
	exitOK          = 0
	exitBad         = 1 // the answer is bad: faults found, pairs missing, a document refused
	exitUsage       = 2 // the command or its settings are wrong
	exitUnreachable = 3 // the storage, or the configuration in it, could not be reached
)

// problem is an error with its exit code, and what the operator can do about it.
type problem struct {
	code   int
	err    error
	remedy string // a sentence without a full stop; empty when the error says it all
	// storage says that the account is where it failed: messages begin with its name.
	storage bool
}

func (p *problem) Error() string { return p.err.Error() }
func (p *problem) Unwrap() error { return p.err }

func bad(remedy, format string, args ...any) error {
	return &problem{code: exitBad, err: fmt.Errorf(format, args...), remedy: remedy}
}

func usage(remedy, format string, args ...any) error {
	return &problem{code: exitUsage, err: fmt.Errorf(format, args...), remedy: remedy}
}

// unreachable is an error of the storage, or of what lies in it, with the remedy that fits.
func unreachable(err error) error {
	var faults config.Faults
	ours := errors.Is(err, answers.ErrNoConfig) || errors.As(err, &faults)
	return &problem{code: exitUnreachable, err: err, remedy: remedyFor(err), storage: !ours}
}

func remedyFor(err error) string {
	var faults config.Faults
	var response *azcore.ResponseError
	switch {
	case errors.Is(err, answers.ErrNoConfig):
		return "push one with: sweep config push sweep.yaml"
	case errors.As(err, &faults):
		return "repair it and push it again with: sweep config push sweep.yaml"
	case errors.Is(err, context.DeadlineExceeded):
		return "the storage account did not answer in time: see that it can be reached from here, or raise --timeout"
	case errors.As(err, &response):
		return remedyForResponse(response)
	}
	return fmt.Sprintf("see that the storage account can be reached from here and that %s or %s is right",
		account.EnvConnectionString, account.EnvAccountName)
}

func remedyForResponse(r *azcore.ResponseError) string {
	switch {
	case r.StatusCode == http.StatusForbidden || r.StatusCode == http.StatusUnauthorized:
		return "the identity or key may not do this: an operator needs Storage Blob Data Contributor on the containers and Storage Table Data Reader on the tables"
	case r.ErrorCode == "ContainerNotFound" || r.ErrorCode == "TableNotFound" || r.ErrorCode == "ResourceNotFound":
		return "the account holds nothing of this environment: see that the environment's name and the account are right"
	}
	return ""
}

// report prints an error and returns its exit code. An error that is no problem of ours is
// cobra's, about the command line.
func (s *session) report(ctx context.Context, cmd *cobra.Command, err error) int {
	var p *problem
	if !errors.As(err, &p) {
		p = &problem{code: exitUsage, err: err, remedy: "see: " + cmd.CommandPath() + " --help"}
	}
	if ctx.Err() != nil {
		p = &problem{code: exitUnreachable, err: errors.New("interrupted")}
	}
	s.warn("%s", s.storageText(p))
	if p.remedy != "" {
		s.warn("%s", p.remedy)
	}
	return p.code
}

// filter is the part of a table's error that says which keys were read: nothing for people.
var filter = regexp.MustCompile(`(table "[^"]*") where (?:'(?:[^']|'')*'|[^':])*`)

var signature = regexp.MustCompile(`(?i)\b(sig|AccountKey)=[^&;\s"']+`)

// describe is an error's text as it may stand on a terminal: the SDK's pages of response cut to
// status and code, signatures of URLs left out, and nothing that would steer the terminal.
func describe(err error) string {
	text := err.Error()
	var response *azcore.ResponseError
	if errors.As(err, &response) {
		short := fmt.Sprintf("the storage answered %d %s", response.StatusCode, http.StatusText(response.StatusCode))
		if response.ErrorCode != "" {
			short += " (" + response.ErrorCode + ")"
		}
		text = strings.ReplaceAll(text, response.Error(), short)
	}
	text = filter.ReplaceAllString(text, "$1")
	text = signature.ReplaceAllString(text, "$1=…")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(visible(strings.ReplaceAll(line, "\t", "  ")), " ")
	}
	return strings.Join(lines, "\n")
}
