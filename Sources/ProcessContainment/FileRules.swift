import CContainment
import Foundation

/// The files that a contained process may still open, enforced by Landlock (landlock(7)).
///
/// Every right that the kernel's version knows is refused, except reading below `readable` and writing to `/dev/null`.
struct FileRules {
    private static let writeFile: UInt64 = 1 << 1
    private static let readFile: UInt64 = 1 << 2
    private static let readDirectory: UInt64 = 1 << 3
    /// Rights to remove files other than directories, and to create sockets.
    private static let ownSocket: UInt64 = 1 << 5 | 1 << 9
    /// Rights to bind and connect TCP sockets.
    private static let network: UInt64 = 0b11
    /// Scopes of abstract Unix sockets and of signals to processes outside.
    private static let scopes: UInt64 = 0b11

    var readable: [String]
    /// Directories in which sockets may be created and removed.
    var sockets: [String] = []
    /// Whether TCP sockets are refused too.
    var refusesNetwork = true

    /// Returns the file rights that a version of Landlock can refuse.
    static func files(version: Int32) -> UInt64 {
        switch version {
        case ...1: (1 << 13) - 1
        case 2: (1 << 14) - 1
        case 3, 4: (1 << 15) - 1
        default: (1 << 16) - 1
        }
    }

    /// Applies the rules to the calling thread and all threads that it creates.
    /// - Returns: The reason why they are not in force; `nil` if they are.
    func apply() -> String? {
        let version = containment_landlock_version()
        guard version > 0 else { return "the kernel has no Landlock (\(Self.reason(version)))" }
        var rules = containment_rules(
            files: Self.files(version: version), network: version >= 4 && refusesNetwork ? Self.network : 0,
            scopes: version >= 6 ? Self.scopes : 0)
        // A kernel refuses a structure with fields unknown to it, unless they are 0.
        let size = version >= 6 ? 24 : version >= 4 ? 16 : 8
        let descriptor = containment_landlock_create(&rules, size)
        guard descriptor >= 0 else { return "Landlock: \(Self.reason(descriptor))" }
        defer { close(descriptor) }
        for path in readable { Self.allow(Self.readFile | Self.readDirectory, path, descriptor) }
        for path in sockets { Self.allow(Self.ownSocket, path, descriptor) }
        Self.allow(Self.readFile | Self.writeFile, "/dev/null", descriptor)
        let applied = containment_landlock_apply(descriptor)
        return applied == 0 ? nil : "Landlock: \(Self.reason(applied))"
    }

    /// Allows access to a path if it exists.
    private static func allow(_ access: UInt64, _ path: String, _ rules: Int32) {
        let file = containment_open_path(path)
        guard file >= 0 else { return }
        defer { close(file) }
        var status = stat()
        fstat(file, &status)
        let isDirectory = status.st_mode & S_IFMT == S_IFDIR
        _ = containment_landlock_allow(rules, isDirectory ? access : access & ~readDirectory, file)
    }

    static func reason(_ negative: Int32) -> String { String(cString: strerror(-negative)) }
}
