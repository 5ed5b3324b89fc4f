package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// span is a flag that takes a duration; a plain number is seconds, as with other pings.
type span struct{ to *time.Duration }

func (s span) Type() string { return "seconds" }

func (s span) String() string {
	if s.to == nil || *s.to == 0 {
		return ""
	}
	return s.to.String()
}

func (s span) Set(text string) error {
	d, err := time.ParseDuration(text)
	if seconds, bad := strconv.ParseFloat(text, 64); bad == nil {
		d, err = time.Duration(math.Round(seconds*float64(time.Second))), nil
		if math.IsNaN(seconds) || seconds > 1e9 || seconds < 0 { // 30 years; a larger one could overflow
			err = errors.New("out of range")
		}
	}
	if err != nil || d < 0 {
		return fmt.Errorf("want seconds such as 1 or 0.2, or a duration such as 200ms")
	}
	*s.to = d
	return nil
}

// size is a flag that takes bytes; k and m stand for 1,024 and its square, as with psping.
type size struct{ to *int }

func (s size) Type() string { return "bytes" }

func (s size) String() string {
	if s.to == nil || *s.to == 0 {
		return ""
	}
	return strconv.Itoa(*s.to)
}

func (s size) Set(text string) error {
	digits, factor := strings.ToLower(text), 1
	if cut, ok := strings.CutSuffix(digits, "k"); ok {
		digits, factor = cut, 1024
	} else if cut, ok := strings.CutSuffix(digits, "m"); ok {
		digits, factor = cut, 1024*1024
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || n == 0 {
		return errors.New("want bytes such as 64, 8k or 1m")
	}
	*s.to = int(n) * factor
	return nil
}

// oneOf is a flag that takes one word of a list.
type oneOf struct {
	to    *string
	words []string
}

func (o oneOf) Type() string { return strings.Join(o.words, "|") }

func (o oneOf) String() string {
	if o.to == nil {
		return ""
	}
	return *o.to
}

func (o oneOf) Set(text string) error {
	if !slices.Contains(o.words, text) {
		return errors.New("want one of " + strings.Join(o.words, ", "))
	}
	*o.to = text
	return nil
}

// completeWords tells the shell the words of the flags that take one of a list.
func completeWords(cmd *cobra.Command) {
	for _, name := range []string{"kind", "method", "connection"} {
		words := cmd.Flags().Lookup(name).Value.(oneOf).words
		// The flag is there, and nobody else completes it: there is no error to be had.
		_ = cmd.RegisterFlagCompletionFunc(name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return words, cobra.ShellCompDirectiveNoFileComp
		})
	}
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}
