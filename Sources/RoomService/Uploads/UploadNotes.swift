import Foundation
import ObjectStorage

/// The notes of a file's uploads: one file per target beside it, from which another process can continue. Calls block.
package struct UploadNotes: Hashable, Sendable {
    /// Path of the notes, without target and extension.
    package var path: String

    /// Maximum size of a note, in bytes. A note with the maximum number of parts is smaller.
    private static let mostBytes = 8 << 20

    package init(path: String) { self.path = path }

    private func file(_ target: String) -> String { "\(path)-\(target).json" }

    /// Whether there is a note for any target.
    package var exist: Bool { UploadTarget.Name.allCases.contains { access(file($0.rawValue), F_OK) == 0 } }

    /// Returns a note; `nil` if there is no readable one.
    package func read(_ target: String) -> UploadDocument? {
        guard let bytes = try? BoundedFile.read(file(target), limit: Self.mostBytes, followsLinks: false) else {
            return nil
        }
        return try? JSONDecoder().decode(UploadDocument.self, from: Data(bytes))
    }

    /// Replaces a note atomically.
    ///
    /// - Returns: Whether the new note is on disk.
    func write(_ document: UploadDocument, of target: String) -> Bool {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(document) else { return false }
        let temporary = "\(file(target)).new"
        unlink(temporary)
        guard (try? BoundedFile.write(Array(data), to: temporary, mode: 0o600)) != nil,
            rename(temporary, file(target)) == 0
        else {
            unlink(temporary)
            return false
        }
        return true
    }

    /// Removes all notes.
    package func remove() {
        for target in UploadTarget.Name.allCases { unlink(file(target.rawValue)) }
    }
}
