package routine

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// decode reads JSON that the host gave. Numbers that go into an `any` stay the digits that they are ([json.Number]).
func decode(text string, into any, what string) error {
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("%s does not fit `%T`: %w", what, into, err)
	}
	return nil
}

// encode writes a value of the routine as JSON, with no character escaped that need not be.
func encode(value any, what string) (string, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", fmt.Errorf("%s cannot be written as JSON: %w", what, err)
	}
	return string(bytes.TrimSuffix(text.Bytes(), []byte("\n"))), nil
}
