package cache

// ManifestStorageType says where manifests of the cache are kept. This engine keeps them in memory as they are.
type ManifestStorageType string

// ManifestCompressionType says how they are compressed: here not at all.
type ManifestCompressionType string

// SetManifestCompressionEnabled is accepted, and has no effect on what a cache answers.
func SetManifestCompressionEnabled(bool) UpdateSettingsFunc { return func(*clusterCache) {} }

// SetManifestStorageType is accepted, and has no effect on what a cache answers.
func SetManifestStorageType(ManifestStorageType) UpdateSettingsFunc { return func(*clusterCache) {} }

// SetManifestCompressionType is accepted, and has no effect on what a cache answers.
func SetManifestCompressionType(ManifestCompressionType) UpdateSettingsFunc {
	return func(*clusterCache) {}
}
