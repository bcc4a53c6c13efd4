import Foundation
import TextFormats

/// A path that must not lead outside a directory.
enum ContainedPath {
    enum Fault: Error, Hashable, Sendable {
        /// Not a relative path: empty, too long, or with `.` or `..`.
        case invalid
        case missing
        /// Leads outside the directory through a link.
        case outside
    }

    static let mostBytes = 1024

    /// Returns whether the text is a relative path without `.` and `..`.
    static func isRelative(_ reference: String) -> Bool {
        let parts = reference.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return !reference.isEmpty && reference.utf8.count <= mostBytes && !reference.utf8.contains(0)
            && parts.allSatisfy { !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8) }
    }

    /// Returns the real path of a file, which is inside the directory after all links are resolved. Blocks.
    static func resolve(_ reference: String, in directory: String) throws(Fault) -> String {
        guard isRelative(reference) else { throw .invalid }
        guard let root = realPath(directory), let path = realPath("\(directory)/\(reference)") else { throw .missing }
        guard path.startsInUTF8(with: root + "/") else { throw .outside }
        return path
    }

    private static func realPath(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
