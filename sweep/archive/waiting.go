package archive

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// Inbox lists what lies in the inbox, probers' documents and foreign ones: of each folder the
// first by name, most of them. It ends with the first error.
//
// An inbox that fits one page is listed in one request. A fuller one is listed folder by folder,
// so that what a prober heaps up does not stand before what the others have sent.
func (s *Store) Inbox(ctx context.Context, most int) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		pager := s.container(s.inboxContainer()).NewListBlobsFlatPager(&container.ListBlobsFlatOptions{
			Include: container.ListBlobsInclude{Metadata: true}, MaxResults: &s.page})
		page, err := pager.NextPage(ctx)
		if status(err) == http.StatusNotFound {
			return
		}
		if err != nil {
			yield(Item{}, fmt.Errorf("listing container %q: %w", s.inboxContainer(), brief(err)))
			return
		}
		if pager.More() {
			s.byFolder(ctx, most, yield)
			return
		}
		seen := map[string]int{}
		for _, b := range page.Segment.BlobItems {
			if b.Name == nil || b.Properties == nil {
				continue
			}
			folder, _, _ := strings.Cut(*b.Name, "/")
			if seen[folder]++; seen[folder] <= most && !yield(newItem(b), nil) {
				return
			}
		}
	}
}

// byFolder lists the inbox's folders, each for itself. What lies in none, which only an operator
// can put there, comes first.
func (s *Store) byFolder(ctx context.Context, most int, yield func(Item, error) bool) {
	pager := s.container(s.inboxContainer()).NewListBlobsHierarchyPager("/", &container.ListBlobsHierarchyOptions{
		Include: container.ListBlobsInclude{Metadata: true}})
	var folders []string
	for pager.More() {
		page, err := pager.NextPage(ctx)
		if err != nil {
			yield(Item{}, fmt.Errorf("listing container %q: %w", s.inboxContainer(), brief(err)))
			return
		}
		for _, p := range page.Segment.BlobPrefixes {
			if p.Name != nil {
				folders = append(folders, *p.Name)
			}
		}
		for _, b := range page.Segment.BlobItems {
			if b.Name != nil && b.Properties != nil && !yield(newItem(b), nil) {
				return
			}
		}
	}
	size := min(s.page, int32(min(most, maxPage)))
	for _, folder := range folders {
		n := 0
		for b, err := range s.listPages(ctx, s.inboxContainer(), folder, true, size) {
			if err != nil {
				yield(Item{}, err)
				return
			}
			if !yield(newItem(b), nil) {
				return
			}
			if n++; n == most {
				break
			}
		}
	}
}
