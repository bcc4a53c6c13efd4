import Foundation
import MediaFormats

/// Reads images that layouts name by a path relative to their directory. Calls block.
package struct ImageFiles: Sendable {
    /// Directory of the layouts.
    package let directory: String

    package init(directory: String) {
        self.directory = directory
    }

    /// Returns the bytes and the header of an image.
    ///
    /// - Throws: `ImageRefusal` if the file cannot be used: it is outside the directory, not a regular file, too large,
    ///   not an image and so on.
    package func read(_ reference: String) throws(ImageRefusal) -> (bytes: [UInt8], header: ImageHeader) {
        let path = try path(of: reference)
        let bytes: [UInt8]
        do {
            bytes = try BoundedFile.read(path, limit: ImageHeader.mostBytes)
        } catch {
            throw ImageRefusal("\(error)")
        }
        return (bytes, try ImageRefusal.header(of: bytes))
    }

    /// Returns the real path of the file. It must be inside the directory after all links are resolved.
    private func path(of reference: String) throws(ImageRefusal) -> String {
        let parts = reference.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard !reference.isEmpty, reference.utf8.count <= 1024, !reference.utf8.contains(0),
            parts.allSatisfy({ !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8) })
        else { throw ImageRefusal("is not a path inside the layouts directory") }
        guard let root = Self.realPath(directory), let path = Self.realPath("\(directory)/\(reference)") else {
            throw ImageRefusal("does not exist")
        }
        guard path.startsInUTF8(with: root + "/") else { throw ImageRefusal("leads outside the layouts directory") }
        return path
    }

    private static func realPath(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}

/// The reason why an image is not used.
///
/// The text completes a sentence that begins with the layout's name for the image. It contains no secret.
package struct ImageRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    package var description: String

    init(_ description: String) { self.description = description }

    static func header(of bytes: [UInt8]) throws(ImageRefusal) -> ImageHeader {
        do {
            return try ImageHeader(bytes)
        } catch {
            throw ImageRefusal("\(error)")
        }
    }
}
