import EncodedMedia
import Foundation
import MediaFormats

/// An MP4 file that is being written. Used by one thread; blocks on the disk.
///
/// An unnamed file next to it reserves space for the index, so that it fits even when the disk runs full. A lock tells
/// other processes that the file is being written.
final class RecordingFile {
    let path: String
    private let descriptor: Int32
    /// Size in bytes of all complete parts: the beginning, every fragment, and the index once it is written.
    private(set) var size: Int64 = 0
    /// Descriptor of the unnamed file; -1 means none. `spareSize`: bytes that it reserves.
    private var spare: Int32 = -1
    private var spareSize = 0
    private var lastSync = MonotonicClock.now()

    /// Number of bytes by which the reserved space for the index grows.
    private static let step = 1 << 20
    /// Time between syncs in ns, which is the most that a power failure can cost.
    private static let syncInterval: Int64 = 5_000_000_000

    /// Creates a file that only this user may read.
    /// - Returns: `nil` if there is already a file of this name.
    static func make(_ path: String) throws(RecordingFailure) -> RecordingFile? {
        let descriptor = Foundation.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST { return nil }
            throw RecordingFailure(errno, "be created", path: path)
        }
        return RecordingFile(path: path, descriptor: descriptor)
    }

    /// Opens a file that another recorder left.
    /// - Returns: `nil` while another process writes it.
    static func open(existing path: String) throws(RecordingFailure) -> RecordingFile? {
        let descriptor = Foundation.open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw RecordingFailure(errno, "be opened", path: path) }
        let file = RecordingFile(path: path, descriptor: descriptor)
        return file.isLocked ? file : nil
    }

    private let isLocked: Bool

    private init(path: String, descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
        // A listing of recordings takes the lock for a moment, to see whether the file is being written.
        var isLocked = false
        for attempt in 0..<20 where !isLocked {
            if attempt > 0 { usleep(2_000) }
            isLocked = flock(descriptor, LOCK_EX | LOCK_NB) == 0
        }
        self.isLocked = isLocked
    }

    deinit {
        giveBackSpare()
        close(descriptor)
    }

    // MARK: - Writing

    /// Appends the file's beginning or a fragment, completely or not at all.
    /// - Parameter index: Bytes that the index of the whole file will need.
    func append(_ bytes: [UInt8], index: Int) throws(RecordingFailure) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_nlink > 0 else { throw .removed(path) }
        try holdSpare(index + 65_536)
        do throws(RecordingFailure) {
            try write(bytes, at: size)
        } catch {
            cut(to: size)
            throw error
        }
        size += Int64(bytes.count)
        syncNowAndThen()
    }

    private func holdSpare(_ count: Int) throws(RecordingFailure) {
        guard count > spareSize else { return }
        if spare < 0 {
            let name = path + ".spare"
            spare = Foundation.open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            unlink(name)
        }
        guard spare >= 0 else { return }
        // Reserves space ahead; if there is not enough, only the space that is needed.
        var wanted = count + Self.step
        var result = posix_fallocate(spare, 0, off_t(wanted))
        if result == ENOSPC || result == EDQUOT {
            wanted = count
            result = posix_fallocate(spare, 0, off_t(wanted))
        }
        if result == ENOSPC || result == EDQUOT { throw RecordingFailure(result, "be written", path: path) }
        // The file system cannot reserve space. A full disk then shows only when writing.
        spareSize = result == 0 ? wanted : .max
    }

    private func giveBackSpare() {
        guard spare >= 0 else { return }
        close(spare)
        spare = -1
        spareSize = 0
    }

    @discardableResult private func cut(to size: Int64) -> Bool { ftruncate(descriptor, off_t(size)) == 0 }

    private func write(_ bytes: [UInt8], at offset: Int64) throws(RecordingFailure) {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                pwrite(
                    descriptor, buffer.baseAddress?.advanced(by: done), buffer.count - done, off_t(offset) + done
                )
            }
            if count > 0 {
                done += count
            } else if errno != EINTR {
                throw RecordingFailure(errno, "be written", path: path)
            }
        }
    }

    private func syncNowAndThen() {
        guard MonotonicClock.now() - lastSync > Self.syncInterval else { return }
        fdatasync(descriptor)
        lastSync = MonotonicClock.now()
    }

    /// Returns the bytes that this user may still write to the disk; `nil` if that is unknown.
    static func freeBytes(at directory: String) -> Int64? {
        var status = statvfs()
        guard statvfs(directory, &status) == 0 else { return nil }
        return Int64(clamping: status.f_bavail).saturatingProduct(Int64(clamping: status.f_frsize))
    }

    // MARK: - Reading back

    /// Longest accepted `moov` before the fragments, or `moof`, in bytes. Those of this recorder have hundreds or
    /// thousands.
    private static let longestHead: Int64 = 64 << 20

    /// Reads the file's complete fragments. An indexed file is read in its fragmented form.
    /// - Returns: The `moov` box at its beginning, and its index; `nil` if it is not a file of this recorder.
    func readBack() -> (movie: [UInt8], index: MP4Index)? {
        let end = lseek(descriptor, 0, SEEK_END)
        var offset = Int64(MP4Index.movieOffset)
        guard let head = box(at: offset, end: Int64(end)), head.type == "moov", head.size <= Self.longestHead,
            let movie = read(Int(head.size), at: offset), var index = MP4Index(movie: movie)
        else { return nil }
        offset += head.size
        while let moof = box(at: offset, end: Int64(end)), moof.type == "moof", moof.size <= Self.longestHead,
            let data = box(at: offset + moof.size, end: Int64(end)), data.type == "mdat",
            let bytes = read(Int(moof.size), at: offset), index.add(moof: bytes, at: offset)
        {
            offset += moof.size + data.size
        }
        size = offset
        return (movie, index)
    }

    /// Removes the index, and everything after the last complete fragment. Call it after `readBack`.
    func reopen() throws(RecordingFailure) {
        try write(MP4Index.freeBox, at: Int64(MP4Index.placeholderOffset))
        guard cut(to: size) else { throw RecordingFailure(errno, "be truncated", path: path) }
    }

    /// Writes the index into the space reserved for it. If that fails, the file stays as it was.
    func finish() throws(RecordingFailure) {
        guard let (_, index) = readBack(), !index.isEmpty else { return }
        let movie = index.movie
        giveBackSpare()
        do throws(RecordingFailure) {
            try write(movie, at: size)
            // The index is on disk before the header that makes it count.
            guard cut(to: size + Int64(movie.count)), fdatasync(descriptor) == 0 else {
                throw RecordingFailure(errno, "be written", path: path)
            }
            try write(MP4Index.mediaDataHeader(end: size), at: Int64(MP4Index.placeholderOffset))
            fsync(descriptor)
        } catch {
            cut(to: size)
            throw error
        }
        size += Int64(movie.count)
    }

    /// Returns the type and size of a box, if its content is complete.
    private func box(at offset: Int64, end: Int64) -> (type: String, size: Int64)? {
        guard let head = read(8, at: offset), let size = head.bigEndian(Int64.self, at: 0, bytes: 4), size >= 8,
            offset + size <= end
        else { return nil }
        return (String(decoding: head[4...], as: UTF8.self), size)
    }

    private func read(_ count: Int, at offset: Int64) -> [UInt8]? {
        var done = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while done < count {
                let got = pread(
                    descriptor, buffer.baseAddress?.advanced(by: done), count - done, off_t(offset) + done)
                if got > 0 { done += got } else if got == 0 || errno != EINTR { break }
            }
            filled = done
        }
        return done == count ? bytes : nil
    }
}
