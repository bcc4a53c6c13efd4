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
    /// - Throws: `FileRefusal` if the file cannot be used: it is outside the directory, not a regular file, too large,
    ///   not an image and so on.
    package func read(_ reference: String) throws(FileRefusal) -> (bytes: [UInt8], header: ImageHeader) {
        let path = try path(of: reference)
        let bytes: [UInt8]
        do {
            bytes = try BoundedFile.read(path, limit: ImageHeader.mostBytes)
        } catch {
            throw FileRefusal("\(error)")
        }
        return (bytes, try FileRefusal.header(of: bytes))
    }

    private func path(of reference: String) throws(FileRefusal) -> String {
        do throws(ContainedPath.Fault) {
            return try ContainedPath.resolve(reference, in: directory)
        } catch {
            throw switch error {
            case .invalid: FileRefusal("is not a path inside the layouts directory")
            case .missing: FileRefusal("does not exist")
            case .outside: FileRefusal("leads outside the layouts directory")
            }
        }
    }
}

/// The reason why an image is not used.
///
/// The text completes a sentence that begins with the layout's name for the image. It contains no secret.
package struct FileRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    package var description: String

    init(_ description: String) { self.description = description }

    static func header(of bytes: [UInt8]) throws(FileRefusal) -> ImageHeader {
        do {
            return try ImageHeader(bytes)
        } catch {
            throw FileRefusal("\(error)")
        }
    }
}
