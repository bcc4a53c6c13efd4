import Foundation

extension UUID {
    /// A random one (RFC 9562, version 4) for what every request needs: `UUID()` opens a device file each time.
    static func quick() -> UUID {
        var generator = SystemRandomNumberGenerator()
        return .random(using: &generator)
    }
}
