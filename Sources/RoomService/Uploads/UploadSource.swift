import ObjectStorage

/// Finished files of one kind, which are uploaded. All functions access the disk: call them on a thread that may block.
package protocol UploadSource: Sendable {
    /// Kind of the files, which no other source has.
    var kind: UploadItem.Kind { get }
    /// Media type of the objects.
    var type: String { get }

    /// Returns the directories in which files may be.
    func directories() -> [String]

    /// Looks for finished files in a directory.
    ///
    /// - Parameters:
    ///   - now: Time in seconds since 1970.
    ///   - isSettled: Returns whether nothing is left to do for a file that has these notes and this version.
    func look(in directory: String, now: Double, isSettled: (UploadNotes, String) -> Bool) -> UploadFinding

    /// Returns the version of a file; `nil` if it is gone.
    func version(of item: UploadItem) -> String?

    /// Opens a file for reading; `nil` if it is gone.
    func open(_ item: UploadItem) -> (any UploadReader)?

    /// Removes a file, but not what says where its object is.
    ///
    /// - Returns: Whether it is removed. Not if it is of another version.
    func remove(_ item: UploadItem) -> Bool
}

/// A finished file.
package struct UploadItem: Hashable, Sendable {
    package enum Kind: String, CaseIterable, Sendable { case recording, archive, thumbnail }

    package var kind: Kind
    /// Name of the room's directory, which no two rooms share.
    package var room: String
    /// Name of the object.
    package var file: String
    /// The file, or the directory that is packed.
    package var path: String
    /// Changes with the content.
    package var version: String
    package var notes: UploadNotes
}

/// What a look at a directory found.
package struct UploadFinding: Sendable {
    /// Finished files that are not settled.
    package var items: [UploadItem] = []
    /// Whether something is there that may become finished without a change of the directory itself.
    package var isOpen = false
}

/// A file that is open for reading. Calls may block.
package protocol UploadReader: Sendable {
    /// Size in bytes.
    var bytes: Int64 { get }

    /// - Throws: If the bytes are not there, in words for people.
    func read(_ range: Range<Int64>) throws(UploadReadFailure) -> [UInt8]
}

/// Why a file could not be read.
package struct UploadReadFailure: Error, Sendable {
    package var reason: String

    package init(_ reason: String) { self.reason = reason }
}
