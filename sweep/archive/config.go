package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
)

const configBlob = "sweep.yaml"

// PutConfig replaces the environment's configuration.
func (s *Store) PutConfig(ctx context.Context, body []byte) error {
	if len(body) > maxConfigBytes {
		return fmt.Errorf("writing the configuration: %w: %w: %d bytes: want at most %d", ErrRefused, ErrTooLarge, len(body), maxConfigBytes)
	}
	if _, err := s.put(ctx, s.configContainer(), configBlob, typeYAML, body, nil, blob.ModifiedAccessConditions{}); err != nil {
		return fmt.Errorf("writing blob %q: %w", s.configContainer()+"/"+configBlob, brief(err))
	}
	return nil
}

// Config reads the environment's configuration.
func (s *Store) Config(ctx context.Context) (body []byte, found bool, err error) {
	body, _, found, err = s.get(ctx, s.configContainer(), configBlob, maxConfigBytes)
	return body, found, err
}

// PinConfig keeps a configuration under its SHA-256, which it returns in hexadecimal, for as
// long as a plan may name it.
func (s *Store) PinConfig(ctx context.Context, body []byte) (hash string, err error) {
	if len(body) > maxConfigBytes {
		return "", fmt.Errorf("pinning a configuration: %w: %w: %d bytes: want at most %d", ErrRefused, ErrTooLarge, len(body), maxConfigBytes)
	}
	sum := sha256.Sum256(body)
	hash = hex.EncodeToString(sum[:])
	return hash, s.createNamed(ctx, s.configContainer(), pinnedName(hash), typeYAML, body)
}

// PinnedConfig reads a configuration that was pinned. Bytes that do not have the hash any more
// are an error.
func (s *Store) PinnedConfig(ctx context.Context, hash string) (body []byte, found bool, err error) {
	if err := checkSum("configuration hash", hash); err != nil {
		return nil, false, fmt.Errorf("reading a pinned configuration: %w", err)
	}
	body, _, found, err = s.get(ctx, s.configContainer(), pinnedName(hash), maxConfigBytes)
	if err != nil || !found {
		return nil, false, err
	}
	if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != hash {
		return nil, false, fmt.Errorf("reading pinned configuration %q: its bytes have another hash", hash)
	}
	return body, true, nil
}

func pinnedName(hash string) string { return "by-hash/" + hash + ".yaml" }
