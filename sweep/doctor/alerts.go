package doctor

import (
	"context"
	"fmt"
	"strings"
)

// mostNamed is how many alerts are named; of more there is a count.
const mostNamed = 3

// alerts says what the app has told and is not over.
func (e *examination) alerts(ctx context.Context) error {
	claims, err := e.Rows.Claims(ctx)
	if err != nil {
		return err
	}
	if len(claims) == 0 {
		e.ok(CheckAlerts, "", "no alert is open")
		return nil
	}
	var names []string
	for i := range claims[:min(len(claims), mostNamed)] {
		names = append(names, fmt.Sprintf("%s of %s", claims[i].Kind, claims[i].Subject))
	}
	if more := len(claims) - mostNamed; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	e.found(CheckAlerts, "", Warning, plural(len(claims), "alert is", "alerts are")+" open: "+strings.Join(names, ", "), "sweep alerts --open says what they are; docs/alerts.md says what to do")
	return nil
}
