import ObjectStorage

/// A source of finished files of one kind, to be uploaded. All functions access the disk: call them on a thread that
/// may block.
package protocol UploadSource: Sendable {
    /// Kind of the files, unique to this source.
    var kind: UploadItem.Kind { get }
    /// Media type of the objects.
    var type: String { get }

    /// Returns the directories that may contain files.
    func directories() -> [String]

    /// Searches a directory for finished files.
    ///
    /// - Parameters:
    ///   - now: Time in seconds since 1970.
    ///   - isSettled: Returns whether a file with these notes and this version needs no further work.
    func look(in directory: String, now: Double, isSettled: (UploadNotes, String) -> Bool) -> UploadFinding

    /// Returns the version of a file; `nil` if it is gone.
    func version(of item: UploadItem) -> String?

    /// Opens a file for reading; `nil` if it is gone.
    func open(_ item: UploadItem) -> (any UploadReader)?

    /// Removes a file, but not the notes that say where its object is.
    ///
    /// - Returns: Whether it was removed. A file of another version is not.
    func remove(_ item: UploadItem) -> Bool
}

/// A finished file.
package struct UploadItem: Hashable, Sendable {
    package enum Kind: String, CaseIterable, Sendable { case recording, archive, thumbnail }

    package var kind: Kind
    /// Name of the room's directory, unique to the room.
    package var room: String
    /// Name of the object.
    package var file: String
    /// Path of the file, or of the directory that is packed.
    package var path: String
    /// Version of the content. Changes with the content.
    package var version: String
    package var notes: UploadNotes
}

/// The result of searching a directory.
package struct UploadFinding: Sendable {
    /// Finished files that are not settled.
    package var items: [UploadItem] = []
    /// Whether a file in the directory may become finished without a change of the directory itself.
    package var isOpen = false
}

/// A file opened for reading. Calls may block.
package protocol UploadReader: Sendable {
    /// Size in bytes.
    var bytes: Int64 { get }

    /// - Throws: `UploadReadFailure` with a description if the bytes are not available.
    func read(_ range: Range<Int64>) throws(UploadReadFailure) -> [UInt8]
}

/// The reason why a file could not be read.
package struct UploadReadFailure: Error, Sendable {
    package var reason: String

    package init(_ reason: String) { self.reason = reason }
}
