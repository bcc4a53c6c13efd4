import Foundation

extension UUID {
    /// Returns a random UUID (RFC 9562, version 4), fast enough for use in every request. `UUID()` would open a device
    /// file each time.
    package static func quick() -> UUID {
        var generator = SystemRandomNumberGenerator()
        return .random(using: &generator)
    }
}
