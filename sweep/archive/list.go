package archive

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// maxPage is the most blobs that the service puts on a page of a listing.
const maxPage = 5000

// list yields the blobs below a prefix, by name. A container that does not exist has none.
func (s *Store) list(ctx context.Context, name, prefix string, metadata bool) iter.Seq2[*container.BlobItem, error] {
	return s.listPages(ctx, name, prefix, metadata, maxPage)
}

// listPages is list with pages of a size, for who may not want them all.
func (s *Store) listPages(ctx context.Context, name, prefix string, metadata bool, size int32) iter.Seq2[*container.BlobItem, error] {
	return func(yield func(*container.BlobItem, error) bool) {
		pager := s.container(name).NewListBlobsFlatPager(&container.ListBlobsFlatOptions{
			Prefix: &prefix, Include: container.ListBlobsInclude{Metadata: metadata}, MaxResults: &size})
		for pager.More() { // a page may be empty and still not be the last
			page, err := pager.NextPage(ctx)
			if status(err) == http.StatusNotFound {
				return
			}
			if err != nil {
				yield(nil, fmt.Errorf("listing container %q below %q: %w", name, prefix, brief(err)))
				return
			}
			for _, b := range page.Segment.BlobItems {
				if b.Name == nil || b.Properties == nil {
					continue
				}
				if !yield(b, nil) {
					return
				}
			}
		}
	}
}

// folders lists the folders right below a prefix, each with the prefix in front and a slash
// behind.
func (s *Store) folders(ctx context.Context, name, prefix string) ([]string, error) {
	pager := s.container(name).NewListBlobsHierarchyPager("/", &container.ListBlobsHierarchyOptions{Prefix: &prefix})
	var out []string
	for pager.More() {
		page, err := pager.NextPage(ctx)
		if status(err) == http.StatusNotFound {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("listing container %q below %q: %w", name, prefix, brief(err))
		}
		for _, p := range page.Segment.BlobPrefixes {
			if p.Name != nil {
				out = append(out, *p.Name)
			}
		}
	}
	return out, nil
}

// quoted is an ETag as a condition wants it: listings leave the quotation marks out.
func quoted(etag string) string {
	if etag == "" || strings.HasSuffix(etag, `"`) {
		return etag
	}
	return `"` + etag + `"`
}
