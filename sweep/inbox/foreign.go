package inbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// ForeignSum is the SHA-256, in hexadecimal, of a foreign document and the parameters it came
// with: its name in the inbox and in raw.
func ForeignSum(body []byte, meta map[string]string) string {
	if meta == nil {
		meta = map[string]string{}
	}
	text, _ := json.Marshal(meta) // sorted by key; strings cannot fail
	h := sha256.New()
	h.Write(text)
	h.Write([]byte{0}) // JSON holds none
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}
