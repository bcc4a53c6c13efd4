import Foundation
import MixModel
import NIOPosix

/// The recorded files of rooms. Names come from clients; only a name that a recorder would use leads to a file.
package struct RecordingShelf: Sendable {
    package let place: RecordingPlace
    /// Pool for disk access, because reading a directory waits for the disk.
    var pool = NIOThreadPool.singleton
    /// The uploader of the files; `nil` if files are not uploaded.
    private let uploads: Uploader?

    package init(
        place: RecordingPlace, pool: NIOThreadPool = NIOThreadPool.singleton, uploads: Uploader? = nil
    ) {
        self.place = place
        self.pool = pool
        self.uploads = uploads
    }

    /// Maximum number of files that are listed.
    static let mostShown = 1_000
    /// Maximum size of a manifest in bytes. A manifest with the maximum number of switches is smaller.
    private static let longestManifest = 64 << 20

    /// Outcome of removing a file.
    package enum Removal: Sendable {
        case removed, notThere, isBeingWritten
        case failed(String)
    }

    /// A file with the contents of its manifest.
    package struct Recorded: Sendable {
        package var manifest: RecordingManifest
        /// Size in bytes.
        package var bytes: Int64
        /// Whether a recorder holds the file's lock.
        package var isBeingWritten: Bool
        /// Whether the file is on this machine; otherwise only its uploaded objects exist.
        package var isHere = true
        /// Uploads of the file; `nil` if files are not uploaded.
        package var storage: [UploadReport]?
        /// Uploads of its picture; `nil` if there is none.
        package var thumbnail: [UploadReport]?
    }

    /// Returns the recordings of a room, newest first.
    package func files(of room: RoomID) async throws -> [Recorded] {
        try await pool.runIfActive {
            let directory = place.directory(of: room)
            let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
            // A file that was removed after its upload is known by its manifest.
            let files = Set(names.filter(FileName.isRecording))
            let manifests =
                uploads == nil
                ? []
                : names.filter { $0.hasSuffix(".json") }.map { "\($0.dropLast(5)).mp4" }.filter(FileName.isRecording)
            return files.union(manifests).map { (name: $0, order: Self.order(of: $0)) }
                .sorted { $0.order > $1.order }.prefix(Self.mostShown).compactMap { recorded($0.name, directory) }
        }
    }

    /// Returns the position of a file among others: its name without the number of the part, which begins with the
    /// time, and the number, because part 10 follows part 9.
    private static func order(of name: String) -> (Substring, Int) {
        let stem = name.dropLast(4)
        guard let mark = stem.lastIndex(of: "-"), let part = Int(stem[stem.index(after: mark)...]), part > 1 else {
            return (stem, 1)
        }
        return (stem[..<mark], part)
    }

    /// Returns one recording of a room; `nil` if it is neither here nor in a storage.
    package func file(_ name: String, of room: RoomID) async throws -> Recorded? {
        guard FileName.isRecording(name) else { return nil }
        return try await pool.runIfActive { recorded(name, place.directory(of: room)) }
    }

    /// Returns those of the given recordings that have a picture, here or in a storage.
    package func pictured(_ names: [String], of room: RoomID) async throws -> Set<String> {
        guard !names.isEmpty else { return [] }
        let directory = place.directory(of: room)
        return try await pool.runIfActive {
            Set(
                names.filter { name in
                    let path = "\(directory)/\(name)"
                    return FileName.isRecording(name)
                        && (Self.size(Self.thumbnail(path)) != nil || Self.thumbnailNotes(path).exist)
                })
        }
    }

    /// Returns whether a file was removed here because all targets have it.
    package func isElsewhere(_ path: String) async throws -> Bool {
        try await pool.runIfActive { isStoredElsewhere(path) }
    }

    private func isStoredElsewhere(_ path: String) -> Bool {
        guard Self.size(path) == nil, let uploads else { return false }
        return uploads.reports(of: Self.notes(path), path: path).contains { $0.state == .stored }
    }

    /// Returns the path of a recording; `nil` when the name is not one that a recorder would use.
    package func path(of name: String, room: RoomID) -> String? {
        guard FileName.isRecording(name) else { return nil }
        return place.directory(of: room) + "/" + name
    }

    /// Returns the path of a recording's picture, `….jpg`; `nil` when none has this name.
    package func picture(of name: String, room: RoomID) -> String? {
        guard name.hasSuffix(".jpg") else { return nil }
        return path(of: "\(name.dropLast(4)).mp4", room: room).map(Self.thumbnail)
    }

    /// Removes a file and its manifest, unless the file is being written.
    ///
    /// - Parameter current: Id of the recording that the room wants; `nil` if it wants none. The manifest of its newest
    ///   part stays, so that the next part gets another number: in a storage, its object would replace the removed
    ///   one's.
    package func remove(_ name: String, of room: RoomID, current: String?) async throws -> Removal {
        guard let path = path(of: name, room: room) else { return .notThere }
        return try await pool.runIfActive {
            guard Self.size(path) != nil || isStoredElsewhere(path) else { return .notThere }
            guard !Self.isBeingWritten(path) else { return .isBeingWritten }
            let manifest = Self.manifest(of: path)
            guard unlink(path) == 0 || errno == ENOENT else { return .failed(String(cString: strerror(errno))) }
            Self.notes(path).remove()
            unlink(Self.thumbnail(path))
            Self.thumbnailNotes(path).remove()
            Self.forget(path, part: manifest?.part ?? 1, isWanted: current != nil && manifest?.recording == current)
            return .removed
        }
    }

    /// Removes the manifest of a removed part, and one that only kept the number of a part next to it.
    ///
    /// - Parameter isWanted: Whether the recording goes on.
    private static func forget(_ path: String, part: Int, isWanted: Bool) {
        let (earlier, later) = (neighbour(of: path, part, -1), neighbour(of: path, part, 1))
        let isNewest = later.map { size($0) == nil && access(manifest($0), F_OK) != 0 } ?? true
        if !isWanted || !isNewest { unlink(manifest(path)) }
        for other in [earlier, isWanted ? nil : later].compactMap(\.self)
        where size(other) == nil && !notes(other).exist {
            unlink(manifest(other))
        }
    }

    /// Returns the path of another part of the same recording; `nil` if there is none of this number.
    private static func neighbour(of path: String, _ part: Int, _ distance: Int) -> String? {
        let (stem, mark) = (path.dropLast(4), part > 1 ? "-\(part)" : "")
        // Bounded, because the manifest may be damaged.
        guard stem.hasSuffix(mark), 1...1_000_000 ~= part, part + distance > 0 else { return nil }
        return "\(stem.dropLast(mark.count))" + (part + distance > 1 ? "-\(part + distance)" : "") + ".mp4"
    }

    private func recorded(_ name: String, _ directory: String) -> Recorded? {
        let path = directory + "/" + name
        // The size is read here and only once: an upload may remove the file at any moment, after which only the
        // objects exist.
        let size = Self.size(path)
        guard size != nil || isStoredElsewhere(path), var manifest = Self.manifest(of: path) else { return nil }
        manifest.file = name
        let picture = Self.thumbnail(path)
        let pictureNotes = Self.thumbnailNotes(path)
        let hasPicture = uploads != nil && (Self.size(picture) != nil || pictureNotes.exist)
        return Recorded(
            manifest: manifest, bytes: size ?? manifest.bytes,
            isBeingWritten: manifest.state == .recording && Self.isBeingWritten(path), isHere: size != nil,
            storage: uploads?.reports(of: Self.notes(path), path: path),
            thumbnail: hasPicture ? uploads?.reports(of: pictureNotes, path: picture) : nil)
    }

    // MARK: Files beside a recording. Calls block.

    static func manifest(of path: String) -> RecordingManifest? {
        guard let length = size(manifest(path)), length < longestManifest,
            let data = FileManager.default.contents(atPath: manifest(path))
        else { return nil }
        return try? JSONDecoder().decode(RecordingManifest.self, from: data)
    }

    static func notes(_ path: String) -> UploadNotes { UploadNotes(path: "\(path.dropLast(4)).upload") }

    /// Returns the path of a recording's picture.
    static func thumbnail(_ path: String) -> String { "\(path.dropLast(4)).jpg" }

    /// - Parameter path: Path of the recording or of its picture.
    static func thumbnailNotes(_ path: String) -> UploadNotes { UploadNotes(path: "\(path.dropLast(4)).thumbnail") }

    /// Returns the path of the recording to which these notes belong.
    static func recording(of notes: UploadNotes) -> String { "\(notes.path.dropLast(".upload".count)).mp4" }

    private static func manifest(_ path: String) -> String { path.dropLast(4) + ".json" }

    private static func size(_ path: String) -> Int64? {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(status.st_size)
    }

    /// Returns whether the file's recorder holds its lock.
    static func isBeingWritten(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }
}
