package archive

import (
	"context"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
)

// containers are the names of the environment's containers.
func (s *Store) containers() []string {
	return []string{
		wire.ProbersContainer(s.environment), wire.AssignmentsContainer(s.environment), s.inboxContainer(),
		s.configContainer(), s.rawContainer(), s.quarantineContainer(), s.lakeContainer(),
	}
}

// Access asks each of the environment's containers for one name.
func (s *Store) Access(ctx context.Context) []account.Access {
	var out []account.Access
	for _, name := range s.containers() {
		pager := s.container(name).NewListBlobsFlatPager(&container.ListBlobsFlatOptions{MaxResults: to.Ptr[int32](1)})
		_, err := pager.NextPage(ctx)
		a := account.Access{Place: name}
		switch code := status(err); {
		case err == nil:
		case code == http.StatusNotFound:
			a.Missing = true
		default:
			a.Err, a.Denied = brief(err), code == http.StatusForbidden || code == http.StatusUnauthorized
		}
		out = append(out, a)
	}
	return out
}
