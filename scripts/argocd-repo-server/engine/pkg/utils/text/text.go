package text

// FirstNonEmpty gives the first argument that is not empty, or "".
func FirstNonEmpty(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
