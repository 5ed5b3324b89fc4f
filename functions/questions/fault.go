package questions

import (
	"fmt"
	"net/http"
	"strings"
)

// fault is one thing that is wrong with a request.
type fault struct {
	Parameter string `json:"parameter,omitempty" jsonschema:"the parameter that is at fault"`
	Message   string `json:"message"`
	Remedy    string `json:"remedy"`
}

// refusal is an answer that is no success. It is an error, so that a question can return it.
type refusal struct {
	status int
	faults []fault
}

func (r *refusal) Error() string { return r.message() }

func (r *refusal) message() string {
	words := make([]string, len(r.faults))
	for i := range r.faults {
		words[i] = r.faults[i].Message
	}
	return strings.Join(words, "; ")
}

func (r *refusal) remedy() string {
	var words []string
	for i := range r.faults {
		if w := r.faults[i].Remedy; w != "" && (len(words) == 0 || words[len(words)-1] != w) {
			words = append(words, w)
		}
	}
	return strings.Join(words, "; ")
}

// failure is the body of every answer that is no success.
type failure struct {
	Error failureText `json:"error"`
}

type failureText struct {
	Message string  `json:"message" jsonschema:"all faults, for people"`
	Remedy  string  `json:"remedy" jsonschema:"what to do about them"`
	Faults  []fault `json:"faults" jsonschema:"the faults one by one"`
}

func (r *refusal) body() failure {
	return failure{failureText{r.message(), r.remedy(), r.faults}}
}

// notFound says that a name is not there, and what is.
func notFound(parameter, what, name string, there []string) *refusal {
	return &refusal{http.StatusNotFound, []fault{absentFault(parameter, what, name, there)}}
}

// maxListed bounds how many names an error lists.
const maxListed = 100

func absentFault(parameter, what, name string, there []string) fault {
	remedy := "there is none"
	if len(there) > 0 {
		listed := there[:min(len(there), maxListed)]
		remedy = "there is " + strings.Join(listed, ", ")
		if len(there) > maxListed {
			remedy += fmt.Sprintf(" and %d more", len(there)-maxListed)
		}
	}
	return fault{parameter, fmt.Sprintf("there is no %s %q", what, name), remedy}
}

func badRequest(parameter, remedy, format string, args ...any) *refusal {
	return &refusal{http.StatusBadRequest, []fault{{parameter, fmt.Sprintf(format, args...), remedy}}}
}
