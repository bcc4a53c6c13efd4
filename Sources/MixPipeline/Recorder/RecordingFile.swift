import Foundation
import ProgramSplicer

/// One MP4 file while it is written. Used by one thread; blocks.
///
/// Room for the index is held by a nameless file beside it, so that a disk that runs full still has it. A lock tells others
/// that the file is being written.
final class RecordingFile {
    let path: String
    private let descriptor: Int32
    /// Of what is whole: the beginning and every fragment.
    private(set) var size: Int64 = 0
    /// The nameless file, and how much it holds.
    private var spare: Int32 = -1
    private var spareSize = 0
    private var lastSync = MonotonicClock.now

    /// The room for the index grows by so many bytes.
    private static let step = 1 << 20
    /// A power failure costs at most so much, in ns.
    private static let syncInterval: Int64 = 5_000_000_000

    /// A new file that only this user may read.
    /// - Returns: `nil` when there is one of this name.
    static func make(_ path: String) throws(RecordingFailure) -> RecordingFile? {
        let descriptor = Foundation.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST { return nil }
            throw RecordingFailure(errno, "be made", path: path)
        }
        return RecordingFile(path: path, descriptor: descriptor)
    }

    /// A file that another recorder left.
    /// - Returns: `nil` while somebody else writes it.
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
        isLocked = flock(descriptor, LOCK_EX | LOCK_NB) == 0
    }

    deinit {
        giveBackSpare()
        close(descriptor)
    }

    // MARK: - Writing

    /// Appends a beginning or a fragment, whole or not at all.
    /// - Parameter index: Bytes that the index of everything will need.
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
        // Ahead of time; when there is not so much room, what is needed.
        var wanted = count + Self.step
        var result = posix_fallocate(spare, 0, off_t(wanted))
        if result == ENOSPC || result == EDQUOT {
            wanted = count
            result = posix_fallocate(spare, 0, off_t(wanted))
        }
        if result == ENOSPC || result == EDQUOT { throw RecordingFailure(result, "be written", path: path) }
        // A file system that cannot: then there is no telling, and writing shows.
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
        guard MonotonicClock.now - lastSync > Self.syncInterval else { return }
        fdatasync(descriptor)
        lastSync = MonotonicClock.now
    }

    /// Bytes that this user may still write to the disk; `nil` when that cannot be told.
    static func freeBytes(at directory: String) -> Int64? {
        var status = statvfs()
        guard statvfs(directory, &status) == 0 else { return nil }
        return Int64(clamping: status.f_bavail).saturatingProduct(Int64(clamping: status.f_frsize))
    }

    // MARK: - Reading what is there

    /// Bytes of a `moov` before the fragments, or of a `moof`: of ours they have some hundred, or some thousand.
    private static let longestHead: Int64 = 64 << 20

    /// The fragments of the file, whole ones only; goes back to the fragmented form where it was indexed.
    /// - Returns: The `moov` box it begins with, and its index; `nil` when this is no file of ours.
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

    /// Takes the index off again, and everything else that is no whole fragment; after `readBack`.
    func reopen() throws(RecordingFailure) {
        try write(MP4Index.freeBox, at: Int64(MP4Index.placeholderOffset))
        guard cut(to: size) else { throw RecordingFailure(errno, "be cut", path: path) }
    }

    /// Writes the index in the room that was held for it. The file stays as it was when that fails.
    func finish() throws(RecordingFailure) {
        guard let (_, index) = readBack(), !index.isEmpty else { return }
        let movie = index.movie
        giveBackSpare()
        do throws(RecordingFailure) {
            try write(movie, at: size)
            // First the index, then what makes it count.
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

    /// A box whose content is whole.
    private func box(at offset: Int64, end: Int64) -> (type: String, size: Int64)? {
        guard let head = read(8, at: offset) else { return nil }
        let size = head[..<4].reduce(Int64(0)) { $0 << 8 | Int64($1) }
        guard size >= 8, offset + size <= end else { return nil }
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
